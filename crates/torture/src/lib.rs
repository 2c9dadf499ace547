//! Torture: random user-level RISC-V programs, run by several executors that must agree on every register and byte.
//!
//! A program is a [tree](program) of instructions drawn from the [table of all opcodes](opcode) with operands that crowd the corners,
//! made such that its outcome follows from the specification alone. Batches of programs become one static [executable](image), which
//! QEMU's user-mode emulator runs, and this project's hart in any of its engines. Every program starts from a record of all registers and its
//! memory, and overwrites it with what they are in the end. Where two executors differ, the program is [cut down](shrink) and
//! printed.
//!
//! `cargo run --release -p pagewalk-torture -- --programs 1000000 --seed 7` runs a longer campaign than the tests do. The threaded
//! engine needs an optimised build; under debug assertions it is the `match` engine as well.
//!
//! Code that may be anything, traps included, is [run](trace) by the engines alone.
//!
//! Left out: instructions that trap, values of counters, and store-conditionals whose success the specification leaves open.

pub mod campaign;
mod code;
pub mod coverage;
pub mod executor;
pub mod field;
pub mod flat;
pub mod generate;
pub mod image;
pub mod instruction;
pub mod opcode;
pub mod program;
mod record;
pub mod report;
pub mod shrink;
pub mod trace;
mod values;
