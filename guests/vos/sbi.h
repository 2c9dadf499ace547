/* RISC-V Supervisor Binary Interface 2.0: the calls that vos makes. */
#ifndef VOS_SBI_H
#define VOS_SBI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sbi_extension {
    SBI_BASE = 0x10,
    SBI_TIME = 0x54494d45,
    SBI_IPI = 0x735049,
    SBI_RFENCE = 0x52464e43,
    SBI_HSM = 0x48534d,
    SBI_SRST = 0x53525354,
    SBI_DBCN = 0x4442434e,
    /* Pagewalk's own: docs/paravirtual.md. */
    SBI_PARAVIRTUAL = 0x08504157,
};

enum sbi_reset_reason {
    SBI_REASON_NONE = 0,
    SBI_REASON_SYSTEM_FAILURE = 1,
};

bool sbi_has(enum sbi_extension extension);
/* Bytes written, 0 when the console takes none. */
size_t sbi_console_write(const char *bytes, size_t length);
void sbi_set_timer(uint64_t time);
void sbi_send_ipi(uint64_t hart_mask);
void sbi_remote_fence_i(uint64_t hart_mask);
/* Pages from `virtual` on, `bytes` of them; all there are when both are 0. */
void sbi_remote_sfence_vma(uint64_t hart_mask, uint64_t virtual, uint64_t bytes);
void sbi_remote_sfence_vma_asid(uint64_t hart_mask, uint64_t virtual, uint64_t bytes, unsigned asid);
/* Clears V of the leaf entry at guest physical `entry`, and takes the translations of the page that
 * it maps from every address space, on every hart. With `handshake`, all of `virtual` is right, else
 * only the page's index in the last table. False when the hypervisor refuses; `old` is the entry before. */
bool sbi_pptlb(uint64_t entry, uint64_t virtual, bool handshake, uint64_t *old);
/* False when the hart does not start. Addresses are guest physical. */
bool sbi_hart_start(uint64_t hart, uint64_t start, uint64_t argument);
/* Does not return. */
_Noreturn void sbi_hart_stop(void);

/* The hypervisor writes at this guest physical address whether processors are dedicated (1) or shared (0). */
void sbi_register_area(uint64_t address);
unsigned sbi_allocation(void);
/* The interrupt's source at the PLIC, 0 when there is none. */
uint64_t sbi_allocation_interrupt(bool wanted);
void sbi_spin(unsigned reason, uint64_t partner);
void sbi_excessive_spin(unsigned reason, bool lost);

/* This hart's segment registers; equal `begin` and `end` turn them off. The SBI error, 0 for none. */
int64_t sbi_set_segment(uint64_t begin, uint64_t end, uint64_t target);

/* The section that has this number in the device tree: maps it at guest physical `at`, takes it out, deletes it. The SBI error, 0 for none. */
int64_t sbi_section_map(uint64_t number, uint64_t at, bool write);
int64_t sbi_section_unmap(uint64_t number);
int64_t sbi_section_delete(uint64_t number);

/* Returns only when SRST is absent. */
void sbi_shutdown(enum sbi_reset_reason reason);

/* Calls each function of each extension but those that end or suspend something, all arguments ones;
 * for tests. Every call must come back. */
void sbi_call_with_garbage(void);

#endif
