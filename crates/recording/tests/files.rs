//! Recordings read back as they were written, and a file that is none, or is damaged, ends in an error.

use proptest::prelude::*;
use recording::{
    BackgroundWriter, Content, Counts, Decoder, Ends, Event, Leaves, ReadError, Reader, TABLE_WORDS, Writer,
};
use std::fs::File;
use std::io::{self, BufWriter, Cursor, ErrorKind, Read, Seek};
use types::{Access, Asid, Gpa, Gva, PagingMode, Privilege, TranslationContext, Width};

fn access() -> impl Strategy<Value = Access> {
    prop_oneof![Just(Access::Read), Just(Access::Write), Just(Access::Execute)]
}

fn width() -> impl Strategy<Value = Width> {
    prop_oneof![Just(Width::Byte), Just(Width::Half), Just(Width::Word), Just(Width::Double)]
}

fn page() -> impl Strategy<Value = u64> {
    prop_oneof![0..1u64 << 52, (1u64 << 52) - 100..1 << 52, 0..64u64]
}

fn context() -> impl Strategy<Value = TranslationContext> {
    let mode =
        prop_oneof![Just(PagingMode::Bare), Just(PagingMode::Sv39), Just(PagingMode::Sv48), Just(PagingMode::Sv57)];
    let privilege = prop_oneof![Just(Privilege::User), Just(Privilege::Supervisor)];
    (mode, any::<u64>(), any::<u16>(), privilege, any::<(bool, bool)>()).prop_map(
        |(mode, root, asid, privilege, (sum, mxr))| TranslationContext {
            mode,
            root: Gpa(root),
            asid: Asid(asid),
            privilege,
            sum,
            mxr,
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    let leaves = prop_oneof![
        Just(Leaves::Budget),
        any::<[u64; 8]>().prop_map(Leaves::Call),
        Just(Leaves::Wait),
        any::<u16>().prop_map(Leaves::Marker),
        Just(Leaves::TimerSet),
    ];
    let words = proptest::collection::vec((0..TABLE_WORDS, any::<u64>()), 0..20);
    prop_oneof![
        8 => (access(), page()).prop_map(|(access, page)| Event::Access { access, page, ends: Ends::Done }),
        1 => (access(), page()).prop_map(|(access, page)| Event::Access { access, page, ends: Ends::Fault }),
        1 => (any::<u64>(), width(), any::<u64>())
            .prop_map(|(gva, width, value)| Event::TableLoad { gva: Gva(gva), width, value }),
        1 => (any::<u64>(), width(), any::<u64>())
            .prop_map(|(gva, width, value)| Event::TableStore { gva: Gva(gva), width, value }),
        1 => (any::<u64>(), any::<(bool, bool)>(), any::<(u64, u64)>()).prop_map(|(gva, (wide, read), (before, after))| {
            let width = if wide { Width::Double } else { Width::Word };
            let access = if read { Access::Read } else { Access::Write };
            Event::TableAtomic { gva: Gva(gva & !7), width, access, before, after }
        }),
        1 => (page(), words).prop_map(|(page, set)| {
            let mut words = Box::new([0; TABLE_WORDS]);
            set.into_iter().for_each(|(index, word)| words[index] = word);
            Event::TablePage { page, words }
        }),
        1 => context().prop_map(Event::Context),
        1 => (any::<Option<u64>>(), any::<Option<u16>>())
            .prop_map(|(gva, asid)| Event::Fence { gva: gva.map(Gva), asid: asid.map(Asid) }),
        1 => Just(Event::NestedTrap),
        1 => any::<u8>().prop_map(|pcpu| Event::Interrupt { pcpu }),
        1 => any::<u8>().prop_map(|hart| Event::Begin { hart }),
        1 => (leaves, any::<[u64; 5]>()).prop_map(|(leaves, [instructions, loads, stores, page_faults, page_fault_instructions])| Event::End {
            leaves,
            counts: Counts { instructions, loads, stores, page_faults, page_fault_instructions }
        }),
    ]
}

fn written(events: &[Event], files: &[&[u8]]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut writer = Writer::new(&mut file, r#"{"of":"a test"}"#, files).unwrap();
    for event in events {
        match event {
            Event::Access { access, page, ends: Ends::Done } => writer.access(*access, *page),
            other => writer.event(other),
        }
    }
    writer.finish(true).unwrap();
    file
}

/// As [`written`], by a thread, to `file`.
fn written_behind(events: &[Event], file: File) -> io::Result<()> {
    let writer = Writer::new(BufWriter::new(file), r#"{"of":"a test"}"#, &[]).unwrap();
    let mut writer = BackgroundWriter::new(writer);
    for event in events {
        match event {
            Event::Access { access, page, ends: Ends::Done } => writer.access(*access, *page),
            other => writer.event(other.clone()),
        }
    }
    writer.finish(true).map(drop)
}

fn events_of(frame: &Content) -> Vec<Event> {
    let mut decoder = Decoder::new(frame);
    std::iter::from_fn(|| decoder.next_event().unwrap()).collect()
}

/// Reads all of a file, as a replay does.
fn read(file: &[u8]) -> Result<Vec<Event>, ReadError> {
    let mut reader = Reader::open(Cursor::new(file))?;
    let mut events = Vec::new();
    let mut number = 0;
    while let Some(frame) = reader.frame(number)? {
        let mut decoder = Decoder::new(&frame);
        while let Some(event) = decoder.next_event()? {
            events.push(event);
        }
        number += 1;
    }
    Ok(events)
}

proptest! {
    #[test]
    fn events_read_back(events in proptest::collection::vec(event(), 0..200)) {
        let file = written(&events, &[b"kernel", b""]);
        let reader = Reader::open(Cursor::new(&file)).unwrap();
        prop_assert_eq!(reader.about(), r#"{"of":"a test"}"#);
        prop_assert_eq!(reader.attachments(), [b"kernel".to_vec(), Vec::new()]);
        prop_assert_eq!(reader.summary().events, events.len() as u64);
        prop_assert!(reader.summary().used_time);
        prop_assert_eq!(read(&file).unwrap(), events);
    }

    #[test]
    fn a_thread_writes_what_a_writer_writes(events in proptest::collection::vec(event(), 0..60)) {
        let mut output = tempfile::tempfile().unwrap();
        written_behind(&events, output.try_clone().unwrap()).unwrap();
        let mut file = Vec::new();
        output.rewind().unwrap();
        output.read_to_end(&mut file).unwrap();
        prop_assert!(file == written(&events, &[]), "{} events", events.len());
    }

    /// Whatever is changed, the reader returns an error or events, and never panics. A change of a frame's content is found by its checksum.
    #[test]
    fn a_changed_file_ends_in_a_line(
        events in proptest::collection::vec(event(), 1..50),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), 1..=255u8), 1..4),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let mut file = written(&events, &[b"kernel"]);
        for (at, change) in changes {
            let at = at.index(file.len());
            file[at] ^= change;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        if let Err(error) = read(&file) {
            prop_assert_eq!(error.to_string().lines().count(), 1);
        }
    }

    /// Bytes that were never written as events.
    #[test]
    fn any_bytes_are_events_or_an_error(bytes: Vec<u8>) {
        if let Ok(content) = Content::unpack(&bytes) {
            let mut decoder = Decoder::new(&content);
            while let Ok(Some(_)) = decoder.next_event() {}
        }
    }
}

#[test]
fn a_frame_is_read_without_those_before_it() {
    let events: Vec<Event> = (0..3_000_000u64)
        .map(|number| Event::Access { access: Access::Read, page: number * 7919 % (1 << 30), ends: Ends::Done })
        .collect();
    let file = written(&events, &[]);
    let mut reader = Reader::open(Cursor::new(&file)).unwrap();
    let frames = reader.frames().to_vec();
    assert!(frames.len() > 2);
    for (number, frame) in frames.iter().enumerate().rev() {
        let first = frame.first_event as usize;
        let content = reader.frame(number).unwrap().unwrap();
        assert_eq!(events_of(&content), events[first..first + frame.events() as usize]);
    }
    assert!(reader.frame(frames.len()).unwrap().is_none());
}

/// A device that has no room (full(4)). Pages are random, so that no compression leaves everything to the end.
#[test]
fn a_thread_hands_on_the_error_of_its_output() {
    let page = |number: u64| number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12;
    let events: Vec<Event> = (0..400_000)
        .map(|number| Event::Access { access: Access::Write, page: page(number), ends: Ends::Done })
        .collect();
    let full = File::options().write(true).open("/dev/full").unwrap();
    assert_eq!(written_behind(&events, full).unwrap_err().kind(), ErrorKind::StorageFull);
}

#[test]
fn every_beginning_of_a_file_is_refused() {
    let file = written(&[Event::NestedTrap, Event::Begin { hart: 0 }], &[b"kernel"]);
    for length in 0..file.len() {
        let error = read(&file[..length]).unwrap_err();
        let expected =
            if length < 8 { matches!(error, ReadError::NotRecording) } else { matches!(error, ReadError::CutOff) };
        assert!(expected, "{length}: {error}");
    }
    let mut other = file.clone();
    other[8] = 9;
    assert_eq!(read(&other).unwrap_err().to_string(), "a recording of format 9; this version reads format 2");
}

#[test]
fn a_block_that_claims_too_much_is_refused() {
    let file = written(&[Event::NestedTrap], &[]);
    // The content's length of the first block.
    let mut longer = file.clone();
    longer[12 + 4..12 + 8].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(read(&longer).unwrap_err().to_string().contains("too long"));
    let mut shorter = file;
    shorter[12 + 4..12 + 8].copy_from_slice(&3u32.to_le_bytes());
    assert!(read(&shorter).unwrap_err().to_string().contains("not the bytes"));
}
