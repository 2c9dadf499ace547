# The hypervisor's routines on shadow tables, for a RISC-V host with the hypervisor extension: steps.rs counts their instructions, block by
# block, a test compares its constants with this file. What runs is their equivalent in Rust, which counts how often each block would run.
#
# s0: the vCPU's state, with the guest's registers    s1: the VM    s2: the lock of its tables    s5 to s6: its list of tables
# Saving and restoring registers is the price of an exit and an entry, and no part of this.

dispatch:                               # from the saved registers to the routine of a cause, and back
        csrr    t0, scause
        bltz    t0, interrupt
        li      t1, CAUSES
        bgeu    t0, t1, unknown
        sh3add  t2, t0, s3              # exits are counted by cause
        ld      t3, 0(t2)
        addi    t3, t3, 1
        sd      t3, 0(t2)
        sh3add  t2, t0, s4
        ld      t2, 0(t2)
        jr      t2
        ld      t0, PC(s0)              # behind the instruction
        addi    t0, t0, 4
        sd      t0, PC(s0)
        j       leave

decode:                                 # a fence, or a write of satp: a virtual instruction exception
        csrr    t0, stval
        andi    t1, t0, 0x7f
        li      t2, SYSTEM
        bne     t1, t2, other
        srli    t1, t0, 25
        li      t2, SFENCE_VMA
        bne     t1, t2, write_csr
        srli    t3, t0, 12              # rs1
        andi    t3, t3, 0xf8
        add     t3, t3, s0
        ld      a0, REGISTERS(t3)
        srli    t4, t0, 17              # rs2
        andi    t4, t4, 0xf8
        add     t4, t4, s0
        ld      a1, REGISTERS(t4)

call:                                   # PPTLB, which is a call of the guest's
        ld      t0, A7(s0)
        li      t1, PARAVIRTUAL
        bne     t0, t1, other
        ld      t0, A6(s0)
        li      t1, PPTLB
        bne     t0, t1, other
        ld      a0, A0(s0)              # the entry's gPA
        ld      a1, A1(s0)              # the page's gVA, V2
        andi    t0, a0, 7
        bnez    t0, invalid
        ld      t1, RAM_FIRST(s1)
        sub     t2, a0, t1
        ld      t3, RAM_BYTES(s1)
        bgeu    t2, t3, invalid
        sd      zero, A0(s0)

fault:                                  # an access that the shadow table refuses
        csrr    a0, stval
        ld      a1, GUEST_SATP(s0)
        ld      s5, TABLE(s0)
        slli    table, a1, 20
        srli    table, table, 8         # the guest's root
        srli    t0, a1, 60
        sh3add  t0, t0, s7
        ld      shift, 0(t0)

lock:                                   # of the VM's tables, and the unlock
        li      t0, 1
        amoswap.w.aq t0, t0, (s2)
        bnez    t0, lock
        amoswap.w.rl zero, zero, (s2)

level:                                  # an entry that a walk in software reads, of whichever table
        srl     t, a0, shift
        andi    t, t, 511
        sh3add  t, t, table
        ld      pte, 0(t)
        andi    u, pte, 1
        beqz    u, absent
        andi    u, pte, 14
        bnez    u, leaf
        srli    table, pte, 10
        slli    table, table, 12
        addi    shift, shift, -9
        bgez    shift, level

take:                                   # PPTLB: the guest's entry becomes invalid, V1 is in it
        ld      t0, 0(a2)
        andi    t1, t0, -2
        sd      t1, 0(a2)
        sd      t0, A1(s0)
        srli    v1, t0, 10
        slli    v1, v1, 12

table:                                  # a shadow table on the list
        lbu     t0, SELECTED(s5)
        beqz    t0, next
        ld      table, ROOT(s5)
        ld      shift, SHIFT(s5)
        addi    s5, s5, TABLE_BYTES
        bne     s5, s6, table

match:                                  # an entry that was found: does it lead to V0?
        srli    t0, pte, 10
        slli    t0, t0, 12
        bne     t0, v0, next

remove:                                 # an entry that goes, with its TLB entries
        sd      zero, 0(t)
        lhu     t1, ASID(s5)
        hfence.vvma a1, t1

leaves:                                 # a last-level table of a full invalidation, from the list that a shadow table keeps of them
        ld      t0, 0(t5)
        li      t1, 4096
        add     t1, t1, t0
        addi    t5, t5, 8
        bne     t5, t6, leaves

clear:                                  # eight entries, by stores
        sd      zero, 0(t0)
        sd      zero, 8(t0)
        sd      zero, 16(t0)
        sd      zero, 24(t0)
        sd      zero, 32(t0)
        sd      zero, 40(t0)
        sd      zero, 48(t0)
        sd      zero, 56(t0)
        addi    t0, t0, 64
        bne     t0, t1, clear

block:                                  # eight entries, by an instruction that clears a cache block (Zicboz)
        cbo.zero 0(t0)
        addi    t0, t0, 64
        bne     t0, t1, block

flush:                                  # all TLB entries of the VM
        fence   rw, rw
        hfence.vvma zero, zero

compose:                                # an entry from the guest's leaf and the host's page, and where to find it again
        and     t0, pte, rights
        andi    t1, pte, 0x30           # U, G
        or      t0, t0, t1
        andi    t2, pte, 0x84           # W, D
        li      t3, 0x84
        bne     t2, t3, 1f
        andi    t2, host, 4
        or      t0, t0, t2
1:      ori     t0, t0, 0xc1            # A, D, V
        srli    t4, hpa, 12
        slli    t4, t4, 10
        or      t0, t0, t4
        sd      t0, 0(t)
        srli    t1, gpa, 12             # the reverse map
        sh3add  t1, t1, s8
        ld      t2, 0(t1)
        sd      t2, 0(t5)
        sd      t5, 0(t1)

search:                                 # a table on the list: is it that of the new satp?
        ld      t0, KEY(s5)
        beq     t0, a0, select
        addi    s5, s5, TABLE_BYTES
        bne     s5, s6, search

select:                                 # the table that was found
        ld      t0, SATP(s5)
        csrw    vsatp, t0
        sd      a0, GUEST_SATP(s0)
        sd      s5, TABLE(s0)
        li      t1, 1
        sb      t1, SELECTED(s5)
        ld      t2, USES(s1)            # which has been unused for longest
        addi    t2, t2, 1
        sd      t2, USES(s1)
        sd      t2, USED(s5)
