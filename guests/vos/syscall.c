#include "syscall.h"

#include "console.h"
#include "memory.h"
#include "sched.h"
#include "timer.h"

enum {
    SYSTEM_WRITE = 64,
    SYSTEM_EXIT = 93,
    SYSTEM_EXIT_GROUP = 94,
    SYSTEM_CLOCK_GETTIME = 113,
    SYSTEM_SCHED_YIELD = 124,
    SYSTEM_GETPID = 172,
    SYSTEM_MMAP = 222,
};

enum {
    ERROR_BAD_FILE = 9,
    ERROR_NO_MEMORY = 12,
    ERROR_FAULT = 14,
    ERROR_INVALID = 22,
    ERROR_NO_SYSTEM_CALL = 38,
};

enum { MAP_ANONYMOUS = 0x20, MAP_FIXED = 0x10 };

static uint64_t error(int number)
{
    return -(uint64_t)number;
}

static uint64_t write(struct process *process, uint64_t file, uint64_t from, uint64_t length)
{
    uint64_t done = 0;

    if (file != 1 && file != 2)
        return error(ERROR_BAD_FILE);
    while (done < length) {
        uint64_t at = from + done;
        uint64_t chunk = PAGE_BYTES - at % PAGE_BYTES;
        const char *bytes = space_user_pointer(&process->space, at, ACCESS_LOAD);

        if (bytes == NULL)
            return done != 0 ? done : error(ERROR_FAULT);
        if (chunk > length - done)
            chunk = length - done;
        console_write(bytes, chunk);
        done += chunk;
    }
    return done;
}

/* Only anonymous memory, always at the end of the heap. */
static uint64_t map(struct process *process, uint64_t bytes, uint64_t flags)
{
    uint64_t address;

    if ((flags & MAP_ANONYMOUS) == 0 || (flags & MAP_FIXED) != 0 || bytes == 0)
        return error(ERROR_INVALID);
    address = space_grow_heap(&process->space, bytes);
    return address != 0 ? address : error(ERROR_NO_MEMORY);
}

/* Any clock: time since the machine started. */
static uint64_t clock_gettime(struct process *process, uint64_t to)
{
    const uint64_t second = 1000000000;
    uint64_t now = timer_nanoseconds();
    uint64_t result[2] = {now / second, now % second};

    for (unsigned i = 0; i < 2; i++) {
        uint64_t at = to + i * sizeof(uint64_t);
        uint64_t *pointer;

        if (at % sizeof(uint64_t) != 0)
            return error(ERROR_FAULT);
        pointer = space_user_pointer(&process->space, at, ACCESS_STORE);
        if (pointer == NULL)
            return error(ERROR_FAULT);
        *pointer = result[i];
    }
    return 0;
}

void syscall(struct process *process)
{
    uint64_t *a = &process->frame.x[REGISTER_A0];

    switch (process->frame.x[REGISTER_A7]) {
    case SYSTEM_WRITE:
        a[0] = write(process, a[0], a[1], a[2]);
        break;
    case SYSTEM_EXIT:
    case SYSTEM_EXIT_GROUP:
        sched_exit((unsigned)a[0] & 0xff);
        break;
    case SYSTEM_CLOCK_GETTIME:
        a[0] = clock_gettime(process, a[1]);
        break;
    case SYSTEM_SCHED_YIELD:
        a[0] = 0;
        sched_yield();
        break;
    case SYSTEM_GETPID:
        a[0] = process->id;
        break;
    case SYSTEM_MMAP:
        a[0] = map(process, a[1], a[3]);
        break;
    default:
        a[0] = error(ERROR_NO_SYSTEM_CALL);
        break;
    }
}
