/* The system calls of shell/abi.h. */
#include "../common/bytes.h"
#include "../vos/frames.h"
#include "../vos/hart.h"
#include "../vos/image.h"
#include "../vos/memory.h"
#include "../vos/platform.h"
#include "../vos/process.h"
#include "../vos/tlb.h"
#include "children.h"
#include "events.h"
#include "keyboard.h"
#include "tables.h"
#include "wrapped.h"

enum { ERROR_NO_MEMORY = 12, ERROR_FAULT = 14, ERROR_INVALID = 22 };

static uint64_t error(int number)
{
    return -(uint64_t)number;
}

static uint64_t copy_out(struct process *process, uint64_t to, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        char *byte = space_user_pointer(&process->space, to + i, ACCESS_STORE);

        if (byte == NULL)
            return error(ERROR_FAULT);
        *byte = ((const char *)from)[i];
    }
    return 0;
}

static uint64_t start(struct process *process, const uint64_t *a)
{
    char line[SHELL_LINE_BYTES] = {0};
    uint64_t id;

    if (a[1] >= sizeof(line) || a[2] > SHELL_SAME_PAGES)
        return error(ERROR_INVALID);
    for (uint64_t i = 0; i < a[1]; i++) {
        const char *byte = space_user_pointer(&process->space, a[0] + i, ACCESS_LOAD);

        if (byte == NULL)
            return error(ERROR_FAULT);
        line[i] = *byte;
    }
    id = children_start(process, line,
                        a[2] == SHELL_SAME_PAGES ? process->options->page : (enum page_size)a[2]);
    return id != 0 ? id : error(ERROR_NO_MEMORY);
}

static uint64_t describe_process(struct process *process, const uint64_t *a)
{
    struct shell_process child;

    if (a[0] >= SHELL_PROCESSES)
        return error(ERROR_INVALID);
    children_describe((unsigned)a[0], &child);
    return copy_out(process, a[1], &child, sizeof(child));
}

static uint64_t describe_memory(struct process *process, uint64_t to)
{
    struct shell_memory memory = {
        .begin = platform.memory.begin,
        .end = platform.memory.end,
        .free_bytes = frames_free_bytes(),
        .image_bytes = (uint64_t)(image_end - image_begin),
        .areas = process->space.area_count,
        .table_bytes = tables_bytes(&process->space),
    };

    return copy_out(process, to, &memory, sizeof(memory));
}

static uint64_t describe_area(struct process *process, const uint64_t *a)
{
    const struct area *area;
    struct shell_area described;

    if (a[0] >= process->space.area_count)
        return error(ERROR_INVALID);
    area = &process->space.areas[a[0]];
    described = (struct shell_area){
        .begin = area->begin,
        .end = area->end,
        .permissions = area->permissions,
        .page_bytes = page_bytes(area->page_size),
        .resident_bytes = tables_resident_of(&process->space, area),
    };
    return copy_out(process, a[1], &described, sizeof(described));
}

static uint64_t describe_tlb(struct process *process, uint64_t to)
{
    struct shell_tlb tlb = {
        .asid = process->space.asid,
        .last_asid = tlb_last_asid(),
        .harts = hart_count(),
        .hart = hart_this()->id,
    };

    tlb.has_events = events_read(tlb.events);
    return copy_out(process, to, &tlb, sizeof(tlb));
}

static uint64_t step(struct process *process, const uint64_t *a)
{
    struct shell_step found;

    if (!tables_step(&process->space, a[0], (unsigned)a[2], &found))
        return error(ERROR_INVALID);
    return copy_out(process, a[1], &found, sizeof(found));
}

void __wrap_syscall(struct process *process)
{
    uint64_t *a = &process->frame.x[REGISTER_A0];

    if (process->id != SHELL_PROCESS_ID) {
        __real_syscall(process);
        return;
    }
    switch (process->frame.x[REGISTER_A7]) {
    case SHELL_READ:
        keyboard_read(process);
        break;
    case SHELL_START:
        a[0] = start(process, a);
        break;
    case SHELL_WAIT:
        children_wait(process, a[0]);
        break;
    case SHELL_KILL:
        a[0] = children_kill(a[0]) ? 0 : error(ERROR_INVALID);
        break;
    case SHELL_PROCESS:
        a[0] = describe_process(process, a);
        break;
    case SHELL_MEMORY:
        a[0] = describe_memory(process, a[0]);
        break;
    case SHELL_AREA:
        a[0] = describe_area(process, a);
        break;
    case SHELL_TLB:
        a[0] = describe_tlb(process, a[0]);
        break;
    case SHELL_STEP:
        a[0] = step(process, a);
        break;
    default:
        __real_syscall(process);
        break;
    }
}
