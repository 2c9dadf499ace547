//! The profile of one guest.

use super::callers::Callers;
use super::cells::{Cells, Key};
use super::counters::{Counter, Counters};
use super::fold::Folds;
use super::mappings::{Mappings, SpaceMapping, SpaceProcess};
use super::rates::Rates;
use super::site::{ChainId, Page, Place, Site, Space, SpaceId, Touched};
use introspection::KernelArea;
use std::collections::{HashMap, HashSet};
use types::{Access, Gpa, Gva, Privilege};

/// The most pairs of an instruction and a page that are kept apart: a guest can make as many as it likes, and the host's memory is not its to use up.
const MOST_CELLS: usize = 1 << 20;
/// The most instructions. Where callers are kept, an instruction with other callers is another one.
const MOST_SITES: usize = 1 << 16;
const MOST_SITES_WITH_CALLERS: usize = 1 << 18;
/// The most address spaces.
const MOST_SPACES: usize = 1 << 12;
/// The most ranges that have names.
const MOST_RANGES: usize = 1 << 10;

/// Places that are found without a look at the table.
const RECENT: usize = 32;

/// The number of the space of those that there was no room for.
const OTHER_SPACE: SpaceId = SpaceId(u32::MAX);
/// Stands for the instructions that there was no room for. It is odd, as no instruction's address is.
const OTHER_PC: u64 = u64::MAX;

/// A part of an address space to which the guest has given a name (`PAGEWALK_NAME_RANGE`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NamedRange {
    /// The address space.
    pub space: Space,
    /// Its first byte.
    pub start: Gva,
    /// Its length.
    pub bytes: u64,
    /// The name.
    pub name: String,
}

/// What was charged to one instruction for one page.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The instruction.
    pub site: Site,
    /// Its innermost caller in [`Profile::callers`]; `None` where none is known, or kept.
    pub caller: Option<usize>,
    /// What it was about.
    pub touched: Touched,
    /// What was charged.
    pub counters: Counters,
}

/// What a profile tells apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProfileDetail {
    /// Instructions.
    Instructions,
    /// Instructions with their call stacks. Every engine interprets then.
    Callers,
}

/// A call, or the place of a trap, with those around it.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// The instruction.
    pub site: Site,
    /// Its own caller in [`Profile::callers`], if one is known.
    pub caller: Option<usize>,
}

/// The profile of a guest's measured part.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Everything that was charged, in the order in which it first occurred.
    pub rows: Vec<Row>,
    /// What it tells apart.
    pub detail: ProfileDetail,
    /// The callers that rows have.
    pub callers: Vec<Caller>,
    /// Ranges that have names. A later one goes before an earlier one.
    pub ranges: Vec<NamedRange>,
    /// The processes of a Linux guest, as far as they are known.
    pub processes: Vec<SpaceProcess>,
    /// What they have mapped, as far as something was charged there.
    pub mappings: Vec<SpaceMapping>,
    /// The parts of the kernel's half of every address space, in the order of addresses, if they are known.
    pub areas: Vec<KernelArea>,
    /// What the run counted, independently of the profile: the sum of all rows.
    pub totals: Counters,
    /// The time that the counters amount to.
    pub rates: Rates,
}

/// The page that an instruction misses most often.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FrequentMiss {
    /// The root table of its address space.
    pub(crate) root: Gpa,
    /// The first byte of the page.
    pub(crate) page: Gva,
    /// The privilege of the instruction.
    pub(crate) privilege: Privilege,
    /// How many of its loads and stores to the page missed the L1.
    pub(crate) misses: i64,
}

/// What is charged of one guest.
#[derive(Debug, Default)]
pub(super) struct Account {
    spaces: Vec<Space>,
    space_ids: HashMap<Space, SpaceId, Folds>,
    sites: Vec<Place>,
    site_ids: HashMap<Place, u32, Folds>,
    /// Places that were charged lately, by their address.
    recent: [Option<(Place, u32)>; RECENT],
    ranges: Vec<NamedRange>,
    pub(super) mappings: Mappings,
    /// Call stacks, if they are kept.
    pub(super) callers: Option<Callers>,
    /// Entries of shadow tables that were charged so far.
    pub(super) shadow_fills: i64,
    /// Since the latest region of interest began or ended.
    current: Cells,
    /// Before it, as long as no region was measured.
    before: Cells,
    /// In regions of interest that have ended.
    measured: Option<Cells>,
}

impl Account {
    pub(super) fn new(callers: Option<Callers>) -> Self {
        Self { callers, ..Self::default() }
    }

