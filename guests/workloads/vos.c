#include "vos.h"

#include "../common/bytes.h"

#include <stddef.h>

enum {
    SYSTEM_GETPID = 172,
    SYSTEM_START = 0x1000,
    SYSTEM_SET_FRAMES,
    SYSTEM_SEGMENT,
    SYSTEM_RELEASE,
    SYSTEM_COMMON,
    SYSTEM_CALL,
    SYSTEM_RECEIVE,
    SYSTEM_REPLY,
    SYSTEM_COUNT,
    SYSTEM_SECTION,
    SYSTEM_DISK,
    SYSTEM_LEAVE_SECTIONS,
    SYSTEM_ASK_SECTION,
};

struct registers {
    uint64_t a0;
    uint64_t a1;
    uint64_t a2;
    uint64_t a3;
};

static struct registers call(uint64_t number, struct registers arguments)
{
    register uint64_t a7 __asm__("a7") = number;
    register uint64_t a0 __asm__("a0") = arguments.a0;
    register uint64_t a1 __asm__("a1") = arguments.a1;
    register uint64_t a2 __asm__("a2") = arguments.a2;
    register uint64_t a3 __asm__("a3") = arguments.a3;

    __asm__ volatile("ecall" : "+r"(a0), "+r"(a1), "+r"(a2), "+r"(a3) : "r"(a7) : "memory");
    return (struct registers){a0, a1, a2, a3};
}

/* Results from -4095 up are errors. */
static bool failed(uint64_t result)
{
    return result >= -(uint64_t)4095;
}

static void *pointer(uint64_t result)
{
    return failed(result) ? NULL : (void *)result;
}

bool vos_is_there(void)
{
    return !failed(vos_count(VOS_SWITCHES));
}

uint64_t vos_process(void)
{
    return call(SYSTEM_GETPID, (struct registers){0}).a0;
}

uint64_t vos_start(void)
{
    return call(SYSTEM_START, (struct registers){0}).a0;
}

bool vos_set_frames(uint64_t frames)
{
    return !failed(call(SYSTEM_SET_FRAMES, (struct registers){.a0 = frames}).a0);
}

void *vos_segment(uint64_t bytes)
{
    return pointer(call(SYSTEM_SEGMENT, (struct registers){.a0 = bytes}).a0);
}

bool vos_release(void)
{
    return !failed(call(SYSTEM_RELEASE, (struct registers){0}).a0);
}

void *vos_common(uint64_t bytes)
{
    return pointer(call(SYSTEM_COMMON, (struct registers){.a0 = bytes}).a0);
}

struct vos_answer vos_call(const uint64_t words[3])
{
    struct registers result =
        call(SYSTEM_CALL, (struct registers){words[0], words[1], words[2], 0});

    return (struct vos_answer){{result.a0, result.a1}};
}

bool vos_receive(struct vos_message *message)
{
    struct registers result = call(SYSTEM_RECEIVE, (struct registers){0});

    *message = (struct vos_message){result.a0, {result.a1, result.a2, result.a3}};
    return !failed(result.a0);
}

bool vos_reply(uint64_t caller, struct vos_answer answer)
{
    return !failed(
        call(SYSTEM_REPLY, (struct registers){caller, answer.words[0], answer.words[1], 0}).a0);
}

uint64_t vos_count(enum vos_counter counter)
{
    return call(SYSTEM_COUNT, (struct registers){.a0 = counter}).a0;
}

void *vos_section(const char *name, bool write, uint64_t *bytes)
{
    struct registers result = call(
        SYSTEM_SECTION, (struct registers){(uint64_t)name, string_length(name), write, *bytes});

    if (failed(result.a0))
        return NULL;
    *bytes = result.a1;
    return (void *)result.a0;
}

enum disk_call { DISK_SECTORS, DISK_READ, DISK_WRITE };

static uint64_t disk(enum disk_call what, uint64_t sector, const void *memory, uint64_t bytes)
{
    return call(SYSTEM_DISK, (struct registers){what, sector, (uint64_t)memory, bytes}).a0;
}

uint64_t vos_disk_sectors(void)
{
    uint64_t sectors = disk(DISK_SECTORS, 0, NULL, 0);

    return failed(sectors) ? 0 : sectors;
}

bool vos_disk_read(uint64_t sector, void *memory, uint64_t bytes)
{
    return !failed(disk(DISK_READ, sector, memory, bytes));
}

bool vos_disk_write(uint64_t sector, const void *memory, uint64_t bytes)
{
    return !failed(disk(DISK_WRITE, sector, memory, bytes));
}

void vos_leave_sections(void)
{
    call(SYSTEM_LEAVE_SECTIONS, (struct registers){0});
}

int64_t vos_ask_section(const char *name, enum vos_section_request request, uint64_t at)
{
    return (int64_t)call(SYSTEM_ASK_SECTION,
                         (struct registers){(uint64_t)name, string_length(name), request, at})
        .a0;
}
