//! Bringing the Linux guest into the cache.
//!
//! Order of a fetch: lock; check what is there; update apt's index; for each set that is missing, damaged or to be renewed:
//! resolve, download, unpack; then write the manifest; then remove what it no longer names. An interruption at any point
//! leaves the earlier manifest and its packages whole, and what was downloaded and unpacked is taken up by the next fetch.

use super::apt::{Apt, KERNEL_SUITES, SUITE, Source};
use super::cache::{Cache, remove_tree};
use super::manifest::{FORMAT, Listing, Manifest, PackageId, SetEntry};
use super::sets::{BASE, kernel_set, packages_of};
use super::{GuestError, package};
use crate::output::write_file;
use crate::progress::Progress;
use std::collections::BTreeSet;
use std::fs;

/// What to bring, and how.
#[derive(Clone, Debug, Default)]
pub struct FetchRequest {
    /// Names of sets, or of Debian packages.
    pub sets: Vec<String>,
    /// A further kernel to bring with its modules.
    pub kernel: Option<KernelRequest>,
    /// Look for newer versions of everything, not only for what is missing. A further kernel is of one version.
    pub renew: bool,
    /// Where packages come from.
    pub source: Source,
}

/// A kernel beside the one that boots by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelRequest {
    /// Its release, as `uname -r` prints it.
    pub release: String,
    /// The Debian suite that has it; `None` for the first of [`KERNEL_SUITES`].
    pub suite: Option<String>,
}

/// Whether a fetch found anything to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// Packages were downloaded.
    Renewed,
    /// Everything was there, whole.
    AlreadyThere,
}

/// Brings the sets of `request` into `cache`, and mends those that it already has.
///
/// # Errors
/// Any [`GuestError`]; the cache is then as it was, but for downloads that the next fetch takes up.
pub fn fetch(cache: &Cache, request: &FetchRequest, progress: &mut Progress) -> Result<Fetched, GuestError> {
    let lock = cache.lock(|| progress.say("waiting for another `pagewalk guest fetch`"))?;
    progress.say("checking the cache");
    let installed = Manifest::read(cache)?.map_or_else(Vec::new, |manifest| manifest.sets);
    let (whole, damaged): (Vec<SetEntry>, Vec<SetEntry>) =
        installed.into_iter().partition(|set| set.packages.iter().all(|package| is_whole(cache, package)));
    // An archive keeps a kernel until its next version: a further kernel that is damaged goes, and comes again if it is asked for.
    let dropped = damaged.iter().any(|set| set.suite.is_some());
    let damaged = damaged.into_iter().filter(|set| set.suite.is_none());
    let kernel =
        request.kernel.as_ref().filter(|kernel| whole.iter().all(|set| set.name != kernel_set(&kernel.release)));
    let missing = request.sets.iter().filter(|name| whole.iter().all(|set| set.name != **name)).cloned();
    let mut wanted: BTreeSet<String> = damaged.map(|set| set.name).chain(missing).collect();
    if request.renew {
        wanted.extend(whole.iter().filter(|set| set.suite.is_none()).map(|set| set.name.clone()));
    }
    if wanted.is_empty() && kernel.is_none() && !dropped {
        return Ok(Fetched::AlreadyThere);
    }
    if wanted.iter().any(|name| name != BASE) {
        // Sets are put into a guest together, so that they must come from one state of the archive. The kernel need not.
        let together = whole.iter().filter(|set| set.name != BASE && set.suite.is_none());
        wanted.extend(together.map(|set| set.name.clone()));
    }

    remove_tree(&cache.work())?;
    let mut sets: Vec<SetEntry> = whole.into_iter().filter(|set| !wanted.contains(&set.name)).collect();
    if !wanted.is_empty() {
        let apt = updated(cache, &request.source, SUITE, progress)?;
        for name in &wanted {
            sets.push(bring_set(cache, &apt, name, progress)?);
        }
    }
    if let Some(kernel) = kernel {
        sets.push(bring_kernel(cache, &request.source, kernel, progress)?);
    }
    sets.sort_by(|a, b| a.name.cmp(&b.name));
    commit(cache, &Manifest { format: FORMAT, suite: SUITE.to_owned(), sets })?;
    remove_tree(&cache.apt())?;
    remove_tree(&cache.work())?;
    drop(lock);
    Ok(Fetched::Renewed)
}

