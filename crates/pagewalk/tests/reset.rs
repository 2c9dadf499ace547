//! The ends that a guest asks for by the SBI's system reset: shutdown or reset, for no reason or a failure.

mod common;

use common::{Ended, Scratch, run};

/// A flat Image whose one deed is SRST with `kind` in `a0` and `reason` in `a1` (SBI 2.0, chapter 10).
fn kernel(kind: u32, reason: u32) -> Vec<u8> {
    const JUMP_TO_0X40: u32 = 0x0400_006f;
    const ECALL: u32 = 0x73;
    let (a0, a1, a6, a7) = (10, 11, 16, 17);
    let addi = |to: u32, from: u32, value: u32| value << 20 | from << 15 | to << 7 | 0x13;
    let lui = |to: u32, value: u32| value << 12 | to << 7 | 0x37;
    let code = [lui(a7, 0x53525), addi(a7, a7, 0x354), addi(a6, 0, 0), addi(a0, 0, kind), addi(a1, 0, reason), ECALL];
    let mut image = vec![0; 4096];
    image[..4].copy_from_slice(&JUMP_TO_0X40.to_le_bytes());
    image[0x08..0x10].copy_from_slice(&0x20_0000u64.to_le_bytes());
    image[0x10..0x18].copy_from_slice(&4096u64.to_le_bytes());
    image[0x30..0x38].copy_from_slice(b"RISCV\0\0\0");
    image[0x38..0x3c].copy_from_slice(b"RSC\x05");
    for (at, word) in image[0x40..].chunks_mut(4).zip(code) {
        at.copy_from_slice(&word.to_le_bytes());
    }
    image
}

fn command(command: &str, kind: u32, reason: u32) -> Ended {
    let scratch = Scratch::new();
    let guest = scratch.write("guest.img", kernel(kind, reason));
    run([command, "--guest", &guest, "--scheme", "nested"])
}

#[test]
fn a_reset_is_no_shutdown_and_its_reason_decides() {
    command("boot", 0, 0).succeeded();
    command("boot", 0, 1).failed(1, &["the guest shut down because of a failure"]);
    for kind in [1, 2] {
        command("boot", kind, 0).said(0, &["the guest asked for a reset; it is not started again"]);
        command("boot", kind, 1).failed(1, &["the guest asked for a reset because of a failure"]);
        command("compare", kind, 0).succeeded();
        command("compare", kind, 1).failed(1, &["guest.img under nested:4K+4K", "a reset because of a failure"]);
    }
}
