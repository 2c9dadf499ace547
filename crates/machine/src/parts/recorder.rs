//! What is kept of a run that is recorded, beside its machine (docs/record.md).

use hart::Fetched;
use memory::PageSet;
use recording::{BackgroundWriter, Ends, Event, Totals, Writer};
use std::io::{self, Write};
use types::{Access, Gva, TranslationContext, Width};

/// Predicted slots that are kept, by the low bits of a page's number.
pub(crate) const SLOTS: usize = 1 << 12;
/// Bytes of a page.
const PAGE: u64 = 1 << 12;

/// The only entry that loads and stores of a recorded hart hit: the page that the latest of them was made to. So an access that hits is a repetition,
/// which is not recorded, and an access that misses is recorded.
#[repr(C)]
pub(crate) struct LatestPage {
    pub(crate) base: u64,
    /// Where its first byte lies in this process.
    pub(crate) host: u64,
    pub(crate) stamp: u64,
    /// The bytes of the page where loads hit, else 0, for each width: accesses are aligned.
    pub(crate) loads: [u64; 4],
    /// The same of stores.
    pub(crate) stores: [u64; 4],
    unused: [u64; 5],
}

impl LatestPage {
    const NONE: Self = Self { base: 0, host: 0, stamp: 0, loads: [0; 4], stores: [0; 4], unused: [0; 5] };

    /// Accesses of this kind to the page of `address`, whose byte lies at `at` in this process, hit from now on.
    fn set(&mut self, access: Access, address: u64, at: *mut u8) {
        let base = address & !(PAGE - 1);
        let host = (at as u64).wrapping_sub(address - base);
        if (base, host) != (self.base, self.host) {
            *self = Self { base, host, ..Self::NONE };
        }
        match access {
            Access::Read => self.loads = [PAGE; 4],
            Access::Write => self.stores = [PAGE; 4],
            // Fetches have no such entry.
            Access::Execute => {}
        }
    }
}

/// An atomic operation on a table that the engine is about to make.
#[derive(Clone, Copy)]
pub(crate) struct Atomic {
    pub(crate) gva: Gva,
    pub(crate) width: Width,
    pub(crate) access: Access,
    /// What was there.
    pub(crate) before: u64,
    /// Offset in the guest's RAM.
    pub(crate) offset: u64,
}

/// Which pages of RAM have been tables of the guest, and at which levels: bit 0 is the level whose entries map pages of 4K. A page that was one once
/// counts as one to the end, since TLBs and walk caches may still lead to it.
pub(crate) struct TablePages {
    levels: Vec<u8>,
    /// The pages that have any. Every access that is recorded looks there, so it is kept small.
    tables: PageSet,
}

impl TablePages {
    /// None of so many pages of RAM.
    fn new(pages: u64) -> Self {
        Self { levels: vec![0; pages as usize], tables: PageSet::default() }
    }

    /// Whether the byte of RAM at `offset` is in one.
    #[inline]
    pub(crate) fn contains(&self, offset: u64) -> bool {
        self.tables.contains(offset)
    }

    /// The levels at which the page of the byte at `offset` is one.
    pub(crate) fn levels(&self, offset: u64) -> u8 {
        self.levels.get((offset / PAGE) as usize).copied().unwrap_or_default()
    }

    /// The page at `offset` is a table of `level`; the levels at which it was one before, or `None` if that was known or no RAM is there.
    pub(crate) fn add(&mut self, offset: u64, level: u32) -> Option<u8> {
        let page = offset / PAGE;
        let levels = self.levels.get_mut(page as usize)?;
        let before = *levels;
        *levels |= 1 << level;
        self.tables.insert(page * PAGE, (page + 1) * PAGE);
        (*levels != before).then_some(before)
    }
}

