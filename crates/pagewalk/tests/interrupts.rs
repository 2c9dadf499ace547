//! Interrupts of devices, as a guest's handler sees them.

mod common;

use common::kernel::image;
use common::{Scratch, run};

/// Enables the UART's transmitter interrupt at the PLIC, runs for some 800 000 instructions, and counts in its handler how often a claim gave a
/// source and how often none. Shuts down for no reason if that was once and never, or else because of a failure.
const COUNTS_CLAIMS: [u32; 40] = [
    0x0000_0297, // auipc t0, 0
    0x0802_8293, // addi t0, t0, 128: the handler
    0x1052_9073, // csrw stvec, t0
    0x0c00_0437, // lui s0, 0xc000: the PLIC
    0x0010_0313, // li t1, 1
    0x0264_2423, // sw t1, 40(s0): priority of source 10
    0x0c00_23b7, // lui t2, 0xc002
    0x4000_0313, // li t1, 0x400
    0x0063_a023, // sw t1, 0(t2): enabled in context 0
    0x0c20_04b7, // lui s1, 0xc200
    0x0004_a023, // sw zero, 0(s1): threshold 0
    0x1000_0937, // lui s2, 0x10000: the UART
    0x0000_0993, // li s3, 0: claims that gave a source
    0x0000_0a13, // li s4, 0: claims that gave none
    0x2000_0313, // li t1, 0x200
    0x1043_1073, // csrw sie, t1
    0x0020_0313, // li t1, 2
    0x0069_00a3, // sb t1, 1(s2): interrupt when the transmitter is empty, which it is
    0x1001_6073, // csrsi sstatus, 2
    0x0006_4e37, // lui t3, 100
    0xfffe_0e13, // addi t3, t3, -1
    0xfe0e_1ee3, // bnez t3, -4
    0x1001_7073, // csrci sstatus, 2
    0x0010_0313, // li t1, 1
    0x4069_8333, // sub t1, s3, t1
    0x0143_6333, // or t1, t1, s4
    0x0060_35b3, // snez a1, t1: the reason
    0x0000_0513, // li a0, 0: shutdown
    0x0000_0813, // li a6, 0
    0x5352_58b7, // lui a7, 0x53525
    0x3548_8893, // addi a7, a7, 0x354: SRST
    0x0000_0073, // ecall
    0x0044_af03, // handler: lw t5, 4(s1), the claim
    0x000f_0a63, // beqz t5, +20
    0x0019_8993, // addi s3, s3, 1
    0x0029_4f83, // lbu t6, 2(s2): the UART's interrupt is gone
    0x01e4_a223, // sw t5, 4(s1): complete
    0x1020_0073, // sret
    0x001a_0a13, // addi s4, s4, 1
    0x1020_0073, // sret
];

#[test]
fn an_interrupt_that_was_claimed_does_not_come_again_in_the_same_turn() {
    let scratch = Scratch::new();
    let guest = scratch.write("guest.img", image(&COUNTS_CLAIMS));
    for engine in ["threaded", "match", "compiled", "baseline-all", "compiled-all"] {
        let engine = format!("engine={engine}");
        run(["boot", "--guest", &guest, "--memory", "64M", "--set", &engine, "--timeout", "5"]).succeeded();
    }
}

/// The same program for hart 0's S-mode context of QEMU's `virt`, number 1.
fn counts_claims_of_context_1() -> [u32; 40] {
    let mut program = COUNTS_CLAIMS;
    program[8] = 0x0863_a023; // sw t1, 128(t2): enabled in context 1
    program[9] = 0x0c20_14b7; // lui s1, 0xc201: its threshold and claim
    program
}

#[test]
fn a_kernel_with_the_contexts_of_qemu_built_in_gets_its_interrupts_under_m_s() {
    let scratch = Scratch::new();
    let guest = scratch.write("guest.img", image(&counts_claims_of_context_1()));
    let boot = |contexts: &str| {
        let contexts = format!("plic.contexts={contexts}");
        run(["boot", "--guest", &guest, "--memory", "64M", "--set", &contexts, "--timeout", "5"])
    };
    boot("m+s").succeeded();
    // Context 1 is another hart's, and there is none.
    assert_eq!(boot("s").code, Some(1));
    let other = scratch.write("other.img", image(&COUNTS_CLAIMS));
    // Context 0 is M-mode's, which raises no interrupt.
    let ended = run(["boot", "--guest", &other, "--memory", "64M", "--set", "plic.contexts=m+s", "--timeout", "5"]);
    assert_eq!(ended.code, Some(1));
}
