/* The few Linux system calls that the workloads use; vos answers the same numbers. */
#ifndef WORKLOADS_LINUX_H
#define WORKLOADS_LINUX_H

#include <stddef.h>
#include <stdint.h>

_Noreturn void linux_exit(int status);
void linux_write(const void *bytes, size_t length);
/* Zeroed private memory, or NULL when there is none. */
void *linux_map(size_t bytes);
/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t linux_nanoseconds(void);

#endif
