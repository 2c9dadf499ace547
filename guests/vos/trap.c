#include "trap.h"

#include "console.h"
#include "csr.h"
#include "hart.h"
#include "panic.h"
#include "plic.h"
#include "purge.h"
#include "sched.h"
#include "syscall.h"
#include "timer.h"

enum cause {
    CAUSE_ECALL = 8,
    CAUSE_FETCH_PAGE_FAULT = 12,
    CAUSE_LOAD_PAGE_FAULT = 13,
    CAUSE_STORE_PAGE_FAULT = 15,
};

enum interrupt {
    INTERRUPT_SOFTWARE = 1,
    INTERRUPT_TIMER = 5,
    INTERRUPT_EXTERNAL = 9,
};

/* As a shell reports a program that SIGSEGV ended. */
enum { STATUS_KILLED = 139 };

/* Called by trap.S only. */
void trap_from_user(void);
_Noreturn void trap_from_kernel(void);
extern const char trap_entry[];

void trap_start(void)
{
    csr_write(sscratch, 0);
    csr_write(stvec, (uint64_t)trap_entry);
    csr_write(scounteren, SCOUNTEREN_ALL);
    csr_write(sie, SIE_SOFTWARE | SIE_TIMER);
    /* For fp_restore before the first process; the user's own state comes with its frame. */
    csr_set(sstatus, SSTATUS_FS_INITIAL);
}

static void kill(const char *why, uint64_t cause, uint64_t address)
{
    struct process *process = hart_this()->current;

    console_print("vos: process %u killed: %s: cause %lu at pc %lx, address %lx\n", process->id, why,
                  cause, process->frame.pc, address);
    sched_exit(STATUS_KILLED);
}

static void page_fault(uint64_t cause, enum access access)
{
    uint64_t address = csr_read(stval);

    switch (space_fault(&hart_this()->current->space, address, access)) {
    case FAULT_RESOLVED:
        break;
    case FAULT_PAGED_IN:
        /* Nothing is left to wait for, but from a disk it would have taken its time. */
        sched_yield();
        break;
    case FAULT_INVALID:
        kill("invalid access", cause, address);
        break;
    case FAULT_NO_MEMORY:
        kill("no free memory block of the page size asked for", cause, address);
        break;
    }
}

static void exception(uint64_t cause)
{
    struct process *process = hart_this()->current;

    switch (cause) {
    case CAUSE_ECALL:
        process->frame.pc += 4;
        syscall(process);
        break;
    case CAUSE_FETCH_PAGE_FAULT:
        page_fault(cause, ACCESS_FETCH);
        break;
    case CAUSE_LOAD_PAGE_FAULT:
        page_fault(cause, ACCESS_LOAD);
        break;
    case CAUSE_STORE_PAGE_FAULT:
        page_fault(cause, ACCESS_STORE);
        break;
    default:
        kill("exception", cause, csr_read(stval));
        break;
    }
}

static void interrupt(uint64_t number)
{
    switch (number) {
    case INTERRUPT_TIMER:
        timer_arm();
        sched_yield();
        break;
    case INTERRUPT_SOFTWARE:
        /* A purge, or a wake-up that came too late: this hart is busy already. */
        csr_clear(sip, SIE_SOFTWARE);
        purge_serve();
        break;
    case INTERRUPT_EXTERNAL:
        plic_interrupt();
        break;
    default:
        panic("unexpected interrupt %lu", number);
    }
}

void trap_from_user(void)
{
    uint64_t cause = csr_read(scause);

    if ((cause & SCAUSE_INTERRUPT) != 0)
        interrupt(cause & ~SCAUSE_INTERRUPT);
    else
        exception(cause);
}

void trap_from_kernel(void)
{
    panic("trap in the kernel: cause %lx at pc %lx, address %lx, hart %lu", csr_read(scause),
          csr_read(sepc), csr_read(stval), hart_this()->id);
}
