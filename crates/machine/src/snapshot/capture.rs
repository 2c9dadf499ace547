//! Out of a machine: when its state is taken, and what cannot be.

use super::About;
use super::file::Writer;
use super::request::{CaptureError, DiskContents, SnapshotAt};
use super::shape::Shape;
use super::state::{State, VcpuState};
use super::translations::Translations;
use crate::assembly::image::VirtioKind;
use crate::machine::Machine;
use crate::parts::address_spaces::RecentSpaces;
use crate::results::outcome::Outcome;
use crate::state::pmu;
use crate::state::primary_region;
use config::Config;
use memory::MemoryImage;
use mmu::{ResidentPage, ResidentSpace};
use std::fs::File;
use types::Cycles;

/// The guest that a snapshot is of.
const GUEST: usize = 0;

impl Machine {
    /// Takes the first guest's state at `at`, where the run then ends. What the guest's disks hold is not part of it: `disks` says who keeps it.
    ///
    /// # Errors
    /// [`CaptureError::Unsupported`]: the machine, or its guest, is none that a snapshot can hold.
    pub fn snapshot_at(&mut self, at: SnapshotAt, disks: DiskContents) -> Result<(), CaptureError> {
        if self.records.len() != 1 {
            return Err(CaptureError::Unsupported("others beside it"));
        }
        if self.state.sections.is_some() {
            return Err(CaptureError::Unsupported("sections"));
        }
        if self.state.guests[GUEST].platform.state().is_err() {
            return Err(CaptureError::Unsupported("a shared directory"));
        }
        if self.state.guests[GUEST].platform.has_disk() {
            match disks {
                DiskContents::Lost => return Err(CaptureError::Unsupported("a disk")),
                // A request that is under way is in no file, and not in the state of the device.
                DiskContents::KeptByCaller if self.disks.take_time() => {
                    return Err(CaptureError::Unsupported("a disk that takes time (disk.latency_us)"));
                }
                DiskContents::KeptByCaller => {}
            }
        }
        if primary_region::hot_adds(&self.state, GUEST) {
            return Err(CaptureError::Unsupported("memory that is added for its balloon (segment.hot_add)"));
        }
        self.capture.at = Some(at);
        let before = std::mem::take(&mut self.capture.spaces_before);
        self.state.spaces = Some(RecentSpaces::new(self.harts_of(GUEST).len(), before));
        Ok(())
    }

    /// Takes the first guest's state now, between turns, instead of when [`snapshot_at`](Self::snapshot_at) said. The run ends.
    ///
    /// # Errors
    /// [`CaptureError::NotRequested`].
    pub fn snapshot_now(&mut self) -> Result<(), CaptureError> {
        if self.capture.at.is_none() {
            return Err(CaptureError::NotRequested);
        }
        let outcome = self.capture();
        self.end(GUEST, outcome);
        Ok(())
    }

    /// The guest has marked the beginning of a region of interest.
    pub(crate) fn capture_at_region(&mut self) -> Option<Outcome> {
        if let Some(SnapshotAt::Region(left)) = &mut self.capture.at {
            *left -= 1;
            return (*left == 0).then(|| self.capture());
        }
        None
    }

    /// The guest has marked that it is ready.
    pub(crate) fn capture_if_ready(&mut self) -> Option<Outcome> {
        (self.capture.at == Some(SnapshotAt::Ready)).then(|| self.capture())
    }

    /// Everybody stands still until `next`: takes the state, if it is time.
    pub(crate) fn capture_if_due(&mut self, next: Cycles) -> bool {
        let due = match self.capture.at {
            Some(SnapshotAt::Instructions(count)) => self.instret() >= count,
            Some(SnapshotAt::Milliseconds(_)) => self.capture_time().is_some_and(|at| next >= at),
            Some(SnapshotAt::Region(_) | SnapshotAt::Ready) | None => false,
        };
        if due {
            let outcome = self.capture();
            self.end(GUEST, outcome);
        }
        due
    }

    /// How many instructions a turn may have before that is looked at, if any number counts.
    pub(crate) fn instructions_to_capture(&self) -> Option<u64> {
        match self.capture.at {
            Some(SnapshotAt::Instructions(count)) => Some(count.saturating_sub(self.instret())),
            _ => None,
        }
    }

