/* System calls of Linux without the C library: by these names the program may have been given something else, and a static program has no library
 * that could be asked. Results from -4095 to -1 are negated error numbers. */
#ifndef REGION_RAW_H
#define REGION_RAW_H

#include <stdbool.h>
#include <stdint.h>

enum {
    RAW_FCNTL = 25,
    RAW_OPENAT = 56,
    RAW_CLOSE = 57,
    RAW_READ = 63,
    RAW_WRITE = 64,
    RAW_EXIT_GROUP = 94,
    RAW_SCHED_YIELD = 124,
    RAW_BRK = 214,
    RAW_MUNMAP = 215,
    RAW_MREMAP = 216,
    RAW_CLONE = 220,
    RAW_MMAP = 222,
    RAW_MPROTECT = 226,
    RAW_MADVISE = 233,
    RAW_FLUSH_ICACHE = 259,
};

enum { RAW_CURRENT_DIRECTORY = -100 };

static inline long raw_call(long number, const long arguments[6])
{
    register long a7 __asm__("a7") = number;
    register long a0 __asm__("a0") = arguments[0];
    register long a1 __asm__("a1") = arguments[1];
    register long a2 __asm__("a2") = arguments[2];
    register long a3 __asm__("a3") = arguments[3];
    register long a4 __asm__("a4") = arguments[4];
    register long a5 __asm__("a5") = arguments[5];

    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7) : "memory");
    return a0;
}

/* With as many arguments as there are. */
#define RAW(number, ...) raw_call((number), (const long[6]){__VA_ARGS__})

static inline bool raw_failed(long result)
{
    return (uint64_t)result >= (uint64_t)-4095;
}

static inline long raw_map(uint64_t at, uint64_t bytes, int protection, int flags, int file, int64_t offset)
{
    return RAW(RAW_MMAP, (long)at, (long)bytes, protection, flags, file, (long)offset);
}

#endif
