/* vos: a small kernel with many address spaces, the embedded guest of Pagewalk. */
#include "console.h"
#include "disk.h"
#include "frames.h"
#include "hart.h"
#include "kernel_map.h"
#include "options.h"
#include "platform.h"
#include "sched.h"
#include "smp.h"
#include "spin.h"
#include "timer.h"
#include "tlb.h"
#include "trap.h"

/* Where boot.S continues on the first hart. */
_Noreturn void main(uint64_t hart_id, uint64_t device_tree);

static void print_banner(const struct options *options)
{
    static const char *const page_names[] = {"4K", "2M", "1G"};

    console_print("vos: %s, harts %u, free memory %luM, sv%d, heap pages %s, last asid %u, timer %s, "
                  "console %s, pptlb %s\n",
                  options->arguments[1], hart_count(), frames_free_bytes() >> 20,
                  39 + 9 * (int)(options->paging - PAGING_SV39), page_names[options->page],
                  tlb_last_asid(), timer_name(), console_name(), pptlb_name());
}

void main(uint64_t hart_id, uint64_t device_tree)
{
    static struct options options;

    /* Without a device tree there is DBCN at most, enough to say that there is none. */
    console_start(0);
    hart_start_first(hart_id);
    trap_start();
    platform_read(device_tree);
    console_start(platform.uart);
    options_parse(&options, platform.bootargs);
    frames_start(options.clear);
    page_table_set_mode(options.paging);
    kernel_map_start(options.linear);
    tlb_start();
    space_set_ad_policy(options.ad);
    space_set_validation(options.validation);
    pptlb_start(options.pptlb);
    section_start(options.tables, options.page);
    clock_set_replacement(options.replacement);
    timer_set_ticks(options.ticks);
    disk_start();
    region_start(options.region == REGION_ON, options.processes,
                 page_bytes(options.page));
    smp_start(options.harts);
    tlb_purge_by_partners(options.purge == PURGE_BY_PARTNERS);
    spin_start(options.handshake, options.spins);
    if (options.handshake != HANDSHAKE_NONE)
        smp_await();
    print_banner(&options);
    misbehave(options.misbehaviour);
    for (unsigned i = 0; i < options.processes; i++)
        sched_add(process_create(&options));
    sched_next();
    trap_return();
}
