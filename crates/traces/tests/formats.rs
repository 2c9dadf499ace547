//! Traces that are written read back equal, by us and by readers in another language; and damaged ones end in one line.

use std::fmt::Write as _;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;
use testing::{Random, seed};
use traces::{
    Branch, BranchKind, Data, DataKind, Format, Frames, Importer, Instruction, Mapping, Operands, Policy, Record,
    Touches, create, decode, open,
};
use types::Gpa;

/// A RISC-V program that jumps about, as an export has it. `ChampSim` has at most four loads and two stores of an instruction.
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
    let mut records = Vec::new();
    let mut pc = 0x8000_0000 + 2 * random.below(1 << 30);
    for _ in 0..random.between(1, 200) {
        let bits = random.pick(&encodings);
        let decoded = decode(bits);
        let branch = decoded.branch.map(|kind| {
            let taken = kind != BranchKind::Conditional || random.one_in(2);
            Branch { kind, taken }
        });
        records.push(Record::Instruction(Instruction { pc, bytes: decoded.bytes, branch, operands: decoded.operands }));
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
        pc = match branch {
            Some(Branch { taken: true, .. }) => 0x8000_0000 + 2 * random.below(1 << 30),
            _ => pc + u64::from(decoded.bytes),
        };
    }
    records
}

fn written(records: &[Record], format: Format, compressed: bool) -> Vec<u8> {
    let mut sink = create(Vec::new(), format, compressed);
    for record in records {
        sink.record(record).unwrap();
    }
    sink.finish().unwrap()
}

fn read(bytes: Vec<u8>, format: Format) -> Vec<Record> {
    let mut source = open(Cursor::new(bytes), format).unwrap();
    std::iter::from_fn(|| source.next_record().unwrap()).collect()
}

/// What a format keeps of a record.
fn kept(record: &Record, format: Format) -> Vec<Record> {
    match (*record, format) {
        (Record::Instruction(instruction), Format::Lackey) => {
            vec![Record::Instruction(Instruction { branch: None, operands: Operands::default(), ..instruction })]
        }
        (Record::Data(_), Format::Lackey) => vec![*record],
        (Record::Instruction(instruction), Format::ChampSim) => {
            vec![Record::Instruction(Instruction { bytes: 0, operands: Operands::default(), ..instruction })]
        }
        (Record::Data(Data { kind, address, .. }), Format::ChampSim) => {
            let data = |kind| Record::Data(Data { kind, address, bytes: 1 });
            match kind {
                DataKind::Modify => vec![data(DataKind::Load), data(DataKind::Store)],
                other => vec![data(other)],
            }
        }
    }
}

fn without_operands(record: Record) -> Record {
    match record {
        Record::Instruction(instruction) => {
            Record::Instruction(Instruction { operands: Operands::default(), ..instruction })
        }
        data @ Record::Data(_) => data,
    }
}

#[test]
fn what_is_written_reads_back_equal() {
    let seed = seed("TRACES_SEED");
    for index in 0..200 {
        let records = program(&mut Random::nth(seed, index));
        for format in Format::ALL {
            let expected: Vec<Record> = records.iter().flat_map(|record| kept(record, format)).collect();
            for compressed in [false, index % 20 == 0] {
                let file = written(&records, format, compressed);
                let again = read(file.clone(), format);
                let compared: Vec<Record> = again.iter().copied().map(without_operands).collect();
                assert_eq!(compared, expected, "{} {index} of seed {seed}", format.name());
                assert!(written(&again, format, compressed) == file, "{} {index} of seed {seed}", format.name());
            }
        }
    }
}

/// What the readers in Python print of records.
fn printed(records: &[Record], format: Format) -> String {
    let mut lines = String::new();
    for record in records.iter().flat_map(|record| kept(record, format)) {
        match (record, format) {
            (Record::Instruction(Instruction { pc, bytes, .. }), Format::Lackey) => {
                writeln!(lines, "I{pc:x} {bytes}").unwrap();
            }
            (Record::Data(Data { kind, address, bytes }), Format::Lackey) => {
                let letter = match kind {
                    DataKind::Load => 'L',
                    DataKind::Store => 'S',
                    DataKind::Modify => 'M',
                };
                writeln!(lines, "{letter}{address:x} {bytes}").unwrap();
            }
            (Record::Instruction(Instruction { pc, branch, .. }), Format::ChampSim) => {
                let kind = branch.map_or("-", |branch| match branch.kind {
                    BranchKind::Jump => "jump",
                    BranchKind::IndirectJump => "indirect-jump",
                    BranchKind::Conditional => "conditional",
                    BranchKind::Call => "call",
                    BranchKind::IndirectCall => "indirect-call",
                    BranchKind::Return => "return",
                });
                let taken = u8::from(branch.is_some_and(|branch| branch.taken));
                let start = if lines.is_empty() { "" } else { "\n" };
                write!(lines, "{start}{pc:x} {kind} {taken}").unwrap();
            }
            (Record::Data(Data { kind, address, .. }), Format::ChampSim) => {
                write!(lines, " {}{address:x}", if kind == DataKind::Load { 'L' } else { 'S' }).unwrap();
            }
        }
    }
    lines.trim_end().to_owned()
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
    let records: Vec<Record> = (0..50).flat_map(|index| program(&mut Random::nth(seed, index))).collect();
    for format in Format::ALL {
        for suffix in ["", ".xz"] {
            let name = format!("pagewalk-traces-{}-{}{suffix}", std::process::id(), format.name());
            let file = Removed(std::env::temp_dir().join(name));
            fs::write(&file.0, written(&records, format, !suffix.is_empty())).unwrap();
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
                let writer = recording::Writer::new(Vec::new(), "{}", &[]).unwrap();
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
}
