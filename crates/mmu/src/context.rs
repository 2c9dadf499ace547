//! The translation context, prepared for the miss path.

use crate::geometry::Geometry;
use crate::rights::{Masks, Required};
use crate::space::Spaces;
use types::{Access, Gva, PageSize, PagingMode, Privilege, TranslationContext, Vmid};

/// Which of an L1 entry's fast copies is in use. A change of view costs nothing: no entry is touched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum View {
    /// From U.
    User,
    /// From S with SUM = 0, and every fetch from S.
    Supervisor,
    /// Loads and stores from S with SUM = 1.
    SupervisorSum,
}

impl View {
    /// Views of loads and stores.
    pub(crate) const OF_DATA: usize = 3;
    /// Views of fetches, which SUM does not concern.
    pub(crate) const OF_FETCHES: usize = 2;

    /// Its bit in a mask of views.
    #[inline(always)]
    pub(crate) const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The views of a bit mask.
    pub(crate) fn of_bits(mask: u8) -> impl Iterator<Item = Self> {
        [Self::User, Self::Supervisor, Self::SupervisorSum].into_iter().filter(move |view| mask & view.bit() != 0)
    }

    const fn of(context: &TranslationContext, access: Access) -> Self {
        match (context.privilege, access) {
            (Privilege::User, _) => Self::User,
            (Privilege::Supervisor, Access::Read | Access::Write) if context.sum => Self::SupervisorSum,
            (Privilege::Supervisor, _) => Self::Supervisor,
        }
    }
}

/// What a lookup is made with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Query {
    pub(crate) spaces: Spaces,
    pub(crate) view: View,
    /// What the access itself demands of a leaf, and of an entry.
    pub(crate) of_leaf: Required,
    pub(crate) required: Masks,
    /// What a load demands in the same view, and a store, to make valid an entry for either.
    pub(crate) load: Masks,
    pub(crate) store: Masks,
    /// The largest page of the mode. A larger one, which another mode left under the same ASID, spans addresses that
    /// are not canonical in this mode: it answers, but is valid only in part.
    pub(crate) largest: PageSize,
}

/// A hart's translation context and its VMID.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Context {
    pub(crate) translation: TranslationContext,
    pub(crate) vmid: Vmid,
    pub(crate) spaces: Spaces,
    /// Shape of the guest's tables.
    pub(crate) geometry: Geometry,
    /// By access.
    queries: [Query; 3],
    /// Bits of an address above the translated ones.
    unused: u32,
}

impl Context {
    /// Prepares a context.
    pub(crate) const fn new(translation: &TranslationContext, vmid: Vmid) -> Self {
        let spaces = Spaces::of_guest(translation.mode, vmid, translation.asid);
        let queries = [
            Query::new(translation, spaces, Access::Read),
            Query::new(translation, spaces, Access::Write),
            Query::new(translation, spaces, Access::Execute),
        ];
        let unused = 64 - translation.mode.address_bits();
        let geometry = Geometry::of_first_stage(translation.mode);
        Self { translation: *translation, vmid, spaces, geometry, queries, unused }
    }

    /// Whether views valid for `self` hold for `other`: privilege and SUM only choose the view, and the root is not
    /// looked at before a walk.
    pub(crate) fn shares_views(&self, other: &Self) -> bool {
        let (one, two) = (&self.translation, &other.translation);
        self.spaces == other.spaces && one.mode == two.mode && one.mxr == two.mxr
    }

    /// Address of the root of the guest's tables.
    #[inline(always)]
    pub(crate) const fn root(&self) -> u64 {
        // `satp.PPN` has 44 bits.
        self.translation.root.0 & ((1 << 56) - (1 << 12))
    }

    /// What a lookup for an access is made with.
    #[inline(always)]
    pub(crate) const fn query(&self, access: Access) -> &Query {
        &self.queries[access as usize]
    }

    /// Whether the address is one that the mode translates (section 12.4.1: the bits above repeat the topmost one).
    /// Without translation every address is.
    #[inline(always)]
    pub(crate) const fn is_canonical(&self, gva: Gva) -> bool {
        ((gva.0 << self.unused).cast_signed() >> self.unused).cast_unsigned() == gva.0
    }
}

impl Query {
    const fn new(translation: &TranslationContext, spaces: Spaces, access: Access) -> Self {
        Self {
            spaces,
            view: View::of(translation, access),
            of_leaf: Required::of_guest(translation, access),
            required: Masks::of(Required::of_guest(translation, access)),
            load: Masks::of(Required::of_guest(translation, Access::Read)),
            store: Masks::of(Required::of_guest(translation, Access::Write)),
            largest: match translation.mode {
                PagingMode::Bare => PageSize::Size256T,
                mode => PageSize::of_level(mode.levels() - 1),
            },
        }
    }
}
