//! A trace of a run, for other simulators.

use crate::pages::{Pages, Use};
use machine::{DataAccess, GuestTables, InstructionSink, Phase, Retired};
use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex};
use traces::{Branch, Data, DataKind, Instruction, Mark, Operands, Record, Sink, decode};
use types::TranslationContext;

/// What a trace has come to.
#[derive(Clone, Debug, Default)]
pub struct Traced {
    /// Instructions.
    pub instructions: u64,
    /// Those of the warm-up, which come first.
    pub warmup: u64,
    /// Address spaces that they are of.
    pub spaces: usize,
    /// Their pages, if they are kept.
    pub pages: Option<Pages>,
}

/// A trace that is written while the machine runs. Clones write the same one.
#[derive(Clone)]
pub struct Tracer(Arc<Mutex<State>>);

struct State {
    sink: Option<Sink<'static>>,
    /// The latest instruction and its access: whether a branch is taken is known with the next one.
    latest: Option<Latest>,
    /// The phase of what was traced last.
    phase: Option<Phase>,
    /// Where the instruction that comes next returns to, from a handler.
    returns_to: Option<u64>,
    context: TranslationContext,
    spaces: BTreeSet<u64>,
    traced: Traced,
    failed: Option<io::Error>,
}

/// An instruction, its access, and what happens behind it.
struct Latest {
    instruction: Instruction,
    data: Option<Data>,
    marks: Vec<Mark>,
}

impl Tracer {
    /// Writes to `sink`, and keeps the pages if they are requested.
    #[must_use]
    pub fn new(sink: Sink<'static>, pages: Option<Pages>) -> Self {
        Self(Arc::new(Mutex::new(State {
            sink: Some(sink),
            latest: None,
            phase: None,
            returns_to: None,
            context: TranslationContext::default(),
            spaces: BTreeSet::new(),
            traced: Traced { pages, ..Traced::default() },
            failed: None,
        })))
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// The first error of the output.
    ///
    /// # Panics
    /// If a thread has panicked while it traced.
    pub fn finish(&self) -> io::Result<Traced> {
        let mut state = self.0.lock().expect("no thread panics while it traces");
        state.settle(None);
        if let Some(error) = state.failed.take() {
            return Err(error);
        }
        if let Some(sink) = state.sink.take() {
            sink.finish()?;
        }
        let traced = std::mem::take(&mut state.traced);
        Ok(Traced { spaces: state.spaces.len(), ..traced })
    }
}

impl InstructionSink for Tracer {
    fn retired(&mut self, retired: &[Retired], phase: Phase, tables: &GuestTables<'_>) {
        let mut state = self.0.lock().expect("no thread panics while it traces");
        let traces = matches!(phase, Phase::WarmUp | Phase::Measure);
        if traces && state.phase != Some(phase) {
            state.mark(Mark::Window);
        }
        state.phase = traces.then_some(phase);
        for what in retired {
            match *what {
                Retired::Instruction { pc, bits, data, .. } if traces => {
                    state.settle(Some(pc));
                    state.instruction((pc, bits), data.map(access), tables);
                    state.traced.warmup += u64::from(phase == Phase::WarmUp);
                }
                Retired::Trap { pc } if traces => {
                    state.settle(Some(pc));
                    state.write(&Record::Mark(Mark::Trap { pc }));
                }
                // The instruction that returns comes behind this.
                Retired::Return { pc } if traces => state.returns_to = Some(pc),
                Retired::Context(context) => state.context = context,
                Retired::Instruction { .. } | Retired::Trap { .. } | Retired::Return { .. } => {}
            }
        }
        if !traces {
            state.settle(None);
            state.returns_to = None;
        }
    }
}

impl State {
    /// An instruction begins.
    fn instruction(&mut self, (pc, bits): (u64, u32), data: Option<Data>, tables: &GuestTables<'_>) {
        let instruction = instruction(pc, bits);
        let behind = pc.wrapping_add(u64::from(instruction.bytes));
        self.spaces.insert(self.context.root.0);
        self.traced.instructions += 1;
        if let Some(pages) = &mut self.traced.pages {
            pages.touch((pc, u64::from(instruction.bytes)), Use::Fetch, &self.context, tables);
            if let Some(Data { address, bytes, .. }) = data {
                pages.touch((address, u64::from(bytes)), Use::Data, &self.context, tables);
            }
        }
        let marks = self.returns_to.take().map(|to| Mark::Return { from: behind, to });
        self.latest = Some(Latest { instruction, data, marks: marks.into_iter().collect() });
    }

    /// Something happens behind the latest instruction.
    fn mark(&mut self, mark: Mark) {
        match &mut self.latest {
            Some(latest) => latest.marks.push(mark),
            None => self.write(&Record::Mark(mark)),
        }
    }

    /// The latest instruction is complete: the next one is at `next`, if there is one.
    fn settle(&mut self, next: Option<u64>) {
        let Some(Latest { mut instruction, data, marks }) = self.latest.take() else { return };
        if let Some(branch) = &mut instruction.branch {
            let behind = instruction.pc.wrapping_add(u64::from(instruction.bytes));
            branch.taken = next.is_some_and(|next| next != behind);
            branch.target = next;
        }
        self.write(&Record::Instruction(instruction));
        if let Some(data) = data {
            self.write(&Record::Data(data));
        }
        for mark in marks {
            self.write(&Record::Mark(mark));
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
    let branch = decoded.branch.map(|kind| Branch { kind, taken: false, target: None });
    let operands: Operands = decoded.operands;
    Instruction { pc, bytes: decoded.bytes, branch, operands, encoding: Some(bits) }
}

fn access(data: machine::DataUse) -> Data {
    let kind = match data.access {
        DataAccess::Load => DataKind::Load,
        DataAccess::Store => DataKind::Store,
        DataAccess::Modify => DataKind::Modify,
    };
    Data { kind, address: data.address, bytes: u32::from(data.bytes) }
}
