//! The task of a Debian guest: the archive on its second disk (`guest/kept/task.rs`), with a script that systemd's unit runs.

use crate::guest::GuestError;
use crate::guest::cpio::Archive;
use crate::guest::initramfs::{GuestFile, Task};
use crate::guest::kept::task::{encoded, insert_task, plain};
use crate::guest::shares::GuestShares;

const SCRIPT: &str = include_str!("task.sh");

/// The addresses of the user network (docs/network.md): a guest that goes on has no time for DHCP.
const NETWORK: &str = "ip link set eth0 up\nip address add 10.0.2.15/24 dev eth0\nip route add default via 10.0.2.2\n\
    echo nameserver 10.0.2.3 > /etc/resolv.conf\n";

/// What a Debian guest does once it is up.
#[derive(Clone, Debug)]
pub struct DebianTask {
    /// A shell or a command.
    pub task: Task,
    /// The user's files.
    pub files: Vec<GuestFile>,
    /// Where the guest has a network that leads out: seconds since 1970, because signatures and certificates have dates.
    pub network: Option<u64>,
    /// Directories of the host.
    pub shares: GuestShares,
}

impl DebianTask {
    /// The archive.
    ///
    /// # Errors
    /// [`GuestError`], for a file of the user's, or more of them than fit.
    pub fn archive(&self) -> Result<Vec<u8>, GuestError> {
        let mut archive = Archive::default();
        let mut script = String::new();
        if let Some(now) = self.network {
            script += &format!("date --set @{now} > /dev/null\n{NETWORK}");
        }
        script += &self.shares.mount_script();
        script += SCRIPT;
        archive.insert("start", plain(script))?;
        if let Some(copies) = self.shares.copy_script()? {
            archive.insert("copy-out", plain(format!("{copies}\n")))?;
        }
        insert_task(&mut archive, &self.task, &self.files)?;
        encoded(&archive)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::initramfs::Region;
    use std::fs;

    fn archive(task: &DebianTask) -> String {
        String::from_utf8_lossy(&task.archive().unwrap()).into_owned()
    }

    fn command() -> DebianTask {
        let task = Task::Command { text: "true".to_owned(), region: Region::WholeCommand };
        DebianTask { task, files: Vec::new(), network: None, shares: GuestShares::default() }
    }

    #[test]
    fn a_task_says_nothing_of_a_network_that_is_not_there() {
        let without = archive(&command());
        assert!(!without.contains("date --set") && without.contains("command\0"));
        assert!(archive(&DebianTask { network: Some(5), ..command() }).contains("date --set @5 "));
        assert!(!archive(&DebianTask { task: Task::Shell, ..command() }).contains("command\0"));
    }

    #[test]
    fn files_go_to_their_places_in_the_guest() {
        let directory = tempfile::tempdir().unwrap();
        let host = directory.path().join("p");
        fs::write(&host, "content").unwrap();
        let files = vec![GuestFile { host, guest: "/bin/p".to_owned() }];
        let archive = archive(&DebianTask { files, ..command() });
        assert!(archive.contains("files/usr/bin/p\0"), "a merged directory");
    }
}
