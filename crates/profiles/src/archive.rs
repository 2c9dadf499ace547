//! Files of a root file system in memory: a cpio archive in the `newc` format (Linux
//! `Documentation/driver-api/early-userspace/buffer-format.rst`).

/// The content of the file at `path` in an archive that is not compressed, or in several one behind the other, of which the last one counts.
pub(crate) fn find<'a>(archive: &'a [u8], path: &str) -> Option<&'a [u8]> {
    const HEADER: usize = 110;
    let path = path.trim_start_matches('/').as_bytes();
    let (mut at, mut found) = (0, None);
    // Zeroes lie between archives.
    while let Some(zeroes) = archive.get(at..)?.iter().position(|&byte| byte != 0) {
        at += zeroes;
        let header = archive.get(at..at + HEADER).filter(|header| header.starts_with(b"070701"));
        let Some(header) = header.and_then(|header| std::str::from_utf8(header).ok()) else { break };
        let field = |number: usize| usize::from_str_radix(header.get(6 + 8 * number..14 + 8 * number)?, 16).ok();
        let (mode, bytes, name_bytes) = (field(1)?, field(6)?, field(11)?);
        let name = archive.get(at + HEADER..(at + HEADER).checked_add(name_bytes)?)?;
        let content = (at + HEADER + name_bytes).next_multiple_of(4);
        let end = content.checked_add(bytes)?;
        let is_file = mode & 0o170_000 == 0o100_000;
        let name = name.strip_suffix(b"\0")?;
        if is_file && name.strip_prefix(b"./").unwrap_or(name) == path {
            found = Some(archive.get(content..end)?);
        }
        at = end.next_multiple_of(4);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An archive of files, and of links where the content is an arrow's end.
    fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let mut archive = Vec::new();
        for (name, content) in files.iter().chain(&[("TRAILER!!!", "")]) {
            let mode = if content.starts_with("->") { 0o120_777 } else { 0o100_644 };
            let fields = [1, mode, 0, 0, 1, 0, content.len(), 0, 0, 0, 0, name.len() + 1, 0];
            let header: String = fields.iter().map(|field| format!("{field:08x}")).collect();
            archive.extend(format!("070701{header}{name}\0").bytes());
            archive.resize(archive.len().next_multiple_of(4), 0);
            archive.extend(content.bytes());
            archive.resize(archive.len().next_multiple_of(4), 0);
        }
        archive
    }

    #[test]
    fn files_are_found_and_the_last_archive_counts() {
        let first = archive(&[("a/b", "hello"), ("./c", "one"), ("d", "->a/b")]);
        let both = [first.clone(), vec![0; 300], archive(&[("c", "two")])].concat();
        assert_eq!((find(&first, "/a/b"), find(&first, "/c")), (Some(&b"hello"[..]), Some(&b"one"[..])));
        assert_eq!((find(&both, "/a/b"), find(&both, "/c")), (Some(&b"hello"[..]), Some(&b"two"[..])));
        for path in ["/d", "/a", "/missing", "/"] {
            assert_eq!(find(&both, path), None, "{path}");
        }
    }

    #[test]
    fn what_is_cut_off_or_compressed_has_no_files_behind_that() {
        let whole = archive(&[("a/b", "hello"), ("c", "one")]);
        for bytes in 0..whole.len() {
            let found = find(&whole[..bytes], "/a/b");
            assert!(found.is_none() || found == Some(b"hello"), "{bytes} bytes");
        }
        assert_eq!(find(b"\x1f\x8b compressed", "/a/b"), None);
    }
}
