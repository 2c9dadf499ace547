//! A recording, done to many systems in one pass.

use crate::batch::Batch;
use crate::counts::Counts;
use crate::obstacle::Obstacle;
use crate::region::Region;
use core::ops::Range;
use mmu::MmuConfig;
use recording::{Content, Decoder, Ends, Event, Leaves, Reader};
use std::io::{Read, Seek};
use types::{Access, Gpa, Gva, PagingMode, Width};

/// Markers that begin and end a region.
const BEGINS: u16 = 1;
const ENDS: u16 = 2;
/// SBI extensions whose calls make fences: RFENCE, and the three legacy ones.
const FENCING: [u64; 4] = [0x5246_4E43, 5, 6, 7];
/// The register of an extension among those of a call.
const A7: usize = 7;

/// A recording in one pass. The systems are native machines that differ in their TLBs and page-walk caches alone.
#[derive(Debug)]
pub struct Pass {
    batch: Batch,
    region: Region,
    knowledge: Knowledge,
}

/// Whether it is known what TLBs hold.
///
/// A guest may change its root while it boots, and make the fence a little later. What is counted until then depends on what each TLB has held
/// before. It is not measured; and the fence empties all of them, so that what they hold is known again. Only what was kept without translation
/// stays: it is older than all that comes, and makes room as an empty way does, unless it is used again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Knowledge {
    /// It always was.
    Always,
    /// It is again, since a fence.
    Again,
    /// Not before the next fence.
    Lost,
}

impl Pass {
    /// Through machines of these MMUs, each of which the pass [takes](crate::takes), with that memory. A region of interest is measured after
    /// `warmup` instructions of it.
    #[must_use]
    pub fn new(systems: &[MmuConfig], ram: Range<Gpa>, warmup: u64) -> Self {
        Self { batch: Batch::new(systems, ram), region: Region::new(warmup), knowledge: Knowledge::Always }
    }

    /// Does all of a recording. The counts of each system in the region of interest, or from the beginning if there is none; `None` of a system that a
    /// pass cannot answer for, because two entries of an L1 answered one address. The pass calls `goes_on` before each frame, and ends if it is false.
    ///
    /// # Errors
    /// [`Obstacle`].
    pub fn run<R: Read + Seek>(
        mut self,
        reader: &mut Reader<R>,
        goes_on: impl Fn() -> bool,
    ) -> Result<Vec<Option<Counts>>, Obstacle> {
        for frame in 0..reader.frames().len() {
            if !goes_on() {
                return Err(Obstacle::Interrupted);
            }
            let content = reader.frame(frame)?.unwrap_or_default();
            self.frame(&content)?;
        }
        self.finish()
    }

    /// The counts of each system, as [`Self::run`] gives them, after the events so far.
    ///
    /// # Errors
    /// [`Obstacle`].
    pub fn finish(self) -> Result<Vec<Option<Counts>>, Obstacle> {
        let Self { batch, region, knowledge } = self;
        let counts = match region.measured() {
            Some(measured) => measured,
            None if knowledge == Knowledge::Always => batch.counts(),
            None => {
                return Err(Obstacle::Unknown("it has no region of interest, and changes translations without fences"));
            }
        };
        let exact = |(system, counts)| (!batch.has_conflict(system)).then_some(counts);
        Ok(counts.into_iter().enumerate().map(exact).collect())
    }

    fn frame(&mut self, content: &Content) -> Result<(), Obstacle> {
        let mut decoder = Decoder::new(content);
        loop {
            if self.knowledge != Knowledge::Lost {
                while let Some((access, page)) = decoder.next_access() {
                    if let Err(obstacle) = self.batch.access(access, page << 12) {
                        self.lose(obstacle)?;
                        self.batch.pages.find_unknown(page << 12, access)?;
                        break;
                    }
                }
            }
            match decoder.next_event()? {
                Some(event) => self.event(&event)?,
                None => return Ok(()),
            }
        }
    }

