//! The fetched Linux guest: its kernel, and root file systems made of what the cache holds.

use super::GuestError;
use super::cache::Cache;
use super::cpio::Node;
use super::initramfs::{Builder, Initramfs};
use super::kernel_file;
use super::manifest::{Entry, ListedPath, Listing, Manifest};
use super::module_files;
use super::modules::{GuestDevice, built_for, dependencies, load_order, module_name};
use super::sets::{BASE, LIBRARIES, kernel_set, package_set};
use object::LittleEndian;
use object::elf::{FileHeader64, PT_INTERP};
use object::read::elf::{FileHeader, ProgramHeader};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Where the modules of a guest's kernel are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModuleSource {
    /// With the fetched kernel that boots by default.
    Base,
    /// With another fetched kernel, in the set of this name.
    Set(String),
    /// In files below a directory, for the kernel of this release.
    Directory {
        /// The directory.
        path: PathBuf,
        /// The release, as `uname -r` prints it.
        release: String,
    },
    /// Nowhere: the guest has what is built into its kernel.
    Nowhere,
}

/// A Linux guest in a cache.
#[derive(Debug)]
pub struct LinuxGuest {
    cache: Cache,
    manifest: Manifest,
    base: Rc<[Listing]>,
    /// What was read of the packages of further sets, by the sets' names: a guest's command names a program of any of them.
    further: RefCell<BTreeMap<String, Rc<[Listing]>>>,
}

impl LinuxGuest {
    /// Opens the guest that `cache` holds. Each file is checked against its hash when it is read.
    ///
    /// # Errors
    /// [`GuestError::NotFetched`] if there is none.
    pub fn open(cache: Cache) -> Result<Self, GuestError> {
        let manifest = Manifest::read(&cache)?.ok_or_else(|| not_fetched(&cache, "the Linux guest", ""))?;
        let base = listings(&cache, &manifest, BASE)?;
        Ok(Self { cache, manifest, base, further: RefCell::default() })
    }

    /// What the cache holds.
    #[must_use]
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The kernel's release, as `uname -r` prints it.
    ///
    /// # Errors
    /// [`GuestError::Package`] if the cache's kernel package holds no kernel.
    pub fn release(&self) -> Result<&str, GuestError> {
        let (_, listed) = self.kernel_file()?;
        Ok(listed.path.trim_start_matches(KERNEL_PREFIX))
    }

    /// The kernel, a flat RISC-V `Image`.
    ///
    /// # Errors
    /// [`GuestError::Damaged`] if it is not what was fetched.
    pub fn kernel(&self) -> Result<Vec<u8>, GuestError> {
        let (listing, listed) = self.kernel_file()?;
        listing.read_file(&self.cache, listed)
    }

    /// A root file system, as an uncompressed cpio archive; equal for equal `spec` and cache.
    ///
    /// # Errors
    /// [`GuestError::NotFetched`] for a set that the cache lacks, [`GuestError::Damaged`] for a file that is not what was
    /// fetched, [`GuestError::Io`] and [`GuestError::GuestPath`] for the user's files.
    pub fn initramfs(&self, spec: &Initramfs<'_>) -> Result<Vec<u8>, GuestError> {
        self.initramfs_with(spec, &ModuleSource::Base)
    }

    /// A root file system as [`Self::initramfs`] makes it, with the kernel modules that `modules` names.
    ///
    /// # Errors
    /// As [`Self::initramfs`], and [`GuestError::Module`] for a module of another kernel.
    pub fn initramfs_with(&self, spec: &Initramfs<'_>, modules: &ModuleSource) -> Result<Vec<u8>, GuestError> {
        let mut builder = Builder::new()?;
        let mut sets: BTreeSet<&str> = spec.sets.iter().map(String::as_str).collect();
        if spec.files.iter().any(|file| is_dynamic_program(&file.host)) {
            sets.insert(LIBRARIES);
        }
        sets.remove(BASE);
        for name in sets {
            for listing in &*self.listings(name)? {
                self.add_package(&mut builder, listing)?;
            }
            if let Some(set) = package_set(name) {
                builder.set(set)?;
            }
        }
        builder.busybox(self.busybox()?)?;
        builder.modules(self.modules(&spec.devices, modules)?)?;
        builder.finish(spec)
    }

