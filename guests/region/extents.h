/* Which pages of the region are taken: runs of pages in order of address, in a table of fixed length. */
#ifndef REGION_EXTENTS_H
#define REGION_EXTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EXTENTS = 8192 };

struct extent {
    uint64_t begin;
    uint64_t end;
    /* Whether malloc gave it out, so that free takes it back; otherwise mmap did, maybe to an allocator that cuts it up. */
    bool object;
};

struct extents {
    /* Taken, ascending. */
    struct extent taken[EXTENTS];
    size_t count;
    uint64_t begin;
    uint64_t end;
    /* What lies below is given out no more; what is taken there may grow up to it. */
    uint64_t floor;
    /* No byte from here on was ever handed out. */
    uint64_t fresh;
};

/* `bytes` bytes at a multiple of `alignment`, a power of two; 0 when there is no such gap. All in pages. */
uint64_t extents_take(struct extents *extents, uint64_t bytes, uint64_t alignment, bool object);
/* Gives back whatever of a range is taken. */
void extents_give(struct extents *extents, uint64_t begin, uint64_t end);
/* The extent that begins at `begin`, NULL when none does. */
struct extent *extents_at(struct extents *extents, uint64_t begin);
/* Makes an extent longer, in place; false when there is no room behind it. */
bool extents_grow(struct extents *extents, struct extent *extent, uint64_t end);

#endif
