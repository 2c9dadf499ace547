//! One message in, one answer out.

use crate::message::{ANSWER_HEADER, Answer, Body, Header, framed};
use crate::opcode::Opcode;
use crate::root::Root;
use crate::state::State;
use crate::{change, listing, names, open_files};
use rustix::fs::AtFlags;
use rustix::io::Errno;

/// The protocol: `FUSE_KERNEL_VERSION`, and the oldest minor version of a guest, the first with virtio file systems.
const MAJOR: u32 = 7;
const OLDEST_MINOR: u32 = 31;

/// What the server says it is: every later feature has a flag of its own.
const MINOR: u32 = 31;

/// What of the guest's offers is accepted: reads side by side, opening and truncating at once, writes of more than a page, lookups in one directory
/// side by side, and requests of [`MOST_PAGES`]. `FUSE_ASYNC_READ`, `FUSE_ATOMIC_O_TRUNC`, `FUSE_BIG_WRITES`, `FUSE_PARALLEL_DIROPS`,
/// `FUSE_MAX_PAGES`.
const FEATURES: u32 = 1 | 1 << 3 | 1 << 5 | 1 << 18 | 1 << 22;

/// Pages of a guest's request, and its bytes.
const MOST_PAGES: u16 = 256;
const MOST_BYTES: u32 = MOST_PAGES as u32 * 4096;

/// A message that cannot be answered: shorter than its header, or without room for an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("malformed FUSE message")]
pub struct Malformed;

/// A server of one directory to one guest.
#[derive(Debug)]
pub struct Server {
    state: State,
    phase: Phase,
}

/// How far the guest is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Phase {
    /// `FUSE_INIT` comes first.
    New,
    Ready,
}

impl Server {
    /// A server of `root`.
    #[must_use]
    pub const fn new(root: Root) -> Self {
        Self { state: State::new(root), phase: Phase::New }
    }

    /// Carries out `message`, a request of the guest's with its header. Returns the answer with its header, at most `room` bytes; no bytes to a
    /// message that has no answer.
    ///
    /// # Errors
    /// [`Malformed`]: nothing was done.
    pub fn answer(&mut self, message: &[u8], room: usize) -> Result<Vec<u8>, Malformed> {
        let (header, mut body) = Header::read(message).ok_or(Malformed)?;
        let opcode = Opcode::of(header.opcode);
        if opcode.is_some_and(Opcode::is_unanswered) {
            self.forget(opcode, header, &mut body);
            return Ok(Vec::new());
        }
        let room = room.checked_sub(ANSWER_HEADER).ok_or(Malformed)?;
        let result = match opcode {
            Some(opcode) => self.carry_out(opcode, header, &mut body, room),
            None => Err(Errno::NOSYS),
        };
        let fits = |answer: Answer| if answer.length() <= room { Ok(answer) } else { Err(Errno::INVAL) };
        Ok(framed(header.unique, result.and_then(fits)))
    }

    /// Files and directories that the guest knows, and those that it has open.
    #[must_use]
    pub fn held(&self) -> (usize, usize) {
        (self.state.nodes.count(), self.state.handles.count())
    }

    /// Such a message has no answer, so an error in it is dropped.
    fn forget(&mut self, opcode: Option<Opcode>, header: Header, body: &mut Body<'_>) {
        let _ = match opcode {
            Some(Opcode::Forget) => names::forget(&mut self.state, header.node, body),
            _ => names::forget_several(&mut self.state, body),
        };
    }

    fn carry_out(&mut self, opcode: Opcode, header: Header, body: &mut Body<'_>, room: usize) -> Result<Answer, Errno> {
        if opcode == Opcode::Init {
            return self.begin(body);
        }
        if self.phase == Phase::New {
            return Err(Errno::IO);
        }
        if opcode.changes() {
            self.state.check_writable()?;
        }
        let (state, node) = (&mut self.state, header.node);
        match opcode {
            Opcode::Lookup => names::look_up(state, node, body),
            Opcode::GetAttributes => state.attributes(node).map(|attributes| attributes.answer()),
            Opcode::SetAttributes => change::set_attributes(state, node, body),
            Opcode::ReadLink => names::read_link(state, node),
            Opcode::SymbolicLink => change::make_link(state, node, body),
            Opcode::MakeNode => change::make_node(state, node, body),
            Opcode::MakeDirectory => change::make_directory(state, node, body),
            Opcode::Unlink => change::remove(state, node, body, AtFlags::empty()),
            Opcode::RemoveDirectory => change::remove(state, node, body, AtFlags::REMOVEDIR),
            Opcode::Rename => change::rename(state, node, body),
            Opcode::RenameWithFlags => change::rename_with_flags(state, node, body),
            Opcode::Open => open_files::open(state, node, body),
            Opcode::Create => open_files::create(state, node, body),
            Opcode::Read => open_files::read(state, body, room),
            Opcode::Write => open_files::write(state, body),
            Opcode::Release | Opcode::ReleaseDirectory => open_files::release(state, body),
            Opcode::Sync => open_files::sync(state, body),
            Opcode::OpenDirectory => listing::open(state, node),
            Opcode::ReadDirectory => listing::read(state, body, room),
            Opcode::FileSystem => Ok(file_system()),
            Opcode::Destroy => {
                self.reset(Phase::New);
                Ok(Answer::default())
            }
            Opcode::Init | Opcode::Forget | Opcode::ForgetSeveral => Err(Errno::INVAL),
        }
    }

    /// `FUSE_INIT`: the guest begins, perhaps again, and knows no files.
    fn begin(&mut self, body: &mut Body<'_>) -> Result<Answer, Errno> {
        let [major, minor, read_ahead, offered] = [body.u32()?, body.u32()?, body.u32()?, body.u32()?];
        if major < MAJOR || major == MAJOR && minor < OLDEST_MINOR {
            return Err(Errno::PROTO);
        }
        self.reset(Phase::New);
        // A guest of a later major version asks again, in this one.
        let answer = Answer::default().u32(MAJOR).u32(MINOR);
        if major == MAJOR {
            self.phase = Phase::Ready;
        }
        // No limits to requests in the background but the guest's own; times have nanoseconds.
        let answer = answer.u32(read_ahead).u32(offered & FEATURES).u16(0).u16(0).u32(MOST_BYTES).u32(1);
        Ok(answer.u16(MOST_PAGES).zeroes(2 + 8 * 4))
    }

    fn reset(&mut self, phase: Phase) {
        self.state = State::new(self.state.root.clone());
        self.phase = phase;
    }
}

/// `FUSE_STATFS`: the same of every host. What is free says nothing of what the guest may write.
fn file_system() -> Answer {
    const BLOCKS: u64 = 1 << 28;
    let blocks = Answer::default().u64(BLOCKS).u64(BLOCKS).u64(BLOCKS).u64(BLOCKS).u64(BLOCKS);
    blocks.u32(4096).u32(255).u32(4096).zeroes(4 + 6 * 4)
}
