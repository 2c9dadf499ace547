/* STA: steal time. */
#include "check.h"
#include "csr.h"
#include "harts.h"
#include "tests.h"

/* The shared structure. */
struct steal_time {
    uint32_t sequence, flags;
    uint64_t steal;
    uint8_t preempted, pad[47];
} __attribute__((aligned(64)));

static volatile struct steal_time shared;

static struct sbi_result set_memory(uint64_t low, uint64_t high, uint64_t flags)
{
    return sbi_call3(SBI_STA, 0, low, high, flags);
}

void test_steal_time(void)
{
    uint64_t asked, begin, passed, before;

    if (!check_extension(SBI_STA, "sta"))
        return;
    check_error(set_memory(address_of(&shared), 0, 1), SBI_INVALID_PARAM, "an undefined flag");
    check_error(set_memory(address_of(&shared) + 32, 0, 0), SBI_INVALID_PARAM, "32 bytes off");
    check_error(set_memory(0, 0, 0), SBI_INVALID_ADDRESS, "an address that is not RAM");
    check_error(set_memory(address_of(&shared), 1, 0), SBI_INVALID_ADDRESS, "an address above 2^64");
    shared.steal = 77;
    asked = csr_read(time);
    check_error(set_memory(address_of(&shared), 0, 0), SBI_SUCCESS, "enable steal time");
    check(shared.steal == 0 && shared.preempted == 0, "the record is zero at first");

    begin = csr_read(time);
    while (csr_read(time) - begin < 20 * MILLISECOND)
        ;
    passed = csr_read(time) - asked;
    check(shared.sequence % 2 == 0 && shared.flags == 0 && shared.preempted == 0,
          "the record is complete while the hart runs");
    /* 100 ns a tick. */
    check(shared.steal <= passed * 100, "steal time is at most the time that has passed");
    if (shared.steal == 0)
        check_skip("no other vCPU runs on this pCPU");
    else
        check(shared.sequence > 0, "the record is updated with the steal time");
    check_error(set_memory(FOR_EVER, FOR_EVER, 0), SBI_SUCCESS, "disable steal time");
    before = shared.sequence;
    begin = csr_read(time);
    while (csr_read(time) - begin < 5 * MILLISECOND)
        ;
    check(shared.sequence == before, "the record does not change while it is disabled");
}
