#include "hart.h"

#include "frames.h"
#include "hart_offsets.h"
#include "layout.h"
#include "memory.h"
#include "panic.h"
#include "platform.h"

#include <stddef.h>

_Static_assert(offsetof(struct hart, current) == HART_CURRENT, "hart_offsets.h");
_Static_assert(offsetof(struct hart, stack) == HART_STACK, "hart_offsets.h");
_Static_assert(offsetof(struct hart, scratch) == HART_SCRATCH, "hart_offsets.h");
_Static_assert(offsetof(struct hart, id) == HART_ID, "hart_offsets.h");
_Static_assert(sizeof(struct hart) == HART_BYTES, "hart_offsets.h");

enum { HART_IDS = 64, STACK_ORDER = 2 };
_Static_assert(KERNEL_STACK_BYTES == PAGE_BYTES << STACK_ORDER, "stack order");

extern char boot_stack_end[];

/* boot.S looks here for a hart that enters late. */
struct hart harts[PLATFORM_HARTS];
static unsigned count;

static struct hart *add(uint64_t id)
{
    struct hart *hart = &harts[count];

    if (id >= HART_IDS)
        panic("hart %lu: ids beyond %d do not fit a hart mask", id, HART_IDS - 1);
    hart->id = id;
    count++;
    return hart;
}

void hart_start_first(uint64_t id)
{
    struct hart *hart = add(id);

    hart->stack = (uint64_t)boot_stack_end;
    hart->running = true;
    __asm__ volatile("mv tp, %0" ::"r"(hart));
}

struct hart *hart_new(uint64_t id)
{
    struct hart *hart = add(id);
    uint64_t stack = frames_take(STACK_ORDER);

    if (stack == FRAME_NONE)
        panic("out of memory for the stack of hart %lu", id);
    hart->stack = (uint64_t)linear(stack) + KERNEL_STACK_BYTES;
    return hart;
}

uint64_t hart_running_mask(void)
{
    uint64_t mask = 0;

    for (unsigned i = 0; i < count; i++)
        if (__atomic_load_n(&harts[i].running, __ATOMIC_ACQUIRE))
            mask |= hart_mask_of(&harts[i]);
    return mask;
}

unsigned hart_count(void)
{
    return count;
}

struct hart *hart_by_number(unsigned number)
{
    return &harts[number];
}
