/* Harts and traps: HSM and SUSP. */
#include "harts.h"

#include "../common/marker.h"
#include "check.h"
#include "csr.h"
#include "tests.h"

#define STACK_BYTES 4096

static uint64_t me, count;
static void (*on_timer)(void);
static void (*on_software)(void);
static uint64_t (*on_exception)(uint64_t, uint64_t, uint64_t);
static char stacks[64][STACK_BYTES] __attribute__((aligned(16)));

uint64_t trap(uint64_t cause, uint64_t value, uint64_t pc);
void worker_main(uint64_t hart, struct worker *worker, uint64_t satp, uint64_t sstatus);

void trap_on_timer(void (*handler)(void))
{
    on_timer = handler;
}

void trap_on_software(void (*handler)(void))
{
    on_software = handler;
}

void trap_on_exception(uint64_t (*handler)(uint64_t cause, uint64_t value, uint64_t pc))
{
    on_exception = handler;
}

uint64_t trap(uint64_t cause, uint64_t value, uint64_t pc)
{
    if (cause >> 63) {
        uint64_t bit = 1UL << (cause & 63);
        void (*handler)(void) = bit == INTERRUPT_TIMER ? on_timer : bit == INTERRUPT_SOFTWARE ? on_software : 0;

        if (handler)
            handler();
        else
            csr_clear(sie, bit);
        return pc;
    }
    if (on_exception)
        return on_exception(cause, value, pc);
    check_group("trap");
    check(false, "an exception that is not expected");
    marker_exit(255);
    return pc;
}

static struct sbi_result status(uint64_t hart)
{
    return sbi_call1(SBI_HSM, 2, hart);
}

void harts_find(uint64_t hart)
{
    me = hart;
    while (status(count).error == SBI_SUCCESS)
        count++;
}

uint64_t harts_me(void)
{
    return me;
}

uint64_t harts_count(void)
{
    return count;
}

uint64_t harts_other(void)
{
    return me == 0 ? 1 : 0;
}

struct sbi_result harts_start(uint64_t hart, struct worker *worker, void (*work)(struct worker *))
{
    worker->stack = address_of(stacks[hart] + STACK_BYTES);
    worker->work = work;
    worker->done = false;
    return sbi_call3(SBI_HSM, 0, hart, (uint64_t)worker_start, address_of(worker));
}

bool harts_reach(uint64_t hart, uint64_t wanted)
{
    for (unsigned tries = 0; tries < 100000; tries++)
        if (status(hart).value == wanted)
            return true;
    return false;
}

void worker_main(uint64_t hart, struct worker *worker, uint64_t satp, uint64_t sstatus)
{
    worker->hart = hart;
    worker->satp = satp;
    worker->sstatus = sstatus;
    worker->work(worker);
    worker->done = true;
    sbi_call0(SBI_HSM, 1);
    for (;;)
        ;
}

static void nothing(struct worker *worker)
{
    (void)worker;
}

static struct context context;
static volatile int64_t slept;
static volatile unsigned sleeps;

static void sleep_as(uint64_t type)
{
    csr_set(sie, INTERRUPT_SOFTWARE);
    slept = sleep_call(SBI_HSM, 3, type, &context, sleep_resume);
    csr_clear(sip, INTERRUPT_SOFTWARE);
    sleeps++;
}

static void sleep_retentive(struct worker *worker)
{
    (void)worker;
    sleep_as(SLEEP_RETENTIVE);
    /* The highest bits of the type are not looked at. */
    sleep_as(1UL << 63 | SLEEP_RETENTIVE);
}

static void sleep_anew(struct worker *worker)
{
    (void)worker;
    sleep_as(SLEEP_NON_RETENTIVE);
}

static void wake(uint64_t hart)
{
    sbi_call3(SBI_IPI, 0, 1, hart, 0);
}

