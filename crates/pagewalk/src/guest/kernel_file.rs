//! A Linux kernel of the user's: which version it is, what is built into it, and where its modules are.

use super::modules::GuestDevice;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What a kernel prints first (Linux `init/version-timestamp.c`), and with it holds as text.
const BANNER: &[u8] = b"Linux version ";

/// The release of the kernel in `image`, as `uname -r` prints it; `None` if it is no Linux, or compressed.
#[must_use]
pub fn release_of(image: &[u8]) -> Option<&str> {
    let mut rest = image;
    while let Some(at) = position(rest, BANNER) {
        rest = &rest[at + BANNER.len()..];
        let end = rest.iter().position(|&byte| byte == b' ')?;
        // The kernel holds the format of the banner as well.
        if rest[0].is_ascii_digit() {
            return str::from_utf8(&rest[..end]).ok();
        }
    }
    None
}

/// The drivers of `devices` that are not built into `image`, each once.
#[must_use]
pub fn drivers_outside(image: &[u8], devices: &BTreeSet<GuestDevice>) -> Vec<&'static str> {
    let drivers: BTreeSet<&str> = devices.iter().flat_map(|device| device.drivers()).copied().collect();
    drivers.into_iter().filter(|driver| !is_built_in(image, driver)).collect()
}

/// Whether the driver registers itself from `image`: its name, or what it matches in a device tree, is a string there.
fn is_built_in(image: &[u8], driver: &str) -> bool {
    let text = match driver {
        "virtio_mmio" => "virtio,mmio",
        name => name,
    };
    position(image, format!("\0{text}\0").as_bytes()).is_some()
}

/// Directories that hold the modules of `release` where the kernel's file is at `kernel`, and is part of an unpacked package, of a root
/// file system, or of what `make modules_install` made beside it.
pub(crate) fn beside(kernel: &Path, release: &str) -> Option<PathBuf> {
    let directory = kernel.parent()?;
    // A path of one component has an empty parent.
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    // /usr/lib/modules/RELEASE/vmlinuz
    let holds_it = (directory.file_name().is_some_and(|name| name == release)).then(|| directory.to_owned());
    let below = ["lib/modules", "usr/lib/modules", "../lib/modules", "../usr/lib/modules"];
    let places = below.into_iter().map(|place| directory.join(place).join(release));
    holds_it.into_iter().chain(places).find(|place| place.join("kernel").is_dir())
}

fn position(text: &[u8], part: &[u8]) -> Option<usize> {
    let (&first, _) = part.split_first()?;
    let mut from = 0;
    loop {
        let at = from + text.get(from..)?.iter().position(|&byte| byte == first)?;
        if text[at..].starts_with(part) {
            return Some(at);
        }
        from = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_release_is_the_banners() {
        let image = b"\0Linux version %s (%s)\0..Linux version 7.2.13+deb14-riscv64 (who@where) #1 SMP\n\0";
        assert_eq!(release_of(image), Some("7.2.13+deb14-riscv64"));
        assert_eq!(release_of(b"no kernel"), None);
        assert_eq!(release_of(b"Linux version "), None);
        assert_eq!(release_of(b"Linux version 7"), None, "cut off");
    }

    #[test]
    fn a_driver_whose_name_is_in_the_image_is_built_in() {
        let image = b"..virtio_net_hdr\0virtio,mmio\0virtio_blk\0\0virtio_blk\0ext4\0";
        let devices = BTreeSet::from([GuestDevice::Disk, GuestDevice::Net]);
        assert_eq!(drivers_outside(image, &devices), ["virtio_net"]);
        assert_eq!(drivers_outside(b"", &devices), ["ext4", "virtio_blk", "virtio_mmio", "virtio_net"]);
        assert!(drivers_outside(b"", &BTreeSet::new()).is_empty());
    }

    #[test]
    fn modules_are_found_beside_the_kernel() {
        let root = tempfile::tempdir().unwrap();
        let modules = root.path().join("usr/lib/modules/7.2-x");
        fs::create_dir_all(modules.join("kernel")).unwrap();
        fs::create_dir(root.path().join("boot")).unwrap();
        for kernel in ["usr/lib/modules/7.2-x/vmlinuz", "boot/vmlinux-7.2-x", "Image"] {
            let found = beside(&root.path().join(kernel), "7.2-x").unwrap_or_else(|| panic!("{kernel}"));
            assert!(found.join("kernel").is_dir());
            assert_eq!(beside(&root.path().join(kernel), "7.3-x"), None, "{kernel}");
        }
    }
}
