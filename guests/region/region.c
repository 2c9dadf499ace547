/* The region: how this process comes to it, and which part of it is whose. */
#define _GNU_SOURCE
#include "region.h"

#include "registers.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DEFAULT_THRESHOLD = 128 << 10 };

struct extents region_extents;
bool region_is_the_machines;
static size_t threshold = DEFAULT_THRESHOLD;
/* Whether memory that was never handed out may hold another process's bytes. */
static bool used_before;
/* A word: the processor exchanges no bytes. */
static uint32_t lock_taken;

void region_lock(void)
{
    while (__atomic_exchange_n(&lock_taken, 1, __ATOMIC_ACQUIRE))
        sched_yield();
}

void region_unlock(void)
{
    __atomic_store_n(&lock_taken, 0, __ATOMIC_RELEASE);
}

void *raw_map(void *at, size_t bytes, int protection, int flags, int file, int64_t offset)
{
    return (void *)syscall(SYS_mmap, at, bytes, protection, flags, file, offset);
}

void region_say(const char *text, uint64_t number)
{
    char line[128];
    int length = snprintf(line, sizeof(line), "pagewalk-region: %s%lu\n", text, (unsigned long)number);

    if (write(STDERR_FILENO, line, (size_t)length) < 0)
        return;
}

static bool read_node(uint8_t *reg)
{
    int file = open(REGION_NODE, O_RDONLY | O_CLOEXEC);
    bool whole = file >= 0 && read(file, reg, REGION_REG_BYTES) == REGION_REG_BYTES;

    if (file >= 0)
        close(file);
    return whole;
}

static bool claim(volatile struct region_registers *registers, void *memory, uint64_t bytes)
{
    uint64_t status;

    /* Whatever way a child is made, it has no part in the region but by fork.c. */
    if (syscall(SYS_madvise, memory, bytes, MADV_DONTFORK) != 0 ||
        syscall(SYS_madvise, registers, REGION_PAGE_BYTES, MADV_DONTFORK) != 0) {
        region_say("the region cannot be kept from children, error ", (uint64_t)errno);
        return false;
    }
    status = region_set(registers, (uint64_t)memory, bytes);
    if (status != REGION_SET) {
        region_say("the segment is refused, status ", status);
        return false;
    }
    used_before = registers->owners > 1;
    region_extents.begin = region_extents.fresh = (uint64_t)memory;
    region_extents.end = region_extents.begin + bytes;
    region_is_the_machines = true;
    return true;
}

__attribute__((constructor)) static void start(void)
{
    uint8_t reg[REGION_REG_BYTES];
    const char *text = getenv("PAGEWALK_REGION_THRESHOLD");
    volatile struct region_registers *registers;
    uint64_t bytes;
    void *memory;
    int file;

    fork_start();
    if (text != NULL && strtoul(text, NULL, 0) != 0)
        threshold = strtoul(text, NULL, 0);
    if (!read_node(reg))
        return;
    file = open(REGION_DEVICE, O_RDWR | O_SYNC | O_CLOEXEC);
    if (file < 0) {
        region_say("no " REGION_DEVICE ", error ", (uint64_t)errno);
        return;
    }
    registers = raw_map(NULL, REGION_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                        (int64_t)region_reg(reg, 0));
    bytes = registers != MAP_FAILED && registers->magic == REGION_MAGIC ? registers->bytes : 0;
    memory = bytes != 0 ? raw_map(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                                  (int64_t)registers->start)
                        : MAP_FAILED;
    if (memory == MAP_FAILED)
        region_say("the region cannot be mapped, error ", (uint64_t)errno);
    else if (!claim(registers, memory, bytes))
        syscall(SYS_munmap, memory, bytes);
    close(file);
}

void *region_serve(size_t bytes, size_t alignment, enum region_use use)
{
    struct extents *extents = &region_extents;
    uint64_t whole = region_pages(bytes);
    uint64_t memory;
    uint64_t dirty;

    if (extents->begin == extents->end || bytes < threshold || whole < bytes)
        return NULL;
    region_lock();
    memory = extents_take(extents, whole, alignment > REGION_PAGE_BYTES ? alignment : REGION_PAGE_BYTES,
                          use != REGION_MAPPING);
    dirty = used_before || memory == 0 ? whole : extents->fresh > memory ? extents->fresh - memory : 0;
    if (memory != 0 && memory + whole > extents->fresh)
        extents->fresh = memory + whole;
    region_unlock();
    if (memory != 0 && use != REGION_OBJECT)
        memset((void *)memory, 0, dirty < whole ? dirty : whole);
    return (void *)memory;
}

size_t region_object(const void *memory)
{
    struct extent *extent;
    size_t length;

    /* Ours begin with a page, and those of an allocator in a mapping of ours seldom do. */
    if (!region_holds(memory) || (uint64_t)memory % REGION_PAGE_BYTES != 0)
        return 0;
    region_lock();
    extent = extents_at(&region_extents, (uint64_t)memory);
    length = extent != NULL && extent->object ? extent->end - extent->begin : 0;
    region_unlock();
    return length;
}

void region_give(void *memory, size_t bytes)
{
    region_lock();
    extents_give(&region_extents, (uint64_t)memory, (uint64_t)memory + region_pages(bytes));
    region_unlock();
}

bool region_grow(void *memory, size_t length, size_t bytes)
{
    struct extents *extents = &region_extents;
    uint64_t end = (uint64_t)memory + region_pages(bytes);
    struct extent *extent;
    bool fits;

    region_lock();
    extent = extents_at(extents, (uint64_t)memory);
    fits = extent != NULL && extents_grow(extents, extent, end);
    if (fits && end > extents->fresh)
        extents->fresh = end;
    region_unlock();
    if (fits && bytes > length)
        memset((char *)memory + length, 0, bytes - length);
    return fits;
}
