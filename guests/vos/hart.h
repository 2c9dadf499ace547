/* What the kernel keeps for each hart; `tp` points at it while the kernel runs. */
#ifndef VOS_HART_H
#define VOS_HART_H

#include <stdbool.h>
#include <stdint.h>

struct process;

struct hart {
    /* The first four members are known to assembler: hart_offsets.h. */
    struct process *current;
    uint64_t stack;
    uint64_t scratch;
    uint64_t id;
    /* Takes part in remote fences. */
    bool running;
    /* Has spun excessively, and is to go off line. */
    bool leaves;
    /* Waits for an IPI; guarded by the scheduler's lock. */
    bool idle;
};

/* Takes note of the hart that booted. */
void hart_start_first(uint64_t id);
/* Makes room for another hart, not yet running. Its number counts from 0, the first hart. */
struct hart *hart_new(uint64_t id);

static inline struct hart *hart_this(void)
{
    register struct hart *hart __asm__("tp");

    return hart;
}

/* SBI hart mask, base 0. */
static inline uint64_t hart_mask_of(const struct hart *hart)
{
    return (uint64_t)1 << hart->id;
}

uint64_t hart_running_mask(void);
unsigned hart_count(void);
struct hart *hart_by_number(unsigned number);

#endif
