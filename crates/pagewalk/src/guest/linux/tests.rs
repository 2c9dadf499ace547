//! A cache made by hand: what a guest is built of, and what is said of one that is not whole.

use super::super::fetch::commit;
use super::super::manifest::{FORMAT, PackageId, SetEntry};
use super::super::package::enter;
use super::*;
use crate::guest::{GuestNetwork, GuestShares, Memory, Region, Task, TaskPlace};
use std::fs;
use tempfile::TempDir;

const BUSYBOX: &[u8] = b"code [\0[[\0insmod\0mount\0poweroff\0redis-cli\0setsid\0sh\0\0";

fn package(name: &str) -> PackageId {
    PackageId { name: name.to_owned(), version: "1:2".to_owned() }
}

/// A cache with a base and a set `redis`.
fn cache() -> (TempDir, Cache) {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::locate(Some(directory.path())).unwrap();
    let add = |name: &str, files: &[(&str, &[u8])]| {
        let root = directory.path().join("root");
        for (path, content) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        enter(&cache, &package(name), &root, String::new()).unwrap();
    };
    add("linux", &[("boot/vmlinux-6.1-riscv64", b"kernel"), ("boot/config-6.1", b"")]);
    add("busybox", &[("usr/bin/busybox", BUSYBOX)]);
    add("redis-tools", &[("usr/bin/redis-cli", b"client"), ("usr/lib/libredis.so", b"library")]);
    add("sjeng", &[("usr/games/sjeng", b"game")]);
    let set = |name: &str, packages: &[&str]| SetEntry {
        name: name.to_owned(),
        packages: packages.iter().map(|name| package(name)).collect(),
        suite: None,
    };
    let sets = vec![set(BASE, &["linux", "busybox"]), set("redis", &["redis-tools"]), set("sjeng", &["sjeng"])];
    commit(&cache, &Manifest { format: FORMAT, suite: "trixie".to_owned(), sets }).unwrap();
    (directory, cache)
}

fn spec(sets: &[&str]) -> Initramfs<'static> {
    Initramfs {
        workloads: b"workloads",
        task: Task::Command { text: "true".to_owned(), region: Region::OfProgram },
        place: TaskPlace::Root,
        files: Vec::new(),
        sets: sets.iter().map(ToString::to_string).collect(),
        devices: BTreeSet::new(),
        network: GuestNetwork::None,
        shares: GuestShares::default(),
        memory: Memory::OfKernel,
    }
}

/// Whether the archive holds an entry of that name with that content.
fn holds(archive: &[u8], path: &str, content: &[u8]) -> bool {
    let mut wanted = path.as_bytes().to_vec();
    wanted.push(0);
    // The header is 110 bytes, and name and content each end on a multiple of four.
    wanted.resize(wanted.len() + (4 - (110 + wanted.len()) % 4) % 4, 0);
    wanted.extend_from_slice(content);
    archive.windows(wanted.len()).any(|window| window == wanted)
}

#[test]
fn a_guest_holds_what_was_asked_for() {
    let (_directory, cache) = cache();
    let guest = LinuxGuest::open(cache).unwrap();
    assert_eq!(guest.release().unwrap(), "6.1-riscv64");
    assert_eq!(guest.kernel().unwrap(), b"kernel");
    let plain = guest.initramfs(&spec(&[])).unwrap();
    assert!(holds(&plain, "usr/bin/redis-cli", b"busybox"), "an applet");
    assert!(holds(&plain, "pagewalk/command", b"true\n") && !holds(&plain, "pagewalk/region", b""));
    let with_set = guest.initramfs(&spec(&["redis"])).unwrap();
    assert!(holds(&with_set, "usr/bin/redis-cli", b"client"), "the package's program, not the applet");
    assert!(holds(&with_set, "usr/lib/libredis.so", b"library"));
    assert_eq!(guest.sets_for_command("exec /usr/bin/redis-cli -h x").unwrap(), ["redis"]);
    assert_eq!(guest.sets_for_command("redis").unwrap(), [""; 0]);
}

#[test]
fn a_command_of_a_game_has_its_package() {
    let (_directory, cache) = cache();
    let guest = LinuxGuest::open(cache).unwrap();
    assert_eq!(guest.sets_for_command("/usr/games/sjeng < commands").unwrap(), ["sjeng"]);
}

/// A module for the kernel of `release`.
fn module(release: &str, depends: &str) -> Vec<u8> {
    use object::write::Object;
    use object::{Architecture, BinaryFormat, Endianness, SectionKind};
    let mut output = Object::new(BinaryFormat::Elf, Architecture::Riscv64, Endianness::Little);
    let info = output.add_section(Vec::new(), b".modinfo".to_vec(), SectionKind::ReadOnlyData);
    let fields = format!("license=GPL\0depends={depends}\0vermagic={release} SMP preempt\0");
    output.append_section_data(info, fields.as_bytes(), 1);
    output.write().unwrap()
}

