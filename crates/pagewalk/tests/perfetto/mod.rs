//! A reader of Perfetto's traces, written from their definition and independent of what writes them: packets, tracks, slices and their figures.

use std::collections::BTreeMap;

/// A field of a message of protocol buffers.
enum Field<'b> {
    Number(u64),
    Bytes(&'b [u8]),
}

/// The fields of a message, by number.
struct Message<'b>(Vec<(u64, Field<'b>)>);

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().expect("a varint ends");
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return value;
        }
    }
    panic!("a varint has at most ten bytes");
}

fn take<'b>(bytes: &mut &'b [u8], count: usize) -> &'b [u8] {
    let (taken, rest) = bytes.split_at(count);
    *bytes = rest;
    taken
}

impl<'b> Message<'b> {
    fn read(mut bytes: &'b [u8]) -> Self {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let tag = varint(&mut bytes);
            let field = match tag & 7 {
                0 => Field::Number(varint(&mut bytes)),
                1 => Field::Number(u64::from_le_bytes(take(&mut bytes, 8).try_into().unwrap())),
                2 => {
                    let count = varint(&mut bytes) as usize;
                    Field::Bytes(take(&mut bytes, count))
                }
                wire => panic!("no wire type {wire}"),
            };
            fields.push((tag >> 3, field));
        }
        Self(fields)
    }

    fn number(&self, field: u64) -> Option<u64> {
        self.0.iter().find_map(|(number, value)| match value {
            Field::Number(value) if *number == field => Some(*value),
            _ => None,
        })
    }

    fn all(&self, field: u64) -> impl Iterator<Item = &'b [u8]> + '_ {
        self.0.iter().filter_map(move |(number, value)| match value {
            Field::Bytes(bytes) if *number == field => Some(*bytes),
            _ => None,
        })
    }

    fn message(&self, field: u64) -> Option<Message<'b>> {
        self.all(field).next().map(Message::read)
    }

    fn text(&self, field: u64) -> Option<String> {
        self.all(field).next().map(|bytes| String::from_utf8(bytes.to_vec()).expect("a text is UTF-8"))
    }

    /// The texts of `InternedData`, by their numbers.
    fn interned(&self, field: u64) -> BTreeMap<u64, String> {
        self.all(field).map(Message::read).map(|entry| (entry.number(1).unwrap(), entry.text(2).unwrap())).collect()
    }
}

/// A slice, or an instant.
#[derive(Clone, Debug)]
pub(crate) struct Slice {
    /// The process of its track.
    pub(crate) process: String,
    pub(crate) track: String,
    pub(crate) name: String,
    pub(crate) category: String,
    pub(crate) from: u64,
    /// `None` of an instant.
    pub(crate) to: Option<u64>,
    pub(crate) figures: BTreeMap<String, u64>,
}

/// What a trace has.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    pub(crate) slices: Vec<Slice>,
    /// By process and track: times and values.
    pub(crate) counters: BTreeMap<(String, String), Vec<(u64, f64)>>,
}

/// Reads a trace. Times must not go back, and slices of a track must nest.
pub(crate) fn read(bytes: &[u8]) -> Trace {
    let (mut trace, mut tracks) = (Trace::default(), BTreeMap::new());
    let (mut categories, mut names, mut annotations) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut processes: BTreeMap<u64, String> = BTreeMap::new();
    let mut open: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
    let mut now = 0;
    for packet in Message::read(bytes).all(1).map(Message::read) {
        if let Some(interned) = packet.message(12) {
            categories = interned.interned(1);
            names = interned.interned(2);
            annotations = interned.interned(3);
        }
        if let Some(track) = packet.message(60) {
            let uuid = track.number(1).unwrap();
            match track.message(3) {
                Some(process) => {
                    assert!(process.number(1).is_some_and(|pid| pid > 0));
                    processes.insert(uuid, process.text(6).unwrap());
                }
                None => {
                    let process = processes[&track.number(5).expect("a parent")].clone();
                    assert!(tracks.insert(uuid, (process, track.text(2).unwrap())).is_none(), "a track is there twice");
                }
            }
        }
        let Some(event) = packet.message(11) else { continue };
        let at = packet.number(8).expect("a time");
        assert!(at >= now, "{at} after {now}");
        now = at;
        let uuid = event.number(11).unwrap();
        let (process, track) = tracks[&uuid].clone();
        match event.number(9).unwrap() {
            2 => {
                let slice = open.get_mut(&uuid).and_then(Vec::pop).expect("a slice that ends has begun");
                trace.slices[slice].to = Some(at);
            }
            4 => {
                let value = f64::from_bits(event.number(44).unwrap());
                trace.counters.entry((process, track)).or_default().push((at, value));
            }
            kind => {
                let figures = event.all(4).map(Message::read).map(|annotation| {
                    let value = annotation.number(3).or(annotation.number(2)).unwrap();
                    (annotations[&annotation.number(1).unwrap()].clone(), value)
                });
                let figures = figures.collect();
                let name = names[&event.number(10).unwrap()].clone();
                let category = categories[&event.number(3).unwrap()].clone();
                if kind == 1 {
                    open.entry(uuid).or_default().push(trace.slices.len());
                }
                trace.slices.push(Slice { process, track, name, category, from: at, to: None, figures });
            }
        }
    }
    assert!(open.values().all(Vec::is_empty), "every slice ends");
    trace
}
