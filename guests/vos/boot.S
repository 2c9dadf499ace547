/* From the entry, physical and without translation, to C in the linear map. */
#include "csr.h"
#include "hart_offsets.h"
#include "layout.h"

#define PTE_RWX_AD_V 0xcf
#define GIGAPAGE_PTE (GIGAPAGE_BYTES >> 2)
#define ENTRY_BYTES 8
#define UPPER_HALF 256

/* Entered with a0 = hart id, a1 = guest physical address of the device tree, satp = 0. */
    .section .text.boot, "ax", @progbits
    .global boot_start
boot_start:
    j enter_once
boot_first:
    lla t0, bss_begin
    lla t1, bss_end
1:  bgeu t0, t1, 2f
    sd zero, 0(t0)
    addi t0, t0, 8
    j 1b

    /* Sv39 root of the first moments: the linear map in gigapages, and the image where it is. */
2:  lla t0, boot_root
    li t1, (IMAGE_BASE & ~(GIGAPAGE_BYTES - 1)) >> 2 | PTE_RWX_AD_V
    sd t1, (IMAGE_BASE / GIGAPAGE_BYTES) * ENTRY_BYTES(t0)
    li t1, UPPER_HALF * ENTRY_BYTES
    add t0, t0, t1
    li t1, PTE_RWX_AD_V
    li t2, GIGAPAGE_PTE
    li t3, LINEAR_BYTES / GIGAPAGE_BYTES
3:  sd t1, 0(t0)
    add t1, t1, t2
    addi t0, t0, ENTRY_BYTES
    addi t3, t3, -1
    bnez t3, 3b

    call enter_linear_map
    lla sp, boot_stack_end
    tail main

/* OpenSBI 1.1 (sbi_hsm_hart_start) marks a hart as started before it stores where the hart continues. A hart that looks in between comes here, as if it were
 * the first. It has its struct hart by then, which it finds by its id. This code is behind the read-only data, so that every other address stays what it was. */
    .section .enter_once, "ax", @progbits
enter_once:
    csrw sie, zero
    lla t0, boot_entered
    li t1, 1
    amoswap.w.aqrl t1, t1, (t0)
    bnez t1, 4f
    j boot_first

4:  lla a1, harts
    j 6f
5:  addi a1, a1, HART_BYTES
6:  ld t0, HART_ID(a1)
    bne t0, a0, 5b
    j boot_secondary

    .section .text.boot, "ax", @progbits
/* A hart that SBI HSM started: a0 = hart id, a1 = physical address of its struct hart. */
    .global boot_secondary
boot_secondary:
    csrw sie, zero
    call enter_linear_map
    li tp, LINEAR_BASE
    add tp, tp, a1
    ld sp, HART_STACK(tp)
    tail smp_secondary_main

/* Turns translation on and returns into the linear map. Keeps a0 and a1. */
enter_linear_map:
    li t0, LINEAR_BASE
    add ra, ra, t0
    lla t1, boot_root
    srli t1, t1, 12
    li t2, 8 << SATP_MODE_SHIFT
    or t1, t1, t2
    sfence.vma
    csrw satp, t1
    ret

    .section .bss.boot, "aw", @nobits
    .balign PAGE_BYTES
    .global boot_root
boot_root:
    .space PAGE_BYTES
boot_stack:
    .space KERNEL_STACK_BYTES
    .global boot_stack_end
boot_stack_end:

    /* Zero in the image. The first hart does not clear it with the rest. */
    .section .uncleared, "aw", @nobits
    .balign 4
boot_entered:
    .space 4

    .section .note.GNU-stack, "", @progbits
