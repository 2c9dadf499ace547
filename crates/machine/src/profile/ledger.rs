//! The ledger of a machine: what the counters of each pCPU were when they were last read, and an account for each guest.

use super::account::{Account, FrequentMiss, NamedRange, Profile, ProfileDetail};
use super::callers::Callers;
use super::counters::{Counter, Counters, SHADOW_FILLS};
use super::mappings::Mappings;
use super::rates::Rates;
use super::site::{ChainId, Page, Place, Space};
use hart::Transfer;
use types::{Cycles, Gva, TranslationContext};

/// The ledger of a machine.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    seats: Vec<Seat>,
    accounts: Vec<Account>,
}

/// What is known of a pCPU.
#[derive(Clone, Copy, Debug, Default)]
struct Seat {
    /// Its counters when they were last read.
    seen: Counters,
    /// Where its hart is.
    place: Place,
    space: Space,
    /// The number of the hart in its guest.
    hart: usize,
    /// The latest miss there: its site and page. What a core is later for it comes after it.
    latest: Option<(u32, Page)>,
}

/// Counters before a call, as many as tell whether the call changed any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    pub(crate) misses: u64,
    pub(crate) hypervisor: Cycles,
}

/// What was read of a machine: the counters of a pCPU, and those of its guest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading {
    pub(crate) pcpu: usize,
    pub(crate) guest: usize,
    pub(crate) counters: Counters,
    pub(crate) shadow_fills: i64,
}

impl Ledger {
    /// For so many pCPUs, and guests with so many harts each.
    pub(crate) fn new(pcpus: usize, harts: impl Iterator<Item = usize>, detail: ProfileDetail) -> Self {
        let accounts = harts.map(|harts| {
            Account::new(match detail {
                ProfileDetail::Instructions => None,
                ProfileDetail::Callers => Some(Callers::new(harts)),
            })
        });
        Self { seats: vec![Seat::default(); pcpus], accounts: accounts.collect() }
    }

    /// The hart on a pCPU is at `pc`.
    #[inline]
    pub(crate) fn at(&mut self, pcpu: usize, pc: u64) {
        self.seats[pcpu].place.pc = pc;
    }

    /// The hart of `guest` on a pCPU translates in `context` from now on.
    #[inline]
    pub(crate) fn enter(&mut self, pcpu: usize, guest: usize, context: &TranslationContext) {
        let seat = &mut self.seats[pcpu];
        seat.place.privilege = context.privilege.into();
        let space = Space::of(context);
        if seat.space != space {
            seat.space = space;
            seat.place.space = self.accounts[guest].space(space);
        }
    }

    /// Another hart, of `guest`, has a pCPU from now on: its counters so far are of others.
    pub(crate) fn seat(&mut self, pcpu: usize, (guest, hart): (usize, usize), counters: Counters) {
        let space = Space::default();
        let place = Place { space: self.accounts[guest].space(space), ..Place::default() };
        self.seats[pcpu] = Seat { seen: counters, place, space, hart, latest: None };
    }

    /// Whether call stacks are kept.
    pub(crate) fn keeps_callers(&self) -> bool {
        self.accounts.iter().any(|account| account.callers.is_some())
    }

    /// The hart on a pCPU, of `guest`, calls, returns or traps.
    pub(crate) fn transfer(&mut self, pcpu: usize, guest: usize, transfer: &Transfer) {
        let Seat { place, hart, .. } = self.seats[pcpu];
        if let Some(callers) = &mut self.accounts[guest].callers {
            callers.transfer(hart, place, transfer);
        }
    }

    /// The number of the place where the hart on a pCPU is, with its callers.
    #[inline]
    fn site(&mut self, pcpu: usize, guest: usize) -> u32 {
        let Seat { place, hart, .. } = self.seats[pcpu];
        let account = &mut self.accounts[guest];
        let callers = account.callers.as_mut().map_or(ChainId::NONE, |callers| callers.of(hart));
        account.site(Place { callers, ..place })
    }

