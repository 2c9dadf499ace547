//! Writes a recording on a thread of its own, so that the run does not wait for encoding and compression.
//!
//! Events go there in batches. The bytes are those that a [`Writer`] makes of the same events.

use crate::event::Event;
use crate::writer::{Totals, Writer};
use std::io::{self, Write};
use std::mem;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};
use types::Access;

/// Accesses of a batch: 256 KiB of them, so that a batch stays in the host's L2.
const BATCH: usize = 1 << 15;
/// Batches that wait for the thread. The run waits if it is further ahead.
const WAITING: usize = 4;
/// The kinds of accesses, by their code in a batch.
const KINDS: [Access; 3] = [Access::Read, Access::Write, Access::Execute];
/// Bits of such a code.
const KIND_BITS: u32 = 2;

/// Events in their order.
#[derive(Debug, Default)]
struct Batch {
    /// Accesses that are made: page and kind.
    accesses: Vec<u64>,
    /// Other events, each with the number of accesses before it.
    others: Vec<(usize, Event)>,
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.accesses.is_empty() && self.others.is_empty()
    }

    fn clear(&mut self) {
        self.accesses.clear();
        self.others.clear();
    }

    fn write<W: Write>(&self, writer: &mut Writer<W>) {
        let mut written = 0;
        for (before, event) in &self.others {
            self.write_accesses(written..*before, writer);
            writer.event(event);
            written = *before;
        }
        self.write_accesses(written..self.accesses.len(), writer);
    }

    fn write_accesses<W: Write>(&self, range: core::ops::Range<usize>, writer: &mut Writer<W>) {
        for access in &self.accesses[range] {
            let kind = access & ((1 << KIND_BITS) - 1);
            writer.access(KINDS[kind as usize], access >> KIND_BITS);
        }
    }
}

/// Where batches go.
enum Stage<W> {
    /// The thread begins with the first batch. A process that gives up system calls has to have one thread when it does so.
    Unstarted(Writer<W>),
    /// The thread runs.
    Running(Thread<W>),
    /// There is no thread.
    Failed(io::Error),
}

/// The thread that writes.
struct Thread<W> {
    batches: SyncSender<Batch>,
    /// Batches that are written, to be filled again.
    written: Receiver<Batch>,
    handle: JoinHandle<Writer<W>>,
}

/// Writes a recording on a thread of its own. An error ends the writing, and [`Self::finish`] returns it.
pub struct BackgroundWriter<W> {
    batch: Batch,
    stage: Stage<W>,
}

impl<W: Write + Send + 'static> BackgroundWriter<W> {
    /// Hands the events on to `writer`.
    #[must_use]
    pub fn new(writer: Writer<W>) -> Self {
        Self { batch: Batch::default(), stage: Stage::Unstarted(writer) }
    }

    /// A load, store or fetch that is made, to the page of that number, which has 52 bits.
    #[inline]
    pub fn access(&mut self, access: Access, page: u64) {
        if self.batch.accesses.len() >= BATCH {
            self.send();
        }
        self.batch.accesses.push(page << KIND_BITS | access as u64);
    }

    /// Any event.
    pub fn event(&mut self, event: Event) {
        self.batch.others.push((self.batch.accesses.len(), event));
        if self.batch.others.len() >= BATCH {
            self.send();
        }
    }

    /// Ends the recording, as [`Writer::finish`] does.
    ///
    /// # Errors
    /// The first error of the output, or that there is no thread.
    pub fn finish(mut self, used_time: bool) -> io::Result<Totals> {
        if !self.batch.is_empty() {
            self.send();
        }
        let writer = match self.stage {
            Stage::Unstarted(writer) => writer,
            Stage::Running(Thread { batches, written: _, handle }) => {
                drop(batches);
                handle.join().unwrap_or_else(|panic| resume_unwind(panic))
            }
            Stage::Failed(error) => return Err(error),
        };
        writer.finish(used_time)
    }

    /// Hands the batch on, and begins another one.
    #[cold]
    #[inline(never)]
    fn send(&mut self) {
        let failed = Stage::Failed(io::Error::other("the thread that writes has ended"));
        self.stage = match mem::replace(&mut self.stage, failed) {
            Stage::Unstarted(writer) => match Thread::start(writer) {
                Ok(thread) => Stage::Running(thread),
                Err(error) => Stage::Failed(error),
            },
            other => other,
        };
        if let Stage::Running(thread) = &self.stage {
            let next = thread.written.try_recv().unwrap_or_default();
            // A thread that has panicked takes no batch; `finish` goes on with its panic.
            let _ = thread.batches.send(mem::replace(&mut self.batch, next));
        }
        self.batch.clear();
    }
}

impl<W: Write + Send + 'static> Thread<W> {
    fn start(mut writer: Writer<W>) -> io::Result<Self> {
        let (batches, waiting) = sync_channel::<Batch>(WAITING);
        let (done, written) = channel();
        let write = move || {
            for batch in waiting {
                batch.write(&mut writer);
                // Without a receiver no batch is filled again.
                let _ = done.send(batch);
            }
            writer
        };
        let handle = Builder::new().name("recording".to_owned()).spawn(write)?;
        Ok(Self { batches, written, handle })
    }
}

const _: () = {
    let mut code = 0;
    while code < KINDS.len() {
        assert!(KINDS[code] as usize == code, "a batch has kinds by their code");
        code += 1;
    }
};