/// A private apt state with the index of `suite`.
fn updated(cache: &Cache, source: &Source, suite: &str, progress: &mut Progress) -> Result<Apt, GuestError> {
    progress.say(&format!("updating the package index of {suite}"));
    let apt = Apt::prepare(&cache.apt(), source, suite)?;
    apt.update()?;
    Ok(apt)
}

/// Brings a further kernel from the first suite that has it.
fn bring_kernel(
    cache: &Cache,
    source: &Source,
    kernel: &KernelRequest,
    progress: &mut Progress,
) -> Result<SetEntry, GuestError> {
    let suites: Vec<&str> = kernel.suite.as_deref().map_or_else(|| KERNEL_SUITES.to_vec(), |suite| vec![suite]);
    // Where the kernel is in no suite, one whose index did not come is the likelier cause.
    let mut failure = None;
    for suite in &suites {
        let apt = match updated(cache, source, suite, progress) {
            Ok(apt) => apt,
            Err(error) => {
                failure = failure.or(Some(error));
                continue;
            }
        };
        match bring_set(cache, &apt, &kernel_set(&kernel.release), progress) {
            Ok(set) => return Ok(SetEntry { suite: Some((*suite).to_owned()), ..set }),
            Err(GuestError::UnknownSet(_)) => {}
            Err(error) => return Err(error),
        }
    }
    let suites = suites.into_iter().map(str::to_owned).collect();
    Err(failure.unwrap_or_else(|| GuestError::UnknownKernel { release: kernel.release.clone(), suites }))
}

/// Resolves the set called `name`, and downloads and unpacks those of its packages that the cache lacks.
fn bring_set(cache: &Cache, apt: &Apt, name: &str, progress: &mut Progress) -> Result<SetEntry, GuestError> {
    progress.say(&format!("resolving {name}"));
    let packages = packages_of(name);
    let archives = apt.resolve(name, &packages)?;
    let lacking: Vec<_> = archives.iter().filter(|archive| !is_whole(cache, &archive.package)).collect();
    if !lacking.is_empty() {
        let total = archives.iter().map(|archive| archive.size).sum();
        progress.bytes(&format!("downloading {name}"), total);
        apt.download(&packages, &archives, |bytes| progress.at(bytes))?;
        progress.count(&format!("unpacking {name}"), lacking.len() as u64);
        for (done, archive) in lacking.iter().enumerate() {
            package::unpack(cache, &archive.package, &apt.path(archive))?;
            progress.at(done as u64 + 1);
        }
    }
    let mut packages: Vec<PackageId> = archives.into_iter().map(|archive| archive.package).collect();
    packages.sort();
    Ok(SetEntry { name: name.to_owned(), packages, suite: None })
}

/// Whether every file of `package` is as it was fetched.
fn is_whole(cache: &Cache, package: &PackageId) -> bool {
    Listing::read(cache, package).ok().flatten().is_some_and(|listing| listing.verify(cache).is_ok())
}

/// Makes `manifest` the cache's, then removes packages that it does not name.
pub(crate) fn commit(cache: &Cache, manifest: &Manifest) -> Result<(), GuestError> {
    let mut text = serde_json::to_vec_pretty(manifest).expect("a manifest is plain data");
    text.push(b'\n');
    write_file(&cache.manifest(), &text).map_err(GuestError::at(&cache.manifest()))?;
    let named: BTreeSet<_> = manifest
        .packages()
        .into_iter()
        .flat_map(|package| [package.directory(cache), package.listing(cache)])
        .collect();
    let packages = cache.packages();
    for entry in fs::read_dir(&packages).map_err(GuestError::at(&packages))? {
        let path = entry.map_err(GuestError::at(&packages))?.path();
        if named.contains(&path) {
            continue;
        }
        if path.is_dir() {
            remove_tree(&path)?;
        } else {
            fs::remove_file(&path).map_err(GuestError::at(&path))?;
        }
    }
    Ok(())
}
