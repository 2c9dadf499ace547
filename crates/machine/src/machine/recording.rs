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

/// See [`Machine::record`].
pub(super) fn record(machine: &mut Machine, writer: Writer<Box<dyn Write + Send>>) -> Result<(), RecordError> {
    let [vm] = &machine.state.vms[..] else { return Err(RecordError::Machine("one guest")) };
    if !vm.is_native() {
        return Err(RecordError::Machine("a native machine: other schemes replay it"));
    }
    if machine.vcpus.len() != 1 {
        return Err(RecordError::Machine("one hart"));
    }
    if machine.state.cache_statistics(0).is_some() {
        return Err(RecordError::Machine("a machine with fidelity `counts`"));
    }
    let ram = vm.ram();
    machine.state.recorder = Some(Box::new(Recorder::new(writer, ram.end.0 - ram.start.0)));
    machine.code = Code::new(machine.isa, &mut machine.state);
    Ok(())
}

/// See [`Machine::finish_recording`].
pub(super) fn finish(machine: &mut Machine) -> Result<Recorded, RecordError> {
    let recorder = machine.state.recorder.take().expect("the run is recorded");
    if let Some(obstacle) = recorder.obstacle() {
        return Err(RecordError::Obstacle(obstacle));
    }
    let (totals, used_time) = recorder.finish()?;
    Ok(Recorded { totals, used_time })
}

/// See [`Machine::replay`].
pub(super) fn replay(machine: &mut Machine, recording: Reader<Box<dyn Source>>) {
    machine.code = Code::Replayed(Box::new(Player::new(recording)));
}

/// See [`Machine::replay_rivals`].
pub(super) fn rivals(machine: &Machine) -> u64 {
    match &machine.code {
        Code::Replayed(player) => player.rivals(),
        Code::Counts(_)
        | Code::Cycles(_)
        | Code::Core(_)
        | Code::ProfiledCounts(_)
        | Code::ProfiledCycles(_)
        | Code::ProfiledCore(_)
        | Code::Recorded(_) => 0,
    }
}

/// See [`Machine::take_replay_failure`].
pub(super) fn take_failure(machine: &mut Machine) -> Option<ReplayError> {
    match &mut machine.code {
        Code::Replayed(player) => player.take_failure(),
        Code::Counts(_)
        | Code::Cycles(_)
        | Code::Core(_)
        | Code::ProfiledCounts(_)
        | Code::ProfiledCycles(_)
        | Code::ProfiledCore(_)
        | Code::Recorded(_) => None,
    }
}
