//! The register page of the primary region: how a process of a kernel that knows nothing of direct segments sets its own.
//!
//! | offset | register | |
//! |---|---|---|
//! | 0x00 | MAGIC | `PAWSEGM1`, read only |
//! | 0x08 | START | guest physical address of the region, read only |
//! | 0x10 | BYTES | its length, read only; it may grow |
//! | 0x18 | OWNERS | how often it has come to an owner, the present one included, read only |
//! | 0x20 | BASE | of the segment, a virtual address |
//! | 0x28 | LIMIT | of the segment |
//! | 0x30 | TARGET | guest physical address where BASE leads |
//! | 0x38 | STATUS | 0: off, 1: set, 16 and above: the latest request was refused, and why; a store of 1 sets, of 0 clears |
//!
//! All are 64 bits wide and are accessed whole. Requests are carried out by the machine, which knows who makes them.

use core::ops::Range;
use serde::{Deserialize, Serialize};
use types::Gpa;

/// `PAWSEGM1`, in order of bytes.
const MAGIC: u64 = u64::from_le_bytes(*b"PAWSEGM1");

/// What a store to STATUS asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegionRequest {
    /// Registers with these values.
    Set {
        /// BASE.
        base: u64,
        /// LIMIT.
        limit: u64,
        /// TARGET.
        target: u64,
    },
    /// No segment any more.
    Clear,
}

/// What became of the latest request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RegionStatus {
    /// There is no segment.
    #[default]
    Off,
    /// There is one.
    Set,
    /// It was refused, for the reason of this number.
    Refused(u64),
}

impl RegionStatus {
    /// STATUS of the first reason.
    pub const REFUSED: u64 = 16;

    const fn value(self) -> u64 {
        match self {
            Self::Off => 0,
            Self::Set => 1,
            Self::Refused(reason) => Self::REFUSED + reason,
        }
    }
}

/// The registers of the page.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegionRegisters {
    memory: Range<Gpa>,
    owners: u64,
    base: u64,
    limit: u64,
    target: u64,
    status: RegionStatus,
    request: Option<RegionRequest>,
}

/// What a guest has written to the registers, and what it was answered: for a snapshot. Where the region is, is the hypervisor's to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct RegionRegistersState {
    owners: u64,
    base: u64,
    limit: u64,
    target: u64,
    /// 0: off, 1: set, 16 and above: refused.
    status: u64,
}

impl RegionRegisters {
    /// The registers, for a snapshot. A request is carried out within the store that makes it.
    pub(crate) const fn state(&self) -> RegionRegistersState {
        let Self { owners, base, limit, target, status, .. } = *self;
        RegionRegistersState { owners, base, limit, target, status: status.value() }
    }

    /// Sets them.
    pub(crate) fn set_state(&mut self, state: &RegionRegistersState) {
        let &RegionRegistersState { owners, base, limit, target, status } = state;
        (self.owners, self.base, self.limit, self.target) = (owners, base, limit, target);
        self.status = match status {
            0 => RegionStatus::Off,
            1 => RegionStatus::Set,
            refused => RegionStatus::Refused(refused.saturating_sub(RegionStatus::REFUSED)),
        };
        self.request = None;
    }

    /// The registers of a region without an owner.
    #[must_use]
    pub fn new(memory: Range<Gpa>) -> Self {
        Self { memory, owners: 0, base: 0, limit: 0, target: 0, status: RegionStatus::Off, request: None }
    }

    /// The region lies here now, and has come to this many owners.
    pub fn update(&mut self, memory: Range<Gpa>, owners: u64) {
        self.memory = memory;
        self.owners = owners;
    }

    /// Takes what was asked for, if anything was since this was last called.
    pub fn take_request(&mut self) -> Option<RegionRequest> {
        self.request.take()
    }

    /// What became of it.
    pub fn answer(&mut self, status: RegionStatus) {
        self.status = status;
    }

    pub(crate) const fn read(&self, offset: u64) -> u64 {
        match offset {
            0x00 => MAGIC,
            0x08 => self.memory.start.0,
            0x10 => self.memory.end.0 - self.memory.start.0,
            0x18 => self.owners,
            0x20 => self.base,
            0x28 => self.limit,
            0x30 => self.target,
            0x38 => self.status.value(),
            _ => 0,
        }
    }

    pub(crate) fn write(&mut self, offset: u64, value: u64) {
        match (offset, value) {
            (0x20, _) => self.base = value,
            (0x28, _) => self.limit = value,
            (0x30, _) => self.target = value,
            (0x38, 0) => self.request = Some(RegionRequest::Clear),
            (0x38, 1) => {
                let Self { base, limit, target, .. } = *self;
                self.request = Some(RegionRequest::Set { base, limit, target });
            }
            // Nothing else can be written.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_what_was_stored_before_it() {
        let mut registers = RegionRegisters::new(Gpa(0x9000_0000)..Gpa(0x9100_0000));
        assert_eq!((registers.read(0), registers.read(8), registers.read(16)), (MAGIC, 0x9000_0000, 0x100_0000));
        registers.write(0x20, 0x1000);
        registers.write(0x28, 0x3000);
        registers.write(0x30, 0x9000_0000);
        assert_eq!(registers.take_request(), None);
        registers.write(0x38, 1);
        let expected = RegionRequest::Set { base: 0x1000, limit: 0x3000, target: 0x9000_0000 };
        assert_eq!((registers.take_request(), registers.take_request()), (Some(expected), None));
        registers.answer(RegionStatus::Refused(3));
        assert_eq!(registers.read(0x38), 19);
        registers.write(0x38, 0);
        assert_eq!(registers.take_request(), Some(RegionRequest::Clear));
        for offset in (0x40..0x1000).step_by(8) {
            registers.write(offset, 1);
            assert_eq!((registers.read(offset), registers.take_request()), (0, None));
        }
    }
}
