/* Control and status registers of S-mode: RISC-V Privileged Architecture 20211203, chapter 4. */
#ifndef VOS_CSR_H
#define VOS_CSR_H

#define SSTATUS_SPIE 0x20
#define SSTATUS_SPP 0x100
#define SSTATUS_FS 0x6000
#define SSTATUS_FS_INITIAL 0x2000
#define SSTATUS_FS_CLEAN 0x4000
#define SSTATUS_FS_DIRTY 0x6000

#define SIE_SOFTWARE 0x2
#define SIE_TIMER 0x20
#define SIE_EXTERNAL 0x200

#define SCAUSE_INTERRUPT 0x8000000000000000

#define SATP_MODE_SHIFT 60
#define SATP_ASID_SHIFT 44
#define SATP_ASID_MASK 0xffff

/* Cycle, time and instret for U-mode. */
#define SCOUNTEREN_ALL 7

/* By number, since the assembler knows the name only with Sstc. */
#define CSR_STIMECMP 0x14d

#ifndef __ASSEMBLER__

#include <stdint.h>

#define csr_read(name)                                                                             \
    ({                                                                                             \
        uint64_t value_;                                                                           \
        __asm__ volatile("csrr %0, " #name : "=r"(value_)::"memory");                              \
        value_;                                                                                    \
    })
#define csr_write(name, value) __asm__ volatile("csrw " #name ", %0" ::"rK"(value) : "memory")
#define csr_set(name, bits) __asm__ volatile("csrs " #name ", %0" ::"rK"(bits) : "memory")
#define csr_clear(name, bits) __asm__ volatile("csrc " #name ", %0" ::"rK"(bits) : "memory")

static inline uint64_t read_time(void)
{
    uint64_t now;

    __asm__ volatile("rdtime %0" : "=r"(now));
    return now;
}

static inline void wait_for_interrupt(void)
{
    __asm__ volatile("wfi" ::: "memory");
}

/* Zihintpause's `pause`. */
static inline void pause(void)
{
    __asm__ volatile(".insn i 0x0f, 0, x0, x0, 0x010" ::: "memory");
}

#endif
#endif