#[test]
fn a_kernel_of_another_version_gets_its_own_modules() {
    let (directory, cache) = cache();
    let guest = LinuxGuest::open(cache).unwrap();
    let modules = directory.path().join("lib/modules/7.2-x");
    fs::create_dir_all(modules.join("kernel/drivers")).unwrap();
    fs::write(modules.join("kernel/drivers/virtio_mmio.ko"), module("7.2-x", "")).unwrap();
    fs::write(modules.join("kernel/drivers/virtio-blk.ko"), module("7.2-x", "virtio_mmio")).unwrap();
    let disk = Initramfs { devices: BTreeSet::from([GuestDevice::Disk]), ..spec(&[]) };
    let beside = guest.modules_of(&directory.path().join("Image"), "7.2-x").unwrap();
    assert_eq!(beside, ModuleSource::Directory { path: modules.clone(), release: "7.2-x".to_owned() });
    let archive = guest.initramfs_with(&disk, &beside).unwrap();
    let list = b"/usr/lib/modules/virtio_mmio.ko\n/usr/lib/modules/virtio_blk.ko\n";
    assert!(holds(&archive, "pagewalk/modules", list) && holds(&archive, "usr/lib/modules/virtio_blk.ko", b"\x7fELF"));

    assert_eq!(guest.modules_of(Path::new("Image"), "6.1-riscv64").unwrap(), ModuleSource::Base);
    assert_eq!(guest.modules_of(Path::new("/no/such/Image"), "7.2-x").unwrap(), ModuleSource::Nowhere);
    let archive = guest.initramfs_with(&disk, &ModuleSource::Nowhere).unwrap();
    assert!(!holds(&archive, "pagewalk/modules", b"/"), "no module of another kernel");
}

#[test]
fn a_module_of_another_kernel_is_named() {
    let (directory, cache) = cache();
    let path = directory.path().join("own");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("virtio_mmio.ko"), module("7.1-x", "")).unwrap();
    let disk = Initramfs { devices: BTreeSet::from([GuestDevice::Disk]), ..spec(&[]) };
    let source = ModuleSource::Directory { path, release: "7.2-x".to_owned() };
    let error = LinuxGuest::open(cache).unwrap().initramfs_with(&disk, &source).unwrap_err().to_string();
    for part in ["virtio_mmio.ko", "7.1-x", "7.2-x"] {
        assert!(error.contains(part), "no {part} in {error}");
    }
}

#[test]
fn a_users_file_replaces_a_packages() {
    let (directory, cache) = cache();
    let own = directory.path().join("own");
    fs::write(&own, "own").unwrap();
    let file = crate::guest::GuestFile { host: own, guest: "/bin/redis-cli".to_owned() };
    let archive = LinuxGuest::open(cache).unwrap().initramfs(&Initramfs { files: vec![file], ..spec(&["redis"]) });
    assert!(holds(&archive.unwrap(), "usr/bin/redis-cli", b"own"));
}

#[test]
fn what_was_not_fetched_is_named_with_its_remedy() {
    let (_directory, cache) = cache();
    let error = LinuxGuest::open(cache).unwrap().initramfs(&spec(&["hpcc"])).unwrap_err().to_string();
    assert!(error.contains("hpcc") && error.ends_with("`pagewalk guest fetch hpcc`"), "{error}");
    let empty = tempfile::tempdir().unwrap();
    let error = LinuxGuest::open(Cache::locate(Some(empty.path())).unwrap()).unwrap_err().to_string();
    assert!(error.ends_with("`pagewalk guest fetch`"), "{error}");
}

#[test]
fn damage_is_noticed_whatever_it_is() {
    type Spoil = fn(&Path);
    let spoil: [(&str, Spoil); 4] = [
        ("one byte", |kernel| fs::write(kernel, "kernal").unwrap()),
        ("its end", |kernel| fs::write(kernel, "kern").unwrap()),
        ("all", |kernel| fs::remove_file(kernel).unwrap()),
        ("its kind", |kernel| {
            fs::remove_file(kernel).unwrap();
            fs::create_dir(kernel).unwrap();
        }),
    ];
    for (what, spoil) in spoil {
        let (_directory, cache) = cache();
        spoil(&package("linux").directory(&cache).join("boot/vmlinux-6.1-riscv64"));
        let listing = Listing::read(&cache, &package("linux")).unwrap().unwrap();
        assert!(matches!(listing.verify(&cache), Err(GuestError::Damaged { .. })), "{what}");
        let error = LinuxGuest::open(cache).unwrap().kernel().unwrap_err();
        assert!(matches!(error, GuestError::Damaged { .. }), "{what}: {error}");
    }
}

#[test]
fn a_listing_that_is_half_written_is_none() {
    let (_directory, cache) = cache();
    let listing = package("busybox").listing(&cache);
    let text = fs::read(&listing).unwrap();
    fs::write(&listing, &text[..text.len() / 2]).unwrap();
    assert!(matches!(LinuxGuest::open(cache), Err(GuestError::Damaged { .. })));
}

#[test]
fn a_new_manifest_removes_what_it_does_not_name() {
    let (_directory, cache) = cache();
    let mut manifest = Manifest::read(&cache).unwrap().unwrap();
    manifest.sets.retain(|set| set.name == BASE);
    commit(&cache, &manifest).unwrap();
    assert!(!package("redis-tools").directory(&cache).exists() && !package("redis-tools").listing(&cache).exists());
    assert!(package("linux").directory(&cache).exists());
}
