//! Entries of 12 bytes: two bytes with the type, two with a size or the kind of a marker, and eight with an address or a value. All numbers are
//! little-endian.

/// Bytes of an entry.
pub(super) const BYTES: usize = 12;

/// What an entry is. The numbers are those of `trace_type_t`.
pub(super) mod kind {
    pub(in super::super) const READ: u16 = 0;
    pub(in super::super) const WRITE: u16 = 1;
    pub(in super::super) const FIRST_PREFETCH: u16 = 2;
    pub(in super::super) const LAST_PREFETCH: u16 = 9;
    pub(in super::super) const INSTRUCTION: u16 = 10;
    pub(in super::super) const JUMP: u16 = 11;
    pub(in super::super) const INDIRECT_JUMP: u16 = 12;
    /// A conditional branch before version 5, which does not say whether it is taken.
    pub(in super::super) const CONDITIONAL: u16 = 13;
    pub(in super::super) const CALL: u16 = 14;
    pub(in super::super) const INDIRECT_CALL: u16 = 15;
    pub(in super::super) const RETURN: u16 = 16;
    pub(in super::super) const FIRST_FLUSH: u16 = 18;
    pub(in super::super) const LAST_FLUSH: u16 = 21;
    pub(in super::super) const THREAD: u16 = 22;
    pub(in super::super) const THREAD_EXIT: u16 = 23;
    pub(in super::super) const PROCESS: u16 = 24;
    pub(in super::super) const HEADER: u16 = 25;
    pub(in super::super) const FOOTER: u16 = 26;
    pub(in super::super) const HARDWARE_PREFETCH: u16 = 27;
    pub(in super::super) const MARKER: u16 = 28;
    /// A further round of a string instruction of x86, which is not fetched again.
    pub(in super::super) const NOT_FETCHED: u16 = 29;
    pub(in super::super) const SYSENTER: u16 = 31;
    pub(in super::super) const FIRST_LEVEL_PREFETCH: u16 = 32;
    pub(in super::super) const LAST_LEVEL_PREFETCH: u16 = 46;
    pub(in super::super) const ENCODING: u16 = 47;
    pub(in super::super) const TAKEN: u16 = 48;
    pub(in super::super) const UNTAKEN: u16 = 49;
}

/// What a marker says. The numbers are those of `trace_marker_type_t`.
pub(super) mod marker {
    /// Microseconds since 1601.
    pub(in super::super) const TIMESTAMP: u16 = 2;
    pub(in super::super) const CPU: u16 = 3;
    pub(in super::super) const FILE_TYPE: u16 = 9;
    pub(in super::super) const CACHE_LINE: u16 = 10;
    pub(in super::super) const VERSION: u16 = 12;
    pub(in super::super) const WINDOW: u16 = 14;
    pub(in super::super) const PAGE_SIZE: u16 = 18;
    /// Instructions of each chunk but the last.
    pub(in super::super) const CHUNK_INSTRUCTIONS: u16 = 20;
    /// The end of a chunk, with its number.
    pub(in super::super) const CHUNK_FOOTER: u16 = 21;
    /// How many entries that tools see are before this chunk.
    pub(in super::super) const ORDINAL: u16 = 22;
    /// Where the next instruction, an indirect branch, goes.
    pub(in super::super) const TARGET: u16 = 29;
    /// A trap, with the address in `sepc`. This number and the next one follow from the order in which `DynamoRIO` added markers: behind number 36
    /// (vector length) come three for scheduling (pull request 6826), the signal's number (6885), the uncompleted instruction (7058), and these two
    /// (7856).
    pub(in super::super) const HARDWARE_EVENT: u16 = 42;
    /// The return from a trap's handler.
    pub(in super::super) const HARDWARE_RETURN: u16 = 43;
}

/// Bits of the file's type (`offline_file_type_t`).
pub(super) mod file_type {
    /// Accesses have been left out: all, of instructions, of data, or those of a warm-up.
    pub(in super::super) const FILTERED: u64 = 0x1 | 0x80 | 0x100 | 0x2000;
    /// It has no loads and stores.
    pub(in super::super) const INSTRUCTIONS_ONLY: u64 = 0x4;
    pub(in super::super) const ENCODINGS: u64 = 0x200;
    /// User programs, kernels, and the traps between them. The bit behind the highest one of before, 0x20000 (pull request 7856).
    pub(in super::super) const WHOLE_SYSTEM: u64 = 0x4_0000;
}

/// Versions of the format that are read.
pub(super) const VERSIONS: std::ops::RangeInclusive<u64> = 2..=7;
/// The version in which only instructions that retire are in a trace.
pub(super) const VERSION: u64 = 7;

/// An entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) kind: u16,
    /// Bytes of an access, an instruction or an encoding; of a marker, what it says.
    pub(super) size: u16,
    pub(super) value: u64,
}

impl Entry {
    pub(super) const fn marker(marker: u16, value: u64) -> Self {
        Self { kind: kind::MARKER, size: marker, value }
    }

    pub(super) fn bytes(self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        bytes[..2].copy_from_slice(&self.kind.to_le_bytes());
        bytes[2..4].copy_from_slice(&self.size.to_le_bytes());
        bytes[4..].copy_from_slice(&self.value.to_le_bytes());
        bytes
    }

    pub(super) fn of(bytes: [u8; BYTES]) -> Self {
        let [a, b, c, d, value @ ..] = bytes;
        Self { kind: u16::from_le_bytes([a, b]), size: u16::from_le_bytes([c, d]), value: u64::from_le_bytes(value) }
    }

    /// Whether tools see it, so that ordinals count it.
    pub(super) const fn is_visible(self) -> bool {
        match self.kind {
            kind::HEADER | kind::THREAD | kind::PROCESS | kind::ENCODING | kind::FOOTER => false,
            kind::MARKER => !matches!(self.size, marker::ORDINAL | marker::TARGET),
            _ => true,
        }
    }
}
