#include "plic.h"

#include "csr.h"
#include "disk.h"
#include "hart.h"
#include "memory.h"
#include "platform.h"
#include "spin.h"

enum plic {
    PLIC_PRIORITY = 0,
    PLIC_ENABLE = 0x2000,
    PLIC_ENABLE_STRIDE = 0x80,
    PLIC_CLAIM = 0x200004,
    PLIC_CONTEXT_STRIDE = 0x1000,
};

static volatile uint32_t *plic_register(uint64_t offset)
{
    return linear(platform.plic.begin + offset);
}

static volatile uint32_t *plic_claim(void)
{
    return plic_register(PLIC_CLAIM + hart_this()->id * PLIC_CONTEXT_STRIDE);
}

void plic_start_hart(void)
{
    csr_set(sie, SIE_EXTERNAL);
}

void plic_enable(const struct hart *hart, uint64_t source)
{
    uint64_t enable = PLIC_ENABLE + hart->id * PLIC_ENABLE_STRIDE;

    *plic_register(PLIC_PRIORITY + 4 * source) = 1;
    *plic_register(enable + source / 32 * 4) |= (uint32_t)1 << source % 32;
}

void plic_interrupt(void)
{
    uint32_t source = *plic_claim();

    spin_interrupt(source);
    disk_interrupt(source);
    *plic_claim() = source;
}
