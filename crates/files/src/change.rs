//! Changes of the directory: files come, go, get other names and other attributes.

use crate::attributes::PERMISSIONS;
use crate::message::{Answer, Body};
use crate::names::known;
use crate::state::State;
use rustix::fs::{AtFlags, Mode, OFlags, RenameFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};
use rustix::io::Errno;
use std::os::fd::OwnedFd;

/// `S_IFMT`, and `S_IFREG` in it.
const TYPE: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;

/// `RENAME_NOREPLACE`, the only flag of renameat2(2) that is served.
const NO_REPLACE: u32 = 1;

/// `FUSE_MKNOD`: regular files only. A device or a pipe would be one of the host.
pub(crate) fn make_node(state: &mut State, parent: u64, body: &mut Body<'_>) -> Result<Answer, Errno> {
    let mode = body.u32()?;
    body.skip::<12>()?;
    let name = body.name()?;
    if mode & TYPE != REGULAR {
        return Err(Errno::PERM);
    }
    state.nodes.check_room()?;
    let place = state.entry(parent, name)?;
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
    place.open(flags, Mode::from_raw_mode(mode & PERMISSIONS))?;
    let (node, attributes) = known(state, parent, &place)?;
    Ok(attributes.entry(node))
}

/// `FUSE_MKDIR`.
pub(crate) fn make_directory(state: &mut State, parent: u64, body: &mut Body<'_>) -> Result<Answer, Errno> {
    let mode = Mode::from_raw_mode(body.u32()? & PERMISSIONS);
    body.skip::<4>()?;
    let name = body.name()?;
    state.nodes.check_room()?;
    let place = state.entry(parent, name)?;
    rustix::fs::mkdirat(place.directory(), name, mode)?;
    let (node, attributes) = known(state, parent, &place)?;
    Ok(attributes.entry(node))
}

/// `FUSE_SYMLINK`: a link to something in or beneath its own directory. Any other could lead a program of the host out of the shared directory, if
/// not here then where the guest moves it.
pub(crate) fn make_link(state: &mut State, parent: u64, body: &mut Body<'_>) -> Result<Answer, Errno> {
    let name = body.name()?;
    let target = body.text()?;
    if target.first().is_none_or(|&byte| byte == b'/') || target.split(|&byte| byte == b'/').any(|part| part == b"..") {
        return Err(Errno::PERM);
    }
    state.nodes.check_room()?;
    let place = state.entry(parent, name)?;
    rustix::fs::symlinkat(target, place.directory(), name)?;
    let (node, attributes) = known(state, parent, &place)?;
    Ok(attributes.entry(node))
}

/// `FUSE_UNLINK`, and `FUSE_RMDIR` where `flags` say so.
pub(crate) fn remove(state: &mut State, parent: u64, body: &mut Body<'_>, flags: AtFlags) -> Result<Answer, Errno> {
    let name = body.name()?;
    let place = state.entry(parent, name)?;
    rustix::fs::unlinkat(place.directory(), name, flags)?;
    state.nodes.remove(parent, name);
    Ok(Answer::default())
}

/// `FUSE_RENAME`.
pub(crate) fn rename(state: &mut State, parent: u64, body: &mut Body<'_>) -> Result<Answer, Errno> {
    let new_parent = body.u64()?;
    move_entry(state, parent, new_parent, body, RenameFlags::empty())
}

/// `FUSE_RENAME2`.
pub(crate) fn rename_with_flags(state: &mut State, parent: u64, body: &mut Body<'_>) -> Result<Answer, Errno> {
    let new_parent = body.u64()?;
    let flags = match body.u32()? {
        0 => RenameFlags::empty(),
        NO_REPLACE => RenameFlags::NOREPLACE,
        _ => return Err(Errno::INVAL),
    };
    body.skip::<4>()?;
    move_entry(state, parent, new_parent, body, flags)
}

fn move_entry(
    state: &mut State,
    parent: u64,
    new_parent: u64,
    body: &mut Body<'_>,
    flags: RenameFlags,
) -> Result<Answer, Errno> {
    let (name, new_name) = (body.name()?, body.name()?);
    let (from, to) = (state.entry(parent, name)?, state.entry(new_parent, new_name)?);
    rustix::fs::renameat_with(from.directory(), name, to.directory(), new_name, flags)?;
    state.nodes.rename((parent, name), (new_parent, new_name));
    Ok(Answer::default())
}

