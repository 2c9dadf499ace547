//! DBCN, EID 0x4442434E: debug console (SBI 3.0, chapter 12).

use super::call::{Limits, SbiCall};
use super::error::SbiError;
use types::Gpa;

/// A buffer of the guest, all of it RAM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ConsoleBuffer {
    /// Its first byte.
    pub at: Gpa,
    /// Its length in bytes, at most the size of RAM.
    pub bytes: u64,
}

/// Input or output. A call may move fewer bytes than it asks for, and returns how many it moved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConsoleRequest {
    /// Print the buffer.
    Write(ConsoleBuffer),
    /// Fill the buffer with what was typed; it does not wait.
    Read(ConsoleBuffer),
    /// Print one byte.
    WriteByte(u8),
}

pub(super) fn decode(call: &SbiCall, limits: &Limits) -> Result<ConsoleRequest, SbiError> {
    match call.fid {
        0 => Ok(ConsoleRequest::Write(buffer(call, limits)?)),
        1 => Ok(ConsoleRequest::Read(buffer(call, limits)?)),
        // One byte wide: the upper bits are not part of it.
        2 => Ok(ConsoleRequest::WriteByte(call.args[0] as u8)),
        _ => Err(SbiError::NotSupported),
    }
}

fn buffer(call: &SbiCall, limits: &Limits) -> Result<ConsoleBuffer, SbiError> {
    // The address is 2 × XLEN wide, and nothing of ours lies in its upper half.
    let [bytes, low, high, ..] = call.args;
    let at = Gpa(low);
    if high != 0 || (bytes != 0 && !limits.is_ram(at, bytes)) {
        return Err(SbiError::InvalidParam);
    }
    Ok(ConsoleBuffer { at, bytes })
}
