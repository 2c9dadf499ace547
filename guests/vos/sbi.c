#include "sbi.h"

#include "memory.h"

struct sbi_result {
    int64_t error;
    uint64_t value;
};

static struct sbi_result call(enum sbi_extension extension, uint64_t function, uint64_t a,
                              uint64_t b, uint64_t c, uint64_t d, uint64_t e)
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

bool sbi_has(enum sbi_extension extension)
{
    enum { PROBE_EXTENSION = 3 };
    struct sbi_result result = call(SBI_BASE, PROBE_EXTENSION, extension, 0, 0, 0, 0);

    return result.error == 0 && result.value != 0;
}

size_t sbi_console_write(const char *bytes, size_t length)
{
    struct sbi_result result = call(SBI_DBCN, 0, length, physical_address(bytes), 0, 0, 0);

    return result.error == 0 ? result.value : 0;
}

void sbi_set_timer(uint64_t time)
{
    call(SBI_TIME, 0, time, 0, 0, 0, 0);
}

void sbi_send_ipi(uint64_t hart_mask)
{
    call(SBI_IPI, 0, hart_mask, 0, 0, 0, 0);
}

void sbi_remote_fence_i(uint64_t hart_mask)
{
    call(SBI_RFENCE, 0, hart_mask, 0, 0, 0, 0);
}

void sbi_remote_sfence_vma(uint64_t hart_mask, uint64_t virtual, uint64_t bytes)
{
    call(SBI_RFENCE, 1, hart_mask, 0, virtual, bytes, 0);
}

void sbi_remote_sfence_vma_asid(uint64_t hart_mask, uint64_t virtual, uint64_t bytes, unsigned asid)
{
    call(SBI_RFENCE, 2, hart_mask, 0, virtual, bytes, asid);
}

bool sbi_pptlb(uint64_t entry, uint64_t virtual, bool handshake, uint64_t *old)
{
    struct sbi_result result = call(SBI_PARAVIRTUAL, 0, entry, virtual, handshake, 0, 0);

    *old = result.value;
    return result.error == 0;
}

bool sbi_hart_start(uint64_t hart, uint64_t start, uint64_t argument)
{
    return call(SBI_HSM, 0, hart, start, argument, 0, 0).error == 0;
}

void sbi_hart_stop(void)
{
    for (;;)
        call(SBI_HSM, 1, 0, 0, 0, 0, 0);
}

void sbi_register_area(uint64_t address)
{
    call(SBI_PARAVIRTUAL, 0x10, address, 0, 0, 0, 0);
}

unsigned sbi_allocation(void)
{
    struct sbi_result result = call(SBI_PARAVIRTUAL, 0x11, 0, 0, 0, 0, 0);

    return result.error == 0 ? (unsigned)result.value : 1;
}

uint64_t sbi_allocation_interrupt(bool wanted)
{
    struct sbi_result result = call(SBI_PARAVIRTUAL, 0x12, wanted, 0, 0, 0, 0);

    return result.error == 0 ? result.value : 0;
}

void sbi_spin(unsigned reason, uint64_t partner)
{
    call(SBI_PARAVIRTUAL, 0x13, reason, partner, 0, 0, 0);
}

void sbi_excessive_spin(unsigned reason, bool lost)
{
    call(SBI_PARAVIRTUAL, 0x14, reason, lost, 0, 0, 0);
}

int64_t sbi_set_segment(uint64_t begin, uint64_t end, uint64_t target)
{
    return call(SBI_PARAVIRTUAL, 0x20, begin, end, target, 0, 0).error;
}

int64_t sbi_section_map(uint64_t number, uint64_t at, bool write)
{
    return call(SBI_PARAVIRTUAL, 0x30, number, at, write, 0, 0).error;
}

int64_t sbi_section_unmap(uint64_t number)
{
    return call(SBI_PARAVIRTUAL, 0x31, number, 0, 0, 0, 0).error;
}

int64_t sbi_section_delete(uint64_t number)
{
    return call(SBI_PARAVIRTUAL, 0x32, number, 0, 0, 0, 0).error;
}

void sbi_shutdown(enum sbi_reset_reason reason)
{
    enum { SHUTDOWN = 0 };

    call(SBI_SRST, 0, SHUTDOWN, reason, 0, 0, 0);
}

void sbi_call_with_garbage(void)
{
    static const enum sbi_extension extensions[] = {SBI_BASE,   SBI_TIME, SBI_IPI,
                                                    SBI_RFENCE, SBI_DBCN, SBI_PARAVIRTUAL};
    enum { FUNCTIONS = 8, NO_SUCH_EXTENSION = 0x12345678 };
    const uint64_t ones = UINT64_MAX;

    for (unsigned i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++)
        for (uint64_t function = 0; function < FUNCTIONS; function++)
            call(extensions[i], function, ones, ones, ones, ones, ones);
    /* HSM's hart_start and hart_get_status; SRST with a reset type that does not exist. */
    call(SBI_HSM, 0, ones, ones, ones, ones, ones);
    call(SBI_HSM, 2, ones, ones, ones, ones, ones);
    call(SBI_SRST, 0, ones, ones, ones, ones, ones);
    call((enum sbi_extension)NO_SUCH_EXTENSION, 0, ones, ones, ones, ones, ones);
}
