/* What the kernel counts; programs read them by a system call. */
#ifndef VOS_COUNTERS_H
#define VOS_COUNTERS_H

#include <stdint.h>

/* The order is known to guests/workloads/vos.h. */
enum counter {
    /* Loads of satp with another space. */
    COUNTER_SWITCHES,
    COUNTER_PAGE_OUTS,
    /* From the paging data set; pages of zeroes do not count. */
    COUNTER_PAGE_INS,
    /* Calls of PPTLB. */
    COUNTER_PPTLBS,
    /* Fences for one page, on all harts, where PPTLB is not used. */
    COUNTER_FENCES,
    /* Fences for everything, on all harts. */
    COUNTER_PURGES,
    COUNTERS,
};

extern uint64_t counters[COUNTERS];

static inline void counter_add(enum counter counter)
{
    __atomic_fetch_add(&counters[counter], 1, __ATOMIC_RELAXED);
}

static inline uint64_t counter_read(enum counter counter)
{
    return __atomic_load_n(&counters[counter], __ATOMIC_RELAXED);
}

#endif
