/* The few Linux system calls that the workloads use; vos answers the same numbers. */
#ifndef WORKLOADS_LINUX_H
#define WORKLOADS_LINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

_Noreturn void linux_exit(int status);
void linux_write(const void *bytes, size_t length);
/* What linux_map adds to MAP_PRIVATE | MAP_ANONYMOUS. */
enum linux_map_flags {
    LINUX_MAP_PLAIN = 0,
    /* MAP_HUGETLB with pages of 2^30 bytes. */
    LINUX_MAP_HUGE_1G = 0x40000 | 30 << 26,
};

enum linux_advice {
    LINUX_ADVICE_HUGE_PAGES = 14,
    LINUX_ADVICE_NO_HUGE_PAGES = 15,
};

/* Zeroed private memory, or NULL when there is none. */
void *linux_map(size_t bytes, enum linux_map_flags flags);
/* The first bytes of a file; false when there are fewer. */
bool linux_read_file(const char *path, void *to, size_t bytes);
/* For reading and writing; negative when it cannot be opened. */
int linux_open(const char *path);
/* Shared memory of a file from `offset` on, or NULL. */
void *linux_map_file(int file, uint64_t offset, size_t bytes);
/* madvise; false when the kernel refuses. */
bool linux_advise(void *memory, size_t bytes, enum linux_advice advice);
/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t linux_nanoseconds(void);

#endif