/// Which members of `struct fuse_setattr_in` count: `FATTR_*`.
const MODE: u32 = 1;
const USER: u32 = 1 << 1;
const GROUP: u32 = 1 << 2;
const SIZE: u32 = 1 << 3;
const ACCESSED: u32 = 1 << 4;
const MODIFIED: u32 = 1 << 5;
const HANDLE: u32 = 1 << 6;
const ACCESSED_NOW: u32 = 1 << 7;
const MODIFIED_NOW: u32 = 1 << 8;

/// `struct fuse_setattr_in`, without what is not served.
struct Wanted {
    valid: u32,
    handle: u64,
    size: u64,
    times: Timestamps,
    mode: u32,
    owners: [u32; 2],
}

impl Wanted {
    fn read(body: &mut Body<'_>) -> Result<Self, Errno> {
        let valid = body.u32()?;
        body.skip::<4>()?;
        let (handle, size, _lock_owner) = (body.u64()?, body.u64()?, body.u64()?);
        let [accessed, modified, _changed] = [body.u64()?, body.u64()?, body.u64()?];
        let [accessed_ns, modified_ns, _changed_ns] = [body.u32()?, body.u32()?, body.u32()?];
        let mode = body.u32()?;
        body.skip::<4>()?;
        let owners = [body.u32()?, body.u32()?];
        let has = |flag: u32| valid & flag != 0;
        let time = |seconds: u64, nanoseconds: u32, set: bool, now: bool| match (set, now) {
            (_, true) => Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
            (true, false) => Timespec { tv_sec: seconds as i64, tv_nsec: nanoseconds.into() },
            (false, false) => Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        };
        let times = Timestamps {
            last_access: time(accessed, accessed_ns, has(ACCESSED), has(ACCESSED_NOW)),
            last_modification: time(modified, modified_ns, has(MODIFIED), has(MODIFIED_NOW)),
        };
        Ok(Self { valid, handle, size, times, mode, owners })
    }

    const fn has(&self, flags: u32) -> bool {
        self.valid & flags != 0
    }
}

/// `FUSE_SETATTR`.
pub(crate) fn set_attributes(state: &State, node: u64, body: &mut Body<'_>) -> Result<Answer, Errno> {
    let wanted = Wanted::read(body)?;
    let [user, group] = wanted.owners;
    // Files of the host keep their owner, which for the guest is root.
    if wanted.has(USER) && user != 0 || wanted.has(GROUP) && group != 0 {
        return Err(Errno::PERM);
    }
    if wanted.has(SIZE) {
        let through = if wanted.has(HANDLE) { state.handles.file(wanted.handle).ok() } else { None };
        on_file(state, node, through, OFlags::WRONLY, |file| rustix::fs::ftruncate(file, wanted.size))?;
    }
    if wanted.has(MODE) {
        let mode = Mode::from_raw_mode(wanted.mode & PERMISSIONS);
        on_file(state, node, None, OFlags::RDONLY, |file| rustix::fs::fchmod(file, mode))?;
    }
    if wanted.has(ACCESSED | MODIFIED | ACCESSED_NOW | MODIFIED_NOW) {
        match state.nameless(node) {
            Some(file) => rustix::fs::futimens(file, &wanted.times)?,
            None => {
                let place = state.place(node)?;
                let name = &place.name[..];
                rustix::fs::utimensat(place.directory(), name, &wanted.times, AtFlags::SYMLINK_NOFOLLOW)?;
            }
        }
    }
    state.attributes(node).map(|attributes| attributes.answer())
}

/// Changes a file through a descriptor: that of the guest, or of a file without a name, or a new one.
fn on_file(
    state: &State,
    node: u64,
    through: Option<&OwnedFd>,
    flags: OFlags,
    change: impl FnOnce(&OwnedFd) -> Result<(), Errno>,
) -> Result<(), Errno> {
    match through.or_else(|| state.nameless(node)) {
        Some(file) => change(file),
        None => {
            let place = state.place(node)?;
            // A pipe is not there for the guest, and a link has neither a size nor a mode of its own.
            place.stat()?;
            change(&place.open(flags, Mode::empty())?)
        }
    }
}
