#include "tlb.h"

#include "csr.h"
#include "hart.h"
#include "purge.h"
#include "sbi.h"

static unsigned last_asid;
static bool by_partners;

void tlb_purge_by_partners(bool wanted)
{
    by_partners = wanted;
}

void tlb_start(void)
{
    uint64_t satp = csr_read(satp);

    csr_write(satp, satp | (uint64_t)SATP_ASID_MASK << SATP_ASID_SHIFT);
    last_asid = (unsigned)(csr_read(satp) >> SATP_ASID_SHIFT) & SATP_ASID_MASK;
    csr_write(satp, satp);
    tlb_flush_local();
}

unsigned tlb_last_asid(void)
{
    return last_asid;
}

void tlb_flush_local(void)
{
    __asm__ volatile("sfence.vma" ::: "memory");
}

void tlb_flush_local_page(uint64_t virtual, unsigned asid)
{
    __asm__ volatile("sfence.vma %0, %1" ::"r"(virtual), "r"((uint64_t)asid) : "memory");
}

void tlb_flush_local_asid(unsigned asid)
{
    __asm__ volatile("sfence.vma zero, %0" ::"r"((uint64_t)asid) : "memory");
}

void tlb_flush_asid(unsigned asid)
{
    uint64_t others = hart_running_mask() & ~hart_mask_of(hart_this());

    tlb_flush_local_asid(asid);
    if (others != 0 && by_partners)
        purge_others(asid);
    else if (others != 0)
        sbi_remote_sfence_vma_asid(others, asid);
}
