//! A host's processor that lacks what the build takes for granted, played by QEMU.
#![cfg(target_arch = "x86_64")]

mod common;

use common::{Ended, ended};
use std::process::Command;

/// The command on QEMU's best processor, but for what `without` takes from it.
fn on(without: &str) -> Ended {
    let processor = format!("max{without}");
    ended(Command::new("qemu-x86_64").args(["-cpu", &processor, env!("CARGO_BIN_EXE_pagewalk"), "--version"]))
}

#[test]
#[ignore = "needs qemu-x86_64 (qemu-user)"]
fn what_the_processor_lacks_is_said_before_it_is_used() {
    assert!(on("").succeeded().stdout.starts_with("pagewalk "));
    if !cfg!(target_feature = "avx2") {
        // A build for any processor asks for nothing.
        on(",-avx2").succeeded();
        return;
    }
    // QEMU calls LZCNT by the name that AMD gave it; without XSAVE, the system does not save the registers of AVX.
    for (without, feature) in [
        ("avx2", "AVX2"),
        ("xsave", "AVX2"),
        ("fma", "FMA"),
        ("bmi1", "BMI1"),
        ("bmi2", "BMI2"),
        ("movbe", "MOVBE"),
        ("abm", "LZCNT"),
    ] {
        on(&format!(",-{without}")).failed(1, &["this processor lacks ", feature]);
    }
}
