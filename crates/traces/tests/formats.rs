//! Traces that are written read back equal, by us and by readers in another language; and damaged ones end in one line.

use std::fmt::Write as _;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;
use testing::{Random, seed};
use traces::{
    Branch, BranchKind, Data, DataKind, Format, Frames, Importer, Instruction, Mapping, Mark, Operands, Page, PageMap,
    Policy, Record, Touches, create, create_archive, decode, open,
};
use types::Gpa;

/// The instruction that returns from a handler.
const SRET: u32 = 0x1020_0073;
/// Instructions of a chunk: a program has several chunks.
const CHUNK: u64 = 16;

/// A RISC-V program that jumps about and traps, as an export has it. `ChampSim` has at most four loads and two stores of an instruction.
fn program(random: &mut Random) -> Vec<Record> {
    // add, ld, sd, amoadd, beq, jal ra, jal x0, jalr ra, ret, c.jr a5, c.mv, fmadd, csrrw
    let encodings = [
        0x00c5_8533,
        0x0081_3503,
        0x00b5_3023,
        0x00b6_352f,
        0x00b5_0463,
        0x0000_00ef,
        0x0000_006f,
        0x0007_80e7,
        0x0000_8067,
        0x8782,
        0x852e,
        0x6ac5_f543,
        0x1805_1073,
    ];
    let mut records = vec![Record::Mark(Mark::Window)];
    let mut pc = 0x8000_0000 + 2 * random.below(1 << 30);
    let mut traps = Vec::new();
    for _ in 0..random.between(1, 200) {
        if random.one_in(60) {
            records.push(Record::Mark(Mark::Window));
        }
        if random.one_in(12) {
            records.push(Record::Mark(Mark::Trap { pc }));
            traps.push(pc);
            pc = 0x8000_0000 + 2 * random.below(1 << 30);
        }
        let returns = random.one_in(6) && !traps.is_empty();
        let bits = if returns { SRET } else { random.pick(&encodings) };
        let decoded = decode(bits);
        let behind = pc + u64::from(decoded.bytes);
        let branch = decoded.branch.map(|kind| {
            let taken = kind != BranchKind::Conditional || random.one_in(2);
            let target = Some(if taken { 0x8000_0000 + 2 * random.below(1 << 30) } else { behind });
            Branch { kind, taken, target }
        });
        records.push(Record::Instruction(Instruction {
            pc,
            bytes: decoded.bytes,
            branch,
            operands: decoded.operands,
            encoding: Some(bits),
        }));
        let kind = match bits & 0x7f {
            0x03 => Some(DataKind::Load),
            0x23 => Some(DataKind::Store),
            0x2f => Some(DataKind::Modify),
            _ => None,
        };
        if let Some(kind) = kind {
            let address = 1 + random.bits() % (1 << 38);
            records.push(Record::Data(Data { kind, address, bytes: random.pick(&[1, 2, 4, 8]) }));
        }
        pc = branch.and_then(|branch| branch.target).unwrap_or(behind);
        if returns {
            let to = traps.pop().unwrap();
            records.push(Record::Mark(Mark::Return { from: behind, to }));
            pc = to;
        }
    }
    records
}

fn written(records: &[Record], format: Format, compressed: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut sink = match format {
        Format::Drmemtrace => create_archive(&mut bytes, CHUNK),
        other => create(&mut bytes, other, compressed),
    };
    for record in records {
        sink.record(record).unwrap();
    }
    sink.finish().unwrap();
    bytes
}

fn read(bytes: Vec<u8>, format: Format) -> Vec<Record> {
    let mut source = open(Cursor::new(bytes), format).unwrap();
    std::iter::from_fn(|| source.next_record().unwrap()).collect()
}