    /// When the state is to be taken, if a time is what counts.
    pub(crate) fn capture_time(&self) -> Option<Cycles> {
        match self.capture.at {
            Some(SnapshotAt::Milliseconds(count)) => {
                Some(Cycles((u128::from(self.clock().hz) * u128::from(count) / 1000).min(u128::from(u64::MAX)) as u64))
            }
            _ => None,
        }
    }

    /// What the guest's harts have retired together, before a snapshot or since.
    fn instret(&self) -> u64 {
        self.harts_of(GUEST).map(|index| self.vcpus[index].hart.registers().instret).fold(0, u64::wrapping_add)
    }

    fn capture(&mut self) -> Outcome {
        self.capture.at = None;
        let clock = *self.clock();
        let hart = |index: usize| {
            let vcpu = &self.vcpus[index];
            let now = vcpu.residence.pcpu.map_or(Cycles(0), |pcpu| self.clock_of_pcpu(pcpu));
            let pmu = pmu::at_rest(&self.state, vcpu);
            VcpuState {
                registers: vcpu.hart.registers(),
                life: vcpu.state.into(),
                waits: vcpu.waits,
                time: clock.time(now),
                event: clock.time(vcpu.event),
                pmu,
                hardware_ad: vcpu.features.saved(),
                steal: vcpu.steal.saved(&clock),
            }
        };
        let harts = self.harts_of(GUEST).map(hart).collect();
        let guest = &self.state.guests[GUEST];
        let (area, interrupt) = self.records[GUEST].handshake.agreed();
        // Looked at before the run began.
        let Ok(platform) = guest.platform.state() else { return Outcome::SnapshotTaken };
        self.capture.taken = Some(State {
            harts,
            platform,
            region: guest.region.as_ref().map(|region| region.region.state()),
            handshake: (area.map(|area| area.0), interrupt),
            in_region: self.records[GUEST].is_in_region(),
            translations: self.translations(),
        });
        Outcome::SnapshotTaken
    }

    /// What the guest's harts have translated.
    fn translations(&self) -> Translations {
        let vmid = self.state.vms[GUEST].vmid();
        let pages = |index: usize| match self.vcpus[index].residence.ran_on {
            Some(pcpu) => self.state.processors[pcpu].mmu.resident_pages(vmid),
            None => Vec::new(),
        };
        let tlbs: Vec<Vec<ResidentPage>> = self.harts_of(GUEST).map(pages).collect();
        let is_cached = |asid| tlbs.iter().flatten().any(|page| page.space == ResidentSpace::Asid(asid));
        let spaces = self.state.spaces.as_ref().map_or_else(Vec::new, |spaces| spaces.alive(is_cached));
        Translations::new(&spaces, &tlbs)
    }

    /// Writes the snapshot that was taken to `file`, which is empty. `config` and `devices` are what the machine was made of.
    ///
    /// # Errors
    /// [`CaptureError`].
    pub fn write_snapshot(
        &mut self,
        file: &File,
        config: &Config,
        devices: &[VirtioKind],
        about: &About,
    ) -> Result<(), CaptureError> {
        let state = self.capture.taken.take().ok_or(CaptureError::NotTaken)?;
        let shape = Shape::new(config, devices).ok_or(CaptureError::Unsupported("files of the host"))?;
        let ram = self.state.vms[GUEST].ram();
        let mut writer = Writer::new(file)?;
        let mut buffer = vec![0; MemoryImage::CHUNK as usize];
        let mut gpa = ram.start;
        while gpa < ram.end {
            let bytes = (ram.end.0 - gpa.0).min(MemoryImage::CHUNK) as usize;
            let chunk = &mut buffer[..bytes];
            self.state.read_guest(GUEST, gpa, chunk).map_err(|_| CaptureError::Memory(gpa.0))?;
            writer.chunk(chunk)?;
            gpa = gpa.wrapping_add(bytes as u64);
        }
        writer.finish(shape, about.clone(), state)?;
        Ok(())
    }
}
