#include "pptlb.h"

#include "counters.h"
#include "memory.h"
#include "panic.h"
#include "sbi.h"
#include "tlb.h"

static enum pptlb_use use;

void pptlb_start(enum pptlb_use wanted)
{
    use = wanted != PPTLB_OFF && sbi_has(SBI_PARAVIRTUAL) ? wanted : PPTLB_OFF;
}

const char *pptlb_name(void)
{
    static const char *const names[] = {"handshake", "plain", "off"};

    return names[use];
}

static pte call_hypervisor(pte *entry, uint64_t virtual)
{
    const uint64_t page_index = MEGAPAGE_BYTES - PAGE_BYTES;
    bool handshake = use == PPTLB_HANDSHAKE;
    pte old;

    counter_add(COUNTER_PPTLBS);
    if (!sbi_pptlb(physical_address(entry), handshake ? virtual : virtual & page_index, handshake,
                   &old))
        panic("the monitor refuses PPTLB for %lx", virtual);
    return old;
}

pte pptlb_invalidate(pte *entry, uint64_t virtual, unsigned asid)
{
    pte old;

    if (use != PPTLB_OFF)
        return call_hypervisor(entry, virtual);
    old = __atomic_fetch_and(entry, ~(pte)PTE_V, __ATOMIC_RELAXED);
    tlb_flush_page(virtual, asid);
    return old;
}
