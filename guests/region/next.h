/* What would serve the program without this library: the C library, or an allocator of the program's such as jemalloc. */
#ifndef REGION_NEXT_H
#define REGION_NEXT_H

#include <stdbool.h>
#include <stddef.h>

/* All of it or nothing, as no allocator knows the memory of another. */
struct next {
    void *(*malloc)(size_t bytes);
    void *(*calloc)(size_t count, size_t bytes);
    void *(*realloc)(void *memory, size_t bytes);
    void *(*memalign)(size_t alignment, size_t bytes);
    void (*free)(void *memory);
    size_t (*usable_size)(void *memory);
};

/* NULL while it is looked for: dlsym allocates. */
const struct next *next_allocator(void);
/* For dlsym itself; it is not given back. NULL when there is no more. */
void *early_take(size_t bytes);
bool early_holds(const void *memory);
/* Bytes behind `memory` that may be read. */
size_t early_behind(const void *memory);

#endif
