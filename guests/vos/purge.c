#include "purge.h"

#include "hart.h"
#include "sbi.h"
#include "spin.h"
#include "spinlock.h"
#include "tlb.h"

/* One request at a time: the ASID, and who has not purged it yet. */
static struct spinlock lock;
static unsigned requested_asid;
static uint64_t asked;

void purge_serve(void)
{
    uint64_t self = hart_mask_of(hart_this());

    if ((__atomic_load_n(&asked, __ATOMIC_ACQUIRE) & self) == 0)
        return;
    tlb_flush_local_asid(requested_asid);
    __atomic_and_fetch(&asked, ~self, __ATOMIC_RELEASE);
}

static bool answered(const struct hart *hart)
{
    /* A hart that has gone off line translates nothing any more. */
    return (__atomic_load_n(&asked, __ATOMIC_ACQUIRE) & hart_mask_of(hart)) == 0 ||
           !__atomic_load_n(&hart->running, __ATOMIC_SEQ_CST);
}

void purge_others(unsigned asid)
{
    uint64_t others;

    spinlock_lock(&lock);
    others = hart_running_mask() & ~hart_mask_of(hart_this());
    requested_asid = asid;
    __atomic_store_n(&asked, others, __ATOMIC_SEQ_CST);
    if (others != 0)
        sbi_send_ipi(others);
    for (unsigned i = 0; i < hart_count(); i++) {
        const struct hart *hart = hart_by_number(i);
        struct spin spin = {SPIN_REQUEST, (int64_t)hart->id, 0};

        while (!answered(hart))
            spin_once(&spin);
    }
    __atomic_store_n(&asked, 0, __ATOMIC_RELEASE);
    spinlock_unlock(&lock);
}
