#include "calls.h"

#include <stdint.h>

enum {
    SYSTEM_SCHED_YIELD = 124,
    /* Known to guests/servers-kernel/phases.c. */
    SYSTEM_PHASE = 0x3000,
    SYSTEM_COPY_LINKS,
};

static uint64_t call(uint64_t number, uint64_t argument)
{
    register uint64_t a7 __asm__("a7") = number;
    register uint64_t a0 __asm__("a0") = argument;

    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7) : "memory");
    return a0;
}

void yield(void)
{
    call(SYSTEM_SCHED_YIELD, 0);
}

bool begin_phase(enum phase next)
{
    return call(SYSTEM_PHASE, next) == 0;
}

void copy_links(void)
{
    call(SYSTEM_COPY_LINKS, 0);
}
