//! Agile paging (Gandhi, Hill, Swift, ISCA 2016): a walk begins in a shadow table and goes on nested below a switching entry.
//!
//! The processor has three roots: of the shadow table (`sptr`, [`ShadowRoot`]), of the guest's tables (`gptr`, the root of the context) and of the
//! nested tables (`hptr`). A pointer of the shadow table that is [marked so](SWITCHING) leads to a table of the guest, at its host
//! physical address. From there on the walk is nested: each further address is guest physical and goes through the nested tables. With n levels
//! of the guest and m of the host, a walk that reads s shadow entries makes s + (n − s)(m + 1) references.
//!
//! The mode of a walk is a part of the address that it has come to ([`AgileAddress`]). So the walker knows nothing of it, and an entry of the walk
//! cache, which holds such an address, keeps the mode of what it leads to.

use super::host::Host;
use super::tabled::TabledStage;
use crate::fault::{Fault, Purpose};
use crate::memory::TableMemory;
use crate::pte::Pte;
use crate::walk::{Address, GuestAddress, HostDimension, Map, Mapping, Policy, Ports, Request, Tree};
use types::{Gpa, Hpa};

/// What says that a pointer of a shadow table is a switching entry: the value 2 of the two bits that RISC-V leaves to software (RSW). The other
/// values, and all of them in a leaf or in the guest's own entries, stay software's.
pub const SWITCHING: u64 = 2 << 8;

/// The two bits.
const RSW: u64 = 3 << 8;

/// The register that says where a walk begins, `sptr`. It has the form of a shadow entry.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShadowRoot(u64);

impl ShadowRoot {
    /// There is no shadow table: walks are nested from the guest's root on.
    pub const NONE: Self = Self(0);

    /// A shadow table.
    #[must_use]
    pub const fn shadow_table(root: Hpa) -> Self {
        Self(root.number() << 10 | Pte::V)
    }

    /// A switching root: the guest's root table, at its host physical address.
    #[must_use]
    pub const fn guest_table(root: Hpa) -> Self {
        Self(Self::shadow_table(root).0 | SWITCHING)
    }

    /// The register.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Where a walk begins.
    #[inline(always)]
    pub(super) const fn start(self, guest_root: u64) -> AgileAddress {
        let root = Pte(self.0);
        if self.0 & Pte::V == 0 {
            AgileAddress::new(AgileAddress::FULLY_NESTED, guest_root)
        } else if is_switching(root) {
            AgileAddress::new(AgileAddress::SWITCHED, root.address())
        } else {
            AgileAddress::new(AgileAddress::SHADOW, root.address())
        }
    }
}

/// Whether a shadow entry is a pointer to a table of the guest.
#[inline(always)]
const fn is_switching(entry: Pte) -> bool {
    entry.0 & (RSW | Pte::R | Pte::W | Pte::X) == SWITCHING
}

/// An address that a walk has come to, with the mode of the walk in the upper four bits. Guest physical addresses have at most 59 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct AgileAddress(pub(super) u64);

impl AgileAddress {
    const SHIFT: u32 = 60;
    /// Host physical: of a shadow table, or of a page that it maps.
    const SHADOW: u64 = 0;
    /// Host physical: of the first table of the guest. Each table of the guest that was read adds one, and the address is guest physical then.
    const SWITCHED: u64 = 1;
    /// Guest physical, in a walk that has begun at the guest's root.
    const FULLY_NESTED: u64 = 7;

    #[inline(always)]
    const fn new(mode: u64, address: u64) -> Self {
        Self(mode << Self::SHIFT | address)
    }

    #[inline(always)]
    const fn mode(self) -> u64 {
        self.0 >> Self::SHIFT
    }

    #[inline(always)]
    const fn address(self) -> u64 {
        self.0 & ((1 << Self::SHIFT) - 1)
    }
}

impl Address for AgileAddress {
    #[inline(always)]
    fn of(bits: u64) -> Self {
        Self(bits)
    }

    #[inline(always)]
    fn bits(self) -> u64 {
        self.0
    }

    #[inline(always)]
    fn behind(self, entry: Pte) -> u64 {
        let mode = match self.mode() {
            Self::SHADOW if is_switching(entry) => Self::SWITCHED,
            mode @ (Self::SHADOW | Self::FULLY_NESTED) => mode,
            nested => nested + 1,
        };
        Self::new(mode, entry.address()).0
    }

    #[inline(always)]
    fn refusal(self, fault: Fault) -> Fault {
        match fault {
            Fault::Page(cause) if self.mode() == Self::SHADOW => Fault::Shadow(cause),
            fault => fault,
        }
    }
}

impl GuestAddress for AgileAddress {
    #[inline(always)]
    fn of_gpa(gpa: Gpa) -> Option<Self> {
        (gpa.0 >> Self::SHIFT == 0).then(|| Self::new(Self::FULLY_NESTED, gpa.0))
    }

    #[inline(always)]
    fn gpa(self) -> Option<Gpa> {
        (self.mode() > Self::SWITCHED).then_some(Gpa(self.address()))
    }

    #[inline(always)]
    fn kept(self) -> Gpa {
        Gpa(self.address())
    }
}

/// The second stage during one walk: nothing for host physical addresses, and the nested tables for guest physical ones.
pub(crate) struct AgileStage<'a> {
    pub(super) nested: TabledStage<'a, HostDimension, Tree, Host>,
}

impl Map for AgileStage<'_> {
    type In = AgileAddress;
    type Out = Hpa;

    const TRACELESS: bool = false;

    #[inline(always)]
    fn reach<P: Policy, M: TableMemory, R>(
        &mut self,
        ports: &mut Ports<'_, M>,
        request: Request<AgileAddress>,
        then: impl FnOnce(&mut Ports<'_, M>, &Mapping<Hpa>) -> Result<R, P::Stop>,
    ) -> Result<R, P::Stop> {
        let Request { address, access, purpose, limit } = request;
        let reached = match address.gpa() {
            Some(address) => self.nested.reach::<P, M, R>(ports, Request { address, access, purpose, limit }, then),
            None => {
                let address = Hpa(address.address());
                Host.reach::<P, M, R>(ports, Request { address, access, purpose, limit }, then)
            }
        };
        if purpose == Purpose::Data && reached.is_ok() {
            ports.statistics.agile_walks[address.mode().saturating_sub(1) as usize] += 1;
        }
        reached
    }

    fn reach_update<M: TableMemory>(
        &mut self,
        ports: &mut Ports<'_, M>,
        at: AgileAddress,
    ) -> Result<Mapping<Hpa>, Fault> {
        match at.gpa() {
            Some(gpa) => self.nested.reach_update(ports, gpa),
            None => Host.reach_update(ports, Hpa(at.address())),
        }
    }
}
