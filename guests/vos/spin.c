#include "spin.h"

#include "csr.h"
#include "disk.h"
#include "hart.h"
#include "memory.h"
#include "platform.h"
#include "plic.h"
#include "purge.h"
#include "sbi.h"

/* The communication area's flag f: 1 while spinning is better than calling. */
static unsigned flag = 1;
static unsigned limit;
static uint64_t interrupt_source;
/* Harts that have not gone off line; a hart leaves only while there is another. */
static unsigned left;

static void enable_interrupt(void)
{
    interrupt_source = sbi_allocation_interrupt(true);
    if (interrupt_source == 0 || platform.plic.begin == 0)
        return;
    plic_enable(hart_this(), interrupt_source);
    plic_start_hart();
}

void spin_start(enum spin_handshake handshake, unsigned count_limit)
{
    limit = count_limit;
    left = hart_count();
    if (handshake == HANDSHAKE_NONE || !sbi_has(SBI_PARAVIRTUAL))
        return;
    if (handshake == HANDSHAKE_AREA) {
        sbi_register_area(physical_address(&flag));
        return;
    }
    if (handshake == HANDSHAKE_INTERRUPT)
        enable_interrupt();
    __atomic_store_n(&flag, sbi_allocation(), __ATOMIC_RELAXED);
}

/* The hart goes off line at the next chance, unless it is the last: as the paper's systems did. */
static void excessive(const struct spin *spin)
{
    struct hart *hart = hart_this();
    bool lost = false;

    if (!hart->leaves) {
        lost = __atomic_sub_fetch(&left, 1, __ATOMIC_RELAXED) != 0;
        if (!lost)
            __atomic_add_fetch(&left, 1, __ATOMIC_RELAXED);
        hart->leaves = lost;
    }
    if (sbi_has(SBI_PARAVIRTUAL))
        sbi_excessive_spin(spin->reason, lost);
}

void spin_once(struct spin *spin)
{
    /* Who waits for this hart may be who this hart waits for. */
    purge_serve();
    if (++spin->count == limit && limit != 0)
        excessive(spin);
    if (__atomic_load_n(&flag, __ATOMIC_RELAXED) != 0)
        pause();
    else
        sbi_spin(spin->reason, (uint64_t)spin->partner);
}

void spin_interrupt(uint32_t source)
{
    if (source == interrupt_source && source != 0)
        __atomic_store_n(&flag, sbi_allocation(), __ATOMIC_RELAXED);
}

void spin_leave(void)
{
    struct hart *hart = hart_this();

    __atomic_store_n(&hart->running, false, __ATOMIC_SEQ_CST);
    disk_leave();
    sbi_hart_stop();
}
