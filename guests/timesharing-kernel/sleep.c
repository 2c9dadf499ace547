#include "sleep.h"

#include "../vos/csr.h"
#include "../vos/hart.h"
#include "../vos/panic.h"
#include "../vos/platform.h"
#include "../vos/plic.h"
#include "../vos/process.h"
#include "../vos/sbi.h"
#include "../vos/sched.h"
#include "../vos/timer.h"
#include "wrapped.h"

#include <stddef.h>

enum { INTERRUPT_TIMER = 5 };
static const uint64_t NEVER = UINT64_MAX;

/* In a process's `message` words while it sleeps. */
enum { MESSAGE_TIME };

/* By number of the hart. */
static struct {
    /* Sleeping processes, the one to be woken next first. Guarded by the scheduler's lock. */
    struct process *first;
    /* The end of the tick; NEVER while there is none. */
    uint64_t tick_end;
} sleepers[PLATFORM_HARTS];

/* Of all harts; guarded by the scheduler's lock. */
static unsigned sleeping;
static unsigned ticks_per_second = DEFAULT_TICKS_PER_SECOND;

static unsigned number_of(const struct hart *hart)
{
    unsigned number = 0;

    while (hart_by_number(number) != hart)
        number++;
    return number;
}

static uint64_t wake_time(const struct process *process)
{
    return process != NULL ? process->message[MESSAGE_TIME] : NEVER;
}

static void set_timer(uint64_t time)
{
    if (platform.sstc)
        __asm__ volatile("csrw %0, %1" ::"i"(CSR_STIMECMP), "r"(time) : "memory");
    else
        sbi_set_timer(time);
}

/* The end of the tick, or the first process to be woken, whichever is earlier. Only this hart adds to its own list, but for one that goes off
 * line, which sends an IPI. */
static void set_timer_of(unsigned number)
{
    uint64_t wake = wake_time(__atomic_load_n(&sleepers[number].first, __ATOMIC_RELAXED));
    uint64_t tick_end = sleepers[number].tick_end;

    set_timer(wake < tick_end ? wake : tick_end);
}

/* With the scheduler's lock held. Of several that are woken at the same time, the one that slept first goes first. */
static void insert(unsigned number, struct process *process)
{
    struct process **link = &sleepers[number].first;

    while (*link != NULL && wake_time(*link) <= wake_time(process))
        link = &(*link)->next;
    process->next = *link;
    __atomic_store_n(link, process, __ATOMIC_RELAXED);
}

void sleep_until(uint64_t time)
{
    struct process *process = hart_this()->current;
    unsigned number = number_of(hart_this());

    process->message[MESSAGE_TIME] = time;
    sched_lock();
    insert(number, process);
    sleeping++;
    set_timer_of(number);
    /* Unlocks. */
    sched_wait(NULL);
}

uint64_t sleep_units(uint64_t nanoseconds)
{
    const uint64_t second = 1000000000;

    return nanoseconds / second * platform.timebase_hertz +
           nanoseconds % second * platform.timebase_hertz / second;
}

/* Wakes the processes of this hart whose time has come. */
static void wake_due(unsigned number)
{
    for (;;) {
        struct process *process;

        sched_lock();
        process = sleepers[number].first;
        if (wake_time(process) > read_time())
            break;
        sleepers[number].first = process->next;
        sleeping--;
        /* Unlocks. */
        sched_wake(process);
    }
    sched_unlock();
}

void __wrap_timer_set_ticks(unsigned per_second)
{
    ticks_per_second = per_second;
    for (unsigned i = 0; i < PLATFORM_HARTS; i++)
        sleepers[i].tick_end = NEVER;
    __real_timer_set_ticks(per_second);
}

void __wrap_timer_arm(void)
{
    unsigned number = number_of(hart_this());

    sleepers[number].tick_end =
        ticks_per_second != 0 ? read_time() + platform.timebase_hertz / ticks_per_second : NEVER;
    set_timer_of(number);
}

void __wrap_timer_disarm(void)
{
    unsigned number = number_of(hart_this());

    sleepers[number].tick_end = NEVER;
    set_timer_of(number);
    while ((csr_read(sip) & SIE_SOFTWARE) == 0) {
        uint64_t pending = csr_read(sip) & csr_read(sie);

        if ((pending & SIE_TIMER) != 0) {
            /* A process that is woken has an idle hart sent an IPI, which may be this one. */
            wake_due(number);
            set_timer_of(number);
        } else if ((pending & SIE_EXTERNAL) != 0) {
            plic_interrupt();
        } else {
            wait_for_interrupt();
        }
    }
}

bool __wrap_disk_is_busy(void)
{
    return sleeping != 0 || __real_disk_is_busy();
}

/* The hart that takes over the processes of one that goes off line. */
static struct hart *heir(void)
{
    for (unsigned i = 0; i < hart_count(); i++) {
        struct hart *hart = hart_by_number(i);

        if (hart != hart_this() && __atomic_load_n(&hart->running, __ATOMIC_SEQ_CST) && !hart->leaves)
            return hart;
    }
    panic("no hart is left to wake processes");
}

void __wrap_spin_leave(void)
{
    unsigned number = number_of(hart_this());
    struct process *process;

    sched_lock();
    process = sleepers[number].first;
    sleepers[number].first = NULL;
    if (process != NULL) {
        struct hart *hart = heir();

        while (process != NULL) {
            struct process *next = process->next;

            insert(number_of(hart), process);
            process = next;
        }
        sbi_send_ipi(hart_mask_of(hart));
    }
    sched_unlock();
    set_timer(NEVER);
    __real_spin_leave();
}

void __wrap_trap_from_user(void)
{
    unsigned number = number_of(hart_this());
    uint64_t cause = csr_read(scause);
    bool is_timer = cause == (SCAUSE_INTERRUPT | INTERRUPT_TIMER);

    if (is_timer)
        wake_due(number);
    if (is_timer && read_time() < sleepers[number].tick_end) {
        set_timer_of(number);
        return;
    }
    __real_trap_from_user();
    /* An IPI may have come with processes of a hart that has gone off line. */
    if ((cause & SCAUSE_INTERRUPT) != 0)
        set_timer_of(number);
}