    /// The number of an address space.
    pub(super) fn space(&mut self, space: Space) -> SpaceId {
        if let Some(&id) = self.space_ids.get(&space) {
            return id;
        }
        if self.spaces.len() >= MOST_SPACES {
            return OTHER_SPACE;
        }
        let id = SpaceId(self.spaces.len() as u32);
        self.spaces.push(space);
        self.space_ids.insert(space, id);
        id
    }

    /// The number of a place. Few instructions have most of the misses.
    #[inline]
    pub(super) fn site(&mut self, place: Place) -> u32 {
        let recent = (place.pc >> 1) as usize % RECENT;
        match self.recent[recent] {
            Some((latest, site)) if latest == place => site,
            _ => {
                let site = self.find_site(place);
                self.recent[recent] = Some((place, site));
                site
            }
        }
    }

    #[cold]
    fn find_site(&mut self, place: Place) -> u32 {
        if let Some(&site) = self.site_ids.get(&place) {
            return site;
        }
        let most = if self.callers.is_some() { MOST_SITES_WITH_CALLERS } else { MOST_SITES };
        let other = Place { pc: OTHER_PC, callers: ChainId::NONE, ..place };
        let place = if self.sites.len() < most { place } else { other };
        let next = self.sites.len() as u32;
        let site = *self.site_ids.entry(place).or_insert(next);
        if site == next {
            self.sites.push(place);
        }
        site
    }

    /// Charges a site for what it did to a page. Returns whether this is the first time.
    #[inline]
    pub(super) fn charge(&mut self, site: u32, page: Page, counters: &Counters) -> bool {
        let key = Key { site, page: page.word() };
        let is_first = !self.current.charge(key, counters);
        if is_first {
            self.charge_new(key, counters);
        }
        is_first
    }

    #[cold]
    fn charge_new(&mut self, key: Key, counters: &Counters) {
        let full = self.current.len() + self.before.len() + self.measured.as_ref().map_or(0, Cells::len) >= MOST_CELLS;
        let key = if full && key.page != Page::NONE.word() { Key { page: Page::OTHER.word(), ..key } } else { key };
        self.current.charge_new(key, counters);
    }

    /// A region of interest begins.
    pub(super) fn begin(&mut self) {
        if self.measured.is_none() {
            self.before.absorb(&mut self.current);
        } else {
            self.current.clear();
        }
    }

    /// A region of interest ends.
    pub(super) fn end(&mut self) {
        self.measured.get_or_insert_default().absorb(&mut self.current);
        self.before.clear();
    }

    /// Gives a range a name.
    pub(super) fn name(&mut self, range: NamedRange) {
        self.ranges.retain(|other| (other.space, other.start, other.bytes) != (range.space, range.start, range.bytes));
        if self.ranges.len() < MOST_RANGES {
            self.ranges.push(range);
        }
    }

    /// What was charged, for a run that counted `totals`.
    pub(super) fn profile(&self, totals: Counters, rates: Rates) -> Profile {
        let mut whole = Cells::default();
        let cells = match &self.measured {
            Some(measured) => measured,
            None => {
                for (key, counters) in self.before.iter().chain(self.current.iter()) {
                    whole.add(key, &counters);
                }
                &whole
            }
        };
        let rows = cells.iter().filter(|(_, counters)| !counters.is_zero()).map(|(key, counters)| {
            let place = self.sites[key.site as usize];
            Row {
                site: self.site_at(place),
                caller: place.callers.index(),
                touched: Page::from_word(key.page).touched(),
                counters,
            }
        });
        let callers = self.callers.iter().flat_map(Callers::innermost);
        let callers = callers.map(|place| Caller { site: self.site_at(place), caller: place.callers.index() });
        Profile {
            rows: rows.collect(),
            detail: if self.callers.is_some() { ProfileDetail::Callers } else { ProfileDetail::Instructions },
            callers: callers.collect(),
            ranges: self.ranges.clone(),
            processes: self.mappings.processes(),
            mappings: self.mappings.mappings(),
            areas: self.mappings.areas().to_vec(),
            totals,
            rates,
        }
    }

