//! FUSE messages of a guest to the server of a shared directory, beside a directory that it must not reach.

use files::{Access, MOST_NODES, MOST_OPEN, Root, Server};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use tempfile::TempDir;
use testing::Random;

/// What the file outside holds.
const SECRET: &[u8] = b"outside";

/// A guest's room for an answer, at the most.
const MOST_ROOM: u64 = 8192;

/// Names that mean something: entries of the directory, links that lead out, and what is no name.
const NAMES: [&[u8]; 14] = [
    b"file",
    b"sub",
    b"deep",
    b"new",
    b"up",
    b"direct",
    b"loop",
    b"..",
    b".",
    b"",
    b"../outside",
    b"sub/deep",
    b"a\xffb",
    b"new2",
];

/// The operations of the protocol, and some that it does not have.
const MOST_OPCODES: u64 = 54;

/// Messages of one input, at the most: more find nothing new, and take long.
const MOST_MESSAGES: usize = 400;

fn world() -> std::io::Result<TempDir> {
    let directory = tempfile::tempdir()?;
    let at = |name: &str| directory.path().join(name);
    fs::create_dir_all(at("share/sub/deep"))?;
    fs::create_dir(at("outside"))?;
    fs::write(at("outside/file"), SECRET)?;
    fs::write(at("share/file"), b"shared")?;
    fs::write(at("share/sub/file"), b"shared")?;
    symlink("../outside", at("share/up"))?;
    symlink(at("outside/file"), at("share/direct"))?;
    symlink("loop", at("share/loop"))?;
    Ok(directory)
}

fn number(random: &mut Random, known: &[u64]) -> u64 {
    match random.below(8) {
        0 => u64::MAX - random.below(3),
        1 => random.below(1 << 20),
        2 | 3 => random.below(8),
        _ => random.pick(known),
    }
}

/// A body: numbers of eight or of four bytes, names, and bytes of no meaning.
fn body(random: &mut Random, known: &[u64]) -> Vec<u8> {
    let mut body = Vec::new();
    for _ in 0..random.below(9) {
        match random.below(4) {
            0 => body.extend(number(random, known).to_le_bytes()),
            1 => body.extend(random.pick(&[0_u32, 1, 2, 4, 8, 0x49, 0o101, 0o100_644, 0o755, 4096]).to_le_bytes()),
            2 => {
                body.extend(random.pick(&NAMES));
                body.push(0);
            }
            _ => body.extend((0..random.below(16)).map(|_| random.below(256) as u8)),
        }
    }
    body
}

/// A body that fits the operation, where it is one of those that lead on.
fn fitting(random: &mut Random, opcode: u32, known: &[u64]) -> Vec<u8> {
    let mut body = Vec::new();
    let name = |random: &mut Random, body: &mut Vec<u8>| {
        body.extend(random.pick(&NAMES));
        body.push(0);
    };
    match opcode {
        1 | 10 | 11 => name(random, &mut body),
        6 | 12 | 13 | 45 => {
            if opcode != 6 {
                body.extend(number(random, known).to_le_bytes());
            }
            if opcode == 45 {
                body.extend([random.below(4) as u8, 0, 0, 0, 0, 0, 0, 0]);
            }
            name(random, &mut body);
            name(random, &mut body);
        }
        9 => {
            body.extend([0xed, 1, 0, 0, 0, 0, 0, 0]);
            name(random, &mut body);
        }
        35 => {
            body.extend(random.pick(&[0_u32, 1, 2, 0o1002]).to_le_bytes());
            body.extend([0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
            name(random, &mut body);
        }
        14 | 27 => {
            body.extend(random.pick(&[0_u32, 1, 2, 0o1001]).to_le_bytes());
            body.extend([0; 4]);
        }
        15 | 16 | 28 => {
            body.extend(random.pick(known).to_le_bytes());
            // Files stay short: what is sparse is no defect, and what is not fills the disk.
            body.extend(random.below(4096).to_le_bytes());
            let length = random.below(64) as u32;
            body.extend(length.to_le_bytes());
            body.extend([0; 20]);
            body.extend((0..length).map(|byte| byte as u8));
        }
        26 => {
            body.extend([7, 0, 0, 0, random.pick(&[31, 41, 3]), 0, 0, 0, 0, 0, 2, 0]);
            body.extend([0xff; 4]);
        }
        _ => return self::body(random, known),
    }
    body
}

fn check_unharmed(directory: &Path) {
    let outside = directory.join("outside");
    assert_eq!(fs::read(outside.join("file")).ok().as_deref(), Some(SECRET), "the file outside was changed");
    let count = |path: &Path| fs::read_dir(path).map_or(0, Iterator::count);
    assert_eq!((count(&outside), count(directory)), (1, 2), "something was made or removed outside");
}

/// Runs the target.
///
/// # Panics
/// If an answer does not say its length, is longer than its room, or has what is outside; if more is kept than allowed; or if anything outside
/// was changed.
pub fn run(input: &[u8]) {
    let mut random = Random::of_input(input);
    let directory = world().expect("a temporary directory");
    let access = if random.one_in(4) { Access::Read } else { Access::Write };
    let root = Root::open(&directory.path().join("share"), access).expect("it was made");
    let mut server = Server::new(root);
    let mut known = vec![1_u64];
    // Most guests begin properly.
    let mut begins = !random.one_in(8);
    for _ in 0..MOST_MESSAGES {
        if !random.has_input() {
            break;
        }
        let opcode = if std::mem::take(&mut begins) { 26 } else { random.below(MOST_OPCODES) as u32 };
        let body = if random.one_in(4) { body(&mut random, &known) } else { fitting(&mut random, opcode, &known) };
        let node = number(&mut random, &known);
        let mut message = Vec::new();
        let length = if random.one_in(32) { random.below(200) as u32 } else { 40 + body.len() as u32 };
        message.extend(length.to_le_bytes());
        message.extend(opcode.to_le_bytes());
        message.extend(9_u64.to_le_bytes());
        message.extend(node.to_le_bytes());
        message.extend([0; 16]);
        message.extend(body);
        let room = if random.one_in(8) { random.below(MOST_ROOM) as usize } else { MOST_ROOM as usize };
        let Ok(answer) = server.answer(&message, room) else { continue };
        assert!(answer.len() <= room, "{} bytes for a room of {room}", answer.len());
        if let Some(length) = answer.first_chunk() {
            assert_eq!(u32::from_le_bytes(*length) as usize, answer.len());
        }
        assert!(!answer.windows(SECRET.len()).any(|part| part == SECRET) || opcode == 5, "what is outside was read");
        let (nodes, handles) = server.held();
        assert!(nodes <= MOST_NODES && handles <= MOST_OPEN);
        // Nodes and handles come first in their answers.
        if let Some(number) = answer.get(16..24).and_then(|bytes| bytes.first_chunk()) {
            known.push(u64::from_le_bytes(*number));
        }
        if let Some(handle) = answer.get(144..152).and_then(|bytes| bytes.first_chunk()) {
            known.push(u64::from_le_bytes(*handle));
        }
        known.truncate(64);
    }
    check_unharmed(directory.path());
}
