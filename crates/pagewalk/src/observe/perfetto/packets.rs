//! The packets of a trace, and the numbers of their fields in Perfetto's `protos/perfetto/trace`.

use super::protobuf::Message;
use std::collections::HashMap;
use std::io;

/// Fields of `Trace`, `TracePacket`, `InternedData` and what stands in it.
const PACKET: u32 = 1;
const TIMESTAMP: u32 = 8;
const SEQUENCE_ID: u32 = 10;
const TRACK_EVENT: u32 = 11;
const INTERNED_DATA: u32 = 12;
const SEQUENCE_FLAGS: u32 = 13;
const TRACK_DESCRIPTOR: u32 = 60;
const CATEGORIES: u32 = 1;
const EVENT_NAMES: u32 = 2;
const ANNOTATION_NAMES: u32 = 3;
const IID: u32 = 1;
const INTERNED_NAME: u32 = 2;

/// Fields of `TrackDescriptor`, `ProcessDescriptor` and `CounterDescriptor`.
const UUID: u32 = 1;
const TRACK_NAME: u32 = 2;
const PROCESS: u32 = 3;
const PARENT_UUID: u32 = 5;
const COUNTER: u32 = 8;
const PID: u32 = 1;
const PROCESS_NAME: u32 = 6;
const UNIT_NAME: u32 = 6;

/// Fields of `TrackEvent` and `DebugAnnotation`.
const CATEGORY_IIDS: u32 = 3;
const DEBUG_ANNOTATIONS: u32 = 4;
const TYPE: u32 = 9;
const NAME_IID: u32 = 10;
const TRACK_UUID: u32 = 11;
const DOUBLE_COUNTER_VALUE: u32 = 44;
const ANNOTATION_IID: u32 = 1;
const ANNOTATION_BOOL: u32 = 2;
const ANNOTATION_UINT: u32 = 3;

/// `TracePacket.SequenceFlags`.
const STATE_CLEARED: u64 = 1;
const NEEDS_STATE: u64 = 2;

/// All packets are of one sequence.
const SEQUENCE: u64 = 1;

/// `TrackEvent.Type`.
#[derive(Clone, Copy)]
enum Kind {
    SliceBegin = 1,
    SliceEnd = 2,
    Instant = 3,
    Counter = 4,
}

/// The number of a track.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Track(pub(super) u64);

/// What is said of a slice or an instant.
#[derive(Clone, Debug)]
pub(super) struct Label {
    /// Its name.
    pub(super) name: String,
    /// What kind of event it is.
    pub(super) category: &'static str,
    /// Figures.
    pub(super) figures: Vec<(&'static str, u64)>,
    /// Whether it is part of what the run's report measures.
    pub(super) measured: bool,
}

/// Texts that stand in a trace once.
#[derive(Debug, Default)]
struct Interned(HashMap<String, u64>, Vec<String>);

impl Interned {
    fn iid(&mut self, text: &str) -> u64 {
        if let Some(&iid) = self.0.get(text) {
            return iid;
        }
        self.1.push(text.to_owned());
        let iid = self.1.len() as u64;
        self.0.insert(text.to_owned(), iid);
        iid
    }

    fn add(&self, mut message: Message, field: u32) -> Message {
        for (text, iid) in self.1.iter().zip(1..) {
            message = message.message(field, &Message::default().uint(IID, iid).text(INTERNED_NAME, text));
        }
        message
    }
}

/// The packets of a trace.
#[derive(Debug, Default)]
pub(super) struct Packets {
    descriptors: Vec<Message>,
    /// With their times, in nanoseconds.
    events: Vec<(u64, Message)>,
    names: Interned,
    categories: Interned,
    figures: Interned,
}

impl Packets {
    /// A group of tracks, which Perfetto shows as a process.
    pub(super) fn group(&mut self, track: Track, pid: u64, name: &str) {
        let process = Message::default().uint(PID, pid).text(PROCESS_NAME, name);
        self.describe(&Message::default().uint(UUID, track.0).message(PROCESS, &process));
    }

