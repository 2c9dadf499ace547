//! A tarball that depends on its files alone: sorted, without owners, with one time for all.

use flate2::{Compression, GzBuilder};
use std::collections::BTreeMap;
use std::io::{self, Write};
use tar::{Builder, EntryType, Header};

/// A file of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    /// Whether it is a program.
    pub(super) executable: bool,
    /// What is in it.
    pub(super) content: Vec<u8>,
}

/// Files by their paths, which the map keeps sorted.
pub(super) type Files = BTreeMap<String, File>;

/// The archive of `files`, all below the directory `top` and of the time `epoch`, in seconds since 1970.
pub(super) fn archive(files: &Files, top: &str, epoch: u64) -> io::Result<Vec<u8>> {
    // Without a name and a time of its own, which gzip would write.
    let mut gzip = GzBuilder::new().mtime(0).operating_system(3).write(Vec::new(), Compression::best());
    {
        let mut builder = Builder::new(&mut gzip);
        for (path, file) in files {
            let mut header = Header::new_ustar();
            header.set_entry_type(EntryType::Regular);
            header.set_mode(if file.executable { 0o755 } else { 0o644 });
            header.set_uid(0);
            header.set_gid(0);
            header.set_mtime(epoch);
            header.set_size(file.content.len() as u64);
            builder.append_data(&mut header, format!("{top}/{path}"), file.content.as_slice())?;
        }
        builder.finish()?;
    }
    gzip.flush()?;
    gzip.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::GzDecoder;
    use std::io::Read;
    use tar::Archive;

    fn files(names: &[&str]) -> Files {
        let file = |name: &&str| {
            let content = name.repeat(1000).into_bytes();
            ((*name).to_owned(), File { executable: name.starts_with("bin/"), content })
        };
        names.iter().map(file).collect()
    }

    #[test]
    fn the_same_files_give_the_same_bytes() {
        let one = archive(&files(&["b", "bin/a", "docs/c.md"]), "top", 1_700_000_000).unwrap();
        let other = archive(&files(&["docs/c.md", "bin/a", "b"]), "top", 1_700_000_000).unwrap();
        assert_eq!(one, other);
        assert_ne!(one, archive(&files(&["b", "bin/a", "docs/c.md"]), "top", 1_700_000_001).unwrap());
        // The header of gzip: neither a name nor a time.
        assert_eq!(one[..8], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn entries_are_sorted_and_have_no_owner() {
        let bytes = archive(&files(&["z", "bin/a", "docs/c.md"]), "top", 1_700_000_000).unwrap();
        let mut found = Vec::new();
        for entry in Archive::new(GzDecoder::new(bytes.as_slice())).entries().unwrap() {
            let mut entry = entry.unwrap();
            let header = entry.header().clone();
            assert_eq!((header.uid().unwrap(), header.gid().unwrap(), header.mtime().unwrap()), (0, 0, 1_700_000_000));
            assert_eq!((header.username().unwrap(), header.groupname().unwrap()), (Some(""), Some("")));
            let mut content = String::new();
            entry.read_to_string(&mut content).unwrap();
            let path = entry.path().unwrap().to_string_lossy().into_owned();
            assert_eq!(content, path.strip_prefix("top/").unwrap().repeat(1000));
            found.push((path, header.mode().unwrap()));
        }
        let expected = [("top/bin/a", 0o755), ("top/docs/c.md", 0o644), ("top/z", 0o644)];
        assert_eq!(found, expected.map(|(path, mode)| (path.to_owned(), mode)));
    }
}
