/* Control and status registers of S-mode. */
#ifndef SBI_CSR_H
#define SBI_CSR_H

#include <stdint.h>

#define SSTATUS_SIE 0x2
#define INTERRUPT_SOFTWARE 0x2
#define INTERRUPT_TIMER 0x20

#define csr_read(name)                                                                             \
    ({                                                                                             \
        uint64_t value_;                                                                           \
        __asm__ volatile("csrr %0, " #name : "=r"(value_)::"memory");                              \
        value_;                                                                                    \
    })
#define csr_write(name, value) __asm__ volatile("csrw " #name ", %0" ::"rK"(value) : "memory")
#define csr_set(name, bits) __asm__ volatile("csrs " #name ", %0" ::"rK"(bits) : "memory")
#define csr_clear(name, bits) __asm__ volatile("csrc " #name ", %0" ::"rK"(bits) : "memory")

#define FOR_EVER UINT64_MAX
/* Ticks of `time` in a millisecond. */
#define MILLISECOND 10000

#endif
