/* The linear map: every guest physical address has one virtual address in the kernel. */
#ifndef VOS_MEMORY_H
#define VOS_MEMORY_H

#include "layout.h"

#include <stdint.h>

static inline void *linear(uint64_t physical)
{
    return (void *)(LINEAR_BASE + physical);
}

/* Of an address in the linear map, which the kernel's own image is part of. */
static inline uint64_t physical_address(const void *address)
{
    return (uint64_t)address - LINEAR_BASE;
}

static inline uint64_t round_down(uint64_t value, uint64_t power_of_two)
{
    return value & ~(power_of_two - 1);
}

static inline uint64_t round_up(uint64_t value, uint64_t power_of_two)
{
    return round_down(value + power_of_two - 1, power_of_two);
}

#endif
