//! The fetched Linux guest boots on a machine that is not ours (QEMU's), so that what is tested is the guest alone: its root
//! file system, its modules and its programs. `cargo xtask test` runs these; they need the fetched guest and QEMU.

use pagewalk::guest::{
    Cache, GuestDevice, GuestFile, GuestNetwork, GuestShares, Initramfs, LinuxGuest, Memory, Region, Task, TaskPlace,
    WORKLOADS, kernel_command_line,
};
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Stands in for the workloads program: says in text what that says in markers.
const MARKERS: &[u8] = b"#!/bin/sh\necho \"marker: $*\"\n[ \"$1\" != exit ] || stty -opost\n";

/// What the shell writes when it waits for a command.
const PROMPT: &[u8] = b"/ # ";

struct Guest {
    linux: LinuxGuest,
    directory: tempfile::TempDir,
}

impl Guest {
    fn new() -> Self {
        let cache = Cache::locate(std::env::var_os("PAGEWALK_CACHE").as_deref().map(Path::new)).unwrap();
        Self { linux: LinuxGuest::open(cache).unwrap(), directory: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Boots with `spec` and `devices` of QEMU's; what the guest wrote.
    fn boot(&self, spec: &Initramfs<'_>, devices: &[&str]) -> String {
        self.boot_typing("", spec, devices)
    }

    /// Boots, and types `keys` once the shell's prompt has appeared.
    fn boot_typing(&self, keys: &str, spec: &Initramfs<'_>, devices: &[&str]) -> String {
        let (kernel, initrd) = (self.path("kernel"), self.path("initrd"));
        fs::write(&kernel, self.linux.kernel().unwrap()).unwrap();
        fs::write(&initrd, self.linux.initramfs(spec).unwrap()).unwrap();
        let mut machine = Command::new("timeout")
            .args(["300", "qemu-system-riscv64", "-machine", "virt", "-m", "1G", "-nographic", "-no-reboot"])
            .args(["-monitor", "none", "-kernel", kernel.to_str().unwrap(), "-initrd", initrd.to_str().unwrap()])
            .args(["-append", &kernel_command_line("")])
            .args(devices)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("qemu-system-riscv64 is installed");
        let mut keyboard = machine.stdin.take();
        let mut console = machine.stdout.take().unwrap();
        let mut text = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            match console.read(&mut buffer).unwrap() {
                0 => break,
                read => text.extend_from_slice(&buffer[..read]),
            }
            let prompted = text.windows(PROMPT.len()).any(|window| window == PROMPT);
            if prompted && let Some(mut keyboard) = keyboard.take() {
                keyboard.write_all(keys.as_bytes()).unwrap();
            }
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(machine.wait().unwrap().success(), "{text}");
        text
    }

    fn run(&self, command: &str) -> String {
        let sets = self.linux.sets_for_command(command).unwrap();
        self.boot(&Initramfs { sets, ..command_spec(command) }, &[])
    }
}

fn command_spec(command: &str) -> Initramfs<'static> {
    Initramfs {
        workloads: MARKERS,
        task: Task::Command { text: command.to_owned(), region: Region::OfProgram },
        place: TaskPlace::Root,
        files: Vec::new(),
        sets: Vec::new(),
        devices: BTreeSet::new(),
        network: GuestNetwork::None,
        shares: GuestShares::default(),
        memory: Memory::OfKernel,
    }
}

#[test]
#[ignore = "needs the fetched Linux guest and QEMU"]
fn a_command_runs_and_its_status_comes_out() {
    let text = Guest::new().run("uname -m; printf 'a\\nb\\n'; ls -1d /proc/self /sys/class /dev/pts/ptmx; exit 7");
    assert!(text.contains("riscv64\na\nb\n/dev/pts/ptmx\n/proc/self\n/sys/class\nmarker: exit 7\n"), "{text}");
}

#[test]
#[ignore = "needs the fetched Linux guest and QEMU"]
fn a_region_around_the_command_is_marked() {
    let guest = Guest::new();
    let task = Task::Command { text: "echo inside; false".to_owned(), region: Region::WholeCommand };
    let text = guest.boot(&Initramfs { task, ..command_spec("") }, &[]);
    assert!(text.contains("marker: roi begin\ninside\nmarker: roi end\nmarker: exit 1\n"), "{text}");
}

#[test]
#[ignore = "needs the fetched Linux guest and QEMU"]
fn a_shell_has_job_control_and_ends_the_machine() {
    let guest = Guest::new();
    let spec = Initramfs { task: Task::Shell, ..command_spec("") };
    let text = guest.boot_typing("tty; sleep 9 & kill %1; exit\n", &spec, &[]);
    assert!(text.contains("/dev/ttyS0") && text.contains("marker: exit 0"), "{text}");
    assert!(!text.contains("job control turned off") && !text.contains("No such process"), "{text}");
}

#[test]
#[ignore = "needs the fetched Linux guest and QEMU"]
fn modules_drive_a_disk_a_network_card_and_randomness() {
    let guest = Guest::new();
    let disk = guest.path("disk");
    fs::File::create(&disk).unwrap().set_len(64 << 20).unwrap();
    let drive = format!("file={},format=raw,if=none,id=d", disk.display());
    let command = "mke2fs -q /dev/vda && mount -t ext4 /dev/vda /mnt && echo kept > /mnt/file && umount /mnt && \
                   mount -t ext4 /dev/vda /mnt && cat /mnt/file; \
                   cat /sys/class/misc/hw_random/rng_current; ip link show eth0 | head -n 1; ip address show lo";
    let spec = Initramfs {
        devices: [GuestDevice::Disk, GuestDevice::Net, GuestDevice::Rng].into(),
        ..command_spec(&format!("mkdir -p /mnt; {command}"))
    };
    let text =
        guest.boot(
            &spec,
            &[
                &[
                    "-global",
                    "virtio-mmio.force-legacy=false",
                    "-drive",
                    &drive,
                    "-device",
                    "virtio-blk-device,drive=d",
                ][..],
                &[
                    "-netdev",
                    "user,id=n,restrict=on",
                    "-device",
                    "virtio-net-device,netdev=n",
                    "-device",
                    "virtio-rng-device",
                ],
            ]
            .concat(),
        );
    for expected in ["kept\n", "virtio_rng.0\n", "eth0:", "127.0.0.1/8"] {
        assert!(text.contains(expected), "no {expected:?} in\n{text}");
    }
    assert!(!text.contains("insmod"), "a module did not load:\n{text}");
}

#[test]
#[ignore = "needs the fetched Linux guest and QEMU"]
fn the_workloads_run() {
    let spec = Initramfs { workloads: WORKLOADS, ..command_spec("pagewalk-workloads gups size=1M") };
    let text = Guest::new().boot(&spec, &[]);
    assert!(text.contains("gups: ok"), "{text}");
}

#[test]
#[ignore = "needs the fetched Linux guest and QEMU"]
fn memcached_serves_memcaslap() {
    let text = Guest::new().run(
        "memcached -u root -d -l 127.0.0.1 -P /run/m.pid; sleep 1; memcaslap -s 127.0.0.1:11211 -T 1 -c 4 -x 2000; kill $(cat /run/m.pid)",
    );
    assert!(text.contains("TPS: ") && text.contains("marker: exit 0"), "{text}");
}

#[test]
#[ignore = "needs the fetched Linux guest and QEMU"]
fn redis_serves_its_benchmark() {
    let text = Guest::new()
        .run("redis-server --daemonize yes --save '' >/dev/null; sleep 1; redis-benchmark -q -n 1000 -c 4 -t set,get");
    assert!(text.contains("GET: ") && text.contains("requests per second"), "{text}");
}

#[test]
#[ignore = "needs the fetched Linux guest and QEMU"]
fn sqlite_answers() {
    let text = Guest::new().run("sqlite3 :memory: 'with recursive n(i) as (select 1 union all select i+1 from n where i < 1000) select sum(i) from n'");
    assert!(text.contains("500500\nmarker: exit 0"), "{text}");
}

#[test]
#[ignore = "needs the fetched Linux guest and QEMU"]
fn hpcc_succeeds() {
    let text = Guest::new().run("hpcc && grep -E '^(Success|MPIRandomAccess_GUPs|StarSTREAM_Triad)=' hpccoutf.txt");
    assert!(text.contains("Success=1") && text.contains("StarSTREAM_Triad="), "{text}");
}

#[test]
#[ignore = "needs the fetched Linux guest, QEMU and a cross compiler"]
fn a_users_program_runs_static_and_dynamic() {
    let guest = Guest::new();
    let source = guest.path("hello.c");
    fs::write(
        &source,
        "#include <stdio.h>\nint main(int n, char **v) { printf(\"hello %s\\n\", v[1]); return n + 1; }\n",
    )
    .unwrap();
    let mut files = Vec::new();
    for (name, flags) in [("static", "-static"), ("dynamic", "-O1")] {
        let program = guest.path(name);
        let compiled = Command::new("riscv64-linux-gnu-gcc").args([flags, "-o"]).arg(&program).arg(&source).status();
        assert!(compiled.expect("the cross compiler is installed").success());
        files.push(GuestFile { host: program, guest: format!("/{name}") });
    }
    let spec = Initramfs { files, ..command_spec("/static one; echo $?; ./dynamic two") };
    let text = guest.boot(&spec, &[]);
    assert!(text.contains("hello one\n3\nhello two\nmarker: exit 3\n"), "{text}");
}

#[test]
#[ignore = "needs the fetched Linux guest"]
fn an_initramfs_is_a_function_of_what_goes_in() {
    let guest = Guest::new();
    let spec = Initramfs { sets: vec!["redis".into(), "hpcc".into()], ..command_spec("true") };
    let turned = Initramfs { sets: vec!["hpcc".into(), "redis".into()], ..command_spec("true") };
    assert_eq!(guest.linux.initramfs(&spec).unwrap(), guest.linux.initramfs(&turned).unwrap());
}

#[test]
#[ignore = "needs the fetched Linux guest"]
fn sets_are_found_by_their_programs() {
    let guest = Guest::new();
    let sets = |command| guest.linux.sets_for_command(command).unwrap();
    assert_eq!(sets("redis-server & exec /usr/bin/memcaslap -s x"), ["memcached", "redis"]);
    assert_eq!(sets("echo redis"), [""; 0]);
}
