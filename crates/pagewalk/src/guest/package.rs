//! Turning a Debian archive into a directory of the cache: unpacked, pruned to what a guest uses, every file hashed.

use super::GuestError;
use super::cache::{Cache, make_directory, remove_tree};
use super::manifest::{Entry, FORMAT, ListedPath, Listing, PackageId, hash_file};
use super::module_files;
use super::modules::GuestDevice;
use super::tool::DPKG_DEB;
use crate::output::write_file;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// What a guest has no use for: documentation, translations, services, and glibc's character set converters, which are half
/// of its size.
const PRUNED: &[&str] = &[
    "etc/default",
    "etc/init.d",
    "etc/logrotate.d",
    "usr/include/drm",
    "usr/include/misc",
    "usr/include/mtd",
    "usr/include/rdma",
    "usr/include/scsi",
    "usr/include/sound",
    "usr/include/video",
    "usr/include/xen",
    "usr/lib/riscv64-linux-gnu/gconv",
    "usr/lib/systemd",
    "usr/share/bash-completion",
    "usr/share/bug",
    "usr/share/doc",
    "usr/share/gdb",
    "usr/share/info",
    "usr/share/initramfs-tools",
    "usr/share/lintian",
    "usr/share/locale",
    "usr/share/man",
    "usr/share/prte/rst",
];

/// Files, by the beginnings of their names, that no program of a set needs and that are larger than those it needs: of compilers,
/// link-time optimization, sanitizers, and libraries for static linking; drivers of graphics.
const PRUNED_NAMES: &[&str] = &[
    "libasan",
    "libbacktrace.a",
    "libc.a",
    "libgallium",
    "libgomp.a",
    "libhwasan",
    "libitm",
    "liblsan",
    "libm.a",
    "libtsan",
    "libubsan",
    "lto1",
    "riscv64-linux-gnu-lto-dump",
];

/// Unpacks the archive at `path` into the cache. The package is complete when this returns, and invisible until then.
pub(crate) fn unpack(cache: &Cache, package: &PackageId, path: &Path) -> Result<(), GuestError> {
    let work = cache.work().join(&package.name);
    remove_tree(&work)?;
    make_directory(&work)?;
    DPKG_DEB.run(DPKG_DEB.command().arg("-x").arg(path).arg(&work))?;
    for pruned in PRUNED {
        remove_tree(&work.join(pruned))?;
    }
    prune_names(&work)?;
    keep_wanted_modules(&work)?;
    enter(cache, package, &work, hash_file(path)?)
}

fn prune_names(directory: &Path) -> Result<(), GuestError> {
    for path in sorted(directory)? {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if path.is_dir() && !path.is_symlink() {
            prune_names(&path)?;
        } else if PRUNED_NAMES.iter().any(|pruned| name.starts_with(pruned)) {
            fs::remove_file(&path).map_err(GuestError::at(&path))?;
        }
    }
    Ok(())
}

/// Makes the tree at `root` the content of `package` in the cache.
pub(crate) fn enter(cache: &Cache, package: &PackageId, root: &Path, archive_sha256: String) -> Result<(), GuestError> {
    let mut paths = Vec::new();
    list(package, root, "", &mut paths)?;
    let listing = Listing { format: FORMAT, package: package.clone(), archive_sha256, paths };
    let destination = package.directory(cache);
    make_directory(&cache.packages())?;
    remove_tree(&destination)?;
    fs::rename(root, &destination).map_err(GuestError::at(&destination))?;
    let text = serde_json::to_vec(&listing).expect("a listing is plain data");
    write_file(&package.listing(cache), &text).map_err(GuestError::at(&package.listing(cache)))
}

/// Of a kernel's thousands of modules, keeps those that the devices of a virtual machine need, decompressed: the kernel could
/// decompress them itself, but at every boot and on the guest's time. A kernel that lies among its modules, as Debian has it from Linux 7
/// on, goes to where earlier ones are.
fn keep_wanted_modules(root: &Path) -> Result<(), GuestError> {
    let modules = root.join("usr/lib/modules");
    if !modules.exists() {
        return Ok(());
    }
    let wanted: Vec<&str> = GuestDevice::ALL.iter().flat_map(|device| device.modules()).copied().collect();
    for module in module_files::collect(&modules, &wanted)? {
        let plain = modules.join(format!("{}.ko", module.name));
        fs::write(&plain, module.content).map_err(GuestError::at(&plain))?;
    }
    for entry in sorted(&modules)? {
        if !entry.is_dir() {
            continue;
        }
        let (kernel, release) = (entry.join("vmlinuz"), entry.file_name().and_then(|name| name.to_str()));
        if let (true, Some(release)) = (kernel.exists(), release) {
            make_directory(&root.join("boot"))?;
            let place = root.join(format!("boot/vmlinux-{release}"));
            fs::rename(&kernel, &place).map_err(GuestError::at(&place))?;
        }
        remove_tree(&entry)?;
    }
    Ok(())
}

/// Adds every path below `root/relative` to `paths`, in order.
fn list(package: &PackageId, root: &Path, relative: &str, paths: &mut Vec<ListedPath>) -> Result<(), GuestError> {
    let wrong = |problem: String| GuestError::Package { package: package.name.clone(), problem };
    for path in sorted(&root.join(relative))? {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| wrong(format!("{} is not named in UTF-8", path.display())))?;
        let child = if relative.is_empty() { name.to_owned() } else { format!("{relative}/{name}") };
        let metadata = fs::symlink_metadata(&path).map_err(GuestError::at(&path))?;
        let entry = if metadata.is_dir() {
            Entry::Directory
        } else if metadata.is_file() {
            Entry::File { size: metadata.len(), sha256: hash_file(&path)? }
        } else if metadata.is_symlink() {
            let target = fs::read_link(&path).map_err(GuestError::at(&path))?;
            let target = target.to_str().ok_or_else(|| wrong(format!("{child} leads to a name not in UTF-8")))?;
            Entry::Link { target: target.to_owned() }
        } else {
            return Err(wrong(format!("{child} is neither file, directory nor link")));
        };
        let descend = entry == Entry::Directory;
        paths.push(ListedPath { path: child.clone(), mode: metadata.permissions().mode() & 0o7777, entry });
        if descend {
            list(package, root, &child, paths)?;
        }
    }
    Ok(())
}

/// The paths directly in `directory`, sorted: a file system's own order differs between hosts.
fn sorted(directory: &Path) -> Result<Vec<PathBuf>, GuestError> {
    let entries = fs::read_dir(directory).map_err(GuestError::at(directory))?;
    let paths: Result<Vec<_>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(GuestError::at(directory))?;
    paths.sort();
    Ok(paths)
}
