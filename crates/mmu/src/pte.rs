//! One page-table entry (RISC-V Privileged 1.13, sections 12.4.1 and 12.5, Svnapot).

pub(crate) mod flags;

use crate::config::Groups;
use crate::fault::Cause;
use crate::rights::{Owners, Required, Rights};
use types::{Access, PageSize, TranslationContext};

/// A page-table entry of any 64-bit mode, either stage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pte(pub u64);

/// What a well-formed entry is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It points to the next level's table.
    Pointer,
    /// It maps a page of this size.
    Leaf(PageSize),
}

impl Pte {
    /// Valid.
    pub const V: u64 = flags::V;
    /// Readable.
    pub const R: u64 = flags::R;
    /// Writable.
    pub const W: u64 = flags::W;
    /// Executable.
    pub const X: u64 = flags::X;
    /// Of user mode.
    pub const U: u64 = flags::U;
    /// Global.
    pub const G: u64 = flags::G;
    /// Accessed.
    pub const A: u64 = flags::A;
    /// Dirty.
    pub const D: u64 = flags::D;
    /// Of a group of pages ([`Groups`]).
    pub const N: u64 = 1 << 63;
    /// Bits 60–54, and 62–61, which are Svpbmt's: absent.
    const RESERVED: u64 = 0x1ff << 54;
    const PPN_SHIFT: u32 = 10;
    const PPN_MASK: u64 = (1 << 44) - 1;

    #[inline(always)]
    const fn has(self, bits: u64) -> bool {
        self.0 & bits != 0
    }

    /// G: the mappings from here on belong to every ASID.
    #[inline(always)]
    pub const fn is_global(self) -> bool {
        self.has(Self::G)
    }

    /// The physical address in the PPN field: of the next table, or of a page (with N, of the page and its size).
    #[inline(always)]
    pub const fn address(self) -> u64 {
        ((self.0 >> Self::PPN_SHIFT) & Self::PPN_MASK) << 12
    }

    /// Steps 3 to 5 of the walk: what the entry is, at `level`.
    ///
    /// # Errors
    /// What is wrong with the entry.
    #[inline(always)]
    pub fn decode(self, level: u32, groups: Groups) -> Result<Kind, Cause> {
        // Mostly it is one of these.
        if self.is_plain_pointer() && level != 0 {
            return Ok(Kind::Pointer);
        }
        if self.is_plain_leaf(Self::V | Self::R, Self::V | Self::R) && level == 0 {
            return Ok(Kind::Leaf(PageSize::Size4K));
        }
        self.decode_any(level, groups)
    }

    /// Whether it is a pointer to the next level's table, above the last level.
    #[inline(always)]
    pub(crate) const fn is_plain_pointer(self) -> bool {
        self.0 & (Self::RESERVED | Self::N | 0xff & !Self::G) == Self::V
    }

    /// Whether it is well-formed and of no group, and those of its flags under `mask` are `value`. In the last level it then maps a base page,
    /// if V and R are among the flags.
    #[inline(always)]
    pub(crate) const fn is_plain_leaf(self, mask: u64, value: u64) -> bool {
        self.0 & (Self::RESERVED | Self::N | mask) == value
    }

    /// Whether it is plain that it allows what is demanded, has the bits set that the access sets, and maps a base page if it is of the last
    /// level.
    #[inline(always)]
    pub(crate) const fn is_plain_leaf_for(self, required: &Required) -> bool {
        let (mask, value) = required.settled();
        self.is_plain_leaf(mask | Self::V | Self::R, value | Self::V | Self::R)
    }

