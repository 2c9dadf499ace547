#include "timer.h"

#include "csr.h"
#include "platform.h"
#include "sbi.h"

static unsigned ticks_per_second = DEFAULT_TICKS_PER_SECOND;

void timer_set_ticks(unsigned per_second)
{
    ticks_per_second = per_second;
}

static void set_deadline(uint64_t time)
{
    if (platform.sstc)
        __asm__ volatile("csrw %0, %1" ::"i"(CSR_STIMECMP), "r"(time) : "memory");
    else
        sbi_set_timer(time);
}

const char *timer_name(void)
{
    return platform.sstc ? "sstc" : "sbi";
}

void timer_arm(void)
{
    if (ticks_per_second == 0)
        timer_disarm();
    else
        set_deadline(read_time() + platform.timebase_hertz / ticks_per_second);
}

void timer_disarm(void)
{
    set_deadline(UINT64_MAX);
}

uint64_t timer_nanoseconds(void)
{
    const uint64_t second = 1000000000;
    uint64_t now = read_time();

    return now / platform.timebase_hertz * second +
           now % platform.timebase_hertz * second / platform.timebase_hertz;
}
