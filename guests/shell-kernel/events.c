#include "events.h"

#include "../vos/csr.h"
#include "../vos/hart.h"
#include "../vos/sbi.h"

/* SBI 3.0, chapter 11. */
enum { SBI_PMU = 0x504d55, PMU_CONFIGURE = 2 };
enum { CONFIGURE_CLEAR = 2, CONFIGURE_START = 4 };
enum { FIRST_COUNTER = 3 };

/* In the order of shell/commands.c: L1 misses of loads and stores, and of fetches; what the L2 TLB then answers, and what it does not; walks, and
 * their references to the guest's tables and to the host's. */
static const struct {
    uint64_t event;
    uint64_t data;
} wanted[SHELL_EVENTS] = {
    {0x10019, 0}, {0x10021, 0}, {0x20000, 1}, {0x20000, 2}, {0x20000, 3}, {0x20000, 4}, {0x20000, 5},
};

static bool configure(unsigned number)
{
    register uint64_t a0 __asm__("a0") = FIRST_COUNTER + number;
    register uint64_t a1 __asm__("a1") = 1;
    register uint64_t a2 __asm__("a2") = CONFIGURE_CLEAR | CONFIGURE_START;
    register uint64_t a3 __asm__("a3") = wanted[number].event;
    register uint64_t a4 __asm__("a4") = wanted[number].data;
    register uint64_t a6 __asm__("a6") = PMU_CONFIGURE;
    register uint64_t a7 __asm__("a7") = SBI_PMU;

    __asm__ volatile("ecall"
                     : "+r"(a0), "+r"(a1)
                     : "r"(a2), "r"(a3), "r"(a4), "r"(a6), "r"(a7)
                     : "memory");
    return a0 == 0;
}

bool events_read(uint64_t events[SHELL_EVENTS])
{
    /* A bit for each hart whose counters count. */
    static uint64_t counting;
    uint64_t hart = hart_mask_of(hart_this());

    if (!sbi_has((enum sbi_extension)SBI_PMU))
        return false;
    if ((counting & hart) == 0)
        for (unsigned i = 0; i < SHELL_EVENTS; i++)
            if (!configure(i))
                return false;
    __atomic_fetch_or(&counting, hart, __ATOMIC_RELAXED);
    events[0] = csr_read(hpmcounter3);
    events[1] = csr_read(hpmcounter4);
    events[2] = csr_read(hpmcounter5);
    events[3] = csr_read(hpmcounter6);
    events[4] = csr_read(hpmcounter7);
    events[5] = csr_read(hpmcounter8);
    events[6] = csr_read(hpmcounter9);
    return true;
}
