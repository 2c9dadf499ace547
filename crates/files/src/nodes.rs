//! The files that the guest knows: each is an entry of a directory that the guest knows, too.

use rustix::io::Errno;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The most files that a guest knows at once. One more cannot be looked up before it forgets another.
pub const MOST_NODES: usize = 1 << 18;

/// The number of the directory that is shared: `FUSE_ROOT_ID`.
pub(crate) const ROOT: u64 = 1;

/// `PATH_MAX`, with its last byte.
const LONGEST_PATH: usize = 4095;

/// Where a file is.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Node {
    /// Its directory; `None` once it was removed, or another file took its place.
    parent: Option<u64>,
    name: Arc<[u8]>,
    /// Its inode number for the guest.
    inode: u64,
    /// How often the guest was told of it since it forgot it.
    lookups: u64,
}

/// The files that the guest knows, beside the root.
#[derive(Debug)]
pub(crate) struct Nodes {
    by_number: BTreeMap<u64, Node>,
    by_place: BTreeMap<(u64, Arc<[u8]>), u64>,
    next: u64,
}

impl Nodes {
    /// None.
    pub(crate) const fn new() -> Self {
        Self { by_number: BTreeMap::new(), by_place: BTreeMap::new(), next: ROOT + 1 }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.by_number.len()
    }

    /// The path of a file from the root on; `.` for the root.
    ///
    /// # Errors
    /// `ESTALE`: the file was removed, or is not known. `ENAMETOOLONG`: the host takes no such path.
    pub(crate) fn path(&self, number: u64) -> Result<Vec<u8>, Errno> {
        if number == ROOT {
            return Ok(b".".to_vec());
        }
        let (mut names, mut length, mut at) = (Vec::new(), 0, number);
        while at != ROOT {
            let node = self.by_number.get(&at).ok_or(Errno::STALE)?;
            length += node.name.len() + 1;
            if length > LONGEST_PATH {
                return Err(Errno::NAMETOOLONG);
            }
            names.push(&node.name[..]);
            at = node.parent.ok_or(Errno::STALE)?;
        }
        names.reverse();
        Ok(names.join(&b'/'))
    }

    /// The directory and the name of a file other than the root.
    ///
    /// # Errors
    /// `ESTALE`, as of [`Self::path`].
    pub(crate) fn place(&self, number: u64) -> Result<(u64, Arc<[u8]>), Errno> {
        let node = self.by_number.get(&number).ok_or(Errno::STALE)?;
        Ok((node.parent.ok_or(Errno::STALE)?, node.name.clone()))
    }

    /// Whether a file was removed that the guest still knows.
    pub(crate) fn is_removed(&self, number: u64) -> bool {
        self.by_number.get(&number).is_some_and(|node| node.parent.is_none())
    }

    /// The inode number of a file; 0 of one that is not known.
    pub(crate) fn inode(&self, number: u64) -> u64 {
        if number == ROOT { ROOT } else { self.by_number.get(&number).map_or(0, |node| node.inode) }
    }

    /// The inode number that an entry of a directory has, or would have.
    ///
    /// # Errors
    /// As [`Self::path`].
    pub(crate) fn inode_of_entry(&self, parent: u64, name: &[u8]) -> Result<u64, Errno> {
        if let Some(number) = self.by_place.get(&(parent, name.into())) {
            return Ok(self.inode(*number));
        }
        Ok(inode_of_path(&[self.path(parent)?.as_slice(), b"/", name].concat()))
    }

    /// Whether one more file can become known.
    ///
    /// # Errors
    /// `ENFILE`.
    pub(crate) fn check_room(&self) -> Result<(), Errno> {
        if self.count() < MOST_NODES { Ok(()) } else { Err(Errno::NFILE) }
    }

    /// The guest is told of an entry of a directory; its number.
    ///
    /// # Errors
    /// `ENFILE`: the guest knows too many. Otherwise as [`Self::path`].
    pub(crate) fn look_up(&mut self, parent: u64, name: &[u8]) -> Result<u64, Errno> {
        let name: Arc<[u8]> = name.into();
        if let Some(&number) = self.by_place.get(&(parent, name.clone())) {
            if let Some(node) = self.by_number.get_mut(&number) {
                node.lookups = node.lookups.saturating_add(1);
            }
            return Ok(number);
        }
        self.check_room()?;
        let inode = self.inode_of_entry(parent, &name)?;
        let number = self.next;
        self.next += 1;
        self.by_place.insert((parent, name.clone()), number);
        self.by_number.insert(number, Node { parent: Some(parent), name, inode, lookups: 1 });
        Ok(number)
    }