    /// The pages that instructions in a space miss most often, one for each instruction and each page once: of those that miss most, at most `most`.
    pub(super) fn frequent_misses(&self, space: Space, most: usize) -> Vec<FrequentMiss> {
        let root = space.root;
        let Some(&space) = self.space_ids.get(&space) else { return Vec::new() };
        let mut counts: HashMap<Key, i64, Folds> = HashMap::default();
        // Without a region, all of the run counts.
        let earlier = self.measured.as_ref().unwrap_or(&self.before);
        for (key, counters) in earlier.iter().chain(self.current.iter()) {
            let is_data = matches!(Page::from_word(key.page).touched(), Touched::Page(_, Access::Read | Access::Write));
            if is_data && self.sites[key.site as usize].space == space {
                *counts.entry(key).or_default() += counters.get(Counter::L1dMisses);
            }
        }
        let mut counts: Vec<(Key, i64)> = counts.into_iter().filter(|(_, misses)| *misses > 0).collect();
        counts.sort_unstable_by_key(|&(key, misses)| (std::cmp::Reverse(misses), key));
        let (mut sites, mut pages) = (HashSet::new(), HashSet::new());
        counts.retain(|(key, _)| sites.insert(key.site) && pages.insert(key.page & !0xfff));
        let frequent = counts.into_iter().take(most).map(|(key, misses)| FrequentMiss {
            root,
            page: Gva(key.page & !0xfff),
            privilege: self.sites[key.site as usize].privilege.into(),
            misses,
        });
        frequent.collect()
    }

    fn site_at(&self, Place { space, privilege, pc, .. }: Place) -> Site {
        Site {
            space: self.spaces.get(space.0 as usize).copied(),
            privilege: privilege.into(),
            pc: (pc != OTHER_PC).then_some(Gva(pc)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Waiting;
    use types::Cycles;

    const RATES: Rates = Rates {
        l2_hit: Cycles(0),
        reference: Cycles(0),
        refill: Cycles(0),
        millicycles: None,
        waits: Waiting::References,
    };

    fn one() -> Counters {
        let mut counters = Counters::default();
        counters.set(Counter::Walks as usize, 1);
        counters
    }

    fn walks(profile: &Profile) -> i64 {
        profile.rows.iter().map(|row| row.counters.get(Counter::Walks)).sum()
    }

    fn charge(account: &mut Account, pc: u64, page: u64) {
        let site = account.site(Place { pc, ..Place::default() });
        account.charge(site, Page::of(Gva(page << 12), Access::Read), &one());
    }

    #[test]
    fn nothing_is_lost_where_there_is_no_room() {
        let mut account = Account::default();
        account.space(Space::default());
        let more = MOST_SITES as u64 + 10;
        (0..more).for_each(|pc| charge(&mut account, 4 * pc, 1));
        (0..MOST_CELLS as u64 + 10).for_each(|page| charge(&mut account, 0, page));
        let profile = account.profile(Counters::default(), RATES);
        assert_eq!(walks(&profile), more as i64 + MOST_CELLS as i64 + 10);
        assert!(profile.rows.iter().any(|row| row.site.pc.is_none()));
        assert!(profile.rows.iter().any(|row| row.touched == Touched::Others));
        assert!(profile.rows.len() <= MOST_CELLS + 2);
    }

    #[test]
    fn each_instruction_has_the_page_that_it_misses_most() {
        let mut account = Account::default();
        let space = Space { root: Gpa(0x1000), ..Space::default() };
        let number = account.space(space);
        let mut charge = |pc: u64, page: u64, times: u64, access: Access| {
            let site = account.site(Place { pc, space: number, ..Place::default() });
            let mut counters = Counters::default();
            counters.set(Counter::L1dMisses as usize, times as i64);
            account.charge(site, Page::of(Gva(page << 12), access), &counters);
        };
        charge(4, 1, 3, Access::Read);
        charge(4, 2, 5, Access::Write);
        charge(8, 2, 4, Access::Read);
        charge(8, 3, 1, Access::Read);
        charge(12, 9, 100, Access::Execute);
        charge(16, 7, 2, Access::Read);
        let found = |most| -> Vec<_> {
            account.frequent_misses(space, most).iter().map(|of| (of.page.0 >> 12, of.misses)).collect()
        };
        // The second instruction misses most where the first one does.
        assert_eq!(found(9), [(2, 5), (7, 2)]);
        assert_eq!(found(1), [(2, 5)]);
        assert_eq!(account.frequent_misses(Space::default(), 9), []);
    }

    #[test]
    fn regions_are_added_up_and_what_is_between_them_is_not() {
        let mut account = Account::default();
        charge(&mut account, 0, 1);
        account.begin();
        charge(&mut account, 4, 1);
        // Without an end there is no region, and all of the run counts.
        assert_eq!(walks(&account.profile(Counters::default(), RATES)), 2);
        account.end();
        charge(&mut account, 8, 1);
        account.begin();
        charge(&mut account, 4, 1);
        charge(&mut account, 12, 1);
        account.end();
        let profile = account.profile(Counters::default(), RATES);
        assert_eq!(walks(&profile), 3);
        let pcs: Vec<u64> = profile.rows.iter().map(|row| row.site.pc.unwrap().0).collect();
        assert_eq!(pcs, [4, 12]);
    }
}