void test_harts(void)
{
    static struct worker worker;
    uint64_t other = harts_other();

    if (!check_extension(SBI_HSM, "hsm"))
        return;
    check_value(status(me), HART_STARTED, "the calling hart is started");
    check_error(status(FOR_EVER), SBI_INVALID_PARAM, "a hart that does not exist has no status");
    check_error(harts_start(me, &worker, nothing), SBI_ALREADY_AVAILABLE, "a hart that runs is not started");
    check_error(sbi_call3(SBI_HSM, 0, FOR_EVER, address_of(&worker), 0), SBI_INVALID_PARAM,
                "start a hart that does not exist");
    check_error(sbi_call3(SBI_HSM, 3, 1, 0, 0), SBI_INVALID_PARAM, "a reserved type of suspend");
    check_error(sbi_call3(SBI_HSM, 3, SLEEP_NON_RETENTIVE, NO_ADDRESS, 0), SBI_INVALID_ADDRESS,
                "resume at an address that is not RAM");
    if (count < 2) {
        check_skip("there is one hart");
        return;
    }
    check_value(status(other), HART_STOPPED, "the others are stopped");
    check_error(sbi_call3(SBI_HSM, 0, other, NO_ADDRESS, 0), SBI_INVALID_ADDRESS,
                "start a hart at an address that is not RAM");
    check_error(harts_start(other, &worker, nothing), SBI_SUCCESS, "start a hart");
    check(harts_reach(other, HART_STOPPED) && worker.done, "it runs, and stops itself");
    check(worker.hart == other && worker.satp == 0, "it begins with its number and without translation");
    check(!(worker.sstatus & SSTATUS_SIE), "it begins without interrupts");

    harts_start(other, &worker, sleep_retentive);
    for (unsigned times = 0; times < 2; times++) {
        check(harts_reach(other, HART_SUSPENDED), "a hart suspends");
        wake(other);
        while (sleeps == times)
            ;
        check(slept == SBI_SUCCESS, "and resumes after the call");
    }
    harts_reach(other, HART_STOPPED);
    harts_start(other, &worker, sleep_anew);
    check(harts_reach(other, HART_SUSPENDED), "a hart suspends without its registers");
    wake(other);
    check(harts_reach(other, HART_STOPPED) && slept == SLEPT, "and resumes at the given address");
    check(context.hart == other && context.satp == 0, "with its number and without translation");
    check(!(context.sstatus & SSTATUS_SIE), "and without interrupts");
}

static struct sbi_result suspend(uint64_t type, uint64_t address)
{
    return sbi_call3(SBI_SUSP, 0, type, address, address_of(&context));
}

static volatile bool may_stop;

static void stay(struct worker *worker)
{
    (void)worker;
    while (!may_stop)
        ;
}

void test_suspend(void)
{
    static struct worker worker;

    if (!check_extension(SBI_SUSP, "susp"))
        return;
    check_error(sbi_call0(SBI_SUSP, 1), SBI_NOT_SUPPORTED, "function 1 is not supported");
    check_error(suspend(1, (uint64_t)sleep_resume), SBI_INVALID_PARAM, "a reserved type");
    check_error(suspend(0x80000000, (uint64_t)sleep_resume), SBI_INVALID_PARAM, "a platform's type");
    check_error(suspend(0, NO_ADDRESS), SBI_INVALID_ADDRESS, "resume at an address that is not RAM");
    if (count >= 2) {
        may_stop = false;
        harts_start(harts_other(), &worker, stay);
        harts_reach(harts_other(), HART_STARTED);
        check_error(suspend(0, (uint64_t)sleep_resume), SBI_DENIED, "while another hart runs");
        may_stop = true;
        harts_reach(harts_other(), HART_STOPPED);
    } else {
        check_skip("there is one hart");
    }
    /* The upper half of the type is not looked at. */
    for (uint64_t type = 0; type <= 1UL << 32; type += 1UL << 32) {
        uint64_t until = csr_read(time) + MILLISECOND;

        sbi_call1(SBI_TIME, 0, until);
        csr_set(sie, INTERRUPT_TIMER);
        check(sleep_call(SBI_SUSP, 0, type, &context, sleep_resume) == SLEPT, "suspend and resume");
        check(csr_read(time) >= until, "the timer has resumed the hart");
        check(csr_read(sip) & INTERRUPT_TIMER, "and is still pending");
        check(context.hart == me && context.satp == 0, "the hart has its number and no translation");
        check(!(context.sstatus & SSTATUS_SIE), "and no interrupts");
        csr_clear(sie, INTERRUPT_TIMER);
        sbi_call1(SBI_TIME, 0, FOR_EVER);
    }
}
