/* The first virtio disk, if the machine has one: processes read and write it, and wait until that is done. */
#ifndef VOS_DISK_H
#define VOS_DISK_H

#include <stdbool.h>
#include <stdint.h>

enum { DISK_SECTOR_BYTES = 512 };

/* Looks for a disk and starts it. Its interrupts come to this hart. */
void disk_start(void);
/* Lets this hart have the disk's interrupts. */
void disk_start_hart(void);
/* This hart goes off line: another one takes over the disk's interrupts. */
void disk_leave(void);
/* 0 without a disk. */
uint64_t disk_sectors(void);
/* Moves `bytes` bytes, whole sectors within a page of guest physical memory, for the process that runs here, which waits. Its a0 is 0
 * or `failure` when it goes on. False when that is none of the disk's. */
bool disk_transfer(bool write, uint64_t sector, uint64_t memory, uint32_t bytes, uint64_t failure);
/* Whether a process waits for the disk. With the scheduler's lock held. */
bool disk_is_busy(void);
/* Serves the disk's interrupt, if that is what `source` is. */
void disk_interrupt(uint32_t source);

#endif
