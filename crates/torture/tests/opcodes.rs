//! The opcode table against the disassembler of Debian's cross binutils: names, registers and immediates of random instructions.

use std::process::Command;

use testing::Random;
use torture::field::{Field, File};
use torture::generate;
use torture::instruction::{DYNAMIC, Instruction, rounding_name};
use torture::opcode::{Class, OPCODES};

/// Instructions per opcode.
const SAMPLES: usize = 20;

/// A line of assembly as its name and its operands, sorted: the sides order and punctuate them differently.
fn normalize(name: &str, operands: impl IntoIterator<Item = String>) -> Vec<String> {
    let short = matches!(name, "lui" | "auipc" | "c.lui");
    let mut operands: Vec<_> = operands
        .into_iter()
        .map(|token| {
            let hexadecimal = token.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
            match hexadecimal.map(u64::cast_signed).or_else(|| token.parse().ok()) {
                Some(number) if short => (number & 0xf_ffff).to_string(),
                Some(number) => number.to_string(),
                None => token,
            }
        })
        .collect();
    operands.sort();
    operands.insert(0, name.to_owned());
    operands
}

/// What the disassembler printed.
fn seen(line: &str) -> Vec<String> {
    let code = line.split(['#', '<']).next().unwrap_or_default();
    let mut tokens = code.split(|character: char| character.is_whitespace() || ",()".contains(character));
    let name = tokens.next().unwrap_or_default();
    normalize(name, tokens.filter(|token| !token.is_empty()).map(str::to_owned))
}

/// What it should print for `instruction` at `address`.
fn expected(instruction: &Instruction, address: i64) -> Vec<String> {
    let opcode = instruction.opcode;
    let mut words = opcode.name.split(' ');
    let mut name = words.next().unwrap_or_default().to_owned();
    let mut operands: Vec<_> = words.filter(|word| !matches!(*word, "hint" | "0")).map(str::to_owned).collect();
    for (field, value) in instruction.operands() {
        match field {
            Field::Register(register) => {
                let prefix = if register.file == File::Integer { 'x' } else { 'f' };
                operands.push(format!("{prefix}{value}"));
            }
            Field::Immediate(_) if matches!(opcode.class, Class::Branch | Class::Jump) => {
                operands.push((address + value).to_string());
            }
            Field::Immediate(_) => operands.push(value.to_string()),
            // Not shown where it is dynamic, or where only one is known.
            Field::Rounding if value == DYNAMIC || is_exact_conversion(opcode.name) => {}
            Field::Rounding => operands.push(rounding_name(value).to_owned()),
            Field::Ordering => name.push_str(["", ".rl", ".aq", ".aqrl"][value as usize]),
        }
    }
    // Where the disassembler has another name, or shows what is implied.
    let (name, implied): (&str, &[&str]) = match opcode.name {
        "rdcycle" => ("csrrs", &["cycle", "x0"]),
        "rdtime" => ("csrrs", &["time", "x0"]),
        "rdinstret" => ("csrrs", &["instret", "x0"]),
        "c.nop" => ("c.addi", &["x0", "0"]),
        "c.nop hint" => ("c.addi", &["x0"]),
        "c.addi hint" => ("c.addi", &["0"]),
        "c.srli hint" => ("c.srli64", &[]),
        "c.srai hint" => ("c.srai64", &[]),
        "c.slli hint 0" => ("c.slli64", &[]),
        "c.li hint" | "c.lui hint" | "c.slli hint" | "c.mv hint" | "c.add hint" => (name.as_str(), &["x0"]),
        "c.addi4spn" | "c.addi16sp" => (name.as_str(), &["x2"]),
        _ if matches!(opcode.class, Class::Stack(_)) => (name.as_str(), &["x2"]),
        _ => (name.as_str(), &[]),
    };
    operands.extend(implied.iter().map(ToString::to_string));
    normalize(name, operands)
}

/// Conversions that never round. Binutils 2.40 knows them with the rounding mode `rne` only.
fn is_exact_conversion(name: &str) -> bool {
    matches!(name, "fcvt.d.s" | "fcvt.d.w" | "fcvt.d.wu")
}

/// What the disassembler does not know; and `fence` and `pause`, which it prints with names of sets.
fn is_beyond_the_disassembler(instruction: &Instruction) -> bool {
    let name = instruction.opcode.name;
    is_exact_conversion(name) && instruction.values[2] != 0 || matches!(name, "fence" | "pause")
}

#[test]
#[ignore = "needs binutils-riscv64-linux-gnu"]
fn the_table_agrees_with_the_disassembler() {
    let mut random = Random::new(7);
    let mut bytes = Vec::new();
    let mut instructions = Vec::new();
    for opcode in OPCODES {
        for _ in 0..SAMPLES {
            let instruction = generate::operands(&mut random, opcode);
            instructions.push((bytes.len() as i64, instruction.clone()));
            bytes.extend(&instruction.encode().to_le_bytes()[..opcode.size()]);
        }
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), &bytes).unwrap();
    let output = Command::new("riscv64-linux-gnu-objdump")
        .args(["-D", "-z", "-b", "binary", "-m", "riscv:rv64", "-M", "numeric,no-aliases"])
        .arg(file.path())
        .output()
        .unwrap();
    let listing = String::from_utf8(output.stdout).unwrap();
    let lines = listing.lines().filter_map(|line| {
        let mut columns = line.split('\t');
        let address = i64::from_str_radix(columns.next()?.trim().strip_suffix(':')?, 16).ok()?;
        Some((address, columns.skip(1).collect::<Vec<_>>().join(" ")))
    });
    let mut compared = 0;
    for ((address, instruction), (at, line)) in instructions.iter().zip(lines) {
        assert_eq!(*address, at, "{instruction} was not seen as one instruction before {line}");
        if !is_beyond_the_disassembler(instruction) {
            assert_eq!(seen(&line), expected(instruction, at), "{instruction}");
        }
        compared += 1;
    }
    assert_eq!(compared, instructions.len());
}
