#include "smp.h"

#include "disk.h"
#include "hart.h"
#include "kernel_map.h"
#include "memory.h"
#include "panic.h"
#include "platform.h"
#include "sbi.h"
#include "sched.h"
#include "spin.h"
#include "trap.h"

extern const char boot_secondary[];

/* Where boot.S continues on each hart but the first. */
_Noreturn void smp_secondary_main(void);

void smp_start(unsigned harts)
{
    uint64_t first = hart_this()->id;

    if (harts > platform.hart_count)
        panic("command line: harts=%u: the machine has %u", harts, platform.hart_count);
    if (harts == 0)
        harts = platform.hart_count;
    for (unsigned i = 0; i < platform.hart_count && hart_count() < harts; i++) {
        struct hart *hart;

        if (platform.hart_ids[i] == first)
            continue;
        hart = hart_new(platform.hart_ids[i]);
        if (!sbi_hart_start(hart->id, physical_address(boot_secondary), physical_address(hart)))
            panic("hart %lu does not start", hart->id);
    }
}

void smp_await(void)
{
    for (unsigned i = 0; i < hart_count(); i++) {
        const struct hart *hart = hart_by_number(i);
        struct spin spin = {SPIN_PROCESS, (int64_t)hart->id, 0};

        while (!__atomic_load_n(&hart->running, __ATOMIC_ACQUIRE))
            spin_once(&spin);
    }
}

void smp_secondary_main(void)
{
    trap_start();
    kernel_map_enter();
    disk_start_hart();
    __atomic_store_n(&hart_this()->running, true, __ATOMIC_RELEASE);
    sched_next();
    trap_return();
}
