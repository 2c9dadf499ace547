//! Records of 64 bytes, as the simulator `ChampSim` reads them. All numbers are little-endian.
//!
//! | bytes | of an instruction |
//! |---|---|
//! | 8 | its address |
//! | 1 | 1: it is a branch |
//! | 1 | 1: the branch was taken |
//! | 2 × 1 | registers that it writes; 0: none |
//! | 4 × 1 | registers that it reads; 0: none |
//! | 2 × 8 | addresses that it stores to; 0: none |
//! | 4 × 8 | addresses that it loads from; 0: none |
//!
//! The kind of a branch follows from its registers. `ChampSim` knows those of x86-64, so a call is what reads and writes the stack pointer, whatever the
//! machine that was traced does.

use crate::error::TraceError;
use crate::operands::{FLAGS, INSTRUCTION_POINTER, Operands, STACK_POINTER, ZERO};
use crate::record::{Branch, BranchKind, Data, DataKind, Instruction, Record};
use std::collections::VecDeque;
use std::io::{self, Read, Write};

const BYTES: usize = 64;
const STORES: usize = 2;
const LOADS: usize = 4;

/// The registers of a branch of this kind, by which `ChampSim` takes it for one.
fn as_branch(kind: BranchKind, operands: &Operands) -> Operands {
    // What a branch reads beside the pointers. RISC-V has no flags.
    let is_other = |register: &u8| !matches!(*register, 0 | STACK_POINTER | FLAGS | INSTRUCTION_POINTER);
    let mut others = operands.reads.into_iter().filter(is_other);
    let (first, second) = (others.next().unwrap_or(0), others.next().unwrap_or(0));
    // An indirect branch reads another register, or `ChampSim` does not know it.
    let indirect = if first == 0 { ZERO } else { first };
    match kind {
        BranchKind::Jump => Operands::new(&[], &[INSTRUCTION_POINTER]),
        BranchKind::IndirectJump => Operands::new(&[indirect, second], &[INSTRUCTION_POINTER]),
        BranchKind::Conditional => Operands::new(
            &[INSTRUCTION_POINTER, if first | second == 0 { FLAGS } else { first }, second],
            &[INSTRUCTION_POINTER],
        ),
        BranchKind::Call => Operands::new(&[INSTRUCTION_POINTER, STACK_POINTER], &[INSTRUCTION_POINTER, STACK_POINTER]),
        BranchKind::IndirectCall => {
            Operands::new(&[INSTRUCTION_POINTER, STACK_POINTER, indirect], &[INSTRUCTION_POINTER, STACK_POINTER])
        }
        BranchKind::Return => Operands::new(&[STACK_POINTER], &[INSTRUCTION_POINTER, STACK_POINTER]),
    }
}

/// The kind of a branch with these registers.
fn kind_of(operands: &Operands) -> BranchKind {
    let stack = operands.reads(STACK_POINTER);
    let flags = operands.reads(FLAGS);
    let pointer = operands.reads(INSTRUCTION_POINTER);
    let other =
        operands.reads.iter().any(|&register| !matches!(register, 0 | STACK_POINTER | FLAGS | INSTRUCTION_POINTER));
    match (stack, pointer) {
        (true, true) if other || flags => BranchKind::IndirectCall,
        (true, true) => BranchKind::Call,
        (true, false) => BranchKind::Return,
        (false, true) if flags || other => BranchKind::Conditional,
        (false, _) if !flags && !other => BranchKind::Jump,
        (false, _) => BranchKind::IndirectJump,
    }
}

/// What a reader keeps between records.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    /// Records that were read.
    records: u64,
    /// Accesses of the latest instruction.
    data: VecDeque<Data>,
}

impl Reading {
    /// Reads the next record.
    pub(crate) fn read(&mut self, from: &mut dyn Read) -> Result<Option<Record>, TraceError> {
        if let Some(data) = self.data.pop_front() {
            return Ok(Some(Record::Data(data)));
        }
        let mut bytes = Vec::with_capacity(BYTES);
        from.take(BYTES as u64).read_to_end(&mut bytes)?;
        let wrong = |problem| TraceError::Record { record: self.records, problem };
        if bytes.is_empty() {
            return Ok(None);
        }
        let bytes: [u8; BYTES] = bytes.try_into().map_err(|_| wrong("the trace is cut off"))?;
        let (words, _) = bytes.as_chunks::<8>();
        let word = |number: usize| u64::from_le_bytes(words[number]);
        let flag = |byte: u8| match byte {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(wrong("a flag is neither 0 nor 1; is this a trace of ChampSim?")),
        };
        let (is_branch, taken) = (flag(bytes[8])?, flag(bytes[9])?);
        let operands = Operands { writes: [bytes[10], bytes[11]], reads: [bytes[12], bytes[13], bytes[14], bytes[15]] };
        if taken && !is_branch {
            return Err(wrong("it is taken, and no branch"));
        }
        let branch = is_branch.then(|| Branch { kind: kind_of(&operands), taken, target: None });
        let loads = (4..8).map(|number| (DataKind::Load, word(number)));
        let stores = (2..4).map(|number| (DataKind::Store, word(number)));
        self.data.extend(loads.chain(stores).filter(|&(_, address)| address != 0).map(|(kind, address)| Data {
            kind,
            address,
            bytes: 1,
        }));
        self.records += 1;
        Ok(Some(Record::Instruction(Instruction { pc: word(0), bytes: 0, branch, operands, encoding: None })))
    }
}

/// What a writer keeps between records.
#[derive(Debug, Default)]
pub(crate) struct Writing {
    latest: Option<Entry>,
}

#[derive(Debug)]
struct Entry {
    instruction: Instruction,
    loads: Vec<u64>,
    stores: Vec<u64>,
}

impl Writing {
    /// Writes a record, once it is complete.
    pub(crate) fn write(&mut self, to: &mut dyn Write, record: &Record) -> io::Result<()> {
        match record {
            Record::Instruction(instruction) => {
                self.finish(to)?;
                self.latest = Some(Entry { instruction: *instruction, loads: Vec::new(), stores: Vec::new() });
            }
            Record::Data(data) => {
                // An access at address 0 cannot be written: 0 says that there is none.
                let Some(entry) = &mut self.latest else { return Ok(()) };
                if matches!(data.kind, DataKind::Load | DataKind::Modify) && entry.loads.len() < LOADS {
                    entry.loads.push(data.address);
                }
                if matches!(data.kind, DataKind::Store | DataKind::Modify) && entry.stores.len() < STORES {
                    entry.stores.push(data.address);
                }
            }
            Record::Mark(_) => {}
        }
        Ok(())
    }

    /// Writes what is left.
    pub(crate) fn finish(&mut self, to: &mut dyn Write) -> io::Result<()> {
        let Some(Entry { instruction, loads, stores }) = self.latest.take() else { return Ok(()) };
        let Instruction { pc, branch, operands, .. } = instruction;
        let operands = branch.map_or(operands, |branch| as_branch(branch.kind, &operands));
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend(pc.to_le_bytes());
        bytes.extend([u8::from(branch.is_some()), u8::from(branch.is_some_and(|branch| branch.taken))]);
        bytes.extend(operands.writes);
        bytes.extend(operands.reads);
        for (addresses, most) in [(stores, STORES), (loads, LOADS)] {
            let padded = addresses.into_iter().chain(std::iter::repeat(0)).take(most);
            bytes.extend(padded.flat_map(u64::to_le_bytes));
        }
        to.write_all(&bytes)
    }
}
