//! U-Boot as a guest: a boot loader that was not written for this machine, from Debian's `u-boot-qemu`. It finds the virtio disk, reads ext4
//! and boots Linux from it with the device tree that the machine passed.

mod common;

use common::screen::Screen;
use common::{Scratch, run};
use pagewalk::guest::{
    Cache, GuestDevice, GuestNetwork, GuestShares, Initramfs, LinuxGuest, Memory, Region, Task, TaskPlace, WORKLOADS,
    kernel_command_line,
};
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

/// Where the package has U-Boot for S-mode: a flat binary, and an ELF file of the same.
const DIRECTORY: &str = "usr/lib/u-boot/qemu-riscv64_smode";

/// Where the flat binary is linked.
const LOAD_ADDRESS: &str = "0x80200000";

const PROMPT: &str = "=> ";

/// A build of U-Boot.
struct UBoot {
    flat: String,
    elf: String,
}

impl UBoot {
    fn below(root: &Path) -> Self {
        let file = |name: &str| root.join(DIRECTORY).join(name).to_str().expect("paths are UTF-8").to_owned();
        Self { flat: file("u-boot.bin"), elf: file("uboot.elf") }
    }

    /// The one of this system.
    fn installed() -> Self {
        Self::below(Path::new("/"))
    }

    /// The one of the guests' suite, by `pagewalk guest fetch u-boot-qemu`. On Debian 12 it is a later one, 2025.01.
    fn fetched() -> Self {
        let packages = cache().linux().join("packages");
        let entries = fs::read_dir(&packages).expect("the Linux guest is fetched");
        let mut paths = entries.map(|entry| entry.expect("it can be read").path());
        let is_u_boot = |path: &PathBuf| path.is_dir() && path.to_string_lossy().contains("/u-boot-qemu_");
        Self::below(&paths.find(is_u_boot).expect("`pagewalk guest fetch u-boot-qemu` has run"))
    }
}

fn cache() -> Cache {
    Cache::locate(std::env::var_os("PAGEWALK_CACHE").as_deref().map(Path::new)).expect("a cache")
}

/// A user at U-Boot's console.
struct User {
    child: Child,
    keyboard: ChildStdin,
    screen: Screen,
}

impl User {
    /// Starts `pagewalk boot` with `arguments`, and stops U-Boot's autoboot.
    #[track_caller]
    fn boots(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_pagewalk"))
            .arg("boot")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("pagewalk starts");
        let keyboard = child.stdin.take().expect("it is piped");
        let screen = Screen::new(child.stdout.take().expect("it is piped"));
        let mut user = Self { child, keyboard, screen };
        user.screen.sees("U-Boot 20");
        user.screen.sees("Hit any key");
        user.types("\n");
        user.screen.sees(PROMPT);
        user
    }

    fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("pagewalk takes keys");
    }

    /// What U-Boot answers to a command.
    #[track_caller]
    fn asks(&mut self, command: &str) -> String {
        self.types(&format!("{command}\n"));
        self.screen.sees(command);
        self.screen.sees(PROMPT)
    }

    /// Waits for the command's end; its exit code.
    #[track_caller]
    fn ends(&mut self) -> Option<i32> {
        self.screen.until_the_end_of(&mut self.child)
    }
}

