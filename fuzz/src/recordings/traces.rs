//! Traces of other simulators, and the recordings that are made of them.

use std::io::Cursor;
use traces::{Format, Frames, Importer, Mapping, PageMap, Policy, Touches, open};
use types::Gpa;

/// The most records that are imported: an input that is compressed may have any number.
const MOST: usize = 1 << 12;

/// Runs the target. The first byte chooses the format, or a map of pages, and the rest is the file.
pub fn run(input: &[u8]) {
    let Some((&kind, content)) = input.split_first() else { return };
    let Some(&format) = Format::ALL.get(usize::from(kind) % 4) else {
        if let Err(error) = PageMap::read(content) {
            assert_eq!(error.to_string().lines().count(), 1);
        }
        return;
    };
    let Ok(mut source) = open(Cursor::new(content.to_vec()), format) else { return };
    let mut touches = Touches::default();
    let mut records = Vec::new();
    while records.len() < MOST {
        match source.next_record() {
            Ok(Some(record)) => {
                assert!(touches.add(&record), "so few records touch few pages");
                records.push(record);
            }
            Ok(None) => break,
            Err(error) => {
                assert_eq!(error.to_string().lines().count(), 1);
                return;
            }
        }
    }
    let policy = [Policy::Small, Policy::Large, Policy::Thp][usize::from(kind / 8) % 3];
    let Ok(mapping) = Mapping::new(Gpa(0x8000_0000), touches.pages(), policy, Frames::Random(7)) else { return };
    let out: Box<dyn std::io::Write> = Box::new(std::io::sink());
    let writer = recording::Writer::new(out, "{}", &[]).expect("memory takes everything");
    let mut importer = Importer::new(writer, &mapping, 0);
    for record in &records {
        importer.record(record);
    }
    let (_, imported) = importer.finish().expect("memory takes everything");
    assert_eq!(imported.instructions, touches.instructions());
}
