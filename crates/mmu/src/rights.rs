//! What an access demands, and what a translation permits.

use crate::pte::flags;
use types::{Access, Privilege, TranslationContext};

/// Whose pages an access may touch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Owners {
    /// Pages with U = 1.
    User,
    /// Pages with U = 0.
    Supervisor,
    /// Both: S with SUM.
    Any,
}

/// What an access demands of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Required {
    /// The access.
    pub(crate) access: Access,
    /// Whose pages it may touch.
    pub(crate) owners: Owners,
    /// MXR: loads may read executable pages.
    pub(crate) executable_is_readable: bool,
    settled: Settled,
}

/// Bits that a leaf mostly has when it allows an access and neither A nor D is to be set; other leaves may allow it, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Settled {
    mask: u8,
    value: u8,
}

impl Settled {
    #[inline(always)]
    const fn of(access: Access, owners: Owners) -> Self {
        let needed = match access {
            Access::Read => flags::R | flags::A,
            Access::Write => flags::W | flags::A | flags::D,
            Access::Execute => flags::X | flags::A,
        } as u8;
        let user = flags::U as u8;
        match owners {
            Owners::User => Self { mask: needed | user, value: needed | user },
            Owners::Supervisor => Self { mask: needed | user, value: needed },
            Owners::Any => Self { mask: needed, value: needed },
        }
    }
}

impl Required {
    /// Of a guest's access (section 12.1.1.2: SUM, MXR).
    pub(crate) const fn of_guest(context: &TranslationContext, access: Access) -> Self {
        let owners = match (context.privilege, access) {
            (Privilege::User, _) => Owners::User,
            (Privilege::Supervisor, Access::Execute) => Owners::Supervisor,
            (Privilege::Supervisor, Access::Read | Access::Write) if context.sum => Owners::Any,
            (Privilege::Supervisor, Access::Read | Access::Write) => Owners::Supervisor,
        };
        Self { access, owners, executable_is_readable: context.mxr, settled: Settled::of(access, owners) }
    }

    /// Of the second stage, where every access counts as U's (section 19.5.1), and MXR is the hypervisor's, which is 0.
    #[inline(always)]
    pub(crate) const fn of_second_stage(access: Access) -> Self {
        let owners = Owners::User;
        Self { access, owners, executable_is_readable: false, settled: Settled::of(access, owners) }
    }

    /// Whether it is plain that a leaf with these flags allows the access, and has the bits set that the access sets.
    #[inline(always)]
    pub(crate) const fn is_settled(&self, leaf: u64) -> bool {
        leaf as u8 & self.settled.mask == self.settled.value
    }

    /// The flags that such a leaf has, under a mask.
    #[inline(always)]
    pub(crate) const fn settled(&self) -> (u64, u64) {
        let Settled { mask, value } = self.settled;
        (mask as u64, value as u64)
    }
}

/// What a cached translation permits, in a form that one demand tests with two masks. A write is permitted only where
/// D is set in every stage, because the first one must walk again to set it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Rights(u8);

impl Rights {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const READ: Self = Self(1);
    /// Readable if MXR.
    pub(crate) const READ_EXECUTABLE: Self = Self(1 << 1);
    pub(crate) const WRITE: Self = Self(1 << 2);
    pub(crate) const EXECUTE: Self = Self(1 << 3);
    /// From U, or from S with SUM.
    pub(crate) const USER: Self = Self(1 << 4);
    /// From S.
    pub(crate) const SUPERVISOR: Self = Self(1 << 5);
    /// What a stage without tables permits.
    pub(crate) const ALL: Self = Self(0x3f);

    /// All of them.
    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    /// The inverse of [`Self::bits`].
    pub(crate) const fn of_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// Those of `self` and `right` where `given`.
    #[must_use]
    pub(crate) const fn with(self, right: Self, given: bool) -> Self {
        if given { Self(self.0 | right.0) } else { self }
    }

    /// Those that both stages give.
    #[must_use]
    #[inline(always)]
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether the rights include the required permissions.
    #[inline(always)]
    pub(crate) const fn meet(self, masks: Masks) -> bool {
        masks.0 >> (self.0 & 0x3f) & 1 != 0
    }
}

/// The rights that satisfy the required permissions: a bit for each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Masks(u64);

impl Masks {
    /// Those of the required permissions.
    #[inline(always)]
    pub(crate) const fn of(required: Required) -> Self {
        const OF: [[[Masks; 2]; 3]; 3] = Masks::all();
        OF[required.access as usize][required.owners as usize][required.executable_is_readable as usize]
    }

    /// By access, owners and MXR.
    const fn all() -> [[[Self; 2]; 3]; 3] {
        let mut all = [[[Self(0); 2]; 3]; 3];
        let mut index = 0;
        while index < 18 {
            let (kind, owner, mxr) = (index / 6, index / 2 % 3, index % 2);
            let kinds = [Rights::READ.0, Rights::WRITE.0, Rights::EXECUTE.0][kind]
                | if kind == 0 && mxr == 1 { Rights::READ_EXECUTABLE.0 } else { 0 };
            let owners = [Rights::USER.0, Rights::SUPERVISOR.0, Rights::USER.0 | Rights::SUPERVISOR.0][owner];
            let mut rights = 0;
            while rights <= Rights::ALL.0 {
                if rights & kinds != 0 && rights & owners != 0 {
                    all[kind][owner][mxr].0 |= 1 << rights;
                }
                rights += 1;
            }
            index += 1;
        }
        all
    }

    /// Of the second stage.
    #[inline(always)]
    pub(crate) const fn of_second_stage(access: Access) -> Self {
        Self::of(Required::of_second_stage(access))
    }
}
