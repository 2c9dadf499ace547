//! The text that Valgrind's tool lackey writes with `--trace-mem=yes`.
//!
//! Each line is an access: `I  ADDRESS,BYTES` a fetch, ` L ADDRESS,BYTES` a load, ` S ADDRESS,BYTES` a store and ` M ADDRESS,BYTES` a load and a store of
//! one instruction. The address is hexadecimal, the number of bytes decimal. Lines that begin with `==` or `--` are Valgrind's own.

use crate::error::TraceError;
use crate::operands::Operands;
use crate::record::{Data, DataKind, Instruction, Record};
use std::io::{self, BufRead, Read, Write};

/// The most bytes of a line that are looked at. Lines of Valgrind itself may be longer.
const LONGEST_LINE: u64 = 4096;
/// The most bytes of an access. Valgrind has accesses of some hundreds of bytes, for the state of vector registers.
const MOST_BYTES: u32 = 1 << 16;

/// Reads the next record.
pub(crate) fn read(from: &mut dyn BufRead, line: &mut u64) -> Result<Option<Record>, TraceError> {
    let mut text = Vec::new();
    loop {
        text.clear();
        *line += 1;
        let wrong = |problem| TraceError::Line { line: *line, problem };
        if from.take(LONGEST_LINE).read_until(b'\n', &mut text)? == 0 {
            return Ok(None);
        }
        if text.last() == Some(&b'\n') {
            text.pop();
        } else if text.len() as u64 == LONGEST_LINE {
            return Err(wrong("too long"));
        }
        let content = text.strip_suffix(b"\r").unwrap_or(&text);
        if content.is_empty() || content.starts_with(b"==") || content.starts_with(b"--") {
            continue;
        }
        return parse(content).map(Some).map_err(wrong);
    }
}

fn parse(line: &[u8]) -> Result<Record, &'static str> {
    const FORM: &str = "it is not `I  ADDRESS,BYTES`, or the same with ` L `, ` S ` or ` M `";
    let line = str::from_utf8(line).map_err(|_| FORM)?;
    let (kind, rest) = line.split_at_checked(3).ok_or(FORM)?;
    let (address, bytes) = rest.split_once(',').ok_or(FORM)?;
    let digits = |text: &str, hexadecimal: bool| {
        !text.is_empty()
            && text.bytes().all(|byte| if hexadecimal { byte.is_ascii_hexdigit() } else { byte.is_ascii_digit() })
    };
    if !digits(address, true) || !digits(bytes, false) {
        return Err(FORM);
    }
    let address = u64::from_str_radix(address, 16).map_err(|_| "its address has more than 64 bits")?;
    let bytes = bytes.parse::<u32>().ok().filter(|bytes| (1..=MOST_BYTES).contains(bytes));
    let bytes = bytes.ok_or("no access has so many bytes")?;
    let data = |kind| Ok(Record::Data(Data { kind, address, bytes }));
    match kind {
        "I  " => {
            let bytes = u8::try_from(bytes).map_err(|_| "no instruction has so many bytes")?;
            let operands = Operands::default();
            Ok(Record::Instruction(Instruction { pc: address, bytes, branch: None, operands, encoding: None }))
        }
        " L " => data(DataKind::Load),
        " S " => data(DataKind::Store),
        " M " => data(DataKind::Modify),
        _ => Err(FORM),
    }
}

/// Writes a record.
pub(crate) fn write(to: &mut dyn Write, record: &Record) -> io::Result<()> {
    match record {
        Record::Instruction(Instruction { pc, bytes, .. }) => writeln!(to, "I  {pc:08x},{bytes}"),
        Record::Data(Data { kind, address, bytes }) => {
            let letter = match kind {
                DataKind::Load => 'L',
                DataKind::Store => 'S',
                DataKind::Modify => 'M',
            };
            writeln!(to, " {letter} {address:08x},{bytes}")
        }
        Record::Mark(_) => Ok(()),
    }
}
