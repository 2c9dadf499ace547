//! Synchronous exceptions, as a guest in S-mode sees them (Privileged 1.13, table 12.2).

use crate::Interrupt;

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

impl Exception {
    /// Every cause.
    const ALL: [Self; 12] = [
        Self::InstructionMisaligned,
        Self::InstructionAccess,
        Self::Illegal,
        Self::Breakpoint,
        Self::LoadMisaligned,
        Self::LoadAccess,
        Self::StoreMisaligned,
        Self::StoreAccess,
        Self::UserCall,
        Self::InstructionPage,
        Self::LoadPage,
        Self::StorePage,
    ];

    /// Whether page tables do not allow an access.
    pub(crate) const fn is_page_fault(self) -> bool {
        match self {
            Self::InstructionPage | Self::LoadPage | Self::StorePage => true,
            Self::InstructionMisaligned
            | Self::InstructionAccess
            | Self::Illegal
            | Self::Breakpoint
            | Self::LoadMisaligned
            | Self::LoadAccess
            | Self::StoreMisaligned
            | Self::StoreAccess
            | Self::UserCall => false,
        }
    }

    /// The cause in words, as table 12.2 has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::InstructionMisaligned => "instruction address misaligned",
            Self::InstructionAccess => "instruction access fault",
            Self::Illegal => "illegal instruction",
            Self::Breakpoint => "breakpoint",
            Self::LoadMisaligned => "load address misaligned",
            Self::LoadAccess => "load access fault",
            Self::StoreMisaligned => "store/AMO address misaligned",
            Self::StoreAccess => "store/AMO access fault",
            Self::UserCall => "environment call from U-mode",
            Self::InstructionPage => "instruction page fault",
            Self::LoadPage => "load page fault",
            Self::StorePage => "store/AMO page fault",
        }
    }
}

/// The name of a trap cause as `scause` holds it.
#[must_use]
pub fn cause_name(scause: u64) -> &'static str {
    const INTERRUPT: u64 = 1 << 63;
    let named = |code: u64| Exception::ALL.into_iter().find(|&exception| exception as u64 == code);
    match scause {
        _ if scause == INTERRUPT | Interrupt::Software as u64 => "supervisor software interrupt",
        _ if scause == INTERRUPT | Interrupt::Timer as u64 => "supervisor timer interrupt",
        _ if scause == INTERRUPT | Interrupt::External as u64 => "supervisor external interrupt",
        _ => named(scause).map_or("unknown cause", Exception::name),
    }
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
