//! Runs that are recorded, and recordings that are replayed.

use crate::bus::{Player, ReplayError, Source};
use crate::code::Code;
use crate::machine::Machine;
use crate::parts::recorder::Recorder;
use recording::{Reader, Totals, Writer};
use std::io::{self, Write};

/// Why a run has no recording that can be replayed.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] io::Error),
    /// Only a native machine with one hart and without virtio devices is recorded.
    #[error("a recording is of {0}")]
    Machine(&'static str),
    /// What the guest has done depends on more than a recording has.
    #[error("the run cannot be replayed: {0}")]
    Obstacle(&'static str),
}

/// What a recording has come to.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    /// Events and bytes.
    pub totals: Totals,
    /// Whether the guest has read the time, or has had a timer: then it may run otherwise where translation takes another time.
    pub used_time: bool,
}

impl Machine {
    /// Records the run from now on. To be called before the machine runs: its code is translated again.
    ///
    /// # Errors
    /// [`RecordError::Machine`].
    pub fn record(&mut self, writer: Writer<Box<dyn Write + Send>>) -> Result<(), RecordError> {
        let [vm] = &self.state.vms[..] else { return Err(RecordError::Machine("one guest")) };
        if !vm.is_native() {
            return Err(RecordError::Machine("a native machine: other schemes replay it"));
        }
        if self.vcpus.len() != 1 {
            return Err(RecordError::Machine("one hart"));
        }
        if self.state.caches.is_some() {
            return Err(RecordError::Machine("a machine with fidelity `counts`"));
        }
        let ram = vm.ram();
        self.state.recorder = Some(Box::new(Recorder::new(writer, ram.end.0 - ram.start.0)));
        self.code = Code::new(self.isa, &self.state);
        Ok(())
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// [`RecordError`].
    ///
    /// # Panics
    /// If the run is not recorded.
    pub fn finish_recording(&mut self) -> Result<Recorded, RecordError> {
        let recorder = self.state.recorder.take().expect("the run is recorded");
        if let Some(obstacle) = recorder.obstacle() {
            return Err(RecordError::Obstacle(obstacle));
        }
        let (totals, used_time) = recorder.finish()?;
        Ok(Recorded { totals, used_time })
    }

    /// Does what a recording says, in the place of the guest. To be called before the machine runs. It is assembled of what the recorded machine
    /// was assembled of, but for what only translation depends on.
    pub fn replay(&mut self, recording: Reader<Box<dyn Source>>) {
        self.code = Code::Replayed(Box::new(Player::new(recording)));
    }

    /// Why the replay has ended early, if it has.
    pub fn take_replay_failure(&mut self) -> Option<ReplayError> {
        match &mut self.code {
            Code::Replayed(player) => player.take_failure(),
            _ => None,
        }
    }
}
