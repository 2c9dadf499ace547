/* The names by which a program asks jemalloc for what malloc has no words for. What those give out is always jemalloc's, but what
 * they are handed may be ours. */
#define _GNU_SOURCE
#include "region.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

/* jemalloc's own, found once; every caller of these names has it. */
#define NEXT(name)                                                                                          \
    ({                                                                                                      \
        static __typeof__(&name) next;                                                                      \
        if (next == NULL)                                                                                   \
            next = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                              \
        next;                                                                                               \
    })

/* Of `flags`: log2 of the alignment, and whether what is added is zero. */
enum { LOG_ALIGNMENT = 0x3f, ZERO = 0x40, LEAST_ALIGNMENT = 16 };

PUBLIC void dallocx(void *memory, int flags)
{
    if (region_object(memory) != 0)
        free(memory);
    else
        NEXT(dallocx)(memory, flags);
}

PUBLIC void sdallocx(void *memory, size_t bytes, int flags)
{
    if (region_object(memory) != 0)
        free(memory);
    else
        NEXT(sdallocx)(memory, bytes, flags);
}

static void *move(void *memory, size_t length, size_t bytes, int flags)
{
    size_t alignment = (size_t)1 << (flags & LOG_ALIGNMENT);
    void *other = memalign(alignment < LEAST_ALIGNMENT ? LEAST_ALIGNMENT : alignment, bytes);

    if (other == NULL)
        return NULL;
    memcpy(other, memory, bytes < length ? bytes : length);
    if ((flags & ZERO) != 0 && bytes > length)
        memset((char *)other + length, 0, bytes - length);
    free(memory);
    return other;
}

PUBLIC void *rallocx(void *memory, size_t bytes, int flags)
{
    size_t length = region_object(memory);

    return length != 0 ? move(memory, length, bytes, flags) : NEXT(rallocx)(memory, bytes, flags);
}

PUBLIC size_t xallocx(void *memory, size_t bytes, size_t extra, int flags)
{
    size_t length = region_object(memory);

    return length != 0 ? length : NEXT(xallocx)(memory, bytes, extra, flags);
}

PUBLIC size_t sallocx(const void *memory, int flags)
{
    size_t length = region_object(memory);

    return length != 0 ? length : NEXT(sallocx)(memory, flags);
}
