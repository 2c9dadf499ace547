//! Images of Debian root file systems in the cache.
//!
//! ```text
//! <cache>/debian/
//!   image.json           the image that boots: what was asked for, its key, its packages; written last, by rename
//!   images/KEY.ext4      a root file system; KEY is a hash of all that it was made of
//!   booted/              states of booted guests, each a snapshot and its disk, by all that they depend on
//!   work/                index, downloads, packages and an unfinished image; only while one is made
//! ```

use super::packages::{ImagePackage, Opened, PACKAGES};
use crate::guest::GuestError;
use crate::guest::cache::Cache;
use crate::guest::manifest::read_json;
use crate::output::{json, write_file};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::path::PathBuf;

/// What an image is made by, beside its packages.
pub(super) const BUILD: &str = include_str!("build.sh");

/// Changes where an image of the same packages would be another for a reason that is in none of its inputs.
const FORMAT: u32 = 1;

/// What an image is to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageRequest {
    /// Packages beside those that every image has.
    pub packages: Vec<String>,
    /// Bytes of the disk.
    pub size: u64,
}

/// An image that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DebianImage {
    format: u32,
    /// What was asked for.
    pub request: ImageRequest,
    /// A hash of all that it is made of.
    pub key: String,
    /// Every package that is in it.
    pub packages: Vec<ImagePackage>,
}

impl DebianImage {
    /// What `request` becomes with these packages, put together by a guest with this kernel.
    #[must_use]
    pub fn of(request: &ImageRequest, opened: &Opened, kernel: &str) -> Self {
        let mut hash = Sha256::new();
        let packages = json(&opened.packages).expect("packages are plain data");
        let (format, size) = (FORMAT.to_string(), request.size.to_string());
        let parts: [&[u8]; 7] = [
            format.as_bytes(),
            &packages,
            size.as_bytes(),
            opened.mirror.as_bytes(),
            opened.suite.as_bytes(),
            kernel.as_bytes(),
            BUILD.as_bytes(),
        ];
        for part in parts {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        let key = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Self { format: FORMAT, request: request.clone(), key, packages: opened.packages.clone() }
    }

    /// The image that boots; `None` if none was made.
    ///
    /// # Errors
    /// [`GuestError::Io`] if the cache cannot be read.
    pub fn current(cache: &Cache) -> Result<Option<Self>, GuestError> {
        let image: Option<Self> = read_json(&manifest(cache))?;
        Ok(image.filter(|image| image.format == FORMAT && image.path(cache).is_file()))
    }

    /// The same, where a guest needs it.
    ///
    /// # Errors
    /// [`GuestError::NoImage`], and as [`Self::current`].
    pub fn open(cache: &Cache) -> Result<Self, GuestError> {
        Self::current(cache)?.ok_or_else(|| GuestError::NoImage { cache: cache.root().to_owned() })
    }

    /// Makes this the image that boots.
    ///
    /// # Errors
    /// [`GuestError::Io`].
    pub fn select(&self, cache: &Cache) -> Result<(), GuestError> {
        let path = manifest(cache);
        let write = || write_file(&path, &json(self)?);
        write().map_err(GuestError::at(&path))
    }

    /// Where its root file system is.
    #[must_use]
    pub fn path(&self, cache: &Cache) -> PathBuf {
        cache.debian().join("images").join(format!("{}.ext4", self.key))
    }

    /// Its file system's UUID: a hash as well, so that equal images are equal to the byte.
    #[must_use]
    pub fn uuid(&self) -> String {
        let digits = &self.key;
        let part = |from: usize, to: usize| &digits[from..to];
        // Version 8: a custom hash (RFC 9562).
        format!("{}-{}-8{}-8{}-{}", part(0, 8), part(8, 12), part(13, 16), part(17, 20), part(20, 32))
    }

    /// Whether it was made for `request` by this version's rules.
    #[must_use]
    pub fn serves(&self, request: &ImageRequest) -> bool {
        let has = |name: &&str| self.packages.iter().any(|package| package.package.name == *name);
        self.request == *request && PACKAGES.iter().all(has)
    }

    /// The script of the guest that puts the image together.
    #[must_use]
    pub fn script(&self, opened: &Opened) -> String {
        format!("uuid={}\nmirror='{}'\nsuite={}\n{BUILD}", self.uuid(), opened.mirror, opened.suite)
    }
}

fn manifest(cache: &Cache) -> PathBuf {
    cache.debian().join("image.json")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::PackageId;
    use std::fs;
    use std::path::Path;

    fn opened(version: &str) -> Opened {
        let package = PackageId { name: "apt".to_owned(), version: version.to_owned() };
        let packages = vec![ImagePackage { package, sha256: "00".to_owned() }];
        Opened { packages, directory: PathBuf::new(), mirror: "http://mirror.example".to_owned(), suite: "trixie" }
    }

    fn request(packages: &[&str]) -> ImageRequest {
        ImageRequest { packages: packages.iter().map(ToString::to_string).collect(), size: 1 << 30 }
    }

    #[test]
    fn an_image_is_named_by_all_that_it_is_made_of() {
        let key = |version, size, kernel| {
            DebianImage::of(&ImageRequest { size, ..request(&[]) }, &opened(version), kernel).key
        };
        let first = key("1", 1, "6.12");
        assert_eq!(first, key("1", 1, "6.12"));
        for other in [key("2", 1, "6.12"), key("1", 2, "6.12"), key("1", 1, "6.13")] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn a_uuid_is_one() {
        let uuid = DebianImage::of(&request(&[]), &opened("1"), "6.12").uuid();
        let lengths: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{uuid}");
    }

    #[test]
    fn an_image_without_its_file_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::locate(Some(directory.path())).unwrap();
        assert!(DebianImage::open(&cache).unwrap_err().to_string().contains("guest image debian"));
        let image = DebianImage::of(&request(&["gcc"]), &opened("1"), "6.12");
        let path = image.path(&cache);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        image.select(&cache).unwrap();
        assert_eq!(DebianImage::current(&cache).unwrap(), None);
        fs::write(&path, "ext4").unwrap();
        assert_eq!(DebianImage::current(&cache).unwrap(), Some(image.clone()));
        assert!(!image.serves(&request(&[])), "it has gcc");
    }
}