/// What a format keeps of records.
fn kept(records: &[Record], format: Format) -> Vec<Record> {
    let mut kept = Vec::new();
    for (index, record) in records.iter().enumerate() {
        let returns_to = match records.get(index + 1) {
            Some(Record::Mark(Mark::Return { to, .. })) => Some(*to),
            _ => None,
        };
        match *record {
            Record::Instruction(instruction) => {
                kept.push(Record::Instruction(kept_of(instruction, returns_to, format)));
            }
            Record::Data(data) => kept.extend(kept_data(data, format).into_iter().map(Record::Data)),
            Record::Mark(_) if format == Format::Drmemtrace => kept.push(*record),
            Record::Mark(_) => {}
        }
    }
    kept
}

fn kept_of(instruction: Instruction, returns_to: Option<u64>, format: Format) -> Instruction {
    let plain = Instruction { operands: Operands::default(), encoding: None, ..instruction };
    let indirect = |kind| matches!(kind, BranchKind::IndirectJump | BranchKind::IndirectCall | BranchKind::Return);
    let branch = match format {
        Format::Lackey => None,
        Format::ChampSim => plain.branch.map(|branch| Branch { target: None, ..branch }),
        Format::Drmemtrace if returns_to.is_some() => {
            Some(Branch { kind: BranchKind::IndirectJump, taken: true, target: returns_to })
        }
        Format::Drmemtrace => {
            plain.branch.map(|branch| Branch { target: branch.target.filter(|_| indirect(branch.kind)), ..branch })
        }
    };
    let bytes = if format == Format::ChampSim { 0 } else { plain.bytes };
    Instruction { branch, bytes, ..plain }
}

fn kept_data(data: Data, format: Format) -> Vec<Data> {
    let bytes = if format == Format::ChampSim { 1 } else { data.bytes };
    let as_kind = |kind| Data { kind, bytes, ..data };
    match (data.kind, format) {
        (kind, Format::Lackey) => vec![as_kind(kind)],
        (DataKind::Modify, _) => vec![as_kind(DataKind::Load), as_kind(DataKind::Store)],
        (kind, _) => vec![as_kind(kind)],
    }
}

fn without_operands(record: Record) -> Record {
    match record {
        Record::Instruction(instruction) => {
            Record::Instruction(Instruction { operands: Operands::default(), ..instruction })
        }
        other => other,
    }
}

#[test]
fn what_is_written_reads_back_equal() {
    let seed = seed("TRACES_SEED");
    for index in 0..200 {
        let records = program(&mut Random::nth(seed, index));
        for format in Format::ALL {
            let expected = kept(&records, format);
            for compressed in [false, index % 20 == 0] {
                let file = written(&records, format, compressed);
                let again = read(file.clone(), format);
                let compared: Vec<Record> = again.iter().copied().map(without_operands).collect();
                assert_eq!(compared, expected, "{} {index} of seed {seed}", format.name());
                let file_again = written(&again, format, compressed);
                if format == Format::Drmemtrace {
                    // Encodings are not read.
                    assert_eq!(read(file_again, format), expected, "{index} of seed {seed}");
                } else {
                    assert!(file_again == file, "{} {index} of seed {seed}", format.name());
                }
            }
        }
    }
}

/// What the readers in Python print of records.
fn printed(records: &[Record], format: Format) -> String {
    match format {
        Format::ChampSim => printed_champsim(&kept(records, format)),
        Format::Lackey => printed_lackey(&kept(records, format)),
        Format::Drmemtrace => printed_drmemtrace(records),
    }
}

fn name_of(kind: BranchKind) -> &'static str {
    match kind {
        BranchKind::Jump => "jump",
        BranchKind::IndirectJump => "indirect-jump",
        BranchKind::Conditional => "conditional",
        BranchKind::Call => "call",
        BranchKind::IndirectCall => "indirect-call",
        BranchKind::Return => "return",
    }
}

