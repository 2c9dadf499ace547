#include "sched.h"

#include "../common/marker.h"

#include "csr.h"
#include "disk.h"
#include "hart.h"
#include "panic.h"
#include "plic.h"
#include "purge.h"
#include "sbi.h"
#include "spin.h"
#include "spinlock.h"
#include "timer.h"
#include "trap.h"

static struct spinlock lock;
static struct process *first;
static struct process *last;
/* Processes that have not ended, and those of them that harts run. */
static unsigned alive;
static unsigned running;
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

void sched_lock(void)
{
    spinlock_lock(&lock);
}

void sched_unlock(void)
{
    spinlock_unlock(&lock);
}

static void unlock_and_wake_idle_hart(void)
{
    uint64_t wake = claim_idle_hart();

    spinlock_unlock(&lock);
    if (wake != 0)
        sbi_send_ipi(wake);
}

void sched_add(struct process *process)
{
    spinlock_lock(&lock);
    alive++;
    enqueue(process);
    unlock_and_wake_idle_hart();
}

void sched_wake(struct process *process)
{
    enqueue(process);
    unlock_and_wake_idle_hart();
}

/* Lets the hart, which has no process, run this one. The tick goes on as it was: a process that was
 * called in the middle of a slice has the rest of it. */
static void resume(struct hart *hart, struct process *process)
{
    running++;
    hart->current = process;
    hart->idle = false;
    fp_restore(&process->fp);
    space_enter(&process->space);
}

/* Takes this hart's process off it, so that any hart can go on with it, and resumes `next`, unless NULL.
 * With the lock held: the hart must be out of the old space before another can end it. */
static struct process *change_to(struct hart *hart, struct process *next)
{
    struct process *process = hart->current;

    if ((process->frame.status & SSTATUS_FS) == SSTATUS_FS_DIRTY) {
        fp_save(&process->fp);
        process->frame.status &= ~(uint64_t)SSTATUS_FS;
        process->frame.status |= SSTATUS_FS_CLEAN;
    }
    hart->current = NULL;
    running--;
    if (next != NULL)
        resume(hart, next);
    else
        space_leave();
    return process;
}

/* Waits for an IPI, with the tick off. Interrupts stay disabled: WFI resumes when one is pending. */
static void idle(void)
{
    timer_disarm();
    while ((csr_read(sip) & SIE_SOFTWARE) == 0) {
        wait_for_interrupt();
        if ((csr_read(sip) & csr_read(sie) & SIE_EXTERNAL) != 0)
            plic_interrupt();
    }
    csr_clear(sip, SIE_SOFTWARE);
    purge_serve();
}

/* With the lock held: ends the machine when processes are left that all wait for one another. */
static void check_for_deadlock(void)
{
    if (alive == 0 || running != 0 || first != NULL || disk_is_busy())
        return;
    if (final_status == 0)
        panic("%u processes wait, and none can wake them", alive);
    shut_down(final_status);
}

/* This hart goes off line. Who has counted on it wakes another. */
static void leave(struct hart *hart)
{
    spinlock_lock(&lock);
    hart->idle = false;
    unlock_and_wake_idle_hart();
    spin_leave();
}

void sched_next(void)
{
    struct hart *hart = hart_this();

    for (;;) {
        struct process *process;

        if (hart->leaves)
            leave(hart);
        spinlock_lock(&lock);
        process = dequeue();
        if (process != NULL)
            resume(hart, process);
        else
            check_for_deadlock();
        hart->idle = process == NULL;
        spinlock_unlock(&lock);
        if (process != NULL)
            break;
        idle();
    }
    timer_arm();
}

void sched_yield(void)
{
    struct process *next;

    if (hart_this()->leaves) {
        spinlock_lock(&lock);
        enqueue(change_to(hart_this(), NULL));
        spinlock_unlock(&lock);
        sched_next();
        return;
    }
    if (__atomic_load_n(&first, __ATOMIC_RELAXED) == NULL)
        return;
    spinlock_lock(&lock);
    next = dequeue();
    if (next != NULL)
        enqueue(change_to(hart_this(), next));
    spinlock_unlock(&lock);
}

void sched_wait(struct process *wake)
{
    struct process *next = wake != NULL ? wake : dequeue();

    change_to(hart_this(), next);
    spinlock_unlock(&lock);
    if (next == NULL)
        sched_next();
}

void sched_exit(unsigned status)
{
    struct process *process;
    struct process *next;
    bool is_last;

    spinlock_lock(&lock);
    next = hart_this()->leaves ? NULL : dequeue();
    process = change_to(hart_this(), next);
    if (final_status == 0)
        final_status = status;
    is_last = --alive == 0;
    spinlock_unlock(&lock);
    process_destroy(process);
    PAGEWALK_TRANSACTION();
    if (is_last)
        shut_down(final_status);
    if (next == NULL)
        sched_next();
}
