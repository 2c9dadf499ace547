//! Regular files are opened, read, written and closed.

use crate::attributes::{Kind, PERMISSIONS};
use crate::handles::Handle;
use crate::message::{Answer, Body};
use crate::names::known;
use crate::state::State;
use rustix::fs::{Mode, OFlags, Stat};
use rustix::io::Errno;
use std::os::fd::OwnedFd;

/// Flags of open(2), as Linux on RISC-V has them.
const ACCESS_MODE: u32 = 0o3;
const WRITE_ONLY: u32 = 0o1;
const READ_AND_WRITE: u32 = 0o2;
const EXCLUSIVE: u32 = 0o200;
const TRUNCATE: u32 = 0o1000;

/// The most bytes of one `FUSE_READ`.
const MOST_READ: usize = 1 << 20;

/// The flags for the host. Appending is not among them: a guest says where it writes.
fn host_flags(state: &State, flags: u32) -> Result<OFlags, Errno> {
    let access = match flags & ACCESS_MODE {
        0 => OFlags::RDONLY,
        WRITE_ONLY => OFlags::WRONLY,
        READ_AND_WRITE => OFlags::RDWR,
        _ => return Err(Errno::INVAL),
    };
    let truncate = if flags & TRUNCATE == 0 { OFlags::empty() } else { OFlags::TRUNC };
    if access != OFlags::RDONLY || !truncate.is_empty() {
        state.check_writable()?;
    }
    Ok(access | truncate)
}

/// Refuses what is no regular file.
fn check_regular(stat: &Stat) -> Result<(), Errno> {
    match Kind::of_stat(stat)? {
        Kind::File => Ok(()),
        Kind::Directory => Err(Errno::ISDIR),
        Kind::Link => Err(Errno::LOOP),
    }
}

/// The file, if it is a regular one.
fn regular(file: OwnedFd) -> Result<OwnedFd, Errno> {
    check_regular(&rustix::fs::fstat(&file)?).map(|()| file)
}

/// `struct fuse_open_out`.
fn opened(answer: Answer, handle: u64) -> Answer {
    answer.u64(handle).zeroes(8)
}

/// `FUSE_OPEN`.
pub(crate) fn open(state: &mut State, node: u64, body: &mut Body<'_>) -> Result<Answer, Errno> {
    state.handles.check_room()?;
    let flags = host_flags(state, body.u32()?)?;
    let place = state.place(node)?;
    // To open a pipe or a device has effects of its own.
    check_regular(&place.stat()?)?;
    let file = regular(place.open(flags, Mode::empty())?)?;
    Ok(opened(Answer::default(), state.handles.open(Handle::File { node, file })))
}

/// `FUSE_CREATE`.
pub(crate) fn create(state: &mut State, parent: u64, body: &mut Body<'_>) -> Result<Answer, Errno> {
    let flags = body.u32()?;
    let mode = Mode::from_raw_mode(body.u32()? & PERMISSIONS);
    body.skip::<8>()?;
    let name = body.name()?;
    state.handles.check_room()?;
    state.nodes.check_room()?;
    let exclusive = if flags & EXCLUSIVE == 0 { OFlags::empty() } else { OFlags::EXCL };
    let flags = host_flags(state, flags)? | OFlags::CREATE | exclusive;
    let place = state.entry(parent, name)?;
    let file = regular(place.open(flags, mode)?)?;
    let (node, attributes) = known(state, parent, &place)?;
    Ok(opened(attributes.entry(node), state.handles.open(Handle::File { node, file })))
}

/// `FUSE_READ`, with an answer of at most `room` bytes.
pub(crate) fn read(state: &State, body: &mut Body<'_>, room: usize) -> Result<Answer, Errno> {
    let file = state.handles.file(body.u64()?)?;
    let offset = body.u64()?;
    let wanted = usize::try_from(body.u32()?).unwrap_or(usize::MAX).min(room).min(MOST_READ);
    let mut bytes = vec![0; wanted];
    let mut length = 0;
    // Less than was asked for is the end of the file for a guest.
    while length < wanted {
        match rustix::io::pread(file, &mut bytes[length..], offset.saturating_add(length as u64)) {
            Ok(0) => break,
            Ok(count) => length += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Answer::default().bytes(&bytes[..length]))
}

/// `FUSE_WRITE`.
pub(crate) fn write(state: &State, body: &mut Body<'_>) -> Result<Answer, Errno> {
    let file = state.handles.file(body.u64()?)?;
    let offset = body.u64()?;
    let length = body.u32()?;
    body.skip::<20>()?;
    let bytes = body.bytes(length)?;
    let mut written = 0;
    while written < bytes.len() {
        match rustix::io::pwrite(file, &bytes[written..], offset.saturating_add(written as u64)) {
            Ok(0) => return Err(Errno::IO),
            Ok(count) => written += count,
            Err(Errno::INTR) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Answer::default().u32(length).u32(0))
}

/// `FUSE_RELEASE` and `FUSE_RELEASEDIR`.
pub(crate) fn release(state: &mut State, body: &mut Body<'_>) -> Result<Answer, Errno> {
    state.handles.close(body.u64()?);
    Ok(Answer::default())
}

/// `FUSE_FSYNC`.
pub(crate) fn sync(state: &State, body: &mut Body<'_>) -> Result<Answer, Errno> {
    rustix::fs::fsync(state.handles.file(body.u64()?)?)?;
    Ok(Answer::default())
}
