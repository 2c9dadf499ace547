//! A batch of programs as one static ELF executable, which writes its records to standard output when all have run.

use std::collections::BTreeSet;

use crate::code::Code;
use crate::program::{Program, State};
use crate::record;

/// Where the code is loaded.
pub const CODE: u64 = 0x40_0000;
/// Where the records are loaded. Executable as well, for programs that patch themselves.
pub const DATA: u64 = 0x100_0000;
/// How far a call reaches, in bytes: what all code must fit in.
const REACH: usize = 1 << 20;

const A0: i64 = 10;
const A1: i64 = 11;
const A2: i64 = 12;
const A7: i64 = 17;

/// The Linux system call numbers that an image uses.
pub mod system_call {
    /// `write(fd, buffer, bytes)`.
    pub const WRITE: u64 = 64;
    /// `exit(status)`.
    pub const EXIT: u64 = 93;
}

/// Code and data of a batch.
#[derive(Debug)]
pub struct Image {
    /// The code, loaded and entered at [`CODE`].
    pub code: Vec<u8>,
    /// The records, loaded at [`DATA`].
    pub data: Vec<u8>,
}

impl Image {
    /// The image of `programs`.
    ///
    /// # Panics
    /// If the programs need more than a mebibyte of code: some four thousand of them.
    pub fn new(programs: &[Program]) -> Self {
        let mut code = Code::default();
        let bases: BTreeSet<u8> = programs.iter().map(|program| program.base).collect();
        // Entry: over the routines.
        let routines = Routines::new(&bases);
        code.put("jal", &[0, 4 + routines.size() as i64]);
        let routines = routines.append_to(&mut code);
        for (program, address) in programs.iter().zip((DATA..).step_by(record::SIZE)) {
            let (restore, save) = routines[usize::from(program.base)];
            let (base, link) = (i64::from(program.base), i64::from(link_of(program.base)));
            code.load_word(program.base, address as i32);
            call(&mut code, link, restore);
            code.put("ld", &[link, slot(link), base]);
            code.nodes(&program.nodes, program.base);
            code.put("sd", &[link, slot(link), base]);
            call(&mut code, link, save);
        }
        let data: Vec<u8> = programs.iter().flat_map(|program| record::to_bytes(&program.start)).collect();
        put_output(&mut code, data.len());
        assert!(code.size() < REACH, "too many programs for one image");
        Self { code: code.bytes(), data }
    }

    /// The states in the records that an executor returned.
    pub fn states(records: &[u8]) -> Vec<State> {
        records.chunks_exact(record::SIZE).map(record::from_bytes).collect()
    }