    /// Charges an access that has missed. Returns whether it is the first of its instruction to the page.
    #[inline]
    pub(crate) fn miss(&mut self, reading: &Reading, page: Page) -> bool {
        let site = self.site(reading.pcpu, reading.guest);
        self.seats[reading.pcpu].latest = Some((site, page));
        self.settle(reading, site, page)
    }

    /// The space that the hart on a pCPU is in, and those of its addresses here of which no mapping is known: that of its instruction, and `at`.
    pub(crate) fn unmapped(&self, pcpu: usize, guest: usize, at: Gva) -> (Space, [Option<Gva>; 2]) {
        let Seat { space, place, .. } = self.seats[pcpu];
        let mappings = &self.accounts[guest].mappings;
        (space, [Gva(place.pc), at].map(|at| mappings.lacks(space, at).then_some(at)))
    }

    /// What is known of a guest's processes, to be learned more of.
    pub(crate) fn mappings(&mut self, guest: usize) -> &mut Mappings {
        &mut self.accounts[guest].mappings
    }

    /// Charges what has changed beside accesses to where the hart is. What only a core knows is of the latest miss.
    pub(crate) fn sweep(&mut self, reading: &Reading) {
        self.delay(reading.pcpu, reading.guest, reading.counters.get(Counter::CoreTicks));
        let Seat { seen, .. } = self.seats[reading.pcpu];
        let account = &self.accounts[reading.guest];
        if reading.counters == seen && reading.shadow_fills == account.shadow_fills {
            return;
        }
        let site = self.site(reading.pcpu, reading.guest);
        self.settle(reading, site, Page::NONE);
    }

    /// Charges the latest miss on a pCPU for what its core is later since.
    #[inline]
    pub(crate) fn delay(&mut self, pcpu: usize, guest: usize, ticks: i64) {
        const TICKS: usize = Counter::CoreTicks as usize;
        let seat = &mut self.seats[pcpu];
        let later = ticks - seat.seen.get(Counter::CoreTicks);
        let Some((site, page)) = seat.latest.filter(|_| later != 0) else { return };
        seat.seen.set(TICKS, ticks);
        let mut delay = Counters::default();
        delay.set(TICKS, later);
        self.accounts[guest].charge(site, page, &delay);
    }

    #[inline]
    fn settle(&mut self, reading: &Reading, site: u32, page: Page) -> bool {
        let (seat, account) = (&mut self.seats[reading.pcpu], &mut self.accounts[reading.guest]);
        let mut charged = seat.seen.advance(&reading.counters);
        charged.set(SHADOW_FILLS, reading.shadow_fills - account.shadow_fills);
        account.shadow_fills = reading.shadow_fills;
        account.charge(site, page, &charged)
    }

    /// A region of interest of a guest begins. All of its pCPUs have been swept.
    pub(crate) fn begin(&mut self, guest: usize) {
        self.accounts[guest].begin();
    }

    /// A region of interest of a guest ends. All of its pCPUs have been swept.
    pub(crate) fn end(&mut self, guest: usize) {
        self.accounts[guest].end();
    }

    /// Gives a range of the address space of the hart on a pCPU a name.
    pub(crate) fn name(&mut self, pcpu: usize, guest: usize, (start, bytes): (Gva, u64), name: String) {
        let space = self.seats[pcpu].space;
        self.accounts[guest].name(NamedRange { space, start, bytes, name });
    }

    /// The pages that instructions of a guest miss most often in the space that the hart on a pCPU is in, at most `most`.
    pub(crate) fn frequent_misses(&self, pcpu: usize, guest: usize, most: usize) -> Vec<FrequentMiss> {
        self.accounts[guest].frequent_misses(self.seats[pcpu].space, most)
    }

    /// The profile of a guest whose run counted `totals`.
    pub(crate) fn profile(&self, guest: usize, totals: Counters, rates: Rates) -> Profile {
        self.accounts[guest].profile(totals, rates)
    }
}
