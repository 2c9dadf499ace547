/* The legacy calls: EIDs 0 to 7. 8 would end the run. */
#include "check.h"
#include "csr.h"
#include "harts.h"
#include "tests.h"

static volatile uint64_t faults, fault_address, next;

static uint64_t skip(uint64_t cause, uint64_t value, uint64_t pc)
{
    (void)cause;
    faults++;
    fault_address = value;
    next = pc;
    return pc + 4;
}

/* Whether a call leaves a1 as it is; what it returns in a0. */
static bool keeps_a1(uint64_t extension, uint64_t argument, int64_t *returned)
{
    struct sbi_result result = sbi_call(extension, 0xbad, argument, 0x5a5a, 0, 0, 0);

    *returned = result.error;
    return result.value == 0x5a5a;
}

void test_legacy(void)
{
    uint64_t mask = 1UL << harts_me();
    int64_t returned;

    check_group("legacy");
    if (!sbi_has(SBI_PUTCHAR)) {
        check_skip("the calls are not there");
        return;
    }
    check(keeps_a1(SBI_PUTCHAR, 'L', &returned) && returned == 0, "putchar, whatever the function");
    check(keeps_a1(SBI_PUTCHAR, '\n', &returned) && returned == 0, "and a1 stays");
    check(keeps_a1(SBI_GETCHAR, 0, &returned) && returned >= -1 && returned <= 255, "getchar: a byte, or -1");
    check(keeps_a1(SBI_SET_TIMER, 0, &returned) && returned == 0, "set the timer to the past");
    check(csr_read(sip) & INTERRUPT_TIMER, "it is pending at once");
    keeps_a1(SBI_SET_TIMER, FOR_EVER, &returned);
    check(!(csr_read(sip) & INTERRUPT_TIMER), "and cleared by a timer in the far future");
    check(keeps_a1(SBI_SEND_IPI, address_of(&mask), &returned) && returned == 0, "an IPI by a mask in memory");
    check(csr_read(sip) & INTERRUPT_SOFTWARE, "is pending");
    check(keeps_a1(SBI_CLEAR_IPI, 0, &returned) && returned > 0, "clear it");
    check(!(csr_read(sip) & INTERRUPT_SOFTWARE), "it is not pending any more");
    check(keeps_a1(SBI_CLEAR_IPI, 0, &returned) && returned == 0, "clear an IPI that is not pending");
    check(sbi_call1(SBI_REMOTE_FENCE_I, 0, address_of(&mask)).error == 0, "fence.i");
    check(sbi_call3(SBI_REMOTE_SFENCE_VMA, 0, address_of(&mask), 0, 0).error == 0, "sfence.vma");
    check(sbi_call(SBI_REMOTE_SFENCE_VMA_ASID, 0, address_of(&mask), 0x1000, 0x1000, 1, 0).error == 0,
          "sfence.vma of an ASID");
    faults = 0;
    trap_on_exception(skip);
    sbi_call1(SBI_SEND_IPI, 0, NO_ADDRESS);
    trap_on_exception(0);
    check(faults == 1 && fault_address == NO_ADDRESS, "a mask at an address without memory faults");
    check(*(volatile uint32_t *)next == 0x73, "at the call");
}
