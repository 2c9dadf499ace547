//! Directories are read: sorted by name, so that a guest does not see the order of the host's file system.

use crate::attributes::Kind;
use crate::handles::{Entry, Handle, MOST_LISTED};
use crate::message::{Answer, Body};
use crate::state::State;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};
use rustix::io::Errno;

/// Bytes of `struct fuse_dirent` before the name.
const ENTRY_HEADER: usize = 24;

/// `FUSE_OPENDIR`.
pub(crate) fn open(state: &mut State, node: u64) -> Result<Answer, Errno> {
    state.handles.check_room()?;
    if Kind::of_stat(&state.place(node)?.stat()?)? != Kind::Directory {
        return Err(Errno::NOTDIR);
    }
    let handle = state.handles.open(Handle::Directory { node, listing: Vec::new() });
    Ok(Answer::default().u64(handle).zeroes(8))
}

/// `FUSE_READDIR`, with an answer of at most `room` bytes. From the beginning on, the directory is read again.
pub(crate) fn read(state: &mut State, body: &mut Body<'_>, room: usize) -> Result<Answer, Errno> {
    let handle = body.u64()?;
    let offset = body.u64()?;
    let room = usize::try_from(body.u32()?).unwrap_or(usize::MAX).min(room);
    if offset == 0 {
        let (node, listing) = state.handles.directory(handle)?;
        listing.clear();
        let left = MOST_LISTED - state.handles.listed().min(MOST_LISTED);
        let found = entries(state, node, left)?;
        *state.handles.directory(handle)?.1 = found;
    }
    let (node, listing) = state.handles.directory(handle)?;
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(listing.len());
    let wanted: Vec<Entry> = within(&listing[start..], room).to_vec();
    let mut answer = Answer::default();
    for (number, entry) in wanted.iter().enumerate() {
        let inode = match &entry.name[..] {
            // What leads upwards has the number of the directory itself: the guest knows its own way.
            b"." | b".." => state.nodes.inode(node),
            name => state.nodes.inode_of_entry(node, name)?,
        };
        let length = entry.name.len();
        answer = answer.u64(inode).u64((start + number + 1) as u64).u32(length as u32).u32(entry.kind);
        answer = answer.bytes(&entry.name).zeroes(length.next_multiple_of(8) - length);
    }
    Ok(answer)
}

/// The first of `entries` that go into `room` bytes.
fn within(entries: &[Entry], room: usize) -> &[Entry] {
    let mut used = 0;
    let fits = |entry: &&Entry| {
        used += ENTRY_HEADER + entry.name.len().next_multiple_of(8);
        used <= room
    };
    &entries[..entries.iter().take_while(fits).count()]
}

/// The entries of a directory that are there for a guest, sorted; `ENOMEM` where they are more than `most`.
fn entries(state: &State, node: u64, most: usize) -> Result<Vec<Entry>, Errno> {
    let directory = state.place(node)?.open(OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
    let mut found: Vec<Entry> =
        [b".".to_vec(), b"..".to_vec()].map(|name| Entry { name, kind: Kind::Directory.entry() }).into();
    let of_file = rustix::io::fcntl_dupfd_cloexec(&directory, 0)?;
    for entry in Dir::new(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        let file_type = match entry.file_type() {
            FileType::Unknown => match rustix::fs::statat(&of_file, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                // It is gone.
                Err(_) => continue,
            },
            known => known,
        };
        let Ok(kind) = Kind::of(file_type) else { continue };
        if found.len() >= most {
            return Err(Errno::NOMEM);
        }
        found.push(Entry { name: name.to_vec(), kind: kind.entry() });
    }
    found.sort_unstable();
    Ok(found)
}
