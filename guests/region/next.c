#define _GNU_SOURCE
#include "next.h"

#include <dlfcn.h>
#include <stdint.h>

static _Alignas(16) char early[4096];
static size_t early_bytes;

void *early_take(size_t bytes)
{
    void *memory = early + early_bytes;

    if (bytes > sizeof(early))
        return NULL;
    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes > sizeof(early) - early_bytes)
        return NULL;
    early_bytes += bytes;
    return memory;
}

bool early_holds(const void *memory)
{
    return (const char *)memory >= early && (const char *)memory < early + sizeof(early);
}

size_t early_behind(const void *memory)
{
    return (size_t)(early + sizeof(early) - (const char *)memory);
}

const struct next *next_allocator(void)
{
    static struct next next;
    static bool known;
    static bool looking;

    if (__atomic_load_n(&known, __ATOMIC_ACQUIRE))
        return &next;
    if (looking)
        return NULL;
    /* The first allocation, and so before there is a second thread. */
    looking = true;
    next.malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    next.calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    next.realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    next.memalign = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "memalign");
    next.free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    next.usable_size = (size_t(*)(void *))dlsym(RTLD_NEXT, "malloc_usable_size");
    looking = false;
    __atomic_store_n(&known, true, __ATOMIC_RELEASE);
    return &next;
}
