#include "paging.h"

#include "../vos/csr.h"
#include "sleep.h"
#include "wrapped.h"

static uint64_t mean_nanoseconds;

void paging_start(uint64_t microseconds)
{
    mean_nanoseconds = microseconds * 1000;
}

/* From nothing to twice the mean, each as likely: the way of a disk's arm. The transfers of a run have the same times under every scheme. */
static uint64_t next_wait(void)
{
    static uint64_t transfers;
    uint64_t number = __atomic_fetch_add(&transfers, 1, __ATOMIC_RELAXED);
    uint64_t mixed = (number + 1) * 0x9e3779b97f4a7c15;

    mixed = (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93;
    mixed ^= mixed >> 32;
    return mixed % (2 * mean_nanoseconds + 1);
}

enum fault_result __wrap_space_fault(struct space *space, uint64_t virtual, enum access access)
{
    enum fault_result result = __real_space_fault(space, virtual, access);

    if (result != FAULT_PAGED_IN || mean_nanoseconds == 0)
        return result;
    sleep_until(read_time() + sleep_units(next_wait()));
    /* Another process is current, and has no reason to yield. */
    return FAULT_RESOLVED;
}
