//! `pagewalk.h`, which `pagewalk guest header` prints: C programs mark with it what is measured.

mod common;

use common::{Scratch, compiled, run};
use serde_json::Value;
use std::fs;
use std::process::Command;

/// A program with 60 transactions in its region of interest, that ends the run with 40 plus the number of its arguments.
const PROGRAM: &str = r#"
#include "pagewalk.h"

volatile unsigned work;

int main(int count, char **words)
{
    (void)count;
    (void)words;
    PAGEWALK_ROI_BEGIN();
    for (int i = 0; i < 60; i++) {
        work++;
        PAGEWALK_TRANSACTION();
    }
    PAGEWALK_ROI_END();
    PAGEWALK_EXIT(40 + count);
    return 3;
}
"#;

/// A directory with the header as the command prints it.
fn with_header() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("pagewalk.h", run(["guest", "header"]).succeeded().stdout);
    scratch
}

/// The machine instructions at every even offset of the object that `source` is compiled to.
fn words(scratch: &Scratch, name: &str, source: &str, flags: &[&str]) -> Vec<u32> {
    let object = fs::read(compiled(scratch, name, source, flags)).unwrap();
    object.windows(4).step_by(2).map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

/// How often `words` have a marker: slti x0, x0, number.
fn count(words: &[u32], number: u32) -> usize {
    words.iter().filter(|&&word| word == number << 20 | 0x2013).count()
}

#[test]
fn it_compiles_to_nothing_on_other_architectures() {
    let scratch = with_header();
    let assembly = |name: &str, source: &str| {
        let file = scratch.write(name, source);
        let flags = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O2", "-S", "-o", "-"];
        let output = Command::new("cc").args(flags).arg(file).output().expect("the compiler is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().filter(|line| !line.contains(".file")).map(|line| format!("{line}\n")).collect::<String>()
    };
    let bare: String =
        PROGRAM.lines().filter(|line| !line.contains("PAGEWALK_")).map(|line| format!("{line}\n")).collect();
    assert_ne!(bare, PROGRAM);
    assert_eq!(assembly("marked.c", PROGRAM), assembly("bare.c", &bare));
}

#[test]
#[ignore = "needs the cross compiler: cargo xtask test"]
fn each_macro_is_one_instruction() {
    let scratch = with_header();
    for level in ["-O0", "-O2", "-Os"] {
        let flags = ["-c", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror", level];
        let marked = words(&scratch, "marked", PROGRAM, &flags);
        for marker in 1..=3 {
            assert_eq!(count(&marked, marker), 1, "{level}: marker {marker}");
        }
        for status in 0..256 {
            assert_eq!(count(&marked, 0x100 + status), 1, "{level}: exit {status}");
        }
        let stays = words(&scratch, "stays", &PROGRAM.replace("PAGEWALK_EXIT", "(void)"), &flags);
        assert_eq!((count(&stays, 1), count(&stays, 0x100)), (1, 0), "{level}");
    }
}

#[test]
#[ignore = "needs the fetched Linux guest and the cross compiler: cargo xtask test"]
fn a_guest_is_measured_between_its_macros() {
    let scratch = with_header();
    let program = compiled(&scratch, "marked", PROGRAM, &[]);
    let json = scratch.text("report.json");
    let end = run(["boot", "--guest", "linux", "--file", &program, "--run", "/marked one two", "--json", &json]);
    assert_eq!(end.code, Some(43), "{end:#?}");
    let report: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let run = &report["runs"][0];
    assert_eq!(run["transactions"], 60);
    // The loop, its stores and its markers, and next to nothing besides.
    let instructions = run["instructions"].as_u64().unwrap();
    assert!((60 * 4..10_000).contains(&instructions), "{instructions}");
}
