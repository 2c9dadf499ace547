/* Allocator of guest physical memory: a binary buddy system with blocks of 4 KiB to 1 GiB.
 *
 * Ownership: a block taken belongs to the caller until it gives the same block back. */
#ifndef VOS_FRAMES_H
#define VOS_FRAMES_H

#include "layout.h"

#include <stdint.h>

/* log2 of a block's size over 4 KiB. */
enum frame_order {
    ORDER_4K = 0,
    ORDER_2M = 9,
    ORDER_1G = 18,
};

/* Not a frame: guest physical page 0 is never RAM here. */
#define FRAME_NONE 0

enum clear_policy {
    /* A frame that has not been taken before is zero already, since a hypervisor hands over zeroed memory.
     * Keeps booting and large pages cheap. */
    CLEAR_REUSED,
    CLEAR_ALWAYS,
};

/* The order of the smallest block with so many bytes. */
static inline unsigned frame_order(uint64_t bytes)
{
    unsigned order = 0;

    while ((uint64_t)PAGE_BYTES << order < bytes)
        order++;
    return order;
}

/* Takes over the platform's memory but for what is reserved and the kernel's image. */
void frames_start(enum clear_policy policy);
/* Guest physical address of a zeroed block, aligned to its size; FRAME_NONE when there is none. */
uint64_t frames_take(unsigned order);
void frames_give(uint64_t frame, unsigned order);
/* Free bytes. */
uint64_t frames_free_bytes(void);

#endif
