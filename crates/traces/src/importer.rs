//! The events of a recording, made of a trace and of a mapping for its pages.

use crate::error::TraceError;
use crate::input::{Ended, Source};
use crate::mapping::{MOST_PAGES, Mapping};
use crate::record::{Data, DataKind, Instruction, Record};
use recording::{Counts, Event, Leaves, Writer};
use std::collections::HashSet;
use std::io::Write;
use types::{Access, Asid, Privilege, TranslationContext};

const PAGE_BITS: u32 = 12;
/// Instructions of a turn, as of a run.
const TURN: u64 = 1 << 16;
/// The marker at which a region of interest begins, and the one at its end.
const REGION: (u16, u16) = (1, 2);
/// The marker at which a guest ends well.
const END: u16 = 0x100;

/// The pages of an access of so many bytes, by number.
fn pages(address: u64, bytes: u64) -> impl Iterator<Item = u64> {
    let first = address >> PAGE_BITS;
    let last = address.wrapping_add(bytes.max(1) - 1) >> PAGE_BITS;
    let between = last.wrapping_sub(first) & (u64::MAX >> PAGE_BITS);
    (0..=between).map(move |number| first.wrapping_add(number) & (u64::MAX >> PAGE_BITS))
}

/// The accesses of a record, as translation sees them: kind and page. `None`: it has none.
fn accesses(record: &Record) -> Option<(Access, impl Iterator<Item = u64>)> {
    Some(match *record {
        Record::Instruction(Instruction { pc, bytes, .. }) => (Access::Execute, pages(pc, u64::from(bytes))),
        Record::Data(Data { kind, address, bytes }) => {
            let access = match kind {
                DataKind::Load => Access::Read,
                DataKind::Store | DataKind::Modify => Access::Write,
            };
            (access, pages(address, u64::from(bytes)))
        }
        Record::Mark(_) => return None,
    })
}

/// The pages that a trace touches.
#[derive(Debug, Default)]
pub struct Touches {
    seen: HashSet<u64>,
    order: Vec<u64>,
    latest: [Option<u64>; 2],
    instructions: u64,
}

impl Touches {
    /// Adds what is left of a trace. `stop` says at times whether to stop.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn read(&mut self, trace: &mut Source, stop: &mut dyn FnMut() -> bool) -> Result<Ended, TraceError> {
        trace.each(stop, |record| self.add(record))
    }

    /// Adds a record. `false`: the trace touches more pages than can be kept.
    #[must_use]
    pub fn add(&mut self, record: &Record) -> bool {
        let Some((access, pages)) = accesses(record) else { return true };
        self.instructions += u64::from(access == Access::Execute);
        let latest = &mut self.latest[usize::from(access == Access::Execute)];
        for page in pages {
            if *latest == Some(page) {
                continue;
            }
            *latest = Some(page);
            if self.seen.insert(page) {
                if self.order.len() == MOST_PAGES {
                    return false;
                }
                self.order.push(page);
            }
        }
        true
    }

    /// The numbers of the pages, in the order of first touch.
    #[must_use]
    pub fn pages(&self) -> &[u64] {
        &self.order
    }

    /// Instructions of the trace.
    #[must_use]
    pub fn instructions(&self) -> u64 {
        self.instructions
    }
}

/// What a recording was made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Imported {
    /// Instructions.
    pub instructions: u64,
    /// Loads.
    pub loads: u64,
    /// Stores, and accesses that load and store at once.
    pub stores: u64,
}

/// Makes the events. Its output is of one type, so that this crate compiles the importer, and not the crate that chooses the output.
pub struct Importer<'a> {
    writer: Writer<Box<dyn Write + 'a>>,
    counts: Counts,
    /// Instructions of this turn.
    turn: u64,
    /// Instructions until measurement begins; `None` once it has begun.
    warmup: Option<u64>,
    /// The page of the latest fetch.
    fetched: Option<u64>,
    /// The page of the latest load or store, and whether it was loaded and stored.
    data: Option<(u64, [bool; 2])>,
}

impl<'a> Importer<'a> {
    /// Begins a recording: the guest has its tables, and translates. `warmup` instructions are not measured.
    pub fn new(mut writer: Writer<Box<dyn Write + 'a>>, mapping: &Mapping, warmup: u64) -> Self {
        writer.event(&Event::Begin { hart: 0 });
        // A kernel writes its tables, and clears frames, before a program has them. So the host has given memory for them.
        writer.event(&Event::Context(TranslationContext::default()));
        for page in mapping.used.iter().cloned().flatten() {
            writer.access(Access::Write, page);
        }
        for (page, words) in &mapping.tables {
            writer.event(&Event::TablePage { page: *page, words: words.clone() });
        }
        writer.event(&Event::Context(TranslationContext {
            mode: mapping.mode,
            root: mapping.root,
            asid: Asid(1),
            privilege: Privilege::User,
            ..TranslationContext::default()
        }));
        writer.event(&Event::Fence { gva: None, asid: None });
        let counts = Counts::default();
        let mut importer = Self { writer, counts, turn: 0, warmup: Some(warmup), fetched: None, data: None };
        importer.begin_region();
        importer
    }

    /// The region begins, if it is time.
    fn begin_region(&mut self) {
        if self.warmup == Some(self.counts.instructions) {
            self.warmup = None;
            self.end_turn(Leaves::Marker(REGION.0));
        }
    }

    fn end_turn(&mut self, leaves: Leaves) {
        self.writer.event(&Event::End { leaves, counts: self.counts });
        self.writer.event(&Event::Begin { hart: 0 });
        self.turn = 0;
    }

    /// Adds what is left of a trace. `stop` says at times whether to stop.
    ///
    /// # Errors
    /// [`TraceError`].
    pub fn read(&mut self, trace: &mut Source, stop: &mut dyn FnMut() -> bool) -> Result<Ended, TraceError> {
        trace.each(stop, |record| {
            self.record(record);
            true
        })
    }

    /// Adds a record of the trace.
    pub fn record(&mut self, record: &Record) {
        let Some((access, pages)) = accesses(record) else { return };
        match access {
            Access::Execute => {
                self.begin_region();
                if self.turn == TURN {
                    self.end_turn(Leaves::Budget);
                }
                self.turn += 1;
                self.counts.instructions += 1;
                for page in pages {
                    if self.fetched.replace(page) != Some(page) {
                        self.writer.access(access, page);
                    }
                }
            }
            Access::Read | Access::Write => {
                let store = usize::from(access == Access::Write);
                self.counts.loads += 1 - store as u64;
                self.counts.stores += store as u64;
                for page in pages {
                    let mut made = match self.data {
                        Some((latest, made)) if latest == page => made,
                        _ => [false; 2],
                    };
                    if !made[store] {
                        self.writer.access(access, page);
                    }
                    made[store] = true;
                    self.data = Some((page, made));
                }
            }
        }
    }

    /// Ends the guest and the recording.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self) -> std::io::Result<(recording::Totals, Imported)> {
        self.warmup = self.warmup.map(|_| self.counts.instructions);
        self.begin_region();
        self.end_turn(Leaves::Marker(REGION.1));
        self.writer.event(&Event::End { leaves: Leaves::Marker(END), counts: self.counts });
        let Counts { instructions, loads, stores, .. } = self.counts;
        Ok((self.writer.finish(false)?, Imported { instructions, loads, stores }))
    }
}
