//! Accesses near each other: off the same base register, a few bytes apart, as those of a structure, of a stack frame, and the store that
//! follows the load of what it changes. They are mostly in the same page, so that the second looks first at the entry that the first has hit.
//! Where that is wrong it misses, as any other.

use crate::microop::MicroOp;
use cranelift_codegen::ir::Value;

/// Bytes between accesses that are near each other. The chance that a page ends between them is at most a sixteenth.
const NEAR: i64 = 256;

/// The entries that the accesses of a stretch of code have hit, by base register. Every path to the end of the stretch leads through all of it.
#[derive(Default)]
pub(super) struct Near(Vec<Access>);

struct Access {
    base: u8,
    /// From what the base register is now, in bytes.
    offset: i64,
    /// Address of the entry.
    entry: Value,
}

impl Near {
    /// The entry that an access near this one has hit.
    pub(super) fn entry(&self, op: &MicroOp) -> Option<Value> {
        let near = |access: &&Access| access.base == op.rs1 && (access.offset - i64::from(op.imm)).abs() < NEAR;
        self.0.iter().find(near).map(|access| access.entry)
    }

    /// An access has hit the entry.
    pub(super) fn hit(&mut self, op: &MicroOp, entry: Value) {
        self.forget(op.rs1);
        self.0.push(Access { base: op.rs1, offset: i64::from(op.imm), entry });
    }

    /// The `sum` register is now `bytes` more than `base` is, or was.
    pub(super) fn add(&mut self, sum: u8, base: u8, bytes: i64) {
        let known =
            self.0.iter().find(|access| access.base == base).map(|access| (access.offset - bytes, access.entry));
        self.forget(sum);
        self.0.extend(known.map(|(offset, entry)| Access { base: sum, offset, entry }));
    }

    /// The register is another.
    pub(super) fn forget(&mut self, register: u8) {
        self.0.retain(|access| access.base != register);
    }

    /// A stretch of code begins.
    pub(super) fn begin(&mut self) {
        self.0.clear();
    }
}
