/* FWFT: features that can be had or not, and A and D bits. */
#include "check.h"
#include "csr.h"
#include "harts.h"
#include "tests.h"

#define PTE_V 1
#define PTE_RW 6
#define PTE_RWX 14
#define PTE_A 0x40
#define PTE_D 0x80
#define PAGE_BYTES 4096UL
#define SV39 (8UL << 60)
/* Where a page is mapped that the identity map leaves free. */
#define PROBE_ADDRESS 0x40000000UL

enum { MISALIGNED = 0, POINTER_MASKING = 5, HARDWARE_AD = 4, LOCK = 1 };

static uint64_t root[512] __attribute__((aligned(4096)));
static uint64_t middle[512] __attribute__((aligned(4096)));
static volatile uint64_t leaves[512] __attribute__((aligned(4096)));
static uint64_t probe[512] __attribute__((aligned(4096)));
static volatile unsigned faults;

static struct sbi_result set(uint64_t feature, uint64_t value, uint64_t flags)
{
    return sbi_call3(SBI_FWFT, 0, feature, value, flags);
}

static struct sbi_result get(uint64_t feature)
{
    return sbi_call1(SBI_FWFT, 1, feature);
}

/* Sets the bit that is missing, as a kernel does where the hardware does not. */
static uint64_t set_ad(uint64_t cause, uint64_t value, uint64_t pc)
{
    (void)value;
    faults++;
    leaves[0] |= cause == 15 ? PTE_A | PTE_D : PTE_A;
    __asm__ volatile("sfence.vma" ::: "memory");
    return pc;
}

static uint64_t entry(const volatile void *page, uint64_t bits)
{
    return address_of(page) / PAGE_BYTES << 10 | bits | PTE_V;
}

static void translate(void)
{
    for (uint64_t gigabyte = 2; gigabyte < 4; gigabyte++)
        root[gigabyte] = gigabyte << 28 | PTE_RWX | PTE_A | PTE_D | PTE_V;
    root[PROBE_ADDRESS >> 30] = entry(middle, 0);
    middle[0] = entry(leaves, 0);
    csr_write(satp, SV39 | address_of(root) / PAGE_BYTES);
    __asm__ volatile("sfence.vma" ::: "memory");
}

/* Whether a load and a store have A and D bits set by hardware or by traps. */
static bool sets_bits(bool hardware)
{
    volatile uint64_t *at = (volatile uint64_t *)PROBE_ADDRESS;
    bool right = true;

    for (unsigned store = 0; store < 2; store++) {
        uint64_t bits = store ? PTE_A | PTE_D : PTE_A;

        leaves[0] = entry(probe, PTE_RW);
        __asm__ volatile("sfence.vma" ::: "memory");
        faults = 0;
        if (store)
            *at = 1;
        else
            (void)*at;
        right = right && (leaves[0] & (PTE_A | PTE_D)) == bits && faults == !hardware;
    }
    return right;
}

static void test_hardware_ad(void)
{
    check_group("fwft: A and D bits");
    if (get(HARDWARE_AD).error == SBI_NOT_SUPPORTED) {
        check_error(set(HARDWARE_AD, 1, 0), SBI_NOT_SUPPORTED, "cannot be set where they cannot be read");
        check_skip("the machine has only one policy");
        return;
    }
    check_value(get(HARDWARE_AD), 0, "0 after reset");
    trap_on_exception(set_ad);
    translate();
    check(sets_bits(false), "an access faults where they are clear");
    check_error(set(HARDWARE_AD, 1, 0), SBI_SUCCESS, "set to 1");
    check_value(get(HARDWARE_AD), 1, "get 1");
    check(sets_bits(true), "the walker sets them");
    check_error(set(1UL << 32 | HARDWARE_AD, 0, 0), SBI_SUCCESS, "32 bits of the feature count");
    check(sets_bits(false), "an access faults again");
    check_error(set(HARDWARE_AD, 2, 0), SBI_INVALID_PARAM, "set to 2");
    check_error(set(HARDWARE_AD, 1UL << 32, 0), SBI_INVALID_PARAM, "set to 2^32");
    check_error(set(HARDWARE_AD, 1, 2), SBI_INVALID_PARAM, "set with an undefined flag");
    check_error(set(HARDWARE_AD, 1, LOCK), SBI_SUCCESS, "set and lock");
    check_error(set(HARDWARE_AD, 0, 0), SBI_DENIED_LOCKED, "set what is locked");
    check_error(set(HARDWARE_AD, 1, LOCK), SBI_DENIED_LOCKED, "lock what is locked");
    check_value(get(HARDWARE_AD), 1, "it keeps the value that was locked");
    check(sets_bits(true), "and the walker follows it");
    csr_write(satp, 0);
    trap_on_exception(0);
}

void test_features(void)
{
    static const uint64_t reserved[] = {6, 0x3fffffff, 0x40000000, 0x80000000, 0xbfffffff, 0xffffffff};

    if (!check_extension(SBI_FWFT, "fwft"))
        return;
    for (unsigned i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
        check_error(get(reserved[i]), SBI_DENIED, "get a reserved feature");
        check_error(set(reserved[i], 1, 0), SBI_DENIED, "set a reserved feature");
    }
    for (uint64_t feature = MISALIGNED; feature <= POINTER_MASKING; feature++)
        if (feature != HARDWARE_AD)
            check_error(get(feature), SBI_NOT_SUPPORTED, "get a feature that the harts lack");
    test_hardware_ad();
}