    /// The guest forgets that it was told of a file this often.
    pub(crate) fn forget(&mut self, number: u64, times: u64) {
        let Some(node) = self.by_number.get_mut(&number) else { return };
        node.lookups = node.lookups.saturating_sub(times);
        if node.lookups == 0 {
            self.leave_place(number);
            self.by_number.remove(&number);
        }
    }

    /// An entry of a directory was removed.
    pub(crate) fn remove(&mut self, parent: u64, name: &[u8]) {
        if let Some(&number) = self.by_place.get(&(parent, name.into())) {
            self.leave_place(number);
        }
    }

    /// An entry of a directory has another place, and whatever was there is gone.
    pub(crate) fn rename(&mut self, (parent, name): (u64, &[u8]), (new_parent, new_name): (u64, &[u8])) {
        if (parent, name) == (new_parent, new_name) {
            return;
        }
        self.remove(new_parent, new_name);
        let Some(&number) = self.by_place.get(&(parent, name.into())) else { return };
        self.leave_place(number);
        let new_name: Arc<[u8]> = new_name.into();
        if let Some(node) = self.by_number.get_mut(&number) {
            node.parent = Some(new_parent);
            node.name = new_name.clone();
            self.by_place.insert((new_parent, new_name), number);
        }
    }

    fn leave_place(&mut self, number: u64) {
        let Some(node) = self.by_number.get_mut(&number) else { return };
        if let Some(parent) = node.parent.take() {
            self.by_place.remove(&(parent, node.name.clone()));
        }
    }
}

/// An inode number that depends on nothing but the path, so that it is the same in each run, in whatever order files become known.
fn inode_of_path(path: &[u8]) -> u64 {
    let digest = Sha256::digest(path);
    let number = digest.first_chunk().map_or(0, |start| u64::from_le_bytes(*start));
    // 0 is no inode for many programs, and 1 is the root.
    number.max(ROOT + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_takes_its_files_along() {
        let mut nodes = Nodes::new();
        let directory = nodes.look_up(ROOT, b"a").unwrap();
        let file = nodes.look_up(directory, b"f").unwrap();
        assert_eq!(nodes.path(file), Ok(b"a/f".to_vec()));
        let inode = nodes.inode(file);
        nodes.rename((ROOT, b"a"), (ROOT, b"b"));
        assert_eq!((nodes.path(file), nodes.inode(file)), (Ok(b"b/f".to_vec()), inode));
        assert_eq!(nodes.look_up(ROOT, b"b"), Ok(directory));
        assert_ne!(nodes.look_up(ROOT, b"a"), Ok(directory));
    }

    #[test]
    fn what_is_replaced_or_removed_has_no_path() {
        let mut nodes = Nodes::new();
        let (old, new) = (nodes.look_up(ROOT, b"old").unwrap(), nodes.look_up(ROOT, b"new").unwrap());
        nodes.rename((ROOT, b"new"), (ROOT, b"old"));
        assert_eq!((nodes.path(old), nodes.path(new)), (Err(Errno::STALE), Ok(b"old".to_vec())));
        assert!(nodes.is_removed(old) && !nodes.is_removed(new));
        nodes.remove(ROOT, b"old");
        assert_eq!(nodes.path(new), Err(Errno::STALE));
        nodes.rename((ROOT, b"x"), (ROOT, b"x"));
    }

    #[test]
    fn a_file_is_forgotten_once_it_was_forgotten_as_often_as_looked_up() {
        let mut nodes = Nodes::new();
        let file = nodes.look_up(ROOT, b"f").unwrap();
        assert_eq!(nodes.look_up(ROOT, b"f"), Ok(file));
        nodes.forget(file, 1);
        assert_eq!(nodes.count(), 1);
        nodes.forget(file, u64::MAX);
        assert_eq!((nodes.count(), nodes.path(file)), (0, Err(Errno::STALE)));
        nodes.forget(ROOT, u64::MAX);
        assert_ne!(nodes.look_up(ROOT, b"f"), Ok(file), "no number is given twice");
    }

    #[test]
    fn inode_numbers_do_not_depend_on_the_order() {
        let inodes = |names: [&[u8]; 2]| {
            let mut nodes = Nodes::new();
            let mut found: Vec<u64> =
                names.map(|name| nodes.look_up(ROOT, name).map(|node| nodes.inode(node)).unwrap()).into();
            found.sort_unstable();
            found
        };
        assert_eq!(inodes([b"a", b"b"]), inodes([b"b", b"a"]));
    }

    #[test]
    fn a_circle_of_directories_ends() {
        let mut nodes = Nodes::new();
        let directory = nodes.look_up(ROOT, b"a").unwrap();
        nodes.rename((ROOT, b"a"), (directory, b"a"));
        assert_eq!(nodes.path(directory), Err(Errno::NAMETOOLONG));
    }
}
