//! A kernel that does anything in S-mode, under every engine and scheme.
//!
//! It enters with registers and page tables that the input chooses; a trap goes on behind the instruction that trapped. It ends by itself,
//! or is ended by its time limit.

use crate::code::{self, EBREAK, ECALL, ENTRY, FENCE_I, FINISH, SRET, WFI, addi, auipc, csr, jump, ld, sd};
use crate::same;
use testing::Random;
use torture::generate;
use torture::opcode::OPCODES;

const SSTATUS: u32 = 0x100;
const STVEC: u32 = 0x105;
const SSCRATCH: u32 = 0x140;
const SEPC: u32 = 0x141;
const SATP: u32 = 0x180;
/// Every CSR of S-mode, those of U-mode that it shares, and two that do not exist.
const CSRS: [u32; 24] = [
    0x001, 0x002, 0x003, SSTATUS, 0x104, STVEC, 0x106, 0x10a, 0x120, SSCRATCH, SEPC, 0x142, 0x143, 0x144, 0x14d, 0x14d,
    SATP, SATP, 0xc00, 0xc01, 0xc02, 0xda0, 0x300, 0x7c0,
];
const T0: u32 = 5;

/// Where registers and the handler's word are, from the entry point on; then the page tables.
const DATA_AT: u64 = 0x4000;
const TABLES_AT: u64 = 0x5000;
/// Pages of tables, of which the first is the root.
const TABLES: u64 = 3;

/// What runs before the body: the handler's address, floating point on, and registers from memory.
fn prologue() -> Vec<u32> {
    const HANDLER: i32 = 4;
    const BEHIND: i32 = 10;
    let mut words = vec![
        auipc(T0, 0),
        addi(T0, T0, HANDLER * 4),
        csr(1, 0, STVEC, T0),
        jump((BEHIND - 3) * 4),
        // HANDLER: goes on four bytes behind the instruction, whatever its length.
        csr(1, 0, SSCRATCH, T0),
        csr(2, T0, SEPC, 0),
        addi(T0, T0, 4),
        csr(1, 0, SEPC, T0),
        csr(2, T0, SSCRATCH, 0),
        SRET,
        // BEHIND.
    ];
    words.extend([auipc(T0, (DATA_AT >> 12) as u32), addi(T0, T0, -(words.len() as i32) * 4), ld(T0 + 1, T0, 8 * 32)]);
    words.push(csr(2, 0, SSTATUS, T0 + 1));
    words.extend((1..32).filter(|&number| number != T0).map(|number| ld(number, T0, 8 * number as i32)));
    words.push(ld(T0, T0, 8 * T0 as i32));
    words
}

/// A value of a register: a small number, an address of the kernel's own, a device's, `satp` or anything.
fn value(random: &mut Random) -> u64 {
    match random.below(8) {
        0 => random.below(64),
        1 => ENTRY + random.below(0x8000),
        2 => ENTRY + DATA_AT + random.below(0x200) * 8,
        3 => ENTRY + TABLES_AT + random.below(TABLES * 512) * 8,
        4 => random.pick(&[8_u64, 9, 10]) << 60 | random.below(4) << 44 | (ENTRY + TABLES_AT) >> 12,
        5 => 0x1000_0000 + random.below(0x1_2000),
        6 => random.pick(&[0x3_0222_u64, 1 << 18, 1 << 19, 0x222, 1 << 5]),
        _ => random.bits(),
    }
}

/// An entry of a page table: a leaf or a table, mostly of what there is.
fn entry(random: &mut Random) -> u64 {
    let flags = random.below(1 << 10);
    match random.below(6) {
        // The gigapage that RAM is in.
        0 | 1 => 0x8000_0000 >> 2 | flags | 1,
        2 => (ENTRY + TABLES_AT + random.below(TABLES) * 4096) >> 2 | 1,
        3 => (ENTRY + random.below(16) * 4096) >> 2 | flags | 1,
        4 => (0x8000_0000 + random.below(8) * (2 << 20)) >> 2 | flags | 1,
        _ => random.bits(),
    }
}

/// An instruction of the body.
fn instruction(random: &mut Random) -> Vec<u8> {
    let word = match random.below(12) {
        0 => csr(1 + random.below(3) as u32, random.below(32) as u32, random.pick(&CSRS), random.below(32) as u32),
        1 => csr(5 + random.below(3) as u32, random.below(32) as u32, random.pick(&CSRS), random.below(32) as u32),
        2 => code::sfence_vma(random.below(32) as u32, random.below(32) as u32),
        3 => random.pick(&[ECALL, EBREAK, SRET, WFI, FENCE_I, FENCE_I]),
        4 => random.bits() as u32,
        5 => sd(random.below(32) as u32, random.below(32) as u32, random.between(-64, 64) as i32 * 8),
        6 => ld(random.below(32) as u32, random.below(32) as u32, random.between(-64, 64) as i32 * 8),
        7 => jump(random.between(-32, 32) as i32 * 2),
        _ => {
            let opcode = &OPCODES[random.index(OPCODES.len())];
            let instruction = generate::operands(random, opcode);
            return instruction.encode().to_le_bytes()[..opcode.size()].to_vec();
        }
    };
    word.to_le_bytes().to_vec()
}

/// Runs the target.
///
/// # Panics
/// If the guest ends otherwise under another engine.
pub fn run(input: &[u8]) {
    let mut random = Random::of_input(input);
    let Ok(builder) = same::configuration(&mut random) else { return };
    let registers: Vec<u64> = (0..33).map(|_| value(&mut random)).collect();
    let entries: Vec<(u64, u64)> =
        (0..random.below(12)).map(|_| (random.below(TABLES * 512), entry(&mut random))).collect();
    let mut content = code::bytes(&prologue());
    while random.has_input() && content.len() < DATA_AT as usize - 8 {
        content.extend(instruction(&mut random));
    }
    content.extend(code::bytes(&[FINISH]));
    content.resize(DATA_AT as usize, 0);
    content.extend(registers.iter().flat_map(|word| word.to_le_bytes()));
    content.resize((TABLES_AT + TABLES * 4096) as usize, 0);
    // The root has its own gigapage, unless it is replaced.
    let own = (2, 0x8000_0000 >> 2 | 0xcf);
    for (index, entry) in std::iter::once(own).chain(entries) {
        let at = (TABLES_AT + index * 8) as usize;
        content[at..at + 8].copy_from_slice(&entry.to_le_bytes());
    }
    same::under_every_engine(&builder, &code::kernel(&content));
}
