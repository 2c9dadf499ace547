//! Debian Linux on our machine: commands, programs of its archive and of the user's, devices. `cargo xtask test` runs these.

mod common;

use common::{Scratch, compare_bytes, compiled, linux, number, run, runs};
use std::fs;
use std::process::Command;

/// A program that is not one of the workloads: it sorts, sums in floating point, prints, and fails on request.
const PROGRAM: &str = r#"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int count, char **words)
{
    enum { NUMBERS = 20000 };
    double *numbers = malloc(NUMBERS * sizeof(*numbers)), sum = 0;
    unsigned seed = 42;

    for (int i = 0; i < NUMBERS; i++) {
        seed = seed * 1664525 + 1013904223;
        numbers[i] = sqrt(seed);
    }
    qsort(numbers, NUMBERS, sizeof(*numbers), ascending);
    for (int i = 0; i < NUMBERS; i++)
        sum += numbers[i];
    printf("%s: least %.3f most %.3f mean %.3f\n", words[1], numbers[0], numbers[NUMBERS - 1], sum / NUMBERS);
    return count > 2 ? atoi(words[2]) : 0;
}
"#;

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn uname_under_each_scheme_with_one_and_four_harts() {
    for scheme in
        ["native", "nested", "native:2M", "nested:2M+2M", "nested:4K+1G", "flat", "flat:2M", "flat-hw", "reserved"]
    {
        // Several harts reach every case that one does. One alone is run under one scheme of each kind.
        let harts: &[&str] = if matches!(scheme, "native" | "nested" | "flat") { &["1", "4"] } else { &["4"] };
        for harts in harts {
            let end = linux("uname -m; nproc", &["--scheme", scheme, "--harts", harts]).succeeded();
            assert_eq!(end.stdout, format!("riscv64\n{harts}\n"), "{scheme}");
        }
    }
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_commands_status_is_passed_on() {
    for (command, status) in [("exit 7", 7), ("false", 1), ("no-such-program", 127), ("kill -9 $$", 137), ("true", 0)] {
        let end = linux(command, &[]);
        assert_eq!(end.code, Some(status), "{command}: {end:#?}");
    }
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_guest_that_goes_before_its_command_ends_has_failed() {
    for command in ["poweroff -f", "reboot -f"] {
        let end = linux(command, &["--harts", "2"]).failed(1, &["before the command had ended"]);
        assert!(end.stdout.contains("reboot: "), "{end:#?}");
    }
    let panic = "the guest's kernel gave up: Kernel panic - not syncing: ";
    let said = format!("{panic}sysrq triggered crash");
    let end = linux("echo c > /proc/sysrq-trigger", &["--harts", "2"]).failed(1, &[&said]);
    assert!(end.stdout.contains("Call Trace"), "{end:#?}");
    run(["compare", "--guest", "linux", "--run", "poweroff -f", "--scheme", "native"]).failed(1, &["shut down"]);
    let scratch = Scratch::new();
    let root = scratch.write("root.cpio", "no archive");
    linux("true", &["--initrd", &root]).failed(1, &[panic, "Unable to mount root"]);
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn paging_modes_and_missing_extensions_boot() {
    for settings in [
        &["paging.guest=sv48", "paging.host=sv48x4"][..],
        &["paging.guest=sv57", "paging.host=sv57x4"],
        &["isa.sstc=false"],
        &["isa.svnapot=false", "isa.zihintpause=false"],
        &["isa.zawrs=true"],
        &["mmu.ad=hardware"],
        &["mmu.walk_caches=off", "mmu.nested_tlb=off"],
    ] {
        let mut arguments = vec!["--scheme", "nested", "--harts", "2"];
        arguments.extend(settings.iter().flat_map(|&setting| ["--set", setting]));
        let end = linux("grep -c ^processor /proc/cpuinfo; grep -m 1 ^mmu /proc/cpuinfo", &arguments).succeeded();
        let mode = settings[0].strip_prefix("paging.guest=").unwrap_or("sv39");
        assert_eq!(end.stdout, format!("2\nmmu\t\t: {mode}\n"), "{settings:?}");
    }
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn too_little_memory_is_named() {
    linux("true", &["--memory", "64M"]).failed(2, &["Linux", "96 MiB", "64"]);
    let end = linux("uname -m", &["--memory", "96M"]).succeeded();
    assert_eq!(end.stdout, "riscv64\n");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn what_is_not_there_is_named() {
    linux("true", &["--programs", "no-such-set"]).failed(1, &["no-such-set", "pagewalk guest fetch"]);
    linux("true", &["--file", "/no/such/file"]).failed(1, &["/no/such/file"]);
    linux("true", &["--disk", "/no/such.img"]).failed(2, &["/no/such.img"]);
    linux("true", &["--kernel", "/no/such/Image"]).failed(2, &["/no/such/Image"]);
    linux("true", &["--initrd", "/no/such/cpio"]).failed(2, &["/no/such/cpio"]);
    linux("sleep 1000", &["--timeout", "5"]).failed(1, &["the time limit of 5 guest seconds"]);
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn memcached_serves_memcaslap() {
    let command = "memcached -u root -d -l 127.0.0.1 -P /run/m.pid; sleep 1; \
                   memcaslap -s 127.0.0.1:11211 -T 1 -c 4 -x 2000; kill $(cat /run/m.pid)";
    for (scheme, harts) in [("nested", "1"), ("flat", "4"), ("flat-hw", "4")] {
        let end = linux(command, &["--scheme", scheme, "--harts", harts]).succeeded();
        assert!(end.stdout.contains("TPS: "), "{scheme}, {harts} harts: {end:#?}");
    }
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn redis_serves_its_benchmark() {
    let command = "redis-server --daemonize yes --save '' >/dev/null; sleep 1; \
                   redis-benchmark -q -n 1000 -c 4 -t set,get; redis-cli set k v; redis-cli get k";
    let end = linux(command, &["--harts", "2"]).succeeded();
    assert!(end.stdout.contains("GET: ") && end.stdout.contains("requests per second"), "{end:#?}");
    assert!(end.stdout.ends_with("OK\n\"v\"\n"), "{end:#?}");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn sqlite_answers() {
    let query = "create table t(n); with recursive n(i) as (select 1 union all select i+1 from n where i < 5000) \
                 insert into t select i from n; create index x on t(n); select sum(n), avg(n) from t where n > 10";
    let end = linux(&format!("sqlite3 /tmp/db '{query}' && sqlite3 /tmp/db 'pragma integrity_check'"), &[]).succeeded();
    assert_eq!(end.stdout, "12502445|2505.5\nok\n");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn hpcc_verifies_its_results() {
    // With matrices of 300 rows in place of 1000.
    let command = "sed -i 's/^1000 /300 /' hpccinf.txt; \
                   hpcc && grep -E '^(Success|MPIRandomAccess_.*Errors|StarRandomAccess_GUPs|StarSTREAM_Triad)' hpccoutf.txt";
    for (scheme, harts) in [("nested:2M", "1"), ("flat", "4"), ("flat-hw", "4")] {
        let end = linux(command, &["--scheme", scheme, "--harts", harts]).succeeded();
        assert!(end.stdout.contains("Success=1") && end.stdout.contains("StarSTREAM_Triad="), "{scheme}: {end:#?}");
    }
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_program_of_the_users_is_compared() {
    let scratch = Scratch::new();
    let mut outputs = Vec::new();
    for (name, flags) in [("static", &["-static", "-lm"][..]), ("dynamic", &["-lm"])] {
        let program = compiled(&scratch, name, PROGRAM, flags);
        let native = Command::new("qemu-riscv64").args(["-L", "/usr/riscv64-linux-gnu", &program, "arg"]).output();
        let native = String::from_utf8(native.expect("qemu-riscv64 is installed").stdout).unwrap();
        let json = scratch.text("out.json");
        let command = format!("/{name} arg");
        let arguments = ["compare", "--guest", "linux", "--file", &program, "--run", &command];
        let end = run([&arguments[..], &["--scheme", "native,nested:4K+2M", "--json", &json]].concat()).succeeded();
        // The output once, as both schemes agree; then the table.
        assert_eq!(end.stdout.matches(native.trim_end()).count(), 1, "{native}: {end:#?}");
        assert!(end.stdout.contains("nested:4K+2M"), "{end:#?}");
        outputs.push(native);
        let report: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
        assert!(number(&report, "/runs/0/instructions") > 1_000_000, "the program was measured: {report:#}");
        assert!(report["runs"][1]["overhead"].is_f64(), "beside native: {report:#}");
    }
    assert_eq!(outputs[0], outputs[1], "static and dynamic print alike");
}

/// The systems of Sha et al. 2022, each against its own native machine, in one comparison of workloads and programs.
#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn workloads_and_commands_are_compared_on_the_papers_three_systems() {
    let systems = "shadow/host=xeon-2017/shadow.coherence=write-protect,nested/host=xeon-2017,flat/host=sunway-1621";
    let scratch = Scratch::new();
    let json = scratch.text("out.json");
    let end = run([
        &["compare", "--guest", "linux", "--scheme", systems, "--native", "--warmup", "touch", "--json", &json][..],
        &["--set", "paging.guest=sv48", "--set", "paging.host=sv48x4", "--workload", "mcf:256,bfs:8"],
        &["--run", "forks: for i in $(seq 50); do /bin/true; done; echo forked", "--run", "uname -m"],
    ]
    .concat())
    .succeeded();
    // What the commands printed, and two tables.
    assert!(end.stdout.contains("forks:\nforked\nuname -m:\nriscv64\n"), "{end:#?}");
    assert!(end.stdout.contains("with free translation") && end.stdout.contains("without its hypervisor"), "{end:#?}");
    let rows = end.stdout.lines().filter(|line| line.starts_with("flat:4K+4K/host=sunway-1621"));
    assert_eq!(rows.count(), 2, "{end:#?}");
    let report: serde_json::Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    for (work, runs) in ["mcf:256", "bfs:8", "forks", "uname -m"].iter().zip(common::runs_of(&report).chunks(5)) {
        assert!(runs.iter().all(|run| run["workload"] == *work), "{runs:#?}");
        let [_, shadow, nested, native, flat] = runs else { panic!("five systems: {runs:#?}") };
        assert_eq!(native["overhead"], 0.0);
        let overhead = |run: &serde_json::Value| run["overhead"].as_f64().unwrap();
        if *work == "forks" {
            assert!(overhead(shadow) > overhead(nested), "each write to a table exits: {shadow:#} {nested:#}");
            assert!(overhead(nested) > 0.0 && overhead(flat) > 0.0, "{nested:#} {flat:#}");
        }
        assert!(number(flat, "/walks/max_refs") <= 9, "{flat:#}");
        assert!(number(nested, "/walks/max_refs") <= 24 && number(native, "/walks/max_refs") <= 4);
    }
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_program_that_fails_fails_the_run() {
    let scratch = Scratch::new();
    let program = compiled(&scratch, "prog", PROGRAM, &["-static", "-lm"]);
    let arguments = ["compare", "--guest", "linux", "--file", &program, "--scheme", "native,nested", "--run"];
    let end = run([&arguments[..], &["/prog arg 3"]].concat()).failed(1, &["/prog arg 3", "status 3"]);
    assert!(end.stdout.contains("arg: least"), "its output is shown: {end:#?}");
    run([&arguments[..], &["kill -SEGV $$"]].concat()).failed(1, &["status 139"]);
    let end = linux("/bin/prog arg 9", &["--file", &format!("{program}:/bin/")]);
    assert_eq!(end.code, Some(9), "{end:#?}");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn workloads_are_compared_and_repeat() {
    let arguments = ["--guest", "linux", "--workload", "gups:4M", "--scheme", "native,nested", "--harts", "2"];
    let results = runs(&arguments);
    assert_eq!(results.len(), 2);
    assert!(results[1]["overhead"].as_f64().unwrap() > 0.0);
    let first = compare_bytes(&arguments);
    assert!(compare_bytes(&[&arguments[..], &["--threads", "1"]].concat()) == first, "it repeats to the byte");
}

/// The kernel patches its own code while it boots, and takes interrupts in whatever runs.
#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn hot_code_of_linux_is_compiled_and_nothing_changes() {
    let of = |engine| {
        let arguments = ["--guest", "linux", "--workload", "gups:4M,sieve:1M", "--harts", "2", "--set", engine];
        runs(&[&arguments[..], &["--scheme", "native,nested,shadow,flat"]].concat())
    };
    let threaded = of("engine=threaded");
    assert_eq!(of("engine=compiled"), threaded);
    assert_eq!(of("engine=baseline-all"), threaded);
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_disks_image_changes_only_if_asked() {
    let scratch = Scratch::new();
    let content: Vec<u8> = (0..1u32 << 18).flat_map(|word| word.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let image = scratch.write("disk.img", &content);
    let sum = "sha256sum /dev/vda | cut -c 1-64";
    let host = Command::new("sha256sum").arg(&image).output().expect("coreutils are installed").stdout;
    let host = String::from_utf8_lossy(&host)[..64].to_owned();
    let end = linux(sum, &["--disk", &image, "--scheme", "nested"]).succeeded();
    assert_eq!(end.stdout.trim(), host, "the guest reads what is there");

    let write = "printf changed | dd of=/dev/vda bs=1 seek=5000 conv=notrunc 2>/dev/null; sync; \
                 echo 3 > /proc/sys/vm/drop_caches; dd if=/dev/vda bs=1 skip=5000 count=7 2>/dev/null";
    assert_eq!(linux(write, &["--disk", &image]).succeeded().stdout, "changed", "the guest reads what it wrote");
    assert!(fs::read(&image).unwrap() == content, "the image is as it was");

    linux(write, &["--disk", &format!("{image},write")]).succeeded();
    let mut changed = content;
    changed[5000..5007].copy_from_slice(b"changed");
    assert!(fs::read(&image).unwrap() == changed, "those bytes and no others");
    assert_eq!(scratch.names(), ["disk.img"], "no overlay is left");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn an_ext4_file_system_mounts() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("tree")).unwrap();
    scratch.write("tree/file", "kept\n");
    let image = scratch.write("ext4.img", vec![0; 16 << 20]);
    let made = Command::new("/sbin/mkfs.ext4").args(["-q", "-d", &scratch.text("tree"), &image]).status();
    assert!(made.expect("e2fsprogs are installed").success());
    let command = "mkdir /mnt; mount -t ext4 /dev/vda /mnt && cat /mnt/file && echo more > /mnt/other && umount /mnt";
    let disk = format!("{image},write");
    assert_eq!(linux(command, &["--disk", &disk, "--harts", "2"]).succeeded().stdout, "kept\n");
    let check = Command::new("/sbin/e2fsck").args(["-fn", &image]).output().unwrap();
    assert!(check.status.success(), "{check:?}");
    let command = "mkdir /mnt; mount -t ext4 /dev/vda /mnt && cat /mnt/other";
    assert_eq!(linux(command, &["--disk", &image]).succeeded().stdout, "more\n");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn network_and_randomness_are_there() {
    let command = "ip link set eth0 up && ip addr add 10.0.0.1/24 dev eth0 && ip link show eth0 | head -n 1; \
                   ping -c 1 -W 1 10.0.0.2 | grep packets; cat /sys/class/misc/hw_random/rng_current; \
                   dd if=/dev/hwrng bs=16 count=1 2>/dev/null | wc -c";
    let end = linux(command, &["--net", "--rng"]).succeeded();
    for expected in ["eth0:", "LOWER_UP", "1 packets transmitted, 0 packets received", "virtio_rng", "\n16\n"] {
        assert!(end.stdout.contains(expected), "no {expected:?} in {end:#?}");
    }
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_damaged_cache_is_named() {
    let scratch = Scratch::new();
    let home = std::env::var("HOME").expect("a home directory");
    let cache = std::env::var("PAGEWALK_CACHE").unwrap_or(format!("{home}/.cache/pagewalk"));
    // Links, as the files of all guests and their states are gigabytes.
    fs::create_dir(scratch.path("cache")).unwrap();
    let linked = Command::new("cp").args(["-rs", &format!("{cache}/linux"), &scratch.text("cache")]).status();
    assert!(linked.expect("coreutils are installed").success());
    let find = Command::new("find").args([&scratch.text("cache"), "-name", "busybox", "-type", "l"]).output().unwrap();
    let busybox = String::from_utf8(find.stdout).unwrap().trim().to_owned();
    let mut content = fs::read(&busybox).unwrap();
    content[4096] ^= 1;
    // The file itself is the user's.
    fs::remove_file(&busybox).unwrap();
    fs::write(&busybox, content).unwrap();
    linux("true", &["--cache", &scratch.text("cache")]).failed(1, &["busybox", "pagewalk guest fetch"]);
    fs::remove_file(&busybox).unwrap();
    linux("true", &["--cache", &scratch.text("cache")]).failed(1, &["busybox"]);
}

/// The fetched kernel, with another version in its banner: one that no modules are known for.
#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_kernel_without_modules_says_that_its_disks_will_not_appear() {
    let scratch = Scratch::new();
    let cache = std::env::var_os("PAGEWALK_CACHE").map(std::path::PathBuf::from);
    let cache = pagewalk::guest::Cache::locate(cache.as_deref()).expect("a cache");
    let guest = pagewalk::guest::LinuxGuest::open(cache).expect("the Linux guest is fetched");
    let mut kernel = guest.kernel().expect("the kernel is whole");
    let own = scratch.write("own", &kernel);
    let seen = linux("test -b /dev/vda", &["--kernel", &own, "--disk", "blank:1M"]);
    seen.succeeded();

    let banner = format!("Linux version {}", guest.release().unwrap());
    for at in 0..kernel.len() - banner.len() {
        if kernel[at..].starts_with(banner.as_bytes()) {
            kernel[at + "Linux version ".len()] = b'9';
        }
    }
    let other = scratch.write("other", &kernel);
    let release = pagewalk::guest::release_of(&kernel).unwrap().to_owned();
    let end = linux("test ! -b /dev/vda", &["--kernel", &other, "--disk", "blank:1M"]);
    let remedy = format!("guest fetch --kernel {release}");
    end.said(0, &[&release, "virtio_blk", "disks and network cards will not appear", &remedy]);
    linux("true", &["--kernel", &other]).succeeded();
}
