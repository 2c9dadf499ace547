//! Kernel modules as files below a directory, as a package or `make modules_install` leaves them: compressed or not.

use super::GuestError;
use super::modules::{dependencies, load_order, module_name};
use super::slim::slimmed;
use super::tool::{GZIP, Tool, XZ, ZSTD};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A module that is ready to load.
pub(crate) struct Module {
    /// The kernel's name for it.
    pub(crate) name: String,
    /// Its file.
    pub(crate) path: PathBuf,
    /// Its content: decompressed, and slimmed where that is possible.
    pub(crate) content: Vec<u8>,
}

/// Of the modules below `directory`, those of `wanted` and all that they depend on, each after its dependencies. One that is not there is
/// taken for built in.
///
/// # Errors
/// [`GuestError::Io`] and [`GuestError::Module`], naming the file.
pub(crate) fn collect(directory: &Path, wanted: &[&str]) -> Result<Vec<Module>, GuestError> {
    let mut files = BTreeMap::new();
    find(directory, &mut files)?;
    let mut read = BTreeMap::new();
    let order = load_order(wanted, |name| {
        let Some(path) = files.remove(name) else { return Ok(None) };
        let content = decompressed(&path)?;
        let needs = dependencies(&content)
            .map_err(|problem| GuestError::Module { path: path.clone(), problem: problem.into() })?;
        let content = slimmed(&content).unwrap_or(content);
        read.insert(name.to_owned(), Module { name: name.to_owned(), path, content });
        Ok::<_, GuestError>(Some(needs))
    })?;
    Ok(order.into_iter().filter_map(|name| read.remove(&name)).collect())
}

fn find(directory: &Path, found: &mut BTreeMap<String, PathBuf>) -> Result<(), GuestError> {
    let entries = fs::read_dir(directory).map_err(GuestError::at(directory))?;
    let paths: Result<Vec<_>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(GuestError::at(directory))?;
    // A file system's own order differs between hosts.
    paths.sort();
    for path in paths {
        // The links `build` and `source` lead to whole source trees.
        if path.is_dir() && !path.is_symlink() {
            find(&path, found)?;
        } else if let Some(name) = path.to_str().and_then(module_name) {
            found.insert(name, path);
        }
    }
    Ok(())
}

fn decompressed(path: &Path) -> Result<Vec<u8>, GuestError> {
    let with = |tool: Tool| tool.run(tool.command().arg("-dc").arg(path));
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("xz") => with(XZ),
        Some("zst") => with(ZSTD),
        Some("gz") => with(GZIP),
        _ => fs::read(path).map_err(GuestError::at(path)),
    }
}