fn printed_lackey(records: &[Record]) -> String {
    let mut lines = Vec::new();
    for record in records {
        match record {
            Record::Instruction(Instruction { pc, bytes, .. }) => lines.push(format!("I{pc:x} {bytes}")),
            Record::Data(Data { kind, address, bytes }) => {
                let letter = match kind {
                    DataKind::Load => 'L',
                    DataKind::Store => 'S',
                    DataKind::Modify => 'M',
                };
                lines.push(format!("{letter}{address:x} {bytes}"));
            }
            Record::Mark(_) => {}
        }
    }
    lines.join("\n")
}

fn printed_champsim(records: &[Record]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for record in records {
        match record {
            Record::Instruction(Instruction { pc, branch, .. }) => {
                let kind = branch.map_or("-", |branch| name_of(branch.kind));
                let taken = u8::from(branch.is_some_and(|branch| branch.taken));
                lines.push(format!("{pc:x} {kind} {taken}"));
            }
            Record::Data(Data { kind, address, .. }) => {
                let letter = if *kind == DataKind::Load { 'L' } else { 'S' };
                write!(lines.last_mut().unwrap(), " {letter}{address:x}").unwrap();
            }
            Record::Mark(_) => {}
        }
    }
    lines.join("\n")
}

fn printed_drmemtrace(records: &[Record]) -> String {
    let encodings = records.iter().filter_map(|record| match record {
        Record::Instruction(Instruction { encoding, .. }) => *encoding,
        Record::Data(_) | Record::Mark(_) => None,
    });
    let mut encodings = encodings;
    let mut lines = Vec::new();
    for record in kept(records, Format::Drmemtrace) {
        lines.push(match record {
            Record::Instruction(Instruction { pc, bytes, branch, .. }) => {
                let kind = match branch {
                    None => "-",
                    Some(Branch { kind: BranchKind::Conditional, taken: true, .. }) => "taken",
                    Some(Branch { kind: BranchKind::Conditional, taken: false, .. }) => "untaken",
                    Some(Branch { kind, .. }) => name_of(kind),
                };
                format!("I{pc:x} {bytes} {kind} {:x}", encodings.next().unwrap())
            }
            Record::Data(Data { kind, address, bytes }) => {
                format!("{}{address:x} {bytes}", if kind == DataKind::Load { 'L' } else { 'S' })
            }
            Record::Mark(Mark::Window) => "window".to_owned(),
            Record::Mark(Mark::Trap { pc }) => format!("trap {pc:x}"),
            Record::Mark(Mark::Return { from, .. }) => format!("return {from:x}"),
        });
    }
    lines.join("\n")
}

/// A file that is removed at the end.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn independent_readers_find_every_rule_kept() {
    let seed = seed("TRACES_SEED");
    let python = std::env::var("PAGEWALK_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let programs: Vec<Vec<Record>> = (0..50).map(|index| program(&mut Random::nth(seed, index))).collect();
    for format in Format::ALL {
        // A handler that has not returned at the end of one program cannot return in the next one.
        let records = match format {
            Format::Drmemtrace => programs.iter().max_by_key(|program| program.len()).unwrap().clone(),
            Format::ChampSim | Format::Lackey => programs.concat(),
        };
        let suffixes: &[&str] = if format == Format::Drmemtrace { &[".zip"] } else { &["", ".xz"] };
        for suffix in suffixes {
            let name = format!("pagewalk-traces-{}-{}{suffix}", std::process::id(), format.name());
            let file = Removed(std::env::temp_dir().join(name));
            fs::write(&file.0, written(&records, format, *suffix == ".xz")).unwrap();
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/readers/read_{}.py", format.name()));
            let output = Command::new(&python).arg(script).arg(&file.0).output().unwrap();
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{} of seed {seed}: {stderr}", format.name());
            assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end(), printed(&records, format), "seed {seed}");
        }
    }
}