    /// What [`Self::decode`] gives for any entry, step by step.
    #[inline(never)]
    const fn decode_any(self, level: u32, groups: Groups) -> Result<Kind, Cause> {
        // Step 3.
        if !self.has(Self::V) {
            return Err(Cause::Invalid);
        }
        if self.has(Self::W) && !self.has(Self::R) {
            return Err(Cause::WriteWithoutRead);
        }
        if self.has(Self::RESERVED) || (self.has(Self::N) && matches!(groups, Groups::None)) {
            return Err(Cause::Reserved);
        }
        // Step 4.
        if !self.has(Self::R | Self::X) {
            if self.has(Self::N | Self::U | Self::A | Self::D) {
                return Err(Cause::Reserved);
            }
            return if level == 0 { Err(Cause::NoLeaf) } else { Ok(Kind::Pointer) };
        }
        if self.has(Self::N) {
            // Table 47: the one encoding that is defined; or those of granularity hints.
            return match groups.size(self.address() >> 12) {
                Some(size) if level == 0 => Ok(Kind::Leaf(size)),
                _ => Err(Cause::Reserved),
            };
        }
        // Step 5.
        let size = PageSize::of_level(level);
        if self.address() & (size.bytes() - 1) != 0 { Err(Cause::Misaligned) } else { Ok(Kind::Leaf(size)) }
    }

    /// Whether the leaf, of a guest's own tables, allows a guest's access, whatever its A and D bits are.
    pub const fn allows(self, context: &TranslationContext, access: Access) -> bool {
        self.allow(Required::of_guest(context, access)).is_ok()
    }

    /// Steps 6 and 8 (7 is about shadow stacks, absent): whether the leaf allows the access.
    #[inline(always)]
    pub(crate) const fn allow(self, required: Required) -> Result<(), Cause> {
        match required.owners {
            Owners::User if !self.has(Self::U) => return Err(Cause::SupervisorPage),
            Owners::Supervisor if self.has(Self::U) => return Err(Cause::UserPage),
            _ => {}
        }
        match required.access {
            Access::Read if self.has(Self::R) => Ok(()),
            Access::Read if required.executable_is_readable && self.has(Self::X) => Ok(()),
            Access::Write if self.has(Self::W) => Ok(()),
            Access::Execute if self.has(Self::X) => Ok(()),
            Access::Read => Err(Cause::NotReadable),
            Access::Write => Err(Cause::NotWritable),
            Access::Execute => Err(Cause::NotExecutable),
        }
    }

    /// The leaf with the bits that step 9 demands of the access.
    #[inline(always)]
    pub const fn touched(self, access: Access) -> Self {
        match access {
            Access::Write => Self(self.0 | Self::A | Self::D),
            Access::Read | Access::Execute => Self(self.0 | Self::A),
        }
    }

    /// Why step 9 faults where software sets the bits.
    pub(crate) const fn untouched(self) -> Cause {
        if self.has(Self::A) { Cause::NotDirty } else { Cause::NotAccessed }
    }

    /// What a first-stage leaf permits.
    #[inline(always)]
    pub(crate) const fn rights(self) -> Rights {
        const OF: [Rights; 256] = table(Stage::First);
        OF[(self.0 & 0xff) as usize]
    }

    /// What a second-stage leaf leaves of the first stage's rights: MXR makes readable what the first stage has
    /// executable and the second readable, and U and S are the first stage's business.
    #[inline(always)]
    pub(crate) const fn second_stage_rights(self) -> Rights {
        const OF: [Rights; 256] = table(Stage::Second);
        OF[(self.0 & 0xff) as usize]
    }
}

#[derive(Clone, Copy)]
enum Stage {
    First,
    Second,
}