    /// The fetched sets that have one of the programs that a shell command names, so that they can be put into its guest.
    ///
    /// # Errors
    /// [`GuestError::Damaged`] if the cache is not whole.
    pub fn sets_for_command(&self, command: &str) -> Result<Vec<String>, GuestError> {
        let separates = |c: char| !(c.is_ascii_alphanumeric() || "-_.+".contains(c));
        let words: BTreeSet<&str> = command.split(separates).collect();
        let mut found = Vec::new();
        for set in self.manifest.sets.iter().filter(|set| set.name != BASE && set.name != LIBRARIES) {
            let has_program = |listing: &Listing| {
                listing.paths.iter().filter_map(|listed| program_name(&listed.path)).any(|name| words.contains(name))
            };
            if self.listings(&set.name)?.iter().any(has_program) {
                found.push(set.name.clone());
            }
        }
        Ok(found)
    }

    /// The fetched kernel of `release`, a flat RISC-V `Image`; `None` if the cache has none.
    ///
    /// # Errors
    /// [`GuestError::Damaged`] if it is not what was fetched.
    pub fn kernel_of(&self, release: &str) -> Result<Option<Vec<u8>>, GuestError> {
        if self.release()? == release {
            return self.kernel().map(Some);
        }
        let set = kernel_set(release);
        if self.manifest.set(&set).is_none() {
            return Ok(None);
        }
        let listings = self.listings(&set)?;
        let (listing, listed) = kernel_in(&listings)?;
        listing.read_file(&self.cache, listed).map(Some)
    }

    /// Where the modules of the kernel of `release` are, whose file is at `kernel`: beside it, or in the cache.
    ///
    /// # Errors
    /// [`GuestError::Package`] if the cache's kernel package holds no kernel.
    pub fn modules_of(&self, kernel: &Path, release: &str) -> Result<ModuleSource, GuestError> {
        if self.release()? == release {
            return Ok(ModuleSource::Base);
        }
        let set = kernel_set(release);
        if self.manifest.set(&set).is_some() {
            return Ok(ModuleSource::Set(set));
        }
        let directory = |path| ModuleSource::Directory { path, release: release.to_owned() };
        Ok(kernel_file::beside(kernel, release).map_or(ModuleSource::Nowhere, directory))
    }

    /// The listings of a set's packages.
    fn listings(&self, name: &str) -> Result<Rc<[Listing]>, GuestError> {
        if let Some(read) = self.further.borrow().get(name) {
            return Ok(read.clone());
        }
        let read = listings(&self.cache, &self.manifest, name)?;
        self.further.borrow_mut().insert(name.to_owned(), read.clone());
        Ok(read)
    }

    fn kernel_file(&self) -> Result<(&Listing, &ListedPath), GuestError> {
        kernel_in(&self.base)
    }

    pub(crate) fn busybox(&self) -> Result<Vec<u8>, GuestError> {
        let (listing, listed) = self.find_base(|path| path.ends_with("bin/busybox")).ok_or_else(|| {
            GuestError::Package { package: "busybox-static".to_owned(), problem: "no busybox in it".to_owned() }
        })?;
        listing.read_file(&self.cache, listed)
    }

    fn find_base(&self, wanted: impl Fn(&str) -> bool) -> Option<(&Listing, &ListedPath)> {
        find(&self.base, wanted)
    }

    /// The modules that `devices` need, in the order in which they load.
    pub(crate) fn modules(
        &self,
        devices: &BTreeSet<GuestDevice>,
        source: &ModuleSource,
    ) -> Result<Vec<(String, Vec<u8>)>, GuestError> {
        let wanted: Vec<&str> = devices.iter().flat_map(|device| device.modules()).copied().collect();
        match source {
            ModuleSource::Base => self.fetched_modules(&self.base, &wanted),
            ModuleSource::Set(name) => self.fetched_modules(&self.listings(name)?, &wanted),
            ModuleSource::Directory { path, release } => directory_modules(path, release, &wanted),
            ModuleSource::Nowhere => Ok(Vec::new()),
        }
    }