impl Drop for User {
    fn drop(&mut self) {
        // Where a test failed; otherwise it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An ext4 image with the fetched kernel, a root file system that runs `command`, and `hello.txt`.
fn disk(scratch: &Scratch, command: &str) -> String {
    let linux = LinuxGuest::open(cache()).expect("the Linux guest is fetched");
    let spec = Initramfs {
        workloads: WORKLOADS,
        task: Task::Command { text: command.to_owned(), region: Region::OfProgram },
        place: TaskPlace::Root,
        files: Vec::new(),
        sets: Vec::new(),
        devices: BTreeSet::from([GuestDevice::Disk]),
        network: GuestNetwork::None,
        shares: GuestShares::default(),
        memory: Memory::OfKernel,
    };
    fs::create_dir(scratch.path("tree")).expect("the scratch directory takes another");
    scratch.write("tree/hello.txt", "A file on ext4.\n");
    scratch.write("tree/Image", linux.kernel().expect("the kernel is whole"));
    scratch.write("tree/initrd", linux.initramfs(&spec).expect("the cache is whole"));
    let image = scratch.write("disk.img", "");
    fs::File::options().write(true).open(&image).and_then(|file| file.set_len(96 << 20)).expect("a sparse file");
    let made = Command::new("/sbin/mkfs.ext4").args(["-q", "-d", &scratch.text("tree"), &image]).status();
    assert!(made.expect("e2fsprogs are installed").success());
    image
}

#[test]
#[ignore = "needs U-Boot, mkfs.ext4 and the fetched Linux guest: cargo xtask test"]
fn u_boot_reads_ext4_and_boots_linux_from_it() {
    let scratch = Scratch::new();
    let image = disk(&scratch, "mkdir /mnt; mount -t ext4 -o ro /dev/vda /mnt && echo linux: $(cat /mnt/hello.txt)");
    let command_line = kernel_command_line("");
    let (installed, fetched) = (UBoot::installed(), UBoot::fetched());
    let flat = |u_boot: &UBoot| ["--guest", &u_boot.flat, "--load-address", LOAD_ADDRESS].map(str::to_owned).to_vec();
    let elf = |u_boot: &UBoot| ["--guest", &u_boot.elf].map(str::to_owned).to_vec();
    for (guest, scheme) in [(flat(&installed), "native"), (elf(&installed), "nested"), (flat(&fetched), "nested")] {
        let guest: Vec<&str> = guest.iter().map(String::as_str).collect();
        let machine = ["--disk", &image, "--net", "--scheme", scheme, "--append", &command_line];
        let mut user = User::boots(&[&guest[..], &machine].concat());
        user.asks("virtio scan");
        let info = user.asks("virtio info");
        assert!(info.contains("Device 0") && info.contains("VirtIO Block Device"), "{info}");
        let listing = user.asks("ls virtio 0");
        let has = |size: &str, name: &str| {
            let mut words = listing.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            words.any(|words| words == [size, name])
        };
        assert!(has("16", "hello.txt") && listing.contains("Image") && listing.contains("initrd"), "{listing}");
        let read = user.asks("load virtio 0 0x88000000 hello.txt");
        assert!(read.contains("16 bytes read"), "{read}");
        let dump = user.asks("md.b 0x88000000 10");
        assert!(dump.contains("A file on ext4."), "{dump}");
        let read = user.asks("load virtio 0 ${kernel_addr_r} Image");
        assert!(read.contains("bytes read"), "{read}");
        let read = user.asks("load virtio 0 ${ramdisk_addr_r} initrd");
        assert!(read.contains("bytes read"), "{read}");
        user.types("booti ${kernel_addr_r} ${ramdisk_addr_r}:${filesize} ${fdtcontroladdr}\n");
        user.screen.sees("Starting kernel");
        user.screen.sees("linux: A file on ext4.");
        assert_eq!(user.ends(), Some(0), "{scheme}");
    }
}

#[test]
#[ignore = "needs U-Boot, installed and fetched: cargo xtask test"]
fn u_boot_powers_the_machine_off() {
    for UBoot { flat, .. } in [UBoot::installed(), UBoot::fetched()] {
        let mut user = User::boots(&["--guest", &flat, "--load-address", LOAD_ADDRESS]);
        let info = user.asks("bdinfo");
        assert!(info.contains("0x0000000080000000") || info.contains("0x80000000"), "{info}");
        user.types("poweroff\n");
        assert_eq!(user.ends(), Some(0), "{flat}: {}", user.screen.text());
    }
}

#[test]
fn a_load_address_is_for_a_flat_binary_alone() {
    let scratch = Scratch::new();
    let flat = scratch.write("flat.bin", [0x13, 0, 0, 0].repeat(16));
    let boot = |arguments: &[&str]| run(["boot"].iter().chain(arguments));
    boot(&["--guest", &flat]).failed(2, &[&flat, "a flat binary needs --load-address"]);
    boot(&["--guest", &flat, "--load-address", "0x80200001"]).failed(2, &[&flat, "0x80200001", "multiple of 4"]);
    boot(&["--guest", &flat, "--load-address", "0x1000"]).failed(2, &[&flat, "0x1000", "not in the guest's memory"]);
    boot(&["--load-address", "0x80200000"]).failed(2, &["--load-address", "vos"]);
    boot(&["--guest", "linux", "--load-address", "0x80200000"]).failed(2, &["--load-address", "linux"]);
    boot(&["--guest", &flat, "--load-address", "here"]).failed(2, &["`here` is not an address"]);
}

#[test]
fn a_flat_binary_without_a_header_runs_at_its_load_address() {
    let scratch = Scratch::new();
    // The call of SBI's system reset extension that shuts the machine down.
    let code: [u32; 6] = [
        0x5352_58b7, // lui a7, 0x53525
        0x3548_8893, // addi a7, a7, 0x354
        0x0000_0813, // li a6, 0
        0x0000_0513, // li a0, 0
        0x0000_0593, // li a1, 0
        0x0000_0073, // ecall
    ];
    let flat = scratch.write("flat.bin", code.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>());
    for address in ["0x80000000", "0x80200004", "2151677952"] {
        run(["boot", "--guest", &flat, "--load-address", address, "--timeout", "1"]).succeeded();
    }
}
