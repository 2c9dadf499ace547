//! The path of a file, as `d_path` of Linux makes it: names up to the root of each mount, and on where that is mounted.

use crate::layout::Layout;
use crate::memory::{KernelMemory, non_null, string};

/// The longest name (`NAME_MAX`).
const LONGEST_NAME: u64 = 255;
/// Names, and mounts, of a path at most.
const MOST_PARTS: usize = 64;
/// The most bytes of a path (`PATH_MAX`).
const LONGEST: usize = 4096;

/// The path of the file at `file`.
pub(crate) fn of_file(memory: &impl KernelMemory, layout: &Layout, file: u64) -> Option<String> {
    let mut dentry = non_null(memory, file.wrapping_add(layout.file_dentry))?;
    let mut mount = non_null(memory, file.wrapping_add(layout.file_mount))?.wrapping_sub(layout.mount_vfs);
    let mut names = Vec::new();
    for _ in 0..MOST_PARTS {
        let root = non_null(memory, mount.wrapping_add(layout.mount_vfs + layout.vfs_root))?;
        let parent = non_null(memory, dentry.wrapping_add(layout.dentry_parent))?;
        if dentry == root || dentry == parent {
            let outer = non_null(memory, mount.wrapping_add(layout.mount_parent))?;
            if outer == mount {
                break;
            }
            dentry = non_null(memory, mount.wrapping_add(layout.mount_mountpoint))?;
            mount = outer;
            continue;
        }
        let name = non_null(memory, dentry.wrapping_add(layout.dentry_name))?;
        names.push(string(memory, name, LONGEST_NAME)?);
        dentry = parent;
    }
    names.reverse();
    let path = format!("/{}", names.join("/"));
    (path.len() < LONGEST).then_some(path)
}
