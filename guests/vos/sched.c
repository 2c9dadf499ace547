#include "sched.h"

#include "../common/marker.h"

#include "csr.h"
#include "hart.h"
#include "panic.h"
#include "purge.h"
#include "sbi.h"
#include "spin.h"
#include "spinlock.h"
#include "timer.h"
#include "trap.h"

static struct spinlock lock;
static struct process *first;
static struct process *last;
/* Processes that have not ended. */
static unsigned alive;
static unsigned final_status;

static void enqueue(struct process *process)
{
    process->next = NULL;
    if (first == NULL)
        first = process;
    else
        last->next = process;
    last = process;
}

static struct process *dequeue(void)
{
    struct process *process = first;

    if (process != NULL)
        first = process->next;
    return process;
}

/* The mask of one hart that waits, which from now on counts as woken; 0 when none waits. */
static uint64_t claim_idle_hart(void)
{
    for (unsigned i = 0; i < hart_count(); i++) {
        struct hart *hart = hart_by_number(i);

        if (hart->idle) {
            hart->idle = false;
            return hart_mask_of(hart);
        }
    }
    return 0;
}

void sched_add(struct process *process)
{
    uint64_t wake;

    spinlock_lock(&lock);
    alive++;
    enqueue(process);
    wake = claim_idle_hart();
    spinlock_unlock(&lock);
    if (wake != 0)
        sbi_send_ipi(wake);
}

/* Waits for an IPI, with the tick off. Interrupts stay disabled: WFI resumes when one is pending. */
static void idle(void)
{
    timer_disarm();
    while ((csr_read(sip) & SIE_SOFTWARE) == 0) {
        wait_for_interrupt();
        if ((csr_read(sip) & csr_read(sie) & SIE_EXTERNAL) != 0)
            spin_interrupt();
    }
    csr_clear(sip, SIE_SOFTWARE);
    purge_serve();
}

static struct process *wait_for_process(struct hart *hart)
{
    for (;;) {
        struct process *process;

        spin_leave_if_due();
        spinlock_lock(&lock);
        process = dequeue();
        hart->idle = process == NULL;
        spinlock_unlock(&lock);
        if (process != NULL)
            return process;
        idle();
    }
}

/* Takes the process's state off this hart, so that any hart can go on with it. */
static void suspend(struct hart *hart)
{
    struct process *process = hart->current;

    if ((process->frame.status & SSTATUS_FS) == SSTATUS_FS_DIRTY) {
        fp_save(&process->fp);
        process->frame.status &= ~(uint64_t)SSTATUS_FS;
        process->frame.status |= SSTATUS_FS_CLEAN;
    }
    hart->current = NULL;
    space_leave();
}

void sched_next(void)
{
    struct hart *hart = hart_this();
    struct process *process = wait_for_process(hart);

    hart->current = process;
    fp_restore(&process->fp);
    space_enter(&process->space);
    timer_arm();
}

void sched_yield(void)
{
    struct hart *hart = hart_this();
    struct process *process = hart->current;

    if (__atomic_load_n(&first, __ATOMIC_RELAXED) == NULL)
        return;
    suspend(hart);
    spinlock_lock(&lock);
    enqueue(process);
    spinlock_unlock(&lock);
    sched_next();
}

void sched_exit(unsigned status)
{
    struct hart *hart = hart_this();
    struct process *process = hart->current;
    bool is_last;

    suspend(hart);
    process_destroy(process);
    MARK(MARKER_TRANSACTION);
    spinlock_lock(&lock);
    if (final_status == 0)
        final_status = status;
    is_last = --alive == 0;
    spinlock_unlock(&lock);
    if (is_last)
        shut_down(final_status);
    sched_next();
}
