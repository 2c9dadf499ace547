//! Results that are kept: what is finished is not measured again.
//!
//! A result is a file of its own, whose name is a hash of the program's own file and of all that the result depends on, and which appears whole. So another
//! build of Pagewalk measures again, and a run that is killed loses what was not finished alone. The file `program` in a directory of the cache
//! has the hash of the program's own file, which takes long to compute.

use crate::output::{json, write_file};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A directory of results, all made by this program's file.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    directory: PathBuf,
    binary: String,
}

/// Which result: a hash.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Key(String);

impl Key {
    /// The hash, in hexadecimal.
    pub(crate) fn name(&self) -> &str {
        &self.0
    }
}

impl Store {
    /// The results in `directory`, which is the user's own and is made if it is not there.
    ///
    /// # Errors
    /// As the host's system says.
    pub(crate) fn open(directory: PathBuf) -> io::Result<Self> {
        Self::opened(directory, Remember::Nothing)
    }

    /// The same of a directory of the cache, where the hash of the program's own file is kept as well.
    ///
    /// # Errors
    /// As the host's system says.
    pub(crate) fn open_in_cache(directory: PathBuf) -> io::Result<Self> {
        Self::opened(directory, Remember::Hash)
    }

    fn opened(directory: PathBuf, remember: Remember) -> io::Result<Self> {
        static BINARY: OnceLock<String> = OnceLock::new();
        fs::create_dir_all(&directory)?;
        let binary = match BINARY.get() {
            Some(binary) => binary.clone(),
            None => {
                let binary = hash_of(&std::env::current_exe()?, &directory.join("program"), remember)?;
                BINARY.get_or_init(|| binary).clone()
            }
        };
        Ok(Self { directory, binary })
    }

    /// The key of what depends on `parts` and this program.
    pub(crate) fn key<P: AsRef<[u8]>>(&self, parts: impl IntoIterator<Item = P>) -> Key {
        let mut hash = Sha256::new();
        hash.update(&self.binary);
        for part in parts {
            let part = part.as_ref();
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Key(hex(&hash.finalize()))
    }

    /// What is kept under `key`. A file that does not read is as good as none: it is measured again and replaced.
    pub(crate) fn get<T: DeserializeOwned>(&self, key: &Key) -> Option<T> {
        serde_json::from_slice(&fs::read(self.path(key)).ok()?).ok()
    }

    /// Keeps `value`.
    ///
    /// # Errors
    /// As the host's system says; nothing is left half-written.
    pub(crate) fn put(&self, key: &Key, value: &impl Serialize) -> io::Result<()> {
        write_file(&self.path(key), &json(value)?)
    }

    /// Where the results are.
    pub(crate) fn directory(&self) -> &std::path::Path {
        &self.directory
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.directory.join(format!("{}.json", key.0))
    }
}

/// A file as the host's system knows it, and its hash. The program has 100 MB: to hash it takes longer than to go on with a guest.
#[derive(Serialize, Deserialize, PartialEq, Eq, Debug)]
struct Hashed {
    device: u64,
    inode: u64,
    bytes: u64,
    /// When its content changed last, in seconds and nanoseconds.
    modified: (i64, i64),
    /// When anything of it changed last. No program can set that.
    changed: (i64, i64),
    hash: String,
}

impl Hashed {
    fn new(file: &Metadata, hash: String) -> Self {
        Self {
            device: file.dev(),
            inode: file.ino(),
            bytes: file.len(),
            modified: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
            hash,
        }
    }
}

/// Whether a hash is written to a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Remember {
    Hash,
    Nothing,
}

/// The hash of the file at `path`. The file `kept` has it, if it was written there, until the first file changes.
fn hash_of(path: &Path, kept: &Path, remember: Remember) -> io::Result<String> {
    let file = fs::metadata(path)?;
    let known = fs::read(kept).ok().and_then(|text| serde_json::from_slice::<Hashed>(&text).ok());
    if let Some(known) = known
        && known == Hashed::new(&file, known.hash.clone())
    {
        return Ok(known.hash);
    }
    let hash = hex(&Sha256::digest(fs::read(path)?));
    if remember == Remember::Hash {
        // It saves time alone: a cache may be of another user, or full.
        let _ = write_file(kept, &json(&Hashed::new(&file, hash.clone()))?);
    }
    Ok(hash)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_found_by_all_that_it_depends_on() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().join("runs")).unwrap();
        let key = store.key(["compare", "gups"]);
        assert_eq!(store.get::<Vec<u64>>(&key), None);
        store.put(&key, &[1u64, 2]).unwrap();
        assert_eq!(store.get(&key), Some(vec![1u64, 2]));
        // Where one part ends and the next begins is a part of it.
        for other in [&["compare", "kv"][..], &["comparegups"], &["compareg", "ups"], &[]] {
            assert_ne!(store.key(other), key);
        }
    }

    #[test]
    fn a_file_is_hashed_again_once_it_has_changed() {
        let directory = tempfile::tempdir().unwrap();
        let [program, kept] = ["p", "kept"].map(|name| directory.path().join(name));
        fs::write(&program, b"one").unwrap();
        hash_of(&program, &kept, Remember::Nothing).unwrap();
        assert!(!kept.exists());
        let hash = |kept: &Path| hash_of(&program, kept, Remember::Hash).unwrap();
        let one = hash(&kept);
        assert_eq!(one, hex(&Sha256::digest(b"one")));
        // What is kept is used: this hash is no file's.
        let text = fs::read_to_string(&kept).unwrap();
        fs::write(&kept, text.replace(&one, "kept")).unwrap();
        assert_eq!(hash(&kept), "kept");
        // Of the same length, and with the time of the first. The host's clock of files goes on in steps of some milliseconds.
        let modified = fs::metadata(&program).unwrap().modified().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(50));
        fs::write(&program, b"two").unwrap();
        fs::File::options().write(true).open(&program).unwrap().set_modified(modified).unwrap();
        assert_eq!(hash(&kept), hex(&Sha256::digest(b"two")));
        let nowhere = directory.path().join("no/directory");
        assert_eq!(hash(&nowhere), hex(&Sha256::digest(b"two")), "where nothing can be kept");
        fs::write(&kept, b"no JSON").unwrap();
        assert_eq!(hash(&kept), hex(&Sha256::digest(b"two")));
    }

    #[test]
    fn another_build_does_not_find_it() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().to_owned()).unwrap();
        let other = Store { binary: "another".to_owned(), ..store.clone() };
        assert_ne!(store.key(["a"]), other.key(["a"]));
    }

    #[test]
    fn a_damaged_file_is_as_good_as_none() {
        let directory = tempfile::tempdir().unwrap();
        let store = Store::open(directory.path().to_owned()).unwrap();
        let key = store.key(["a"]);
        store.put(&key, &[1u64]).unwrap();
        fs::write(store.path(&key), b"[1").unwrap();
        assert_eq!(store.get::<Vec<u64>>(&key), None);
    }
}
