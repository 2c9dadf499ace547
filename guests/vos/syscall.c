#include "syscall.h"

#include "console.h"
#include "counters.h"
#include "disk.h"
#include "memory.h"
#include "message.h"
#include "sched.h"
#include "section.h"
#include "timer.h"
#include "tlb.h"

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
    ERROR_IO = 5,
    ERROR_BAD_FILE = 9,
    ERROR_NO_MEMORY = 12,
    ERROR_FAULT = 14,
    ERROR_NO_DEVICE = 19,
    ERROR_INVALID = 22,
    ERROR_NO_SYSTEM_CALL = 38,
};

/* Calls of our own, known to guests/workloads/vos.c. */
enum {
    SYSTEM_VOS_START = 0x1000,
    SYSTEM_VOS_SET_FRAMES,
    SYSTEM_VOS_SEGMENT,
    SYSTEM_VOS_RELEASE,
    SYSTEM_VOS_COMMON,
    SYSTEM_VOS_CALL,
    SYSTEM_VOS_RECEIVE,
    SYSTEM_VOS_REPLY,
    SYSTEM_VOS_COUNT,
    SYSTEM_VOS_SECTION,
    SYSTEM_VOS_DISK,
    SYSTEM_VOS_LEAVE_SECTIONS,
    SYSTEM_VOS_ASK_SECTION,
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

static uint64_t error_unless(bool done)
{
    return done ? 0 : error(ERROR_INVALID);
}

static uint64_t address_or_error(uint64_t address)
{
    return address != 0 ? address : error(ERROR_INVALID);
}

static uint64_t start_another(const struct process *process)
{
    struct process *other = process_create(process->options);
    unsigned id = other->id;

    sched_add(other);
    return id;
}

enum { NAME_BYTES = 64 };

/* The name of a1 bytes at a0, with its end; otherwise a0 is an error. */
static bool take_name(struct process *process, uint64_t *a, char name[NAME_BYTES])
{
    if (a[1] >= NAME_BYTES) {
        a[0] = error(ERROR_INVALID);
        return false;
    }
    for (uint64_t i = 0; i < a[1]; i++) {
        const char *byte = space_user_pointer(&process->space, a[0] + i, ACCESS_LOAD);

        if (byte == NULL) {
            a[0] = error(ERROR_FAULT);
            return false;
        }
        name[i] = *byte;
    }
    return true;
}

/* a0: the name, without its end; a1: its length; a2: whether to write; a3: bytes. a1 is then the section's length. */
static void map_section(struct process *process, uint64_t *a)
{
    char name[NAME_BYTES] = {0};
    struct section_request request = {name, a[2] != 0, a[3]};

    if (take_name(process, a, name))
        a[0] = address_or_error(section_map(&process->space, &request, &a[1]));
}

/* a0, a1: the name; a2: enum section_operation; a3: where. a0 is then 0, or what it is refused with. */
static void ask_section(struct process *process, uint64_t *a)
{
    char name[NAME_BYTES] = {0};

    if (a[2] > SECTION_DELETE)
        a[0] = error(ERROR_INVALID);
    else if (take_name(process, a, name))
        a[0] = (uint64_t)section_ask(name, (enum section_operation)a[2], a[3]);
}

/* a0: what to do; a1: the sector; a2: memory within a page; a3: bytes. */
static void use_disk(struct process *process, uint64_t *a)
{
    enum { DISK_SECTORS, DISK_READ, DISK_WRITE };
    bool write = a[0] == DISK_WRITE;
    const char *memory;

    if (disk_sectors() == 0) {
        a[0] = error(ERROR_NO_DEVICE);
        return;
    }
    if (a[0] == DISK_SECTORS) {
        a[0] = disk_sectors();
        return;
    }
    if (a[0] > DISK_WRITE || a[3] > PAGE_BYTES) {
        a[0] = error(ERROR_INVALID);
        return;
    }
    /* The device reads what the process wrote, and writes what the process reads. */
    memory = space_user_pointer(&process->space, a[2], write ? ACCESS_LOAD : ACCESS_STORE);
    if (memory == NULL)
        a[0] = error(ERROR_FAULT);
    else if (!disk_transfer(write, a[1], physical_address(memory), (uint32_t)a[3], error(ERROR_IO)))
        a[0] = error(ERROR_INVALID);
}

/* Another process may be current afterwards. */
static void vos_syscall(struct process *process)
{
    uint64_t *a = &process->frame.x[REGISTER_A0];

    switch (process->frame.x[REGISTER_A7]) {
    case SYSTEM_VOS_START:
        a[0] = start_another(process);
        break;
    case SYSTEM_VOS_SET_FRAMES:
        a[0] = error_unless(segment_set_frames(a[0]));
        break;
    case SYSTEM_VOS_SEGMENT:
        a[0] = address_or_error(space_add_segment(&process->space, a[0]));
        break;
    case SYSTEM_VOS_RELEASE:
        a[0] = error_unless(space_remove_segment(&process->space));
        break;
    case SYSTEM_VOS_COMMON:
        a[0] = address_or_error(space_add_common(&process->space, a[0]));
        break;
    case SYSTEM_VOS_CALL:
        message_call(a);
        break;
    case SYSTEM_VOS_RECEIVE:
        if (!message_receive())
            a[0] = error(ERROR_INVALID);
        break;
    case SYSTEM_VOS_REPLY:
        a[0] = error_unless(message_reply((unsigned)a[0], a[1], a[2]));
        break;
    case SYSTEM_VOS_COUNT:
        a[0] = a[0] < COUNTERS ? counter_read((enum counter)a[0]) : error(ERROR_INVALID);
        break;
    case SYSTEM_VOS_SECTION:
        map_section(process, a);
        break;
    case SYSTEM_VOS_DISK:
        use_disk(process, a);
        break;
    case SYSTEM_VOS_LEAVE_SECTIONS:
        section_leave(&process->space);
        tlb_flush_asid(process->space.asid);
        a[0] = 0;
        break;
    case SYSTEM_VOS_ASK_SECTION:
        ask_section(process, a);
        break;
    default:
        a[0] = error(ERROR_NO_SYSTEM_CALL);
        break;
    }
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
        vos_syscall(process);
        break;
    }
}