/// Changes bytes of a file, or its length.
fn mutate(file: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..random.between(1, 4) {
        let at = random.index(file.len() + 1);
        match random.below(5) {
            0 => file.truncate(at),
            1 => file.insert(at, random.below(256) as u8),
            2 if at < file.len() => file[at] = random.pick(b"0123456789abcdefILSM ,\n\xff\0"),
            3 if at < file.len() => drop(file.drain(at..(at + random.index(64)).min(file.len()))),
            _ if at < file.len() => file[at] ^= 1 << random.below(8),
            _ => {}
        }
    }
}

#[test]
fn damaged_files_end_in_one_line() {
    let seed = seed("TRACES_SEED");
    let (mut failed, mut imported) = (0, 0);
    for index in 0..10_000 {
        let random = &mut Random::nth(seed, index);
        let format = random.pick(&Format::ALL);
        let records = program(random);
        let mut file = written(&records, format, random.one_in(8));
        if format == Format::Drmemtrace && !random.one_in(4) {
            // Checksums of an archive hide what is wrong with its entries.
            file = entries(&file);
        }
        mutate(&mut file, random);
        let mut touches = Touches::default();
        let mut read = Vec::new();
        let problem = match open(Cursor::new(file), format) {
            Ok(mut source) => loop {
                match source.next_record() {
                    Ok(Some(record)) => {
                        assert!(touches.add(&record));
                        read.push(record);
                    }
                    Ok(None) => break None,
                    Err(error) => break Some(error.to_string()),
                }
            },
            Err(error) => Some(error.to_string()),
        };
        if let Some(problem) = problem {
            assert_eq!(problem.lines().count(), 1, "{index} of seed {seed}: {problem}");
            failed += 1;
            continue;
        }
        let policy = random.pick(&[Policy::Small, Policy::Large, Policy::Thp]);
        match Mapping::new(Gpa(0x8000_0000), touches.pages(), policy, Frames::Random(index)) {
            Ok(mapping) => {
                let out: Box<dyn std::io::Write> = Box::new(std::io::sink());
                let writer = recording::Writer::new(out, "{}", &[]).unwrap();
                let mut importer = Importer::new(writer, &mapping, 0);
                for record in &read {
                    importer.record(record);
                }
                importer.finish().unwrap();
                imported += 1;
            }
            Err(error) => assert_eq!(error.to_string().lines().count(), 1),
        }
    }
    assert!(failed > 1000 && imported > 500, "seed {seed}: {failed} failed and {imported} did not");
}

#[test]
fn damaged_maps_end_in_one_line() {
    let seed = seed("TRACES_SEED");
    let (mut failed, mut read) = (0, 0);
    for index in 0..10_000 {
        let random = &mut Random::nth(seed, index);
        let mut map = PageMap::default();
        for _ in 0..random.below(20) {
            let bytes = random.pick(&[1 << 12, 1 << 21, 1 << 30]);
            let mut address = || (random.bits() >> 8) & !(bytes - 1);
            let page = Page { virtual_address: address(), physical_address: address(), bytes };
            // Two of them may have the same addresses.
            let _ = map.insert(page);
        }
        let mut text = Vec::new();
        map.write(&mut text).unwrap();
        assert_eq!(PageMap::read(&text[..]).unwrap(), map, "{index} of seed {seed}");
        mutate(&mut text, random);
        match PageMap::read(&text[..]) {
            Ok(_) => read += 1,
            Err(error) => {
                assert_eq!(error.to_string().lines().count(), 1, "{index} of seed {seed}: {error}");
                failed += 1;
            }
        }
    }
    assert!(failed > 1000 && read > 500, "seed {seed}: {failed} failed and {read} did not");
}