    /// The image as an ELF file.
    pub fn elf(&self) -> Vec<u8> {
        const HEADER: u64 = 64;
        const SEGMENT: u64 = 56;
        const PAGE: u64 = 0x1000;
        const READ_EXECUTE: u32 = 5;
        const READ_WRITE_EXECUTE: u32 = 7;
        let code_at = PAGE;
        let data_at = (code_at + self.code.len() as u64).next_multiple_of(PAGE);

        let mut file = vec![0x7f, b'E', b'L', b'F', 2, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        let half = |file: &mut Vec<u8>, value: u16| file.extend(value.to_le_bytes());
        let word = |file: &mut Vec<u8>, value: u32| file.extend(value.to_le_bytes());
        let long = |file: &mut Vec<u8>, value: u64| file.extend(value.to_le_bytes());
        half(&mut file, 2); // ET_EXEC
        half(&mut file, 243); // EM_RISCV
        word(&mut file, 1);
        long(&mut file, CODE);
        long(&mut file, HEADER);
        long(&mut file, 0);
        word(&mut file, 5); // EF_RISCV_RVC, double-precision float ABI
        [HEADER, SEGMENT, 2, 0, 0, 0].into_iter().for_each(|value| half(&mut file, value as u16));
        for (flags, at, address, bytes) in
            [(READ_EXECUTE, code_at, CODE, &self.code), (READ_WRITE_EXECUTE, data_at, DATA, &self.data)]
        {
            word(&mut file, 1); // PT_LOAD
            word(&mut file, flags);
            [at, address, address, bytes.len() as u64, bytes.len() as u64, PAGE]
                .into_iter()
                .for_each(|value| long(&mut file, value));
        }
        file.resize(code_at as usize, 0);
        file.extend(&self.code);
        file.resize(data_at as usize, 0);
        file.extend(&self.data);
        file
    }
}

/// The register through which a program with this base register calls the routines.
fn link_of(base: u8) -> u8 {
    if base == 1 { 2 } else { 1 }
}

/// A register other than base and link.
fn temporary_of(base: u8) -> u8 {
    if base == 3 { 4 } else { 3 }
}

/// The offset of a register in its record.
fn slot(register: i64) -> i64 {
    record::X_AT as i64 + 8 * register
}

fn float_slot(register: i64) -> i64 {
    record::F_AT as i64 + 8 * register
}

fn call(code: &mut Code, link: i64, target: usize) {
    code.put("jal", &[link, target as i64 - code.size() as i64]);
}

/// For every base register in use, one routine that loads all other registers from the record, and one that saves them.
struct Routines(Vec<(u8, Code, Code)>);

impl Routines {
    fn new(bases: &BTreeSet<u8>) -> Self {
        Self(bases.iter().map(|&base| (base, restore(base), save(base))).collect())
    }

    fn size(&self) -> usize {
        self.0.iter().map(|(_, restore, save)| restore.size() + save.size()).sum()
    }

    /// Appends the routines; returns the offsets of both by base register.
    fn append_to(self, code: &mut Code) -> [(usize, usize); 32] {
        let mut offsets = [(0, 0); 32];
        for (base, restore, save) in self.0 {
            let at = code.size();
            offsets[usize::from(base)] = (at, at + restore.size());
            code.append(restore);
            code.append(save);
        }
        offsets
    }
}

fn restore(base: u8) -> Code {
    let [base, link, temporary] = [base, link_of(base), temporary_of(base)].map(i64::from);
    let mut code = Code::default();
    code.put("ld", &[temporary, record::FCSR_AT as i64, base]);
    code.put("csrrw fcsr", &[0, temporary]);
    (0..32).for_each(|number| code.put("fld", &[number, float_slot(number), base]));
    for number in (1..32).filter(|&number| number != base && number != link) {
        code.put("ld", &[number, slot(number), base]);
    }
    code.put("jalr", &[0, link, 0]);
    code
}

fn save(base: u8) -> Code {
    let [base, link, temporary] = [base, link_of(base), temporary_of(base)].map(i64::from);
    let mut code = Code::default();
    for number in (1..32).filter(|&number| number != link) {
        code.put("sd", &[number, slot(number), base]);
    }
    (0..32).for_each(|number| code.put("fsd", &[number, float_slot(number), base]));
    code.put("csrrs fcsr", &[temporary, 0]);
    code.put("sd", &[temporary, record::FCSR_AT as i64, base]);
    code.put("jalr", &[0, link, 0]);
    code
}

/// Writes `bytes` bytes of records to standard output and exits.
fn put_output(code: &mut Code, bytes: usize) {
    code.load_word(A1 as u8, DATA as i32);
    code.load_word(A2 as u8, bytes as i32);
    let next = code.size() as i64;
    code.put("addi", &[A0, 0, 1]);
    code.put("addi", &[A7, 0, system_call::WRITE as i64]);
    code.put("ecall", &[]);
    // A short write is continued, an error gives up: the reader misses bytes then.
    code.put("bge", &[0, A0, 16]);
    code.put("add", &[A1, A1, A0]);
    code.put("sub", &[A2, A2, A0]);
    let distance = next - code.size() as i64;
    code.put("bne", &[A2, 0, distance]);
    code.put("addi", &[A0, 0, 0]);
    code.put("addi", &[A7, 0, system_call::EXIT as i64]);
    code.put("ecall", &[]);
}
