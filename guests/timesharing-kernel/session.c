#include "session.h"

#include "../vos/panic.h"
#include "sleep.h"
#include "wrapped.h"

/* Processes that have neither ended nor logged off. */
static unsigned at_work;
static unsigned logged_off;
static unsigned first_failure;

void __wrap_sched_add(struct process *process)
{
    __atomic_fetch_add(&at_work, 1, __ATOMIC_RELAXED);
    __real_sched_add(process);
}

/* One process fewer is at work. The machine ends with the last one, where others that have logged off would keep it up. */
static void leave(unsigned status)
{
    unsigned none = 0;

    if (status != 0)
        __atomic_compare_exchange_n(&first_failure, &none, status, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (__atomic_sub_fetch(&at_work, 1, __ATOMIC_ACQ_REL) == 0 && __atomic_load_n(&logged_off, __ATOMIC_RELAXED) != 0)
        shut_down(__atomic_load_n(&first_failure, __ATOMIC_RELAXED));
}

void session_log_off(unsigned status)
{
    __atomic_fetch_add(&logged_off, 1, __ATOMIC_RELAXED);
    leave(status);
    sleep_until(UINT64_MAX);
}

void __wrap_sched_exit(unsigned status)
{
    leave(status);
    __real_sched_exit(status);
}
