//! What an access demands, and what a translation permits.

use types::{Access, Privilege, TranslationContext};

/// Whose pages an access may touch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
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
pub(crate) struct Demand {
    /// The access.
    pub(crate) access: Access,
    /// Whose pages it may touch.
    pub(crate) owners: Owners,
    /// MXR: loads may read executable pages.
    pub(crate) executable_is_readable: bool,
}

impl Demand {
    /// Of a guest's access (section 12.1.1.2: SUM, MXR).
    pub(crate) const fn of_guest(context: &TranslationContext, access: Access) -> Self {
        let owners = match (context.privilege, access) {
            (Privilege::User, _) => Owners::User,
            (Privilege::Supervisor, Access::Execute) => Owners::Supervisor,
            (Privilege::Supervisor, Access::Read | Access::Write) if context.sum => Owners::Any,
            (Privilege::Supervisor, Access::Read | Access::Write) => Owners::Supervisor,
        };
        Self { access, owners, executable_is_readable: context.mxr }
    }

    /// Of the second stage, where every access counts as U's (section 19.5.1), and MXR is the monitor's, which is 0.
    pub(crate) const fn of_second_stage(access: Access) -> Self {
        Self { access, owners: Owners::User, executable_is_readable: false }
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

    /// Those of `self` and `right` where `given`.
    #[must_use]
    pub(crate) const fn with(self, right: Self, given: bool) -> Self {
        if given { Self(self.0 | right.0) } else { self }
    }

    /// Those that both stages give.
    #[must_use]
    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether a demand is met.
    #[inline(always)]
    pub(crate) const fn meet(self, masks: Masks) -> bool {
        (self.0 & masks.kinds != 0) & (self.0 & masks.owners != 0)
    }
}

/// A demand as masks over [`Rights`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Masks {
    kinds: u8,
    owners: u8,
}

impl Masks {
    /// The masks of a demand.
    pub(crate) const fn of(demand: Demand) -> Self {
        let kinds = match demand.access {
            Access::Read if demand.executable_is_readable => Rights::READ.0 | Rights::READ_EXECUTABLE.0,
            Access::Read => Rights::READ.0,
            Access::Write => Rights::WRITE.0,
            Access::Execute => Rights::EXECUTE.0,
        };
        let owners = match demand.owners {
            Owners::User => Rights::USER.0,
            Owners::Supervisor => Rights::SUPERVISOR.0,
            Owners::Any => Rights::USER.0 | Rights::SUPERVISOR.0,
        };
        Self { kinds, owners }
    }
}
