//! An opcode with its operands.

use std::fmt;

use crate::field::{Field, File, Register, Role};
use crate::opcode::Opcode;

/// The rounding mode field that means "as in `frm`".
pub const DYNAMIC: i64 = 7;

/// An instruction: an opcode and one value per field. Registers are their numbers.
#[derive(Clone, Debug)]
pub struct Instruction {
    /// The opcode.
    pub opcode: &'static Opcode,
    /// Its operands, in the order of `opcode.fields`; the rest is zero.
    pub values: [i64; 5],
}

impl Instruction {
    /// The instruction `name` with these operands.
    ///
    /// # Panics
    /// If there is no such opcode, or it has another number of operands.
    pub fn new(name: &str, operands: &[i64]) -> Self {
        let opcode = Opcode::named(name);
        assert_eq!(opcode.fields.len(), operands.len(), "operands of {name}");
        let mut values = [0; 5];
        values[..operands.len()].copy_from_slice(operands);
        Self { opcode, values }
    }

    /// The instruction's fields and their values.
    pub fn operands(&self) -> impl Iterator<Item = (&'static Field, i64)> {
        self.opcode.fields.iter().zip(self.values)
    }

    /// The registers that it names.
    pub fn registers(&self) -> impl Iterator<Item = (Register, u8)> {
        self.operands().filter_map(|(field, value)| match field {
            Field::Register(register) => Some((*register, value as u8)),
            _ => None,
        })
    }

    /// The integer register that it writes, named or implied.
    pub fn destination(&self) -> Option<u8> {
        match self.opcode.name {
            "c.addi16sp" => Some(2),
            "c.jalr" => Some(1),
            _ => self
                .registers()
                .find(|(register, _)| register.file == File::Integer && register.role == Role::Destination)
                .map(|(_, number)| number),
        }
    }

    /// Sets the value of the first field for which `which` holds.
    ///
    /// # Panics
    /// If there is none.
    pub fn set(&mut self, which: impl Fn(&Field) -> bool, value: i64) {
        let index =
            self.opcode.fields.iter().position(which).expect("the field was looked up in the opcode's own list");
        self.values[index] = value;
    }

    /// Sets the immediate: a branch's or jump's distance, a load's offset.
    pub fn set_immediate(&mut self, value: i64) {
        self.set(|field| matches!(field, Field::Immediate(_)), value);
    }

    /// The bits of the instruction; the upper half is zero if it is compressed.
    ///
    /// # Panics
    /// If an immediate does not fit its field.
    pub fn encode(&self) -> u32 {
        self.operands().fold(self.opcode.bits, |bits, (field, value)| {
            let fits = match field {
                Field::Register(register) => register.admits(value as u8),
                Field::Immediate(immediate) => immediate.admits(value),
                Field::Rounding | Field::Ordering => true,
            };
            assert!(fits, "{self}: {value} does not fit");
            bits | field.place(value)
        })
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.opcode.name)?;
        for (index, (field, value)) in self.operands().enumerate() {
            f.write_str(if index == 0 { " " } else { ", " })?;
            match field {
                Field::Register(register) => {
                    let prefix = if register.file == File::Integer { 'x' } else { 'f' };
                    let (open, close) = if register.role == Role::Base { ("(", ")") } else { ("", "") };
                    write!(f, "{open}{prefix}{value}{close}")?;
                }
                Field::Immediate(_) => write!(f, "{value}")?,
                Field::Rounding => f.write_str(rounding_name(value))?,
                Field::Ordering => f.write_str(["-", "rl", "aq", "aqrl"][value as usize & 3])?,
            }
        }
        Ok(())
    }
}

/// The assembler's name of a rounding mode field.
pub fn rounding_name(field: i64) -> &'static str {
    ["rne", "rtz", "rdn", "rup", "rmm", "-", "-", "dyn"][field as usize & 7]
}
