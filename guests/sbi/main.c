/* What the SBI specification demands of an implementation, checked call by call from a guest. */
#include "check.h"
#include "harts.h"
#include "tests.h"

struct sbi_result sbi_call(uint64_t extension, uint64_t function, uint64_t a, uint64_t b, uint64_t c,
                           uint64_t d, uint64_t e)
{
    register uint64_t a0 __asm__("a0") = a;
    register uint64_t a1 __asm__("a1") = b;
    register uint64_t a2 __asm__("a2") = c;
    register uint64_t a3 __asm__("a3") = d;
    register uint64_t a4 __asm__("a4") = e;
    register uint64_t a6 __asm__("a6") = function;
    register uint64_t a7 __asm__("a7") = extension;

    __asm__ volatile("ecall"
                     : "+r"(a0), "+r"(a1)
                     : "r"(a2), "r"(a3), "r"(a4), "r"(a6), "r"(a7)
                     : "memory");
    return (struct sbi_result){(int64_t)a0, a1};
}

bool sbi_has(uint64_t extension)
{
    enum { PROBE_EXTENSION = 3 };
    struct sbi_result result = sbi_call1(SBI_BASE, PROBE_EXTENSION, extension);

    return result.error == SBI_SUCCESS && result.value != 0;
}

/* The status that the run ends with: start.S passes it on. */
unsigned main(uint64_t hart);

unsigned main(uint64_t hart)
{
    harts_find(hart);
    test_base();
    test_time();
    test_ipi();
    test_console();
    test_fences();
    test_harts();
    test_suspend();
    test_features();
    test_counters();
    test_steal_time();
    test_legacy();
    return check_summary() != 0;
}