#[test]
fn what_is_no_trace_is_named() {
    let problem = |bytes: &[u8], format| {
        let mut source = open(Cursor::new(bytes.to_vec()), format).unwrap();
        source.next_record().unwrap_err().to_string()
    };
    assert!(problem(b"==1== lackey\n\nX  0,4\n", Format::Lackey).starts_with("line 3: "));
    assert!(problem(b"X  0,4\n", Format::Lackey).starts_with("line 1: it is not `I  ADDRESS,BYTES`"));
    assert_eq!(problem(b"I  1ffffffffffffffff,4\n", Format::Lackey), "line 1: its address has more than 64 bits");
    assert_eq!(problem(b"I  1000,0\n", Format::Lackey), "line 1: no access has so many bytes");
    assert_eq!(problem(&[0; 63], Format::ChampSim), "record 0: the trace is cut off");
    assert!(problem(&[7; 64], Format::ChampSim).starts_with("record 0: a flag is neither 0 nor 1"));
    assert!(problem(&[7; 12], Format::Drmemtrace).starts_with("record 0: there is no header"));
    let cases: [(u16, u16, u64, &str); 7] = [
        (28, 12, 8, "its version is none of 2 to 7"),
        (28, 9, 0x80, "accesses have been left out of it, by a filter"),
        (28, 9, 0x4, "it has no loads and stores"),
        (22, 0, 2, "it has several threads; import the file of one of them"),
        (10, 0, 0x1000, "no instruction has so many bytes"),
        (0, 8, 0x1000, "an access before any instruction"),
        (17, 1, 0, "no file has an entry of this type"),
    ];
    let entry = |kind: u16, size: u16, value: u64| {
        [&kind.to_le_bytes()[..], &size.to_le_bytes(), &value.to_le_bytes()].concat()
    };
    for (kind, size, value, says) in cases {
        let bytes = [entry(25, 0, 7), entry(22, 0, 1), entry(kind, size, value)].concat();
        assert_eq!(problem(&bytes, Format::Drmemtrace), format!("record 2: {says}"));
    }
    assert_eq!(problem(&entry(25, 0, 7), Format::Drmemtrace), "record 1: the trace is cut off");
}

#[test]
fn a_damaged_chunk_is_found_by_its_checksum() {
    let records = program(&mut Random::nth(seed("TRACES_SEED"), 0));
    let mut stored = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let plain: Vec<u8> = entries(&written(&records, Format::Drmemtrace, false));
    stored.start_file("chunk.00000000", options).unwrap();
    std::io::Write::write_all(&mut stored, &plain).unwrap();
    let mut file = stored.finish().unwrap().into_inner();
    assert_eq!(read(file.clone(), Format::Drmemtrace), kept(&records, Format::Drmemtrace));
    assert_eq!(read(plain.clone(), Format::Drmemtrace), kept(&records, Format::Drmemtrace));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, &plain).unwrap();
    assert_eq!(read(gzip.finish().unwrap(), Format::Drmemtrace), kept(&records, Format::Drmemtrace));
    // The time in the header: no entry is wrong.
    let at = file.windows(12).position(|bytes| bytes[..4] == [28, 0, 2, 0]).unwrap();
    file[at + 4] ^= 1;
    let mut source = open(Cursor::new(file), Format::Drmemtrace).unwrap();
    let problem = loop {
        match source.next_record() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the damage was not found"),
            Err(error) => break error.to_string(),
        }
    };
    assert_eq!(problem, "a chunk is damaged: its checksum differs");
}

/// The entries of an archive without it.
fn entries(archive: &[u8]) -> Vec<u8> {
    chunks(archive).concat()
}

fn chunks(archive: &[u8]) -> Vec<Vec<u8>> {
    let mut archive = zip::ZipArchive::new(Cursor::new(archive)).unwrap();
    let mut chunks = vec![Vec::new(); archive.len()];
    for (index, bytes) in chunks.iter_mut().enumerate() {
        std::io::Read::read_to_end(&mut archive.by_index(index).unwrap(), bytes).unwrap();
    }
    chunks
}

/// Entries as they are in a file: type, size and value.
type Entry = (u16, u16, u64);

