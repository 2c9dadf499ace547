//! The ends that a guest asks for by the SBI's system reset: shutdown or reset, for no reason or a failure.

mod common;

use common::kernel::{A0, A1, A6, A7, ECALL, addi, image, lui};
use common::{Ended, Scratch, run};

/// A flat Image whose one deed is SRST with `kind` in `a0` and `reason` in `a1` (SBI 2.0, chapter 10).
fn kernel(kind: i32, reason: i32) -> Vec<u8> {
    let code = [lui(A7, 0x53525), addi(A7, A7, 0x354), addi(A6, 0, 0), addi(A0, 0, kind), addi(A1, 0, reason), ECALL];
    image(&code)
}

fn command(command: &str, kind: i32, reason: i32) -> Ended {
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