/// What is kept of a run that is recorded.
pub(crate) struct Recorder {
    writer: BackgroundWriter<Box<dyn Write + Send>>,
    /// On the heap, so that a view of it stays good.
    pub(crate) latest: Box<LatestPage>,
    /// The page of the latest fetch, and where it was found.
    pub(crate) fetched: Option<(u64, Fetched)>,
    /// The context that was recorded last.
    pub(crate) context: Option<TranslationContext>,
    /// Predicted slots of the machine's own entries.
    pub(crate) slots: Box<[u16; SLOTS]>,
    pub(crate) tables: TablePages,
    pub(crate) atomic: Option<Atomic>,
    /// Whether the guest has read the time, or has had a timer.
    pub(crate) used_time: bool,
    /// Why the run cannot be replayed: the first reason.
    obstacle: Option<&'static str>,
}

impl Recorder {
    /// One that writes to `writer`, of a guest with so many bytes of RAM.
    pub(crate) fn new(writer: Writer<Box<dyn Write + Send>>, ram_bytes: u64) -> Self {
        Self {
            writer: BackgroundWriter::new(writer),
            latest: Box::new(LatestPage::NONE),
            fetched: None,
            context: None,
            slots: Box::new([0; SLOTS]),
            tables: TablePages::new(ram_bytes / PAGE),
            atomic: None,
            used_time: false,
            obstacle: None,
        }
    }

    /// The next access of each side is recorded, whatever page it is to.
    pub(crate) fn forget_latest(&mut self) {
        *self.latest = LatestPage::NONE;
        self.fetched = None;
    }

    /// The next load or store is recorded.
    #[inline]
    pub(crate) fn forget_data(&mut self) {
        (self.latest.loads, self.latest.stores) = ([0; 4], [0; 4]);
    }

    /// A load or store is made at `address`, whose byte lies at `at`. Until another page is accessed, the next ones are not recorded.
    #[inline]
    pub(crate) fn made(&mut self, access: Access, address: u64, at: *mut u8) {
        self.writer.access(access, address / PAGE);
        self.latest.set(access, address, at);
    }

    /// An access is made at `address`, and the next one is recorded in any case.
    pub(crate) fn made_once(&mut self, access: Access, address: u64) {
        self.writer.access(access, address / PAGE);
        if access != Access::Execute {
            self.forget_data();
        }
    }

    /// An access at `address` raises an exception.
    pub(crate) fn faulted(&mut self, access: Access, address: u64) {
        self.writer.event(Event::Access { access, page: address / PAGE, ends: Ends::Fault });
        self.forget_latest();
    }

    /// Something else happens.
    pub(crate) fn event(&mut self, event: Event) {
        self.writer.event(event);
    }

    /// The hypervisor exits for an interrupt of a device to the hart on `pcpu`.
    pub(crate) fn interrupted(&mut self, pcpu: usize) {
        self.writer.event(Event::Interrupt { pcpu: pcpu as u8 });
    }

    /// The run cannot be replayed, for this reason.
    #[cold]
    pub(crate) fn obstructed(&mut self, why: &'static str) {
        self.obstacle.get_or_insert(why);
    }

    /// Why the run cannot be replayed, if it cannot.
    pub(crate) const fn obstacle(&self) -> Option<&'static str> {
        self.obstacle
    }

    /// Ends the recording.
    pub(crate) fn finish(self) -> io::Result<(Totals, bool)> {
        let used_time = self.used_time;
        self.writer.finish(used_time).map(|totals| (totals, used_time))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At both sides of a word's end, at the last page, and behind it.
    #[test]
    fn a_page_is_a_table_from_when_it_has_a_level() {
        let mut tables = TablePages::new(130);
        for page in [0, 63, 64, 129] {
            let (first, last) = (page * PAGE, page * PAGE + PAGE - 1);
            assert!(!tables.contains(first) && !tables.contains(last), "{page}");
            assert_eq!(tables.add(last, 1), Some(0));
            assert!(tables.contains(first) && tables.contains(last), "{page}");
            assert_eq!((tables.add(first, 1), tables.add(first, 0), tables.levels(last)), (None, Some(2), 3));
        }
        assert_eq!((0..200).filter(|page| tables.contains(page * PAGE)).count(), 4);
        assert_eq!((tables.add(130 * PAGE, 0), tables.contains(130 * PAGE), tables.levels(u64::MAX)), (None, false, 0));
    }
}
