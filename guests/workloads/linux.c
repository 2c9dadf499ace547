#include "linux.h"

enum {
    SYSTEM_OPENAT = 56,
    SYSTEM_CLOSE = 57,
    SYSTEM_READ = 63,
    SYSTEM_WRITE = 64,
    SYSTEM_EXIT_GROUP = 94,
    SYSTEM_CLOCK_GETTIME = 113,
    SYSTEM_MMAP = 222,
    SYSTEM_MADVISE = 233,
};

enum { STANDARD_OUTPUT = 1 };
enum { CLOCK_MONOTONIC = 1 };
enum { PROT_READ_WRITE = 3 };
enum { MAP_PRIVATE_ANONYMOUS = 0x22 };

/* Results from here up are negated error numbers. */
static const uint64_t FIRST_ERROR = -(uint64_t)4095;

static uint64_t call(uint64_t number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
                     uint64_t f)
{
    register uint64_t a7 __asm__("a7") = number;
    register uint64_t a0 __asm__("a0") = a;
    register uint64_t a1 __asm__("a1") = b;
    register uint64_t a2 __asm__("a2") = c;
    register uint64_t a3 __asm__("a3") = d;
    register uint64_t a4 __asm__("a4") = e;
    register uint64_t a5 __asm__("a5") = f;

    __asm__ volatile("ecall"
                     : "+r"(a0)
                     : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5), "r"(a7)
                     : "memory");
    return a0;
}

void linux_exit(int status)
{
    for (;;)
        call(SYSTEM_EXIT_GROUP, (uint64_t)status, 0, 0, 0, 0, 0);
}

void linux_write(const void *bytes, size_t length)
{
    const char *from = bytes;

    while (length > 0) {
        uint64_t written = call(SYSTEM_WRITE, STANDARD_OUTPUT, (uint64_t)from, length, 0, 0, 0);

        if (written == 0 || written >= FIRST_ERROR)
            return;
        from += written;
        length -= written;
    }
}

void *linux_map(size_t bytes, enum linux_map_flags flags)
{
    uint64_t address = call(SYSTEM_MMAP, 0, bytes, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS | flags,
                            (uint64_t)-1, 0);

    return address >= FIRST_ERROR ? NULL : (void *)address;
}

static int open_with(const char *path, uint64_t flags)
{
    enum { CURRENT_DIRECTORY = -100 };
    uint64_t file = call(SYSTEM_OPENAT, (uint64_t)CURRENT_DIRECTORY, (uint64_t)path, flags, 0, 0, 0);

    return file >= FIRST_ERROR ? -1 : (int)file;
}

bool linux_read_file(const char *path, void *to, size_t bytes)
{
    int file = open_with(path, 0);
    bool whole;

    if (file < 0)
        return false;
    whole = call(SYSTEM_READ, (uint64_t)file, (uint64_t)to, bytes, 0, 0, 0) == bytes;
    call(SYSTEM_CLOSE, (uint64_t)file, 0, 0, 0, 0, 0);
    return whole;
}

int linux_open(const char *path)
{
    enum { READ_WRITE = 2, SYNCHRONOUS = 0x101000 };

    return open_with(path, READ_WRITE | SYNCHRONOUS);
}

void *linux_map_file(int file, uint64_t offset, size_t bytes)
{
    enum { MAP_SHARED = 1 };
    uint64_t address =
        call(SYSTEM_MMAP, 0, bytes, PROT_READ_WRITE, MAP_SHARED, (uint64_t)file, offset);

    return address >= FIRST_ERROR ? NULL : (void *)address;
}

bool linux_advise(void *memory, size_t bytes, enum linux_advice advice)
{
    return call(SYSTEM_MADVISE, (uint64_t)memory, bytes, advice, 0, 0, 0) == 0;
}

uint64_t linux_nanoseconds(void)
{
    struct {
        int64_t seconds;
        int64_t nanoseconds;
    } now = {0, 0};

    call(SYSTEM_CLOCK_GETTIME, CLOCK_MONOTONIC, (uint64_t)&now, 0, 0, 0, 0);
    return (uint64_t)now.seconds * 1000000000 + (uint64_t)now.nanoseconds;
}
