#include "calls.h"

#include "../workloads/linux.h"

enum {
    SYSTEM_NANOSLEEP = 101,
    SYSTEM_MUNMAP = 215,
    /* Known to guests/timesharing-kernel/calls.c. */
    SYSTEM_ACCOUNT = 0x2000,
    SYSTEM_LOG_OFF,
};

static const uint64_t FIRST_ERROR = -(uint64_t)4095;

static uint64_t made;

static uint64_t call(uint64_t number, uint64_t first, uint64_t second)
{
    register uint64_t a7 __asm__("a7") = number;
    register uint64_t a0 __asm__("a0") = first;
    register uint64_t a1 __asm__("a1") = second;

    made++;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a7) : "memory");
    return a0;
}

void sleep_nanoseconds(uint64_t nanoseconds)
{
    const uint64_t second = 1000000000;
    volatile uint64_t time[2] = {nanoseconds / second, nanoseconds % second};

    call(SYSTEM_NANOSLEEP, (uint64_t)time, 0);
}

bool give_back(void *memory, size_t bytes)
{
    return call(SYSTEM_MUNMAP, (uint64_t)memory, bytes) == 0;
}

void log_off(int status)
{
    call(SYSTEM_LOG_OFF, (uint64_t)status, 0);
    linux_exit(status);
}

uint64_t recorded_calls(void)
{
    uint64_t calls = call(SYSTEM_ACCOUNT, 0, 0);

    return calls >= FIRST_ERROR ? 0 : calls;
}

uint64_t made_calls(void)
{
    return made;
}
