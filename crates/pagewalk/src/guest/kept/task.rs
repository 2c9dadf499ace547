//! The task of a guest that boots once for many runs: an archive on a disk, which it reads once it is ready. So a guest that goes on from a kept state reads
//! what it is to do now, and a guest that has booted does the same.

use crate::guest::GuestError;
use crate::guest::cpio::{Archive, Node};
use crate::guest::initramfs::{DIRECTORIES, GuestFile, Memory, Region, Task, add_user_file};

/// Bytes of the disk, whatever is on it: a guest that goes on has seen its size.
pub const TASK_BYTES: u64 = 1 << 30;

/// The archive of a task and the user's files, for a Linux guest whose root file system is in memory.
///
/// # Errors
/// [`GuestError`], for a file of the user's, or more of them than fit.
pub fn task_archive(task: &Task, files: &[GuestFile]) -> Result<Vec<u8>, GuestError> {
    let mut archive = Archive::default();
    insert_task(&mut archive, task, files)?;
    // Behind all others in the order of paths: where it is there, they are.
    archive.insert("task", plain(String::new()))?;
    encoded(&archive)
}

/// Adds the command, if there is one, whether the region is all of it, and below `files` the user's files.
pub(in crate::guest) fn insert_task(
    archive: &mut Archive<'_>,
    task: &Task,
    user: &[GuestFile],
) -> Result<(), GuestError> {
    if let Task::Command { text, region } = task {
        archive.insert("command", plain(format!("{text}\n")))?;
        if *region == Region::WholeCommand {
            archive.insert("region", plain(String::new()))?;
        }
    }
    let mut files = Archive::default();
    for file in user {
        // The guest has these directories, and copying sets the mode of each.
        for &(path, mode) in DIRECTORIES {
            let below = file.guest.trim_start_matches('/').strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
            if below && !files.contains(path) {
                files.insert(path, Node::Directory { mode })?;
            }
        }
        // For what a path in the guest may be.
        add_user_file(&mut files, &file.host, &file.guest, Memory::OfKernel)?;
    }
    files.move_below("files", archive)
}

/// The archive's bytes, which the disk has room for.
pub(in crate::guest) fn encoded(archive: &Archive<'_>) -> Result<Vec<u8>, GuestError> {
    let bytes = archive.encode();
    if bytes.len() as u64 > TASK_BYTES {
        return Err(GuestError::Image("files of more than 1 GiB do not fit the disk of a guest's task".to_owned()));
    }
    Ok(bytes)
}

/// A file of the archive that nothing executes.
pub(in crate::guest) fn plain<'a>(text: String) -> Node<'a> {
    Node::File { mode: 0o644, content: text.into_bytes().into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_has_its_command_region_and_files() {
        let directory = tempfile::tempdir().unwrap();
        let host = directory.path().join("p");
        std::fs::write(&host, "content").unwrap();
        let files = ["/bin/p", "/tmp/p"].map(|guest| GuestFile { host: host.clone(), guest: guest.to_owned() });
        let task = Task::Command { text: "true".to_owned(), region: Region::WholeCommand };
        let text = |task, files| String::from_utf8_lossy(&task_archive(task, files).unwrap()).into_owned();
        let whole = text(&task, &files);
        for part in ["command\0", "true\n", "region\0", "files/usr/bin/p\0", "files/tmp/p\0", "task\0"] {
            assert!(whole.contains(part), "{part}");
        }
        assert!(whole.contains("000043ff"), "a directory of mode 1777");
        let shell = text(&Task::Shell, &[]);
        assert!(!shell.contains("command") && !shell.contains("files"));
    }
}