    /// A track of a group.
    pub(super) fn track(&mut self, track: Track, group: Track, name: &str) {
        self.describe(&Message::default().uint(UUID, track.0).uint(PARENT_UUID, group.0).text(TRACK_NAME, name));
    }

    /// A track of a group with values over time.
    pub(super) fn counter(&mut self, track: Track, group: Track, (name, unit): (&str, &str)) {
        let counter = Message::default().text(UNIT_NAME, unit);
        let described = Message::default().uint(UUID, track.0).uint(PARENT_UUID, group.0).text(TRACK_NAME, name);
        self.describe(&described.message(COUNTER, &counter));
    }

    fn describe(&mut self, descriptor: &Message) {
        self.descriptors.push(Message::default().uint(SEQUENCE_ID, SEQUENCE).message(TRACK_DESCRIPTOR, descriptor));
    }

    /// A slice begins.
    pub(super) fn begin(&mut self, track: Track, at: u64, label: &Label) {
        let event = self.labelled(track, Kind::SliceBegin, label);
        self.event(at, &event);
    }

    /// The latest slice of a track that has not ended does.
    pub(super) fn end(&mut self, track: Track, at: u64) {
        self.event(at, &on(track, Kind::SliceEnd));
    }

    /// Something without a duration.
    pub(super) fn instant(&mut self, track: Track, at: u64, label: &Label) {
        let event = self.labelled(track, Kind::Instant, label);
        self.event(at, &event);
    }

    /// The value of a counter from now on.
    pub(super) fn value(&mut self, track: Track, at: u64, value: f64) {
        self.event(at, &on(track, Kind::Counter).double(DOUBLE_COUNTER_VALUE, value));
    }

    fn labelled(&mut self, track: Track, kind: Kind, label: &Label) -> Message {
        let mut event = on(track, kind)
            .uint(CATEGORY_IIDS, self.categories.iid(label.category))
            .uint(NAME_IID, self.names.iid(&label.name));
        for &(name, figure) in &label.figures {
            let annotation =
                Message::default().uint(ANNOTATION_IID, self.figures.iid(name)).uint(ANNOTATION_UINT, figure);
            event = event.message(DEBUG_ANNOTATIONS, &annotation);
        }
        let measured = Message::default()
            .uint(ANNOTATION_IID, self.figures.iid("measured"))
            .uint(ANNOTATION_BOOL, label.measured.into());
        event.message(DEBUG_ANNOTATIONS, &measured)
    }

    fn event(&mut self, at: u64, event: &Message) {
        let packet = Message::default()
            .uint(TIMESTAMP, at)
            .uint(SEQUENCE_ID, SEQUENCE)
            .uint(SEQUENCE_FLAGS, NEEDS_STATE)
            .message(TRACK_EVENT, event);
        self.events.push((at, packet));
    }

    /// Writes all of them, by time. Those of a track at the same time stay in their order.
    ///
    /// # Errors
    /// Those of `to`.
    pub(super) fn write(mut self, to: &mut dyn io::Write) -> io::Result<()> {
        let interned = self.categories.add(Message::default(), CATEGORIES);
        let interned = self.figures.add(self.names.add(interned, EVENT_NAMES), ANNOTATION_NAMES);
        let first = Message::default()
            .uint(SEQUENCE_ID, SEQUENCE)
            .uint(SEQUENCE_FLAGS, STATE_CLEARED)
            .message(INTERNED_DATA, &interned);
        self.events.sort_by_key(|(at, _)| *at);
        let events = self.events.iter().map(|(_, packet)| packet);
        for packet in std::iter::once(&first).chain(&self.descriptors).chain(events) {
            to.write_all(Message::default().message(PACKET, packet).encoded())?;
        }
        Ok(())
    }
}

fn on(track: Track, kind: Kind) -> Message {
    Message::default().uint(TYPE, kind as u64).uint(TRACK_UUID, track.0)
}
