//! What has happened to an instruction before it is reported.

use timing::{Access, Level, Line, TableReference, Translation, Walk};
use types::{Gva, PageSize};

/// What the bus has done for the next instruction to be reported.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// Table entries that were read.
    references: Vec<TableReference>,
    step: u16,
    translated: Translated,
    /// A line of data that the bus has used itself: of several the slowest.
    data: Option<(Line, Level)>,
    /// The same of a line of instructions.
    fetch: Option<Level>,
    exit: Exited,
}

/// How an address was translated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Translated {
    #[default]
    FirstLevel,
    SecondLevel,
    /// By a walk, to a page of this size.
    Walk(PageSize),
}

/// Whether the hypervisor has run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Exited {
    #[default]
    No,
    Yes,
}

impl Pending {
    /// Entries that a walk reads at once.
    pub(crate) fn step(&mut self, entries: impl Iterator<Item = (Line, Level)>) {
        self.step = self.step.wrapping_add(1);
        let step = self.step;
        self.references.extend(entries.map(|(line, found)| TableReference { step, line, found }));
    }

    /// An address was translated to a page of a size, with so many hits of the second level of TLBs.
    pub(crate) fn translated(&mut self, page: PageSize, l2_hits: u64) {
        self.translated = if !self.references.is_empty() {
            Translated::Walk(page)
        } else if l2_hits > 0 {
            Translated::SecondLevel
        } else {
            Translated::FirstLevel
        };
    }

    /// The bus uses a line of data itself.
    pub(crate) fn data(&mut self, line: Line, found: Level) {
        if self.data.is_none_or(|(_, slowest)| slowest < found) {
            self.data = Some((line, found));
        }
    }

    /// The same of a line of instructions.
    pub(crate) fn fetch(&mut self, found: Level) {
        self.fetch = self.fetch.max(Some(found));
    }

    /// The hypervisor runs. What was walked before it did not end in a translation.
    pub(crate) fn exit(&mut self) {
        self.exit = Exited::Yes;
        self.references.clear();
    }

    pub(crate) fn take_exit(&mut self) -> Exited {
        std::mem::take(&mut self.exit)
    }

    pub(crate) fn take_fetch(&mut self) -> Option<Level> {
        self.fetch.take()
    }

    /// Whether the instruction is all that there is to report.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_translated() && self.data.is_none()
    }

    /// Whether there is a translation to report.
    pub(crate) fn is_translated(&self) -> bool {
        self.translated != Translated::FirstLevel || !self.references.is_empty()
    }

    /// The access that was translated: to the line given, or to what the bus has used itself.
    pub(crate) fn access(&self, address: u64, line: Option<(Line, Level)>) -> Access<'_> {
        let (line, found) = line.or(self.data).unwrap_or((Line(u64::MAX), Level::L1));
        Access { address: Gva(address), translation: self.translation(), line, found }
    }

    /// How the address was translated.
    pub(crate) fn translation(&self) -> Translation<'_> {
        let walk =
            |page: PageSize| Walk { references: &self.references, page_shift: page.bytes().trailing_zeros() as u8 };
        match self.translated {
            Translated::FirstLevel if self.references.is_empty() => Translation::FirstLevel,
            // A walk that ended in a fault.
            Translated::FirstLevel => Translation::Walk(walk(PageSize::Size4K)),
            Translated::SecondLevel => Translation::SecondLevel,
            Translated::Walk(page) => Translation::Walk(walk(page)),
        }
    }

    /// The instruction was reported.
    pub(crate) fn clear(&mut self) {
        self.references.clear();
        self.step = 0;
        self.translated = Translated::FirstLevel;
        self.data = None;
    }
}
