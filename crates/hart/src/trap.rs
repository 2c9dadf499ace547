//! Synchronous exceptions, as a guest in S-mode sees them (Privileged 1.13, table 12.2).

/// The cause of a synchronous exception; the discriminant is `scause`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Exception {
    /// The target of a jump is not a multiple of four while compressed instructions are off.
    InstructionMisaligned = 0,
    /// A fetch from where there is no memory.
    InstructionAccess = 1,
    /// An undefined, switched-off or not permitted instruction.
    Illegal = 2,
    /// `ebreak`.
    Breakpoint = 3,
    /// A load-reserved at an address that is not a multiple of its width.
    LoadMisaligned = 4,
    /// A load from where there is neither memory nor device.
    LoadAccess = 5,
    /// A store-conditional or atomic operation at an address that is not a multiple of its width.
    StoreMisaligned = 6,
    /// A store or atomic operation to where there is neither memory nor device.
    StoreAccess = 7,
    /// `ecall` from U-mode.
    UserCall = 8,
    /// A fetch that the page tables do not allow.
    InstructionPage = 12,
    /// A load that the page tables do not allow.
    LoadPage = 13,
    /// A store or atomic operation that the page tables do not allow.
    StorePage = 15,
}

/// An exception and the value that goes to `stval`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Trap {
    /// Why.
    pub cause: Exception,
    /// The faulting address, or the bits of an illegal instruction.
    pub value: u64,
}

impl Trap {
    /// An illegal-instruction trap with the instruction's bits.
    #[must_use]
    pub const fn illegal(bits: u32) -> Self {
        Self { cause: Exception::Illegal, value: bits as u64 }
    }
}