/// Rights by the eight flag bits, looked up because a miss derives them in the middle of much else.
const fn table(stage: Stage) -> [Rights; 256] {
    let mut table = [Rights::NONE; 256];
    let mut flags = 0;
    while flags < table.len() {
        let pte = Pte(flags as u64);
        let (readable, executable, user) = (pte.has(Pte::R), pte.has(Pte::X), pte.has(Pte::U));
        let (under_mxr, of_user, of_supervisor) = match stage {
            Stage::First => (executable, user, !user),
            Stage::Second => (readable, true, true),
        };
        table[flags] = Rights::NONE
            .with(Rights::READ, readable)
            .with(Rights::READ_EXECUTABLE, under_mxr)
            .with(Rights::WRITE, pte.has(Pte::W) && pte.has(Pte::D))
            .with(Rights::EXECUTE, executable)
            .with(Rights::USER, of_user)
            .with(Rights::SUPERVISOR, of_supervisor);
        flags += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAF: u64 = Pte::V | Pte::R | Pte::A;

    #[test]
    fn the_low_bits_of_a_napot_page_number_are_one_and_three_zeros() {
        for low in 0..16 {
            let pte = Pte(LEAF | Pte::N | low << Pte::PPN_SHIFT);
            let expected = if low == 8 { Ok(Kind::Leaf(PageSize::Size64K)) } else { Err(Cause::Reserved) };
            assert_eq!(pte.decode(0, Groups::Svnapot), expected, "{low:#x}");
            assert_eq!(pte.decode(0, Groups::None), Err(Cause::Reserved));
            assert_eq!(pte.decode(1, Groups::Svnapot), Err(Cause::Reserved));
        }
    }

    #[test]
    fn granularity_hints_are_of_8_64_and_512_pages() {
        use PageSize::{Size2M, Size32K, Size256K};
        for bit in 0..20 {
            for above in [0, 1 << 30] {
                let pte = Pte(LEAF | Pte::N | (1 << bit | above) << Pte::PPN_SHIFT);
                let size = [(2, Size32K), (5, Size256K), (8, Size2M)].into_iter().find(|(of, _)| *of == bit);
                let expected = size.map_or(Err(Cause::Reserved), |(_, size)| Ok(Kind::Leaf(size)));
                assert_eq!(pte.decode(0, Groups::GranularityHints), expected, "{bit}");
                assert_eq!(pte.decode(1, Groups::GranularityHints), Err(Cause::Reserved));
            }
        }
    }

    #[test]
    fn every_reserved_bit_is_refused() {
        for bit in 54..63 {
            assert_eq!(Pte(LEAF | 1 << bit).decode(0, Groups::Svnapot), Err(Cause::Reserved), "bit {bit} of a leaf");
            assert_eq!(
                Pte(Pte::V | 1 << bit).decode(1, Groups::Svnapot),
                Err(Cause::Reserved),
                "bit {bit} of a pointer"
            );
        }
        for bits in [Pte::U, Pte::A, Pte::D, Pte::N] {
            assert_eq!(Pte(Pte::V | bits).decode(1, Groups::Svnapot), Err(Cause::Reserved), "{bits:#x} of a pointer");
        }
        // RSW and G are not reserved.
        assert_eq!(Pte(Pte::V | Pte::G | 3 << 8).decode(1, Groups::Svnapot), Ok(Kind::Pointer));
    }

    #[test]
    fn superpages_are_aligned() {
        for level in 1..5 {
            let size = PageSize::of_level(level);
            for bit in 12..56 {
                let pte = Pte(LEAF | 1 << (bit - 2));
                let expected = if bit < size.shift() { Err(Cause::Misaligned) } else { Ok(Kind::Leaf(size)) };
                assert_eq!(pte.decode(level, Groups::Svnapot), expected, "bit {bit} at level {level}");
            }
        }
    }

    #[test]
    fn combinations_of_permissions() {
        assert_eq!(Pte(LEAF & !Pte::V).decode(0, Groups::Svnapot), Err(Cause::Invalid));
        assert_eq!(Pte(Pte::V | Pte::W).decode(0, Groups::Svnapot), Err(Cause::WriteWithoutRead));
        assert_eq!(Pte(Pte::V | Pte::W | Pte::X).decode(0, Groups::Svnapot), Err(Cause::WriteWithoutRead));
        assert_eq!(Pte(Pte::V).decode(0, Groups::Svnapot), Err(Cause::NoLeaf));
        assert_eq!(Pte(Pte::V | Pte::X).decode(0, Groups::Svnapot), Ok(Kind::Leaf(PageSize::Size4K)));
    }
}