    /// Modules of the packages in `listings`.
    fn fetched_modules(&self, listings: &[Listing], wanted: &[&str]) -> Result<Vec<(String, Vec<u8>)>, GuestError> {
        let mut contents = BTreeMap::new();
        let order = load_order(wanted, |name| {
            let Some((listing, listed)) = find(listings, |path| module_name(path).as_deref() == Some(name)) else {
                return Ok(None);
            };
            let content = listing.read_file(&self.cache, listed)?;
            let dependencies = dependencies(&content).map_err(|problem| GuestError::Package {
                package: listing.package.name.clone(),
                problem: format!("module {name}: {problem}"),
            })?;
            contents.insert(name.to_owned(), content);
            Ok(Some(dependencies))
        })?;
        Ok(order.into_iter().map(|name| contents.remove_entry(&name).expect("an ordered module was read")).collect())
    }

    fn add_package(&self, builder: &mut Builder<'_>, listing: &Listing) -> Result<(), GuestError> {
        for listed in &listing.paths {
            let node = match &listed.entry {
                Entry::Directory => Node::Directory { mode: listed.mode },
                Entry::Link { target } => Node::Link { target: target.clone().into() },
                Entry::File { .. } => {
                    Node::File { mode: listed.mode, content: listing.read_file(&self.cache, listed)?.into() }
                }
            };
            builder.package_path(&listed.path, node)?;
        }
        Ok(())
    }
}

/// Modules below a directory, each of which has to be of the kernel of `release`: that kernel would refuse another, and its device would
/// not appear.
fn directory_modules(directory: &Path, release: &str, wanted: &[&str]) -> Result<Vec<(String, Vec<u8>)>, GuestError> {
    let modules = module_files::collect(directory, wanted)?;
    for module in &modules {
        let wrong = |problem: String| GuestError::Module { path: module.path.clone(), problem };
        let theirs = built_for(&module.content).map_err(|problem| wrong(problem.to_owned()))?;
        if theirs != release {
            return Err(wrong(format!("a module of Linux {theirs}, and the kernel is {release}")));
        }
    }
    Ok(modules.into_iter().map(|module| (module.name, module.content)).collect())
}

/// The kernel in the packages of `listings`.
fn kernel_in(listings: &[Listing]) -> Result<(&Listing, &ListedPath), GuestError> {
    find(listings, |path| path.starts_with(KERNEL_PREFIX)).ok_or_else(|| GuestError::Package {
        package: "linux-image".to_owned(),
        problem: format!("no {KERNEL_PREFIX}* in it"),
    })
}

/// The first path in `listings` that is wanted.
fn find(listings: &[Listing], wanted: impl Fn(&str) -> bool) -> Option<(&Listing, &ListedPath)> {
    listings.iter().find_map(|listing| {
        let listed = listing.paths.iter().find(|listed| wanted(&listed.path))?;
        Some((listing, listed))
    })
}

const KERNEL_PREFIX: &str = "boot/vmlinux-";

fn not_fetched(cache: &Cache, what: &str, argument: &str) -> GuestError {
    GuestError::NotFetched { what: what.to_owned(), cache: cache.root().to_owned(), argument: argument.to_owned() }
}

/// The listings of a set's packages.
fn listings(cache: &Cache, manifest: &Manifest, name: &str) -> Result<Rc<[Listing]>, GuestError> {
    let set =
        manifest.set(name).ok_or_else(|| not_fetched(cache, &format!("package set {name}"), &format!(" {name}")))?;
    set.packages
        .iter()
        .map(|package| {
            Listing::read(cache, package)?.ok_or_else(|| GuestError::Damaged {
                path: package.listing(cache),
                problem: "missing or unreadable".to_owned(),
            })
        })
        .collect()
}

fn program_name(path: &str) -> Option<&str> {
    let (directory, name) = path.rsplit_once('/')?;
    matches!(directory, "usr/bin" | "usr/sbin" | "bin" | "sbin" | "usr/games").then_some(name)
}

/// Whether the file at `path` is a program that asks for an interpreter, and with it for shared libraries. What cannot be
/// read is reported when it is put into the guest.
fn is_dynamic_program(path: &Path) -> bool {
    /// Headers are at a program's start; this is more than any linker writes of them.
    const HEADERS: u64 = 64 << 10;
    let Ok(file) = File::open(path) else { return false };
    let mut start = Vec::new();
    if file.take(HEADERS).read_to_end(&mut start).is_err() {
        return false;
    }
    let headers = FileHeader64::<LittleEndian>::parse(start.as_slice())
        .and_then(|header| header.program_headers(LittleEndian, start.as_slice()));
    headers.is_ok_and(|headers| headers.iter().any(|header| header.p_type(LittleEndian) == PT_INTERP))
}

#[cfg(test)]
mod tests;
