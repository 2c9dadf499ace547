//! A trace of the run that is recorded, for other simulators.

use machine::{DataAccess, InstructionSink, Phase, Retired};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use traces::{Branch, Data, DataKind, Instruction, Operands, Record, Sink, decode};

/// What a trace has come to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traced {
    /// Instructions.
    pub(super) instructions: u64,
    /// Those of the warm-up, which come first.
    pub(super) warmup: u64,
    /// Address spaces that they are of.
    pub(super) spaces: usize,
}

/// A trace that is written while the machine runs. Clones write the same one.
pub(super) struct Tracing<W: Write>(Arc<Mutex<State<W>>>);

struct State<W: Write> {
    sink: Option<Sink<W>>,
    /// The latest instruction and its access: whether a branch is taken is known with the next one.
    latest: Option<(Instruction, Option<Data>)>,
    /// The root table.
    space: u64,
    spaces: BTreeSet<u64>,
    traced: Traced,
    failed: Option<io::Error>,
}

impl<W: Write> Clone for Tracing<W> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<W: Write> Tracing<W> {
    /// Writes to `sink`.
    pub(super) fn new(sink: Sink<W>) -> Self {
        Self(Arc::new(Mutex::new(State {
            sink: Some(sink),
            latest: None,
            space: 0,
            spaces: BTreeSet::new(),
            traced: Traced::default(),
            failed: None,
        })))
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// The first error of the output.
    pub(super) fn finish(&self) -> io::Result<Traced> {
        let mut state = self.0.lock().expect("no thread panics while it traces");
        state.settle(None);
        if let Some(error) = state.failed.take() {
            return Err(error);
        }
        if let Some(sink) = state.sink.take() {
            sink.finish()?.flush()?;
        }
        Ok(Traced { spaces: state.spaces.len(), ..state.traced })
    }
}

impl<W: Write + Send> InstructionSink for Tracing<W> {
    fn retired(&mut self, retired: &[Retired], phase: Phase) {
        let mut state = self.0.lock().expect("no thread panics while it traces");
        let traces = matches!(phase, Phase::WarmUp | Phase::Measure);
        for what in retired {
            match *what {
                Retired::Instruction { pc, bits, data, .. } if traces => {
                    state.settle(Some(pc));
                    let space = state.space;
                    state.spaces.insert(space);
                    state.traced.instructions += 1;
                    state.traced.warmup += u64::from(phase == Phase::WarmUp);
                    state.latest = Some((instruction(pc, bits), data.map(access)));
                }
                Retired::Trap { pc } | Retired::Return { pc } => state.settle(Some(pc)),
                Retired::Context(context) => state.space = context.root.0,
                Retired::Instruction { .. } => {}
            }
        }
        if !traces {
            state.settle(None);
        }
    }
}

impl<W: Write> State<W> {
    /// The latest instruction is complete: the next one is at `next`, if there is one.
    fn settle(&mut self, next: Option<u64>) {
        let Some((mut instruction, data)) = self.latest.take() else { return };
        if let Some(branch) = &mut instruction.branch {
            let behind = instruction.pc.wrapping_add(u64::from(instruction.bytes));
            branch.taken = next.is_some_and(|next| next != behind);
        }
        self.write(&Record::Instruction(instruction));
        if let Some(data) = data {
            self.write(&Record::Data(data));
        }
    }

    fn write(&mut self, record: &Record) {
        if self.failed.is_none()
            && let Some(sink) = &mut self.sink
            && let Err(error) = sink.record(record)
        {
            self.failed = Some(error);
        }
    }
}

fn instruction(pc: u64, bits: u32) -> Instruction {
    let decoded = decode(bits);
    let branch = decoded.branch.map(|kind| Branch { kind, taken: false });
    let operands: Operands = decoded.operands;
    Instruction { pc, bytes: decoded.bytes, branch, operands }
}

fn access(data: machine::DataUse) -> Data {
    let kind = match data.access {
        DataAccess::Load => DataKind::Load,
        DataAccess::Store => DataKind::Store,
        DataAccess::Modify => DataKind::Modify,
    };
    Data { kind, address: data.address, bytes: u32::from(data.bytes) }
}
