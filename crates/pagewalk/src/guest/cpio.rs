//! A root file system as the kernel unpacks it: a cpio archive in the `newc` format (Linux
//! `Documentation/driver-api/early-userspace/buffer-format.rst`), uncompressed because unpacking costs the guest's time.
//!
//! The archive is a function of its content alone: paths in order, inode numbers by order, owner root, times zero.

use super::GuestError;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write;

/// A file, directory or link of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node<'a> {
    Directory { mode: u32 },
    File { mode: u32, content: Cow<'a, [u8]> },
    Link { target: Cow<'a, str> },
    CharacterDevice { mode: u32, major: u32, minor: u32 },
}

/// A tree of nodes, by path from the root without a leading slash.
#[derive(Clone, Debug, Default)]
pub(crate) struct Archive<'a> {
    nodes: BTreeMap<String, Node<'a>>,
}

/// Directories that are links into `usr`, as on every Debian since its release 12.
pub(crate) const MERGED: [&str; 3] = ["bin", "lib", "sbin"];

impl<'a> Archive<'a> {
    /// Puts `node` at `path`, in place of what was there; parents that are missing are made.
    ///
    /// # Errors
    /// [`GuestError::GuestPath`] if the path is empty, steps up, passes through what is no directory, or would replace a
    /// directory that is not empty.
    pub(crate) fn insert(&mut self, path: &str, node: Node<'a>) -> Result<(), GuestError> {
        let wrong = |problem| GuestError::GuestPath { path: path.to_owned(), problem };
        let path = canonical(path).map_err(wrong)?;
        if let Node::File { content, .. } = &node {
            u32::try_from(content.len()).map_err(|_| wrong("4 GiB or more, which cpio cannot hold"))?;
        }
        for (end, _) in path.match_indices('/') {
            match self.nodes.get(&path[..end]) {
                Some(Node::Directory { .. }) => {}
                Some(_) => return Err(wrong("passes through what is not a directory")),
                None => drop(self.nodes.insert(path[..end].to_owned(), Node::Directory { mode: 0o755 })),
            }
        }
        if !matches!(node, Node::Directory { .. }) && self.has_children(&path) {
            return Err(wrong("is a directory"));
        }
        self.nodes.insert(path, node);
        Ok(())
    }

    /// Puts everything into `other`, below `directory`.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub(crate) fn move_below(self, directory: &str, other: &mut Self) -> Result<(), GuestError> {
        self.nodes.into_iter().try_for_each(|(path, node)| other.insert(&format!("{directory}/{path}"), node))
    }

    /// Whether there is a node at `path`.
    pub(crate) fn contains(&self, path: &str) -> bool {
        canonical(path).is_ok_and(|path| self.nodes.contains_key(&path))
    }

    fn has_children(&self, path: &str) -> bool {
        let prefix = format!("{path}/");
        self.nodes.range(prefix.clone()..).next().is_some_and(|(next, _)| next.starts_with(&prefix))
    }

    /// The archive's bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let content: usize = self.nodes.values().map(|node| data(node).len()).sum();
        let mut output = Vec::with_capacity(content + 256 * (self.nodes.len() + 1));
        for (index, (path, node)) in self.nodes.iter().enumerate() {
            write_entry(&mut output, index + 1, path, node);
        }
        write_entry(&mut output, 0, "TRAILER!!!", &Node::File { mode: 0, content: Cow::Borrowed(&[]) });
        output
    }
}

/// `path` without leading, doubled and trailing slashes and without `.`, and with merged directories named by their place.
fn canonical(path: &str) -> Result<String, &'static str> {
    let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") {
        return Err("steps up with `..`");
    }
    match parts[..] {
        [] => return Err("names no file"),
        [first, _, ..] if MERGED.contains(&first) => parts.insert(0, "usr"),
        _ => {}
    }
    Ok(parts.join("/"))
}

