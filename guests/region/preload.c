/* LD_PRELOAD: serves large allocations of an unchanged program from the primary region, so that segment registers
 * translate them. Where the machine has no region, or another process has it, all is as without the library.
 *
 * What is served: malloc and its like from PAGEWALK_REGION_THRESHOLD bytes on (128 KiB), and anonymous private
 * mappings of as much, those by which an allocator of the program's own gets its memory among them. The region is mapped through the page table
 * as well, so that what escapes the segment is still there. fork.c has the rest. */
#define _GNU_SOURCE
#include "mappings.h"
#include "next.h"
#include "raw.h"
#include "region.h"

#include <errno.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

PUBLIC void *malloc(size_t bytes)
{
    void *memory = region_serve(bytes, 0, REGION_OBJECT);
    const struct next *next;

    if (memory != NULL)
        return memory;
    next = next_allocator();
    return next != NULL ? next->malloc(bytes) : early_take(bytes);
}

PUBLIC void *calloc(size_t count, size_t bytes)
{
    void *memory = NULL;
    const struct next *next;
    size_t total;

    if (__builtin_mul_overflow(count, bytes, &total)) {
        errno = ENOMEM;
        return NULL;
    }
    memory = region_serve(total, 0, REGION_OBJECT_ZEROED);
    if (memory != NULL)
        return memory;
    next = next_allocator();
    return next != NULL ? next->calloc(count, bytes) : early_take(total);
}

PUBLIC void free(void *memory)
{
    size_t length = region_object(memory);
    const struct next *next = next_allocator();

    if (length != 0)
        region_give(memory, length);
    else if (!early_holds(memory) && next != NULL)
        next->free(memory);
}

PUBLIC void *realloc(void *memory, size_t bytes)
{
    size_t length = region_object(memory);
    const struct next *next = next_allocator();
    void *other;

    if (memory == NULL)
        return malloc(bytes);
    /* One that becomes large stays where it is from: only that allocator knows its length. */
    if (length == 0 && !early_holds(memory))
        return next != NULL ? next->realloc(memory, bytes) : NULL;
    if (length == 0)
        length = early_behind(memory);
    else if (bytes != 0 && region_pages(bytes) <= length)
        return memory;
    other = malloc(bytes);
    if (other == NULL)
        return NULL;
    memcpy(other, memory, bytes < length ? bytes : length);
    free(memory);
    return other;
}

PUBLIC void *memalign(size_t alignment, size_t bytes)
{
    void *memory = (alignment & (alignment - 1)) == 0 ? region_serve(bytes, alignment, REGION_OBJECT) : NULL;
    const struct next *next;

    if (memory != NULL)
        return memory;
    next = next_allocator();
    return next != NULL ? next->memalign(alignment, bytes) : NULL;
}

PUBLIC void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

PUBLIC int posix_memalign(void **result, size_t alignment, size_t bytes)
{
    void *memory;

    if (alignment % sizeof(void *) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0)
        return EINVAL;
    memory = memalign(alignment, bytes);
    if (memory == NULL)
        return ENOMEM;
    *result = memory;
    return 0;
}

PUBLIC size_t malloc_usable_size(void *memory)
{
    size_t length = region_object(memory);
    const struct next *next = next_allocator();

    if (length != 0 || memory == NULL || early_holds(memory) || next == NULL)
        return length;
    return next->usable_size(memory);
}

/* The C library's way to return the result of a system call. */
static long returned(long result)
{
    if (!raw_failed(result))
        return result;
    errno = (int)-result;
    return -1;
}

PUBLIC void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    return (void *)returned(mappings_map((uint64_t)at, bytes, protection, flags, file, offset));
}

PUBLIC void *mmap64(void *, size_t, int, int, int, off_t) __attribute__((alias("mmap")));

PUBLIC int munmap(void *memory, size_t bytes)
{
    return (int)returned(mappings_unmap((uint64_t)memory, bytes));
}

PUBLIC void *mremap(void *memory, size_t length, size_t bytes, int flags, ...)
{
    va_list arguments;
    void *at;

    va_start(arguments, flags);
    at = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    return (void *)returned(mappings_move((uint64_t)memory, length, bytes, flags, (uint64_t)at));
}

PUBLIC int madvise(void *memory, size_t bytes, int advice)
{
    return (int)returned(mappings_advise((uint64_t)memory, bytes, advice));
}

__attribute__((constructor)) static void start(void)
{
    const char *least = getenv("PAGEWALK_REGION_THRESHOLD");

    fork_start();
    region_start(least != NULL ? strtoul(least, NULL, 0) : 0);
}
