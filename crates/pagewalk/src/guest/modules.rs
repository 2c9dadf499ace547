//! Kernel modules: which a device needs, and in which order they load. Debian's kernel package carries no `modules.dep`, so
//! the order comes from each module's own `.modinfo` section.

use object::read::elf::{ElfFile64, FileHeader};
use object::{LittleEndian, Object, ObjectSection};

/// A device of the virtual machine that Linux drives with modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GuestDevice {
    /// A virtio disk, and ext4 to mount it with.
    Disk,
    /// A virtio network card.
    Net,
    /// A virtio source of randomness.
    Rng,
    /// A virtio memory balloon.
    Balloon,
    /// A virtio file system.
    Share,
}

impl GuestDevice {
    /// Every device.
    pub const ALL: [Self; 5] = [Self::Disk, Self::Net, Self::Rng, Self::Balloon, Self::Share];

    /// The modules that drive it, without those that they depend on. One that a kernel does not have is built in there.
    pub(crate) const fn modules(self) -> &'static [&'static str] {
        match self {
            // ext4 asks for crc32c by algorithm name, not as a dependency.
            Self::Disk => &["virtio_mmio", "virtio_blk", "crc32c_generic", "libcrc32c", "ext4"],
            // DHCP needs sockets for whole packets.
            Self::Net => &["virtio_mmio", "virtio_net", "af_packet"],
            Self::Rng => &["virtio_mmio", "virtio_rng"],
            Self::Balloon => &["virtio_mmio", "virtio_balloon"],
            // Debian builds it in.
            Self::Share => &["virtio_mmio", "virtiofs"],
        }
    }

    /// Those of [`Self::modules`] without which the device does not appear in any kernel.
    pub(crate) const fn drivers(self) -> &'static [&'static str] {
        match self {
            Self::Disk => &["virtio_mmio", "virtio_blk", "ext4"],
            Self::Net => &["virtio_mmio", "virtio_net"],
            Self::Rng | Self::Balloon | Self::Share => self.modules(),
        }
    }
}

/// The name that the kernel gives the module in the file at `path`: `virtio-rng.ko.xz` is `virtio_rng`. `None` if the file
/// is no module.
pub(crate) fn module_name(path: &str) -> Option<String> {
    let file = path.rsplit('/').next()?;
    let stem = [".ko", ".ko.xz", ".ko.zst", ".ko.gz"].into_iter().find_map(|suffix| file.strip_suffix(suffix))?;
    Some(stem.replace('-', "_"))
}

/// The modules that the module `content` depends on directly.
pub(crate) fn dependencies(content: &[u8]) -> Result<Vec<String>, &'static str> {
    let names = info(content, "depends")?.ok_or("its .modinfo names no dependencies")?;
    Ok(names.split(',').filter(|name| !name.is_empty()).map(|name| name.replace('-', "_")).collect())
}

/// The release of the kernel that the module `content` was built for, as `uname -r` prints it.
pub(crate) fn built_for(content: &[u8]) -> Result<String, &'static str> {
    let magic = info(content, "vermagic")?.ok_or("its .modinfo names no kernel")?;
    Ok(magic.split(' ').next().unwrap_or_default().to_owned())
}

/// A field of the module's `.modinfo` section, if it has it.
fn info(content: &[u8], field: &str) -> Result<Option<String>, &'static str> {
    let elf = ElfFile64::<LittleEndian>::parse(content).map_err(|_| "not a 64-bit ELF file")?;
    if elf.elf_header().e_machine(LittleEndian) != object::elf::EM_RISCV {
        return Err("not a module for RISC-V");
    }
    let section = elf.section_by_name(".modinfo").ok_or("no .modinfo section")?;
    let info = section.data().map_err(|_| "its .modinfo section lies outside the file")?;
    let value = |entry: &[u8]| {
        let (name, value) = str::from_utf8(entry).ok()?.split_once('=')?;
        (name == field).then(|| value.to_owned())
    };
    Ok(info.split(|&byte| byte == 0).find_map(value))
}

/// `wanted` and all that they depend on, each after its dependencies. `read` gives the names that a module depends on, or
/// `None` for a module that is built in.
pub(crate) fn load_order<E>(
    wanted: &[&str],
    mut read: impl FnMut(&str) -> Result<Option<Vec<String>>, E>,
) -> Result<Vec<String>, E> {
    enum Visit {
        Enter(String),
        Leave(String),
    }
    let mut order: Vec<String> = Vec::new();
    let mut entered: Vec<String> = Vec::new();
    let mut stack: Vec<Visit> = wanted.iter().rev().map(|&name| Visit::Enter(name.to_owned())).collect();
    while let Some(visit) = stack.pop() {
        match visit {
            Visit::Leave(name) => order.push(name),
            Visit::Enter(name) if entered.contains(&name) => {}
            Visit::Enter(name) => {
                if let Some(dependencies) = read(&name)? {
                    stack.push(Visit::Leave(name.clone()));
                    stack.extend(dependencies.into_iter().rev().map(Visit::Enter));
                }
                entered.push(name);
            }
        }
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    fn order(wanted: &[&str], graph: &[(&str, &[&str])]) -> Vec<String> {
        load_order(wanted, |name| {
            let found = graph.iter().find(|(module, _)| *module == name);
            Ok::<_, Infallible>(found.map(|(_, names)| names.iter().map(ToString::to_string).collect()))
        })
        .unwrap()
    }

    #[test]
    fn dependencies_come_first_and_once() {
        let graph: &[(&str, &[&str])] = &[
            ("virtio_net", &["net_failover"]),
            ("net_failover", &["failover"]),
            ("failover", &[]),
            ("ext4", &["jbd2", "failover"]),
            ("jbd2", &[]),
        ];
        assert_eq!(order(&["virtio_net", "ext4"], graph), ["failover", "net_failover", "virtio_net", "jbd2", "ext4"]);
    }

    #[test]
    fn built_in_modules_are_left_out_and_cycles_end() {
        assert_eq!(order(&["a", "absent"], &[("a", &["b"]), ("b", &["a", "gone"])]), ["b", "a"]);
    }

    #[test]
    fn names_are_the_kernels() {
        assert_eq!(module_name("kernel/drivers/virtio-rng.ko.xz").as_deref(), Some("virtio_rng"));
        assert_eq!(module_name("ext4.ko").as_deref(), Some("ext4"));
        assert_eq!(module_name("ext4.ko.zst").as_deref(), Some("ext4"));
        assert_eq!(module_name("modules.order"), None);
    }

    #[test]
    fn what_is_no_module_is_refused() {
        assert_eq!(dependencies(b"#!/bin/sh"), Err("not a 64-bit ELF file"));
    }
}
