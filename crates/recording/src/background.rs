//! Writes a recording on a thread of its own, so that the run does not wait for encoding and compression.
//!
//! Events go there in batches. The bytes are those that a [`Writer`] makes of the same events.

use crate::event::Event;
use crate::writer::{Totals, Writer};
use std::io::{self, ErrorKind, Write};
use std::mem;
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{self, Builder, JoinHandle};
use types::Access;

/// Accesses of a batch: 256 KiB of them, so that they stay in the host's L2.
const ACCESSES: usize = 1 << 15;
/// Other events of a batch. The longest have 4 KiB.
const OTHERS: usize = 1 << 11;
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
enum Stage<W: Write + Send + 'static> {
    /// The thread begins with the first batch. A process that gives up system calls has to have one thread when it does so.
    Unstarted(Writer<W>),
    /// The thread runs.
    Running(Thread<W>),
    /// There is no thread.
    Failed(io::Error),
}

/// The thread that writes. It ends before this value does.
struct Thread<W: Write + Send + 'static> {
    /// `None` once the thread is to end.
    batches: Option<SyncSender<Batch>>,
    /// Batches that are written, to be filled again.
    written: Receiver<Batch>,
    /// `None` once the thread has ended.
    handle: Option<JoinHandle<Writer<W>>>,
}

/// Writes a recording on a thread of its own. Nothing more is written behind an error, which [`Self::finish`] returns. A recording that is dropped has no end, so
/// that no reader takes it.
pub struct BackgroundWriter<W: Write + Send + 'static> {
    batch: Batch,
    /// The most accesses and other events of a batch.
    most: [usize; 2],
    stage: Stage<W>,
}

impl<W: Write + Send + 'static> BackgroundWriter<W> {
    /// Hands the events on to `writer`.
    #[must_use]
    pub fn new(writer: Writer<W>) -> Self {
        Self::with_batches(writer, [ACCESSES, OTHERS])
    }

    fn with_batches(writer: Writer<W>, most: [usize; 2]) -> Self {
        Self { batch: Batch::default(), most, stage: Stage::Unstarted(writer) }
    }

    /// A load, store or fetch that is made, to the page of that number, which has 52 bits.
    #[inline]
    pub fn access(&mut self, access: Access, page: u64) {
        if self.batch.accesses.len() >= self.most[0] {
            self.send();
        }
        self.batch.accesses.push(page << KIND_BITS | access as u64);
    }

    /// Any event.
    pub fn event(&mut self, event: Event) {
        self.batch.others.push((self.batch.accesses.len(), event));
        if self.batch.others.len() >= self.most[1] {
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
            Stage::Running(mut thread) => match thread.end().expect("it runs") {
                Ok(writer) => writer,
                Err(panic) => resume_unwind(panic),
            },
            Stage::Failed(error) => return Err(error),
        };
        writer.finish(used_time)
    }

    /// Hands the batch on, and begins another one.
    #[cold]
    #[inline(never)]
    fn send(&mut self) {
        self.stage = match mem::replace(&mut self.stage, Stage::Failed(ErrorKind::Other.into())) {
            Stage::Unstarted(writer) => Thread::start(writer).map_or_else(Stage::Failed, Stage::Running),
            other => other,
        };
        if let Stage::Running(Thread { batches: Some(batches), written, .. }) = &self.stage {
            let next = written.try_recv().unwrap_or_default();
            // A thread that has panicked takes no batch; `finish` goes on with its panic.
            let _ = batches.send(mem::replace(&mut self.batch, next));
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
        Ok(Self { batches: Some(batches), written, handle: Some(handle) })
    }

    /// Waits until the thread has written all batches: its writer, or its panic. `None` if it has ended before.
    fn end(&mut self) -> Option<thread::Result<Writer<W>>> {
        self.batches = None;
        self.handle.take().map(JoinHandle::join)
    }
}

impl<W: Write + Send + 'static> Drop for Thread<W> {
    fn drop(&mut self) {
        // The thread's panic has been printed.
        let _ = self.end();
    }
}

const _: () = {
    let mut code = 0;
    while code < KINDS.len() {
        assert!(KINDS[code] as usize == code, "a batch has kinds by their code");
        code += 1;
    }
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Ends;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::{Arc, Mutex};

    /// An output whose bytes stay. It panics from so many on.
    #[derive(Clone)]
    struct Output {
        bytes: Arc<Mutex<Vec<u8>>>,
        room: usize,
    }

    impl Output {
        fn new(room: usize) -> Self {
            Self { bytes: Arc::default(), room }
        }
    }

    impl Write for Output {
        fn write(&mut self, more: &[u8]) -> io::Result<usize> {
            let mut bytes = self.bytes.lock().unwrap();
            assert!(bytes.len() < self.room, "no room");
            bytes.extend(more);
            Ok(more.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn writer(output: &Output) -> Writer<Output> {
        Writer::new(output.clone(), "{}", &[]).unwrap()
    }

    /// So many accesses, with other events in every place of a batch.
    fn events(count: u64) -> Vec<Event> {
        let each = (0..count).flat_map(|number| {
            let (access, page) = (KINDS[(number % 3) as usize], number * number % 1000);
            let others = (0..number % 4).map(|hart| Event::Begin { hart: hart as u8 });
            std::iter::once(Event::Access { access, page, ends: Ends::Done }).chain(others)
        });
        each.collect()
    }

    #[test]
    fn batches_of_any_size_are_written_in_order() {
        for count in [0, 1, 2, 3, 7, 8, 100] {
            let expected = Output::new(usize::MAX);
            let mut plain = writer(&expected);
            events(count).iter().for_each(|event| plain.event(event));
            let totals = plain.finish(true).unwrap();
            for most in [[1, 1], [2, 1], [7, 100], [100, 3], [1000, 1000]] {
                let output = Output::new(usize::MAX);
                let mut behind = BackgroundWriter::with_batches(writer(&output), most);
                for event in events(count) {
                    match event {
                        Event::Access { access, page, ends: Ends::Done } => behind.access(access, page),
                        other => behind.event(other),
                    }
                }
                assert_eq!(behind.finish(true).unwrap(), totals, "{count} accesses in batches of {most:?}");
                assert!(*output.bytes.lock().unwrap() == *expected.bytes.lock().unwrap());
            }
        }
    }

    #[test]
    fn a_panic_of_the_output_is_that_of_the_run() {
        let output = Output::new(200);
        let mut behind = BackgroundWriter::with_batches(writer(&output), [1, 1]);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            (0..2_000_000).for_each(|page| behind.access(Access::Read, page * page % (1 << 40)));
            behind.finish(true)
        }));
        assert!(panic.is_err_and(|panic| panic.downcast_ref::<&str>() == Some(&"no room")));
    }

    #[test]
    fn a_recording_that_is_dropped_has_ended_its_thread() {
        let output = Output::new(usize::MAX);
        let mut behind = BackgroundWriter::with_batches(writer(&output), [1, 1]);
        (0..100).for_each(|page| behind.access(Access::Read, page));
        drop(behind);
        // The other one is here.
        assert_eq!(Arc::strong_count(&output.bytes), 1);
    }
}
