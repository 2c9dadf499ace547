#include "tlb.h"

#include "counters.h"
#include "csr.h"
#include "hart.h"
#include "layout.h"
#include "purge.h"
#include "sbi.h"
#include "spinlock.h"

#include <stdbool.h>

static unsigned last_asid;
static bool by_partners;

void tlb_purge_by_partners(bool wanted)
{
    by_partners = wanted;
}

static bool taken[SATP_ASID_MASK + 1];
/* Every lower one is taken. */
static unsigned lowest_free = 1;
static struct spinlock asid_lock;

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

unsigned tlb_take_asid(void)
{
    unsigned asid = 0;

    spinlock_lock(&asid_lock);
    while (lowest_free <= last_asid && taken[lowest_free])
        lowest_free++;
    if (lowest_free <= last_asid) {
        asid = lowest_free;
        taken[asid] = true;
    }
    spinlock_unlock(&asid_lock);
    return asid;
}

void tlb_give_asid(unsigned asid)
{
    if (asid == 0)
        return;
    spinlock_lock(&asid_lock);
    taken[asid] = false;
    if (asid < lowest_free)
        lowest_free = asid;
    spinlock_unlock(&asid_lock);
}

void tlb_flush_local(void)
{
    __asm__ volatile("sfence.vma" ::: "memory");
}

void tlb_flush_local_page(uint64_t virtual, unsigned asid)
{
    __asm__ volatile("sfence.vma %0, %1" ::"r"(virtual), "r"((uint64_t)asid) : "memory");
}

static void flush_local_page_everywhere(uint64_t virtual)
{
    __asm__ volatile("sfence.vma %0" ::"r"(virtual) : "memory");
}

void tlb_flush_local_asid(unsigned asid)
{
    __asm__ volatile("sfence.vma zero, %0" ::"r"((uint64_t)asid) : "memory");
}

static uint64_t other_harts(void)
{
    return hart_running_mask() & ~hart_mask_of(hart_this());
}

void tlb_flush_asid(unsigned asid)
{
    const uint64_t all_addresses = UINT64_MAX;
    uint64_t others = other_harts();

    tlb_flush_local_asid(asid);
    if (others != 0 && by_partners)
        purge_others(asid);
    else if (others != 0)
        sbi_remote_sfence_vma_asid(others, 0, all_addresses, asid);
}

void tlb_flush_page(uint64_t virtual, unsigned asid)
{
    uint64_t others = other_harts();

    counter_add(COUNTER_FENCES);
    if (asid == TLB_EVERY_ASID) {
        flush_local_page_everywhere(virtual);
        if (others != 0)
            sbi_remote_sfence_vma(others, virtual, PAGE_BYTES);
    } else {
        tlb_flush_local_page(virtual, asid);
        if (others != 0)
            sbi_remote_sfence_vma_asid(others, virtual, PAGE_BYTES, asid);
    }
}

void tlb_purge(void)
{
    const uint64_t all_addresses = UINT64_MAX;
    uint64_t others = other_harts();

    counter_add(COUNTER_PURGES);
    tlb_flush_local();
    if (others != 0)
        sbi_remote_sfence_vma(others, 0, all_addresses);
}
