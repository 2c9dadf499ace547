//! Directories of the host in the guest: where they are mounted, and what is copied into them at the end.

use super::GuestError;
use machine::ShareAccess;
use std::fmt::Write;

/// A directory of the host that the guest mounts at `/mnt/TAG`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Its name: letters, digits, `.`, `_` and `-`.
    pub tag: String,
    /// What the guest may do with it.
    pub access: ShareAccess,
}

/// A file or directory of the guest that is copied to the host before the machine stops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyOut {
    /// Where it is in the guest.
    pub path: String,
    /// The name of the directory of the host that it goes to, as of a [`Mount`].
    pub tag: String,
    /// What it is called there.
    pub number: usize,
}

/// What a guest has of the host's directories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuestShares {
    /// Those that it mounts when it starts.
    pub mounts: Vec<Mount>,
    /// Copies that it makes at its end.
    pub copies: Vec<CopyOut>,
}

impl GuestShares {
    /// Commands for the shell that mount the directories.
    pub(crate) fn mount_script(&self) -> String {
        self.mounts.iter().fold(String::new(), |mut script, Mount { tag, access }| {
            let options = match access {
                ShareAccess::Read => "ro",
                ShareAccess::Write => "rw",
            };
            let mount = format!("mkdir -p /mnt/{tag}\nmount -t virtiofs -o {options} {tag} /mnt/{tag}\n");
            script.push_str(&mount);
            script
        })
    }

    /// Commands for the shell that copy; `None` if there is nothing to copy.
    ///
    /// # Errors
    /// [`GuestError::GuestPath`]: a path that no file has.
    pub(crate) fn copy_script(&self) -> Result<Option<String>, GuestError> {
        if self.copies.is_empty() {
            return Ok(None);
        }
        let mut script = include_str!("copy-out.sh").to_owned();
        for CopyOut { path, tag, number } in &self.copies {
            let wrong = |_| GuestError::GuestPath { path: path.clone(), problem: "a path has no zero byte" };
            // A name that begins with a dash would be an option.
            let path = if path.starts_with('/') { path.clone() } else { format!("./{path}") };
            let quoted = shlex::try_quote(&path).map_err(wrong)?;
            writeln!(script, "copy_out {tag} {number} {quoted}").expect("a string takes all");
        }
        Ok(Some(script))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted_for_the_shell() {
        let copy = |path: &str| GuestShares {
            copies: vec![CopyOut { path: path.to_owned(), tag: "out".to_owned(), number: 3 }],
            ..GuestShares::default()
        };
        let last = |path: &str| {
            let script = copy(path).copy_script().unwrap().unwrap();
            script.lines().last().unwrap().to_owned()
        };
        assert_eq!(last("/a"), "copy_out out 3 /a");
        assert_eq!(last("/a b; poweroff"), "copy_out out 3 '/a b; poweroff'");
        assert_eq!(last("-n"), "copy_out out 3 ./-n");
        assert!(copy("a\0b").copy_script().is_err());
        assert_eq!(GuestShares::default().copy_script().unwrap(), None);
    }

    #[test]
    fn a_directory_that_is_only_read_is_mounted_so() {
        let mount = |tag: &str, access| Mount { tag: tag.to_owned(), access };
        let mounts = vec![mount("a", ShareAccess::Read), mount("b", ShareAccess::Write)];
        let script = GuestShares { mounts, ..GuestShares::default() }.mount_script();
        assert!(script.contains("-o ro a /mnt/a\n") && script.contains("-o rw b /mnt/b\n"), "{script}");
    }
}