/// Runs the reader in Python on an archive of these chunks; what it found.
fn found_in(chunks: &[Vec<Entry>], name: &str) -> Result<String, String> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (index, chunk) in chunks.iter().enumerate() {
        let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        archive.start_file(format!("chunk.{index:08}"), options).unwrap();
        for (kind, size, value) in chunk {
            let bytes = [&kind.to_le_bytes()[..], &size.to_le_bytes(), &value.to_le_bytes()].concat();
            std::io::Write::write_all(&mut archive, &bytes).unwrap();
        }
    }
    let file = Removed(std::env::temp_dir().join(format!("pagewalk-traces-{}-{name}.zip", std::process::id())));
    fs::write(&file.0, archive.finish().unwrap().into_inner()).unwrap();
    let python = std::env::var("PAGEWALK_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers/read_drmemtrace.py");
    let output = Command::new(&python).arg(script).arg(&file.0).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[test]
fn the_independent_reader_finds_each_broken_rule() {
    // In other programs, what follows the first trap or the first branch may be unknown.
    let seed = 1;
    let programs = (0..50).map(|index| program(&mut Random::nth(seed, index)));
    let records = programs.max_by_key(Vec::len).unwrap();
    let whole: Vec<Vec<Entry>> = chunks(&written(&records, Format::Drmemtrace, false))
        .iter()
        .map(|chunk| {
            let (entries, _) = chunk.as_chunks::<12>();
            let two = |bytes: &[u8]| u16::from_le_bytes(bytes.try_into().unwrap());
            let entry = |entry: &[u8; 12]| {
                (two(&entry[..2]), two(&entry[2..4]), u64::from_le_bytes(entry[4..].try_into().unwrap()))
            };
            entries.iter().map(entry).collect()
        })
        .collect();
    assert_eq!(found_in(&whole, "whole").map(|text| text.trim_end().to_owned()), Ok(printed_drmemtrace(&records)));
    let (marker, encoding) = (28, 47);
    // A rule, the first entry that it is about, and what becomes of that.
    let cases: [(&str, u16, Option<u16>, Change); 9] = [
        ("the header", marker, Some(18), Change::Remove),
        ("ordinal", marker, Some(22), Change::Add),
        ("footer", marker, Some(21), Change::Add),
        ("footer", marker, Some(21), Change::Remove),
        ("encoding", encoding, None, Change::Remove),
        ("target", marker, Some(29), Change::Remove),
        ("follows", marker, Some(29), Change::Add),
        ("trap", marker, Some(42), Change::Add),
        ("return", marker, Some(43), Change::Add),
    ];
    for (rule, kind, size, change) in cases {
        let mut chunks = whole.clone();
        let is_it = |entry: &Entry| entry.0 == kind && size.is_none_or(|size| entry.1 == size);
        let chunk = chunks.iter_mut().find(|chunk| chunk.iter().any(is_it));
        let chunk = chunk.unwrap_or_else(|| panic!("seed {seed}: no program has what `{rule}` is about"));
        let at = chunk.iter().position(is_it).unwrap();
        match change {
            Change::Remove => drop(chunk.remove(at)),
            Change::Add => chunk[at].2 += 2,
        }
        let found = found_in(&chunks, "broken");
        assert!(found.as_ref().is_err_and(|text| text.contains("AssertionError")), "{rule} of seed {seed}: {found:?}");
    }
}

/// An output that has room for so many bytes.
struct Full(usize);

impl std::io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_wherever_it_is_full() {
    let records = program(&mut Random::nth(1, 0));
    let bytes = written(&records, Format::Drmemtrace, false).len();
    let write = |room: usize| {
        let mut sink = create_archive(Full(room), CHUNK);
        records.iter().try_for_each(|record| sink.record(record)).and_then(|()| sink.finish())
    };
    for room in (0..bytes).step_by(97) {
        assert_eq!(write(room).unwrap_err().kind(), std::io::ErrorKind::StorageFull, "{room} of {bytes}");
    }
    write(bytes).unwrap();
}

/// What becomes of an entry.
#[derive(Clone, Copy, Debug)]
enum Change {
    Remove,
    /// Its value is higher by two.
    Add,
}
