/* PMU: performance counters. */
#include "check.h"
#include "csr.h"
#include "harts.h"
#include "tests.h"

enum { COUNT, INFO, CONFIGURE, START, STOP, READ, READ_HIGH };
enum { CLEAR = 2, AUTO_START = 4, SET_VALUE = 1, RESET = 1 };

#define EVENT_CYCLES 1
#define EVENT_INSTRUCTIONS 2
#define EVENT_DTLB_READ_MISS 0x10019
#define EVENT_ITLB_READ_MISS 0x10021
#define EVENT_RAW 0x20000
#define RAW_WALKS 3
#define EVENT_SET_TIMER 0xf0005
#define EVENT_IPI_SENT 0xf0006

#define CSR_CYCLE 0xc00
#define FIRMWARE (1UL << 63)

static uint64_t every;

static struct sbi_result configure(uint64_t mask, uint64_t flags, uint64_t event, uint64_t data)
{
    return sbi_call(SBI_PMU, CONFIGURE, 0, mask, flags, event, data);
}

/* The number of instructions of a loop of `turns` turns, as `instret` counts them. */
static uint64_t instructions_of(uint64_t turns)
{
    uint64_t begin = csr_read(instret);

    __asm__ volatile("1: addi %0, %0, -1; bnez %0, 1b" : "+r"(turns));
    return csr_read(instret) - begin;
}

static void test_layout(void)
{
    struct sbi_result number = sbi_call0(SBI_PMU, COUNT);
    unsigned hardware = 0, firmware = 0;

    check(number.error == SBI_SUCCESS && number.value >= 3 && number.value <= 64, "there are counters");
    for (uint64_t counter = 0; counter < number.value; counter++) {
        struct sbi_result info = sbi_call1(SBI_PMU, INFO, counter);

        if (info.error != SBI_SUCCESS)
            continue;
        every |= 1UL << counter;
        if (info.value & FIRMWARE)
            firmware++;
        else if ((info.value & 0xfff) == CSR_CYCLE + counter && (info.value >> 12 & 63) == 63)
            hardware++;
    }
    check(hardware >= 3 && firmware >= 1, "of both kinds, and 64 bits wide");
    check_error(sbi_call1(SBI_PMU, INFO, number.value), SBI_INVALID_PARAM, "and no more of them");
}

static void test_hardware(void)
{
    uint64_t begin, cycles, value;
    struct sbi_result counter, result;

    check(instructions_of(1000) >= 2000 && instructions_of(1000) < 2020, "instret counts instructions");
    begin = csr_read(cycle);
    instructions_of(1000);
    cycles = csr_read(cycle) - begin;
    check(cycles > 100 && cycles < 1000000, "cycle counts cycles");
    check_error(sbi_call3(SBI_PMU, STOP, 2, 1, 0), SBI_SUCCESS, "stop instret");
    check(instructions_of(1000) == 0, "it does not count");
    check_error(sbi_call3(SBI_PMU, STOP, 2, 1, 0), SBI_ALREADY_STOPPED, "stop it again");
    result = sbi_call(SBI_PMU, START, 2, 1, SET_VALUE, 1UL << 40, 0);
    value = csr_read(instret);
    check_error(result, SBI_SUCCESS, "start it at a value");
    check(value - (1UL << 40) < 100, "it goes on from there");
    check_error(sbi_call(SBI_PMU, START, 2, 1, 0, 0, 0), SBI_ALREADY_STARTED, "start it again");

    counter = configure(every & ~5UL, CLEAR | AUTO_START, EVENT_INSTRUCTIONS, 0);
    check(counter.error == SBI_SUCCESS && counter.value == 3, "the third counter can count instructions");
    begin = csr_read(hpmcounter3);
    instructions_of(1000);
    check(csr_read(hpmcounter3) - begin >= 2000, "it does");
    check_error(sbi_call3(SBI_PMU, STOP, 3, 1, RESET), SBI_SUCCESS, "stop and reset it");
    check_error(sbi_call(SBI_PMU, START, 3, 1, 0, 0, 0), SBI_INVALID_PARAM, "it has nothing to count");

    counter = configure(every, CLEAR | AUTO_START, EVENT_DTLB_READ_MISS, 0);
    check(counter.error == SBI_SUCCESS, "data TLB misses can be counted");
    check_error(configure(every, CLEAR, EVENT_ITLB_READ_MISS, 0), SBI_SUCCESS, "instruction TLB misses, too");
    check_error(configure(every, CLEAR, EVENT_RAW, RAW_WALKS), SBI_SUCCESS, "and walks, a raw event");
    check_error(configure(every, CLEAR, 6, 0), SBI_NOT_SUPPORTED, "branch misses cannot");
    check_error(configure(every | 2, CLEAR, EVENT_CYCLES, 0), SBI_INVALID_PARAM, "a set with a gap is refused");
}

static void test_firmware_events(void)
{
    struct sbi_result counter = configure(every, CLEAR | AUTO_START, EVENT_SET_TIMER, 0);

    check(counter.error == SBI_SUCCESS && sbi_call1(SBI_PMU, INFO, counter.value).value & FIRMWARE,
          "a firmware counter counts timers");
    sbi_call1(SBI_TIME, 0, FOR_EVER);
    sbi_call1(SBI_TIME, 0, FOR_EVER);
    check_value(sbi_call1(SBI_PMU, READ, counter.value), 2, "two of them");
    check_value(sbi_call1(SBI_PMU, READ_HIGH, counter.value), 0, "and none above 2^64");
    check_error(sbi_call1(SBI_PMU, READ, 0), SBI_INVALID_PARAM, "cycle is no firmware counter");
    counter = configure(every, CLEAR | AUTO_START, EVENT_IPI_SENT, 0);
    sbi_call3(SBI_IPI, 0, 0, FOR_EVER, 0);
    csr_clear(sip, INTERRUPT_SOFTWARE);
    check_value(sbi_call1(SBI_PMU, READ, counter.value), harts_count() - 1, "an IPI to each other hart");
    check_error(sbi_call3(SBI_PMU, STOP, counter.value, 1, 4), SBI_INVALID_PARAM, "an undefined flag");
}

void test_counters(void)
{
    if (!check_extension(SBI_PMU, "pmu"))
        return;
    test_layout();
    test_hardware();
    test_firmware_events();
}