fn data<'n>(node: &'n Node<'_>) -> &'n [u8] {
    match node {
        Node::File { content, .. } => content,
        Node::Link { target } => target.as_bytes(),
        Node::Directory { .. } | Node::CharacterDevice { .. } => &[],
    }
}

fn write_entry(output: &mut Vec<u8>, inode: usize, path: &str, node: &Node<'_>) {
    let (mode, links, major, minor) = match node {
        Node::Directory { mode } => (0o040_000 | mode, 2, 0, 0),
        Node::File { mode, .. } => (0o100_000 | mode, 1, 0, 0),
        Node::Link { .. } => (0o120_777, 1, 0, 0),
        Node::CharacterDevice { mode, major, minor } => (0o020_000 | mode, 1, *major, *minor),
    };
    let data = data(node);
    // Magic, then thirteen fields: inode, mode, uid, gid, links, mtime, size, device (2), device node (2), name size, check.
    write!(
        output,
        "070701{inode:08x}{mode:08x}{:08x}{:08x}{links:08x}{:08x}{:08x}{:08x}{:08x}{major:08x}{minor:08x}{:08x}{:08x}",
        0,
        0,
        0,
        data.len(),
        0,
        0,
        path.len() + 1,
        0
    )
    .expect("a vector takes all");
    output.extend_from_slice(path.as_bytes());
    output.push(0);
    pad(output);
    output.extend_from_slice(data);
    pad(output);
}

fn pad(output: &mut Vec<u8>) {
    output.resize(output.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &[u8]) -> Node<'_> {
        Node::File { mode: 0o644, content: content.into() }
    }

    #[test]
    fn an_archive_is_byte_for_byte_what_the_format_says() {
        let mut archive = Archive::default();
        archive.insert("/a/b", file(b"hello")).unwrap();
        let header = |inode: u32, mode: u32, links: u32, size: u32, name: u32| {
            let zero = "00000000";
            format!(
                "070701{inode:08x}{mode:08x}{zero}{zero}{links:08x}{zero}{size:08x}{zero}{zero}{zero}{zero}{name:08x}{zero}"
            )
        };
        let expected = [
            header(1, 0o040_755, 2, 0, 2).as_str(),
            "a\0",
            &header(2, 0o100_644, 1, 5, 4),
            "a/b\0\0\0hello\0\0\0",
            &header(0, 0o100_000, 1, 0, 11),
            "TRAILER!!!\0\0\0\0",
        ]
        .concat();
        assert_eq!(String::from_utf8(archive.encode()).unwrap(), expected);
    }

    #[test]
    fn order_of_insertion_leaves_no_trace() {
        let paths = ["x/y/z", "a", "x/b", "x.c"];
        let build = |paths: &mut dyn Iterator<Item = &&str>| {
            let mut archive = Archive::default();
            paths.for_each(|path| archive.insert(path, file(b"1")).unwrap());
            archive.encode()
        };
        assert_eq!(build(&mut paths.iter()), build(&mut paths.iter().rev()));
    }

    #[test]
    fn merged_directories_are_one() {
        let mut archive = Archive::default();
        archive.insert("lib/ld.so", file(b"1")).unwrap();
        archive.insert("/lib", Node::Link { target: "usr/lib".into() }).unwrap();
        assert!(archive.contains("/usr/lib/ld.so") && archive.contains("//lib/./ld.so"));
    }

    #[test]
    fn paths_that_cannot_be_are_refused() {
        let mut archive = Archive::default();
        archive.insert("d/f", file(b"1")).unwrap();
        for bad in ["", "/", "../x", "d/../x", "d/f/g", "d"] {
            assert!(matches!(archive.insert(bad, file(b"2")), Err(GuestError::GuestPath { .. })), "{bad}");
        }
        archive.insert("d", Node::Directory { mode: 0o700 }).unwrap();
        assert!(archive.contains("d/f"));
    }
}
