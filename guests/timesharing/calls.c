#include "calls.h"

#include "../workloads/linux.h"

enum {
    SYSTEM_CLOCK_NANOSLEEP = 115,
    SYSTEM_MUNMAP = 215,
    /* Known to guests/timesharing-kernel/calls.c. */
    SYSTEM_ACCOUNT = 0x2000,
    SYSTEM_LOG_OFF,
};

static const uint64_t FIRST_ERROR = -(uint64_t)4095;

static uint64_t made;

static uint64_t call(uint64_t number, uint64_t first, uint64_t second, uint64_t third)
{
    register uint64_t a7 __asm__("a7") = number;
    register uint64_t a0 __asm__("a0") = first;
    register uint64_t a1 __asm__("a1") = second;
    register uint64_t a2 __asm__("a2") = third;
    register uint64_t a3 __asm__("a3") = 0;

    made++;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a7) : "memory");
    return a0;
}

void sleep_to(uint64_t nanoseconds)
{
    enum { CLOCK_MONOTONIC = 1, TIMER_ABSTIME = 1 };
    const uint64_t second = 1000000000;
    volatile uint64_t time[2] = {nanoseconds / second, nanoseconds % second};

    call(SYSTEM_CLOCK_NANOSLEEP, CLOCK_MONOTONIC, TIMER_ABSTIME, (uint64_t)time);
}

bool give_back(void *memory, size_t bytes)
{
    return call(SYSTEM_MUNMAP, (uint64_t)memory, bytes, 0) == 0;
}

void log_off(int status)
{
    call(SYSTEM_LOG_OFF, (uint64_t)status, 0, 0);
    linux_exit(status);
}

uint64_t recorded_calls(void)
{
    uint64_t calls = call(SYSTEM_ACCOUNT, 0, 0, 0);

    return calls >= FIRST_ERROR ? 0 : calls;
}

uint64_t made_calls(void)
{
    return made;
}