    /// Does an event.
    ///
    /// # Errors
    /// [`Obstacle`].
    pub fn event(&mut self, event: &Event) -> Result<(), Obstacle> {
        match event {
            Event::Access { access, page, ends: Ends::Done } => self.access(*access, page << 12),
            Event::Access { access, page, ends: Ends::Fault } => self.fault(*access, page << 12),
            Event::TableLoad { gva, width, .. } => self.access(Access::Read, within_page(*gva, *width)?),
            Event::TableStore { gva, width, value } => {
                self.access(Access::Write, within_page(*gva, *width)?)?;
                self.batch.pages.store(gva.0, width.bytes(), *value)
            }
            Event::TableAtomic { gva, width, access, after, .. } => {
                self.access(*access, within_page(*gva, *width)?)?;
                if *access == Access::Write { self.batch.pages.store(gva.0, width.bytes(), *after) } else { Ok(()) }
            }
            Event::TablePage { page, words } => self.batch.pages.put_table(*page, words),
            Event::Context(context) => {
                if context.mode == PagingMode::Bare && self.knowledge != Knowledge::Always {
                    return Err(Obstacle::Unknown("translation ends after it changed without a fence"));
                }
                self.batch.enter(context);
                Ok(())
            }
            Event::Fence { gva, asid } => {
                self.batch.fence(*gva, *asid);
                if self.knowledge == Knowledge::Lost && gva.is_none() && asid.is_none() {
                    self.knowledge = Knowledge::Again;
                }
                Ok(())
            }
            Event::End { leaves, counts } => self.end(leaves, counts.instructions),
            Event::Begin { .. } | Event::NestedTrap | Event::Interrupt { .. } => Ok(()),
        }
    }

    /// An access that is made.
    fn access(&mut self, access: Access, gva: u64) -> Result<(), Obstacle> {
        if self.knowledge != Knowledge::Lost {
            match self.batch.access(access, gva) {
                Ok(()) => return Ok(()),
                Err(obstacle) => self.lose(obstacle)?,
            }
        }
        self.batch.pages.find_unknown(gva, access)
    }

    /// An access that faults. It changes nothing that a fence does not remove.
    fn fault(&mut self, access: Access, gva: u64) -> Result<(), Obstacle> {
        if self.knowledge != Knowledge::Lost
            && let Err(obstacle) = self.batch.fault(access, gva)
        {
            self.lose(obstacle)?;
        }
        Ok(())
    }

    /// It is not known from here on what TLBs hold: an error if that is measured.
    fn lose(&mut self, obstacle: Obstacle) -> Result<(), Obstacle> {
        if !matches!(obstacle, Obstacle::Unfenced(_)) || self.region.is_measured() {
            return Err(obstacle);
        }
        self.knowledge = Knowledge::Lost;
        Ok(())
    }

    fn end(&mut self, leaves: &Leaves, instructions: u64) -> Result<(), Obstacle> {
        if self.region.is_due(instructions) {
            self.begin()?;
        }
        match leaves {
            Leaves::Marker(BEGINS) => {
                if self.region.mark(instructions) {
                    self.begin()?;
                }
            }
            Leaves::Marker(ENDS) => self.region.end(&self.batch.counts()),
            Leaves::Call(registers) if FENCING.contains(&registers[A7]) => {
                return Err(Obstacle::Unknown("a call of the hypervisor makes a fence"));
            }
            Leaves::Call(_) | Leaves::Marker(_) | Leaves::Budget | Leaves::Wait | Leaves::TimerSet => {}
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), Obstacle> {
        if self.knowledge == Knowledge::Lost {
            return Err(Obstacle::Unknown("a region begins while a translation has changed without a fence"));
        }
        self.batch.restart_maxima();
        self.region.begin(self.batch.counts());
        Ok(())
    }
}

/// The page of an access to a table: one that goes into the next page is two accesses at one time.
fn within_page(gva: Gva, width: Width) -> Result<u64, Obstacle> {
    if gva.0 % 4096 + width.bytes() > 4096 {
        return Err(Obstacle::Unknown("an access to a table goes across pages"));
    }
    Ok(gva.0 & !4095)
}
