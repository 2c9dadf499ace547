/* A static program, as the kernel has mapped it. */
#ifndef STATIC_PROGRAM_H
#define STATIC_PROGRAM_H

#include <stdint.h>

struct elf_segment {
    uint32_t type;
    uint32_t flags;
    uint64_t offset;
    uint64_t address;
    uint64_t physical;
    uint64_t file_bytes;
    uint64_t memory_bytes;
    uint64_t alignment;
};

enum { SEGMENT_LOAD = 1 };
enum { SEGMENT_EXECUTE = 1, SEGMENT_WRITE = 2, SEGMENT_READ = 4 };

struct program {
    const struct elf_segment *segments;
    uint64_t count;
    /* What is added to the addresses of its segments. */
    uint64_t bias;
    uint64_t entry;
};

enum { PAGE = 4096 };

static inline uint64_t page_of(uint64_t address)
{
    return address & ~(uint64_t)(PAGE - 1);
}

static inline uint64_t page_above(uint64_t address)
{
    return page_of(address + PAGE - 1);
}

#endif
