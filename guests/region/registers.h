/* The register page of the primary region (docs/segments.md), as a process of Linux uses it: shared by the preload
 * library and by the workloads, which are linked without any library. */
#ifndef REGION_REGISTERS_H
#define REGION_REGISTERS_H

#include <stdint.h>

/* Where the device tree tells about it: two address cells and two size cells for the registers, then for the memory. */
#define REGION_NODE "/proc/device-tree/soc/primary-region@10010000/reg"
/* The way to memory that is not the kernel's. */
#define REGION_DEVICE "/dev/mem"

enum { REGION_REG_BYTES = 32, REGION_PAGE_BYTES = 4096 };

/* "PAWSEGM1". */
#define REGION_MAGIC 0x314d474553574150

struct region_registers {
    uint64_t magic;
    uint64_t start;
    uint64_t bytes;
    /* How often the region has come to an owner: from 2 on its memory may hold what another process left. */
    uint64_t owners;
    uint64_t base;
    uint64_t limit;
    uint64_t target;
    /* A store of 1 sets, of 0 clears; reads as 1 when it is set, and from REGION_REFUSED on when it was refused. */
    uint64_t status;
};

enum { REGION_CLEAR = 0, REGION_SET = 1, REGION_REFUSED = 16 };

/* Number `index` of 64 bits in the `reg` property, whose bytes are in network order. */
static inline uint64_t region_reg(const uint8_t *reg, unsigned index)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < 8; i++)
        value = value << 8 | reg[8 * index + i];
    return value;
}

/* Asks for a segment from `base` over the region. The status. */
static inline uint64_t region_set(volatile struct region_registers *registers, uint64_t base, uint64_t bytes)
{
    registers->base = base;
    registers->limit = base + bytes;
    registers->target = registers->start;
    registers->status = REGION_SET;
    return registers->status;
}

#endif
