/* BASE, TIME, sPI, DBCN and RFENCE. */
#include "check.h"
#include "csr.h"
#include "harts.h"
#include "tests.h"

void test_base(void)
{
    check_group("base");
    check_error(sbi_call0(SBI_BASE, 0xbad), SBI_NOT_SUPPORTED, "an unknown function is not supported");
    check_error(sbi_call0(0xb000000, 0), SBI_NOT_SUPPORTED, "an unknown extension is not supported");
    struct sbi_result version = sbi_call0(SBI_BASE, 0);

    check(version.error == SBI_SUCCESS && version.value >> 31 == 0, "the version has 31 bits");
    check(version.value >> 24 >= 2, "the version is 2.0 at least");
    check_value(sbi_call1(SBI_BASE, 3, SBI_BASE), 1, "the extension is there");
    check_value(sbi_call1(SBI_BASE, 3, 0xb000000), 0, "an unknown extension is not there");
    for (uint64_t function = 1; function <= 6; function++)
        if (function != 3)
            check_error(sbi_call0(SBI_BASE, function), SBI_SUCCESS, "identity");
}

static bool timer_pending(void)
{
    return csr_read(sip) & INTERRUPT_TIMER;
}

static struct sbi_result set_timer(uint64_t time)
{
    return sbi_call1(SBI_TIME, 0, time);
}

static volatile unsigned timer_interrupts;
static volatile bool seen_pending, seen_cleared;

static void timer_interrupt(void)
{
    timer_interrupts++;
    seen_pending = timer_pending();
    set_timer(FOR_EVER);
    seen_cleared = !timer_pending();
}

static void mask_timer(void)
{
    timer_interrupts++;
    csr_clear(sie, INTERRUPT_TIMER);
}

static void wait_for_timer(void (*handler)(void), const char *what)
{
    uint64_t begin = csr_read(time), end;

    timer_interrupts = 0;
    trap_on_timer(handler);
    set_timer(begin + 2 * MILLISECOND);
    csr_set(sie, INTERRUPT_TIMER);
    csr_set(sstatus, SSTATUS_SIE);
    while (timer_interrupts == 0 && csr_read(time) < begin + 20 * MILLISECOND)
        ;
    end = csr_read(time);
    csr_clear(sstatus, SSTATUS_SIE);
    csr_clear(sie, INTERRUPT_TIMER);
    check(timer_interrupts == 1 && end - begin >= 2 * MILLISECOND, what);
}

void test_time(void)
{
    if (!check_extension(SBI_TIME, "time"))
        return;
    wait_for_timer(timer_interrupt, "one interrupt, and not before its time");
    check(seen_pending, "it is pending in the handler");
    check(seen_cleared, "a timer in the far future clears it");
    wait_for_timer(mask_timer, "one interrupt with a handler that masks it");
    check(timer_pending(), "it stays pending while it is masked");
    check_error(set_timer(FOR_EVER), SBI_SUCCESS, "set a timer in the far future");
    check(!timer_pending(), "which clears the masked interrupt");

    set_timer(0);
    check(timer_pending(), "a time in the past is pending at once");
    set_timer(FOR_EVER);
    check(!timer_pending(), "and cleared while it is masked");

    uint64_t soon = csr_read(time) + MILLISECOND / 10;

    set_timer(soon);
    check(!timer_pending() || csr_read(time) >= soon, "a time in the future is not pending");
    while (csr_read(time) < soon)
        ;
    check(timer_pending(), "a masked timer becomes pending while the hart runs on");

    timer_interrupts = 0;
    trap_on_timer(timer_interrupt);
    csr_set(sstatus, SSTATUS_SIE);
    csr_set(sie, INTERRUPT_TIMER);
    check(timer_interrupts == 1, "it is taken at once when it is unmasked");
    set_timer(0);
    check(timer_interrupts == 2, "a time in the past interrupts at once");
    csr_clear(sstatus, SSTATUS_SIE);
    csr_clear(sie, INTERRUPT_TIMER);
}

void test_console(void)
{
    static const char text[] = "DBCN\n";

    if (!check_extension(SBI_DBCN, "dbcn"))
        return;
    check_value(sbi_call3(SBI_DBCN, 0, 5, address_of(text), 0), 5, "write");
    check_value(sbi_call3(SBI_DBCN, 0, 0, address_of(text), 0), 0, "write nothing");
    check_error(sbi_call3(SBI_DBCN, 0, 1, NO_ADDRESS, 0), SBI_INVALID_PARAM, "write from an address that is not RAM");
    check_error(sbi_call3(SBI_DBCN, 0, 1, address_of(text), 1), SBI_INVALID_PARAM, "write from an address above 2^64");
    check_value(sbi_call1(SBI_DBCN, 2, 0x6463620a), 0, "write a byte, of a word that holds more");
    check_error(sbi_call3(SBI_DBCN, 1, 1, NO_ADDRESS, 0), SBI_INVALID_PARAM, "read to an address that is not RAM");
}

static volatile unsigned ipis;

static void count_ipi(void)
{
    csr_clear(sip, INTERRUPT_SOFTWARE);
    ipis++;
}

void test_ipi(void)
{
    uint64_t last = harts_count() - 1;

    if (!check_extension(SBI_IPI, "ipi"))
        return;
    check_error(sbi_call3(SBI_IPI, 0, 0, 0, 0), SBI_SUCCESS, "an empty mask");
    check_error(sbi_call3(SBI_IPI, 0, 0, last + 1, 0), SBI_SUCCESS, "an empty mask from a hart that does not exist");
    check_error(sbi_call3(SBI_IPI, 0, 2, last, 0), SBI_INVALID_PARAM, "a hart that does not exist, by the mask");
    check_error(sbi_call3(SBI_IPI, 0, 1, last + 1, 0), SBI_INVALID_PARAM, "the same, by the base");

    sbi_call3(SBI_IPI, 0, 1, harts_me(), 0);
    check(csr_read(sip) & INTERRUPT_SOFTWARE, "an IPI to the calling hart is pending at once");
    csr_clear(sip, INTERRUPT_SOFTWARE);
    check(!(csr_read(sip) & INTERRUPT_SOFTWARE), "and cleared by its bit in sip");
    ipis = 0;
    trap_on_software(count_ipi);
    csr_set(sie, INTERRUPT_SOFTWARE);
    csr_set(sstatus, SSTATUS_SIE);
    sbi_call3(SBI_IPI, 0, 0, FOR_EVER, 0);
    check(ipis == 1, "an IPI to all harts interrupts the calling hart at once");
    csr_set(sip, INTERRUPT_SOFTWARE);
    check(ipis == 2, "and so does a write of sip");
    csr_clear(sstatus, SSTATUS_SIE);
    csr_clear(sie, INTERRUPT_SOFTWARE);
}

void test_fences(void)
{
    uint64_t last = harts_count() - 1;

    if (!check_extension(SBI_RFENCE, "rfence"))
        return;
    check_error(sbi_call3(SBI_RFENCE, 0, 0, FOR_EVER, 0), SBI_SUCCESS, "fence.i everywhere");
    check_error(sbi_call(SBI_RFENCE, 1, 1, 0, 0, FOR_EVER, 0), SBI_SUCCESS, "sfence.vma of everything");
    check_error(sbi_call(SBI_RFENCE, 2, 1, 0, 0x1000, 0x1000, 1), SBI_SUCCESS, "sfence.vma of a page and an ASID");
    check_error(sbi_call(SBI_RFENCE, 1, 2, last, 0, 0, 0), SBI_INVALID_PARAM, "a hart that does not exist");
}
