//! The nested TLB: gPA page → hPA page. Every translation by a second stage with tables asks it before walking, those of tables and those of
//! data; an entry answers only what it permits.

use crate::config::TlbArray;
use crate::rights::Masks;
use crate::space::Space;
use crate::tlb::set_associative::SetAssociative;
use crate::tlb::tag_array::{BasePage, Miss, region};
use crate::tlb::way::Way;
use crate::walk::{Backing, Mapping, Policy};
use types::{Gpa, Hpa};

/// One entry.
#[derive(Clone, Copy, Debug, Default)]
struct NestedEntry {
    /// The VMID.
    space: Space,
    mapping: Mapping<Hpa>,
}

/// What a lookup finds.
pub(crate) enum Lookup {
    /// An entry that answers. Its use is not recorded yet.
    Hit(Way, Mapping<Hpa>),
    /// None, where there are base pages and nothing else.
    AbsentBase,
    /// None.
    Absent(Miss),
}

/// The nested TLB.
#[derive(Clone, Debug)]
pub(crate) struct NestedTlb {
    entries: SetAssociative<NestedEntry>,
}

impl NestedTlb {
    /// An empty one. The configuration was checked before.
    pub(crate) fn new(array: &TlbArray) -> Self {
        Self { entries: SetAssociative::new(core::slice::from_ref(array)) }
    }

    /// Looks an address up: mostly the first tag that matches decides.
    #[inline(always)]
    pub(crate) fn look_up<P: Policy>(&self, address: u64, space: Space, masks: Masks) -> Result<Lookup, P::Stop> {
        let answers = |entry: &NestedEntry| (entry.space == space) & entry.mapping.rights().meet(masks);
        if self.entries.has_base_alone(region(address)) {
            match self.entries.probe_base(BasePage::new(address), answers) {
                Ok((way, entry)) => return Ok(Lookup::Hit(way, entry.mapping.as_base_page())),
                Err(Miss::ABSENT) => return Ok(Lookup::AbsentBase),
                Err(_) => {}
            }
        }
        P::uncommon(|| {
            Ok(match self.entries.find(address, answers) {
                Ok((way, entry)) => Lookup::Hit(way, entry.mapping),
                Err(miss) => Lookup::Absent(miss),
            })
        })
    }

    /// Records a use of what was found there.
    #[inline(always)]
    pub(crate) fn used(&mut self, way: Way) {
        self.entries.used(way);
    }

    /// Keeps a base page that is absent, where a lookup has found [`Lookup::AbsentBase`].
    #[inline(always)]
    pub(crate) fn fill_base(&mut self, address: u64, space: Space, mapping: &Mapping<Hpa>) {
        let mapping = mapping.as_base_page();
        self.entries.fill_base(BasePage::new(address), &NestedEntry { space, mapping });
    }

    /// Keeps a translation of `address`. `miss` is how there was none just before.
    pub(crate) fn fill(&mut self, address: u64, miss: Miss, space: Space, mapping: &Mapping<Hpa>) {
        let rights = mapping.rights();
        let target = mapping.target(Gpa(address));
        let mapping_of = |size| Mapping::new(target.page(size), size, rights, Backing::Host);
        let piece = |size| NestedEntry { space, mapping: mapping_of(size) };
        let _evicted = self.entries.fill(address, mapping.size(), miss, piece, |other| other.space == space);
    }

    /// Drops the entries of the spaces that `drops` names.
    pub(crate) fn remove(&mut self, drops: impl Fn(Space) -> bool) {
        self.entries.remove(|entry| drops(entry.space));
    }

    /// Drops those for pages of an address.
    pub(crate) fn remove_page(&mut self, address: u64, drops: impl Fn(Space) -> bool) {
        self.entries.remove_page(address, |entry| drops(entry.space));
    }
}
