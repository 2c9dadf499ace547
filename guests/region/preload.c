/* LD_PRELOAD: serves large allocations of an unchanged program from the primary region, so that segment registers
 * translate them. Where the machine has no region, or another process has it, all is as without the library.
 *
 * What is served: malloc and its like from PAGEWALK_REGION_THRESHOLD bytes on (128 KiB), and anonymous private
 * mappings of as much. The region is mapped through the page table as well, so that what escapes the segment is there
 * all the same. The child of a fork would share it rather than have a copy: a process that has a region cannot fork
 * (EAGAIN); it can start programs with posix_spawn and vfork. */
#define _GNU_SOURCE
#include "extents.h"
#include "registers.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DEFAULT_THRESHOLD = 128 << 10 };

static struct extents extents;
static size_t threshold = DEFAULT_THRESHOLD;
/* Whether the process has the region. */
static bool active;
/* Whether memory that was never handed out may hold another process's bytes. */
static bool used_before;
/* A word: the processor exchanges no bytes. */
static uint32_t lock_taken;

static void lock(void)
{
    while (__atomic_exchange_n(&lock_taken, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void unlock(void)
{
    __atomic_store_n(&lock_taken, 0, __ATOMIC_RELEASE);
}

/* Whoever would serve the program without this library: the C library, or an allocator of the program's such as jemalloc. All
 * of it or nothing, as none of them knows the memory of another. */
static struct {
    void *(*malloc)(size_t bytes);
    void *(*calloc)(size_t count, size_t bytes);
    void *(*realloc)(void *memory, size_t bytes);
    void *(*memalign)(size_t alignment, size_t bytes);
    void (*free)(void *memory);
    size_t (*usable_size)(void *memory);
} next;

/* What dlsym itself asks for while it looks for them; it is not given back. */
static _Alignas(16) char early[4096];
static size_t early_bytes;
static bool looking;

static void *take_early(size_t bytes)
{
    void *memory = early + early_bytes;

    bytes = (bytes + 15) & ~(size_t)15;
    if (bytes > sizeof early - early_bytes)
        return NULL;
    early_bytes += bytes;
    return memory;
}

static bool is_early(const void *memory)
{
    return (const char *)memory >= early && (const char *)memory < early + sizeof early;
}

/* Whether the next allocator is known: not while it is looked for. */
static bool next_is_known(void)
{
    if (__atomic_load_n(&next.usable_size, __ATOMIC_ACQUIRE) != NULL)
        return true;
    if (looking)
        return false;
    /* The first allocation, and so before there is a second thread. */
    looking = true;
    next.malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    next.calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
    next.realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
    next.memalign = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "memalign");
    next.free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    __atomic_store_n(&next.usable_size, (size_t(*)(void *))dlsym(RTLD_NEXT, "malloc_usable_size"), __ATOMIC_RELEASE);
    looking = false;
    return true;
}

static void *raw_map(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    return (void *)syscall(SYS_mmap, at, bytes, protection, flags, file, offset);
}

static bool read_node(uint8_t *reg)
{
    int file = open(REGION_NODE, O_RDONLY | O_CLOEXEC);
    bool whole = file >= 0 && read(file, reg, REGION_REG_BYTES) == REGION_REG_BYTES;

    if (file >= 0)
        close(file);
    return whole;
}

static void say(const char *text, uint64_t number)
{
    char line[128];
    int length = snprintf(line, sizeof(line), "pagewalk-region: %s%lu\n", text, (unsigned long)number);

    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        return;
}

static void claim(volatile struct region_registers *registers, void *memory, uint64_t bytes)
{
    uint64_t status = region_set(registers, (uint64_t)memory, bytes);

    if (status != REGION_SET) {
        say("the segment is refused, status ", status);
        return;
    }
    used_before = registers->owners > 1;
    extents.begin = extents.fresh = (uint64_t)memory;
    extents.end = extents.begin + bytes;
    active = true;
}

__attribute__((constructor)) static void start(void)
{
    uint8_t reg[REGION_REG_BYTES];
    const char *text = getenv("PAGEWALK_REGION_THRESHOLD");
    volatile struct region_registers *registers;
    uint64_t bytes;
    void *memory;
    int file;

    if (text != NULL && strtoul(text, NULL, 0) != 0)
        threshold = strtoul(text, NULL, 0);
    if (!read_node(reg))
        return;
    file = open(REGION_DEVICE, O_RDWR | O_SYNC | O_CLOEXEC);
    if (file < 0) {
        say("no " REGION_DEVICE ", error ", (uint64_t)errno);
        return;
    }
    registers = raw_map(NULL, REGION_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                        (off_t)region_reg(reg, 0));
    bytes = registers != MAP_FAILED && registers->magic == REGION_MAGIC ? registers->bytes : 0;
    memory = bytes != 0 ? raw_map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                                  (off_t)registers->start)
                        : MAP_FAILED;
    if (memory != MAP_FAILED)
        claim(registers, memory, bytes);
    else
        say("the region cannot be mapped, error ", (uint64_t)errno);
    close(file);
}

static uint64_t pages(uint64_t bytes)
{
    return (bytes + REGION_PAGE_BYTES - 1) & ~(uint64_t)(REGION_PAGE_BYTES - 1);
}

static bool is_ours(const void *memory)
{
    return (uint64_t)memory >= extents.begin && (uint64_t)memory < extents.end;
}

/* NULL when the region has no room, or the allocation is a small one. */
static void *take(size_t bytes, size_t alignment, bool zeroed)
{
    uint64_t whole = pages(bytes);
    uint64_t memory;
    uint64_t dirty;

    if (!active || bytes < threshold || whole < bytes)
        return NULL;
    lock();
    memory = extents_take(&extents, whole, alignment > REGION_PAGE_BYTES ? alignment : REGION_PAGE_BYTES);
    dirty = used_before || memory == 0 ? whole : extents.fresh > memory ? extents.fresh - memory : 0;
    if (memory != 0 && memory + whole > extents.fresh)
        extents.fresh = memory + whole;
    unlock();
    if (memory != 0 && zeroed)
        memset((void *)memory, 0, dirty < whole ? dirty : whole);
    return (void *)memory;
}

static size_t length_of(const void *memory)
{
    struct extent *extent;
    size_t length;

    lock();
    extent = extents_at(&extents, (uint64_t)memory);
    length = extent != NULL ? extent->end - extent->begin : 0;
    unlock();
    return length;
}

static void give(void *memory, size_t bytes)
{
    lock();
    extents_give(&extents, (uint64_t)memory, (uint64_t)memory + pages(bytes));
    unlock();
}

void *malloc(size_t bytes)
{
    void *memory = take(bytes, 0, false);

    if (memory != NULL)
        return memory;
    return next_is_known() ? next.malloc(bytes) : take_early(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    size_t total;
    void *memory = NULL;

    if (!__builtin_mul_overflow(count, bytes, &total))
        memory = take(total, 0, true);
    if (memory != NULL)
        return memory;
    return next_is_known() ? next.calloc(count, bytes) : take_early(count * bytes);
}

void free(void *memory)
{
    if (is_early(memory))
        return;
    if (!is_ours(memory)) {
        if (next_is_known())
            next.free(memory);
        return;
    }
    give(memory, length_of(memory));
}

void *realloc(void *memory, size_t bytes)
{
    void *other;
    size_t length;

    if (memory == NULL)
        return malloc(bytes);
    if (!is_ours(memory) && !is_early(memory)) {
        /* One that becomes large stays where it is from: only that allocator knows its length. */
        return next_is_known() ? next.realloc(memory, bytes) : NULL;
    }
    if (is_early(memory)) {
        length = (size_t)(early + sizeof early - (char *)memory);
        other = malloc(bytes);
        if (other != NULL)
            memcpy(other, memory, bytes < length ? bytes : length);
        return other;
    }
    length = length_of(memory);
    if (bytes != 0 && pages(bytes) <= length)
        return memory;
    other = malloc(bytes);
    if (other == NULL)
        return NULL;
    memcpy(other, memory, bytes < length ? bytes : length);
    give(memory, length);
    return other;
}

void *memalign(size_t alignment, size_t bytes)
{
    void *memory = (alignment & (alignment - 1)) == 0 ? take(bytes, alignment, false) : NULL;

    if (memory != NULL)
        return memory;
    return next_is_known() ? next.memalign(alignment, bytes) : NULL;
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return memalign(alignment, bytes);
}

int posix_memalign(void **result, size_t alignment, size_t bytes)
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

size_t malloc_usable_size(void *memory)
{
    if (memory == NULL || is_early(memory) || !next_is_known())
        return 0;
    return is_ours(memory) ? length_of(memory) : next.usable_size(memory);
}

void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
    const int kind = MAP_PRIVATE | MAP_ANONYMOUS | MAP_SHARED | MAP_FIXED | MAP_FIXED_NOREPLACE | MAP_HUGETLB |
                     MAP_STACK | MAP_GROWSDOWN;
    const int plain = PROT_READ | PROT_WRITE;
    void *memory = NULL;

    if (at == NULL && (flags & kind) == (MAP_PRIVATE | MAP_ANONYMOUS) && protection == plain)
        memory = take(bytes, 0, true);
    return memory != NULL ? memory : raw_map(at, bytes, protection, flags, file, offset);
}

void *mmap64(void *, size_t, int, int, int, off_t) __attribute__((alias("mmap")));

int munmap(void *memory, size_t bytes)
{
    if (!is_ours(memory))
        return (int)syscall(SYS_munmap, memory, bytes);
    give(memory, bytes);
    return 0;
}

void *mremap(void *memory, size_t length, size_t bytes, int flags, ...)
{
    va_list arguments;
    struct extent *extent;
    bool fits;
    void *at;
    void *other;

    va_start(arguments, flags);
    at = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    if (!is_ours(memory))
        return (void *)syscall(SYS_mremap, memory, length, bytes, flags, at);
    lock();
    extent = extents_at(&extents, (uint64_t)memory);
    fits = extent != NULL && extents_grow(&extents, extent, (uint64_t)memory + pages(bytes));
    unlock();
    if (fits) {
        if (bytes > length)
            memset((char *)memory + length, 0, bytes - length);
        return memory;
    }
    other = (flags & MREMAP_MAYMOVE) != 0 && (flags & MREMAP_FIXED) == 0
                ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                : MAP_FAILED;
    if (other == MAP_FAILED) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    memcpy(other, memory, length < bytes ? length : bytes);
    give(memory, length);
    return other;
}

int madvise(void *memory, size_t bytes, int advice)
{
    if (!is_ours(memory))
        return (int)syscall(SYS_madvise, memory, bytes, advice);
    /* The one piece of advice that changes what a program reads. */
    if (advice == MADV_DONTNEED)
        memset(memory, 0, bytes);
    return 0;
}

pid_t fork(void)
{
    static pid_t (*libc_fork)(void);

    if (active) {
        errno = EAGAIN;
        return -1;
    }
    if (libc_fork == NULL)
        libc_fork = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");
    return libc_fork();
}
