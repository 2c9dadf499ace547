//! Every byte of a snapshot counts.

use super::*;
use crate::snapshot::state::{Life, VcpuState};
use crate::snapshot::translations::Translations;
use config::Config;
use config::clock::Clock;
use devices::{ConsoleInput, Platform, PlatformConfig, PlicContexts};
use types::PagingMode;

const MEMORY: u64 = 3 * MemoryImage::CHUNK + 4096;
const CLOCK: Clock = Clock { hz: 1_000_000_000, millicycles_per_instruction: 1000 };

fn state() -> State {
    let config = PlatformConfig {
        harts: 1,
        plic: PlicContexts::Supervisor,
        input: ConsoleInput::Uart,
        virtio: Vec::new(),
        primary_region: None,
    };
    let registers = hart::Hart::new(hart::Isa::default(), PagingMode::Sv39).registers();
    let time = CLOCK.time(types::Cycles(12_345));
    State {
        harts: vec![VcpuState {
            registers,
            life: Life::Started,
            waits: false,
            time,
            event: 0,
            pmu: None,
            hardware_ad: None,
            steal: None,
        }],
        platform: Platform::new(config).unwrap().state().unwrap(),
        region: None,
        handshake: (None, false),
        in_region: true,
        translations: Translations::default(),
    }
}

fn about() -> About {
    About {
        guest: "vos".to_owned(),
        work: "gups".to_owned(),
        command: true,
        command_line: "workload=gups".to_owned(),
        page: None,
        scheme: "native:4K".to_owned(),
    }
}

/// A snapshot whose memory has something in its first and its last chunk.
fn written(path: &Path) {
    let file = File::create(path).unwrap();
    let mut writer = Writer::new(&file).unwrap();
    let mut chunk = vec![0; MemoryImage::CHUNK as usize];
    chunk[5000] = 1;
    writer.chunk(&chunk).unwrap();
    chunk[5000] = 0;
    writer.chunk(&chunk).unwrap();
    writer.chunk(&chunk).unwrap();
    writer.chunk(&[7; 4096]).unwrap();
    let config = Config { memory: config::units::ByteSize(MEMORY), ..Config::default() };
    writer.finish(Shape::new(&config, &[]).unwrap(), about(), state()).unwrap();
}

fn problem(path: &Path) -> String {
    Snapshot::open(path).unwrap_err().problem.to_string()
}

#[test]
fn a_snapshot_reads_as_it_was_written_and_holds_no_zeroes() {
    let directory = tempfile::tempdir().unwrap();
    let (one, two) = (directory.path().join("one"), directory.path().join("two"));
    written(&one);
    written(&two);
    assert_eq!(std::fs::read(&one).unwrap(), std::fs::read(&two).unwrap(), "same state, same bytes");
    let snapshot = Snapshot::open(&one).unwrap();
    assert_eq!((snapshot.state(), snapshot.about()), (&state(), &about()));
    assert_eq!(snapshot.image().pieces().map(|(number, ..)| number).collect::<Vec<_>>(), [0, 3]);
    assert_eq!(snapshot.image().bytes(), MEMORY);
    assert_eq!(snapshot.digest(), Snapshot::open(&two).unwrap().digest());
    let length = std::fs::metadata(&one).unwrap().len();
    assert!(length < HEADER + MemoryImage::CHUNK + 4096 + 16384, "{length}");
}

#[test]
fn a_flipped_bit_anywhere_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("snapshot");
    written(&path);
    let whole = std::fs::read(&path).unwrap();
    let memory_end = HEADER as usize + MemoryImage::CHUNK as usize + 4096;
    // Every byte of the header's fields, and some of its zeroes, of memory and of the description.
    let places = (0..80).chain([4095, 4096, 4096 + 5000, 4096 + 6000, memory_end - 1, memory_end, whole.len() - 1]);
    for at in places.chain((memory_end..whole.len()).step_by(97)) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        std::fs::write(&path, &damaged).unwrap();
        let problem = problem(&path);
        let expected = match at {
            0..8 => "not a snapshot",
            8..12 => "the snapshot has format",
            16..32 => "damaged",
            4096.. if at < memory_end => "damaged: the checksum of memory from 0x",
            _ => "damaged: the checksum of the header and the description",
        };
        assert!(problem.contains(expected), "byte {at}: {problem}");
    }
}

#[test]
fn a_snapshot_of_another_length_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("snapshot");
    written(&path);
    let whole = std::fs::read(&path).unwrap();
    for length in [0, 7, 11, 12, 100, 4095, 4096, 5000, whole.len() - 1] {
        std::fs::write(&path, &whole[..length]).unwrap();
        let problem = problem(&path);
        assert!(problem.contains(if length < 12 { "not a snapshot" } else { "bytes long instead of" }), "{problem}");
    }
    std::fs::write(&path, [&whole[..], b"x"].concat()).unwrap();
    assert!(problem(&path).contains("bytes long instead of"));
}

#[test]
fn what_is_no_file_or_of_another_architecture_is_named() {
    let directory = tempfile::tempdir().unwrap();
    assert!(problem(directory.path()).contains("not a snapshot"));
    assert!(problem(&directory.path().join("none")).contains("No such file"));
    let path = directory.path().join("snapshot");
    let file = File::create(&path).unwrap();
    let mut shape = Shape::new(&Config::default(), &[]).unwrap();
    shape.architecture = "vax".to_owned();
    Writer::new(&file).unwrap().finish(shape, about(), state()).unwrap();
    assert_eq!(problem(&path), "a snapshot of a vax guest");
}
