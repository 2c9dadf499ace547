//! What a cache holds: packages, sets, and a hash of every file.

use super::GuestError;
use super::cache::Cache;
use super::sets::packages_of;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The layout that this version writes, and what it keeps of a package; a cache with another is fetched again.
pub(crate) const FORMAT: u32 = 3;

/// One version of one Debian package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct PackageId {
    /// The package's name.
    pub name: String,
    /// Its Debian version, epoch included.
    pub version: String,
}

impl PackageId {
    fn stem(&self) -> String {
        // An epoch's colon is legal in a file name but not in a search path.
        format!("{}_{}", self.name, self.version.replace(':', "%3a"))
    }

    pub(crate) fn directory(&self, cache: &Cache) -> PathBuf {
        cache.packages().join(self.stem())
    }

    pub(crate) fn listing(&self, cache: &Cache) -> PathBuf {
        cache.packages().join(self.stem() + ".json")
    }
}

/// A group of packages that are fetched, and put into a guest, together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetEntry {
    /// The set's name: that of a built-in set, or of a Debian package.
    pub name: String,
    /// Its packages with all that they depend on, by name.
    pub packages: Vec<PackageId>,
    /// The Debian suite that they are of, where it is not the manifest's: that of a further kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<String>,
}

impl SetEntry {
    /// The version of what the set is for: of the first package that was asked for under its name.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        let asked = packages_of(&self.name);
        let package = self.packages.iter().find(|package| Some(&package.name.as_str()) == asked.first())?;
        Some(&package.version)
    }
}

/// The whole of a cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The layout's version.
    pub format: u32,
    /// The Debian suite.
    pub suite: String,
    /// What was fetched, by name.
    pub sets: Vec<SetEntry>,
}

impl Manifest {
    /// Reads the manifest; `None` if there is none, or one of another format.
    pub(crate) fn read(cache: &Cache) -> Result<Option<Self>, GuestError> {
        let manifest: Option<Self> = read_json(&cache.manifest())?;
        Ok(manifest.filter(|manifest| manifest.format == FORMAT))
    }

    /// The set called `name`.
    #[must_use]
    pub fn set(&self, name: &str) -> Option<&SetEntry> {
        self.sets.iter().find(|set| set.name == name)
    }

    /// Every package, each once.
    pub(crate) fn packages(&self) -> Vec<&PackageId> {
        let mut all: Vec<_> = self.sets.iter().flat_map(|set| &set.packages).collect();
        all.sort();
        all.dedup();
        all
    }
}

/// What a package has at a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// A directory.
    Directory,
    /// A regular file.
    File {
        /// Its length in bytes.
        size: u64,
        /// The SHA-256 of its content, in hexadecimal.
        sha256: String,
    },
    /// A symbolic link.
    Link {
        /// Where it leads.
        target: String,
    },
}

/// A path of a package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedPath {
    /// Path from the root, without a leading slash.
    pub path: String,
    /// Permission bits, set-id and sticky bits included.
    pub mode: u32,
    /// What is there.
    pub entry: Entry,
}

/// A package as it lies in the cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// The layout's version.
    pub format: u32,
    /// Which package.
    pub package: PackageId,
    /// The SHA-256 of the archive that it was unpacked from, in hexadecimal.
    pub archive_sha256: String,
    /// Every path, in order.
    pub paths: Vec<ListedPath>,
}

impl Listing {
    /// Reads the listing of `package`; `None` if it is not complete in the cache.
    pub(crate) fn read(cache: &Cache, package: &PackageId) -> Result<Option<Self>, GuestError> {
        let listing: Option<Self> = read_json(&package.listing(cache))?;
        Ok(listing.filter(|listing| listing.format == FORMAT && listing.package == *package))
    }

    /// The file at `path`, checked against the listing.
    ///
    /// # Errors
    /// [`GuestError::Damaged`] if it is not listed or not as listed.
    pub(crate) fn read_file(&self, cache: &Cache, listed: &ListedPath) -> Result<Vec<u8>, GuestError> {
        let path = self.package.directory(cache).join(&listed.path);
        let damaged = |problem: String| GuestError::Damaged { path: path.clone(), problem };
        let Entry::File { size, sha256 } = &listed.entry else {
            return Err(damaged("not a regular file".to_owned()));
        };
        let content = fs::read(&path).map_err(|error| damaged(error.to_string()))?;
        if content.len() as u64 != *size {
            return Err(damaged(format!("{} bytes instead of {size}", content.len())));
        }
        if hex(&Sha256::digest(&content)) != *sha256 {
            return Err(damaged("its SHA-256 is another".to_owned()));
        }
        Ok(content)
    }

    /// Checks every path of the package.
    ///
    /// # Errors
    /// [`GuestError::Damaged`] naming the first path that is not as listed.
    pub(crate) fn verify(&self, cache: &Cache) -> Result<(), GuestError> {
        for listed in &self.paths {
            match &listed.entry {
                Entry::File { .. } => drop(self.read_file(cache, listed)?),
                Entry::Link { target } => {
                    let path = self.package.directory(cache).join(&listed.path);
                    let found = fs::read_link(&path)
                        .map_err(|error| GuestError::Damaged { path: path.clone(), problem: error.to_string() })?;
                    if found != Path::new(target) {
                        return Err(GuestError::Damaged { path, problem: "leads elsewhere".to_owned() });
                    }
                }
                Entry::Directory => {}
            }
        }
        Ok(())
    }
}

/// The SHA-256 of the file at `path`, in hexadecimal.
pub(crate) fn hash_file(path: &Path) -> Result<String, GuestError> {
    let mut file = File::open(path).map_err(GuestError::at(path))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer).map_err(GuestError::at(path))? {
            0 => return Ok(hex(&hash.finalize())),
            read => hash.update(&buffer[..read]),
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all");
        text
    })
}

/// The value at `path`; `None` if there is no file, or one that is not such a value (half written, or another format).
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, GuestError> {
    match fs::read(path) {
        Ok(text) => Ok(serde_json::from_slice(&text).ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(GuestError::Io { path: path.to_owned(), source }),
    }
}
