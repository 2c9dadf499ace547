//! The L1D TLB against independent sources: a plugin of QEMU's that counts misses of the same guest (cross_validation/tlb.c), and a trace by Valgrind's
//! lackey of the same program on this processor (cross_validation/pages.c).

mod common;

use common::{Scratch, compare, compiled, number, run};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// Sets and ways of an L1D for pages of 4K, with LRU replacement.
const TLBS: [(u64, u64); 6] = [(1, 16), (1, 64), (4, 4), (16, 4), (64, 8), (128, 1)];

/// Workloads of `vos` that take no page fault in their regions, and their sizes: random, streaming, strided, pointers, sorting, a graph,
/// key-value pairs. The plugin leaves out the kernel, which `stream` enters 480 times.
const WORKLOADS: [(&str, &str); 7] =
    [("gups", "1M"), ("triad", "1M"), ("sieve", "1M"), ("mcf", "200"), ("qsort", "1M"), ("bfs", "11"), ("kv", "1M")];

/// The version of the plugin interface that the installed QEMU has.
fn plugin_version() -> u32 {
    let printed =
        Command::new("qemu-system-riscv64").arg("--version").output().expect("qemu-system-riscv64 is installed");
    let printed = String::from_utf8(printed.stdout).unwrap();
    let major = printed.split("version ").nth(1).and_then(|version| version.split('.').next()).unwrap();
    if major.parse::<u32>().unwrap() < 9 { 1 } else { 2 }
}

fn build(plugin: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cross_validation/tlb.c");
    let version = format!("-DPLUGIN_VERSION={}", plugin_version());
    let built = Command::new("gcc")
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", &version, "-o"])
        .args([plugin, &source])
        .status();
    assert!(built.unwrap().success());
}

/// What the plugin counts: data accesses of the region, and misses of each TLB.
fn by_qemu(scratch: &Scratch, plugin: &Path, (workload, size): (&str, &str)) -> (u64, Vec<u64>) {
    let out = scratch.path(workload);
    let mut argument = format!("{},out={}", plugin.display(), out.display());
    for (sets, ways) in TLBS {
        argument += &format!(",tlb={sets}x{ways}");
    }
    let kernel = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../guests/vos/vos.elf");
    let ended = Command::new("timeout")
        .args(["120", "qemu-system-riscv64", "-machine", "virt", "-display", "none", "-monitor", "none"])
        .args(["-serial", "stdio", "-m", "512M", "-plugin", &argument, "-kernel"])
        .arg(kernel)
        .args(["-append", &format!("workload={workload} size={size} ticks=0")])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && printed.contains(&format!("{workload}: ok")), "{printed}");
    let counted = fs::read_to_string(&out).unwrap_or_else(|error| panic!("{error}: {printed}"));
    let last = |line: &str| line.rsplit(' ').next().unwrap().parse().unwrap();
    let mut counts = counted.lines().map(last);
    (counts.next().unwrap(), counts.collect())
}

fn by_pagewalk((workload, size): (&str, &str), (sets, ways): (u64, u64)) -> (u64, u64) {
    let workload = format!("{workload}:{size}");
    let l1d = l1d((sets, ways));
    let report = compare(&["--workload", &workload, "--append", "ticks=0", "--scheme", "native:4K", "--set", &l1d]);
    let of = |pointer: &str| number(&report, &format!("/runs/0/{pointer}"));
    (of("loads") + of("stores"), of("tlb/l1d_misses"))
}

/// Nothing interrupts the guest (`ticks=0`), so both execute the same accesses. They start with other entries, as the plugin leaves out the
/// kernel's pages and the fences. An LRU set is the same after as many distinct pages as it has ways, whatever it held: so the counts
/// differ by the number of entries at most.
#[test]
#[ignore = "needs qemu-system-riscv64"]
fn an_independent_model_in_qemu_counts_the_same_misses() {
    let scratch = Scratch::new();
    let plugin = scratch.path("tlb.so");
    build(&plugin);
    let mut missed = 0;
    for workload in WORKLOADS {
        let (accesses, misses) = by_qemu(&scratch, &plugin, workload);
        assert_eq!(misses.len(), TLBS.len());
        for ((sets, ways), theirs) in TLBS.into_iter().zip(misses) {
            let (ours_accesses, ours) = by_pagewalk(workload, (sets, ways));
            println!("{} {sets} x {ways}: {accesses} accesses, misses QEMU {theirs}, Pagewalk {ours}", workload.0);
            assert_eq!(accesses, ours_accesses, "{workload:?}");
            assert!(ours.abs_diff(theirs) <= sets * ways, "{workload:?} {sets} x {ways}: {theirs}, {ours}");
            missed += ours;
        }
    }
    assert!(missed > 1_000_000, "{missed}");
}

/// Steps of `pages.c` in its region, and loads and stores of each.
const STEPS: u64 = 30_000;
const ACCESSES: u64 = 5;

/// Interrupts of Debian's kernel for RISC-V in a second.
const TICKS_HZ: u64 = 250;

/// The setting of an L1D for pages of 4K.
fn l1d((sets, ways): (u64, u64)) -> String {
    format!("mmu.l1d=[{{sizes=['4K'],sets={sets},ways={ways}}}]")
}

/// Misses of each TLB in all of the program on this processor, as Valgrind traces it.
fn by_lackey(scratch: &Scratch, program: &Path, steps: u64) -> Vec<u64> {
    let (trace, recording, lines) = (scratch.text("lackey"), scratch.text("lackey.rec"), scratch.path("lines"));
    let log = format!("--log-file={trace}");
    let ended = Command::new("valgrind")
        .args(["--tool=lackey", "--trace-mem=yes", &log])
        .arg(program)
        .arg(steps.to_string())
        .status()
        .expect("valgrind is installed");
    assert!(ended.success());
    let imported = run(["import", &trace, "--format", "lackey", "--pages", "4K", "-o", &recording]);
    assert_eq!(imported.code, Some(0), "{imported:#?}");
    let systems = TLBS.map(|tlb| format!("native:4K/{}", l1d(tlb))).join(";");
    let mut arguments = vec!["sweep".to_owned(), recording, "-o".to_owned(), lines.display().to_string()];
    arguments.extend(systems.split(';').flat_map(|system| ["--scheme".to_owned(), system.to_owned()]));
    let swept = run(arguments.iter().map(String::as_str));
    assert_eq!(swept.code, Some(0), "{swept:#?}");
    let written = fs::read_to_string(&lines).unwrap();
    fs::remove_file(&lines).unwrap();
    let misses = |line: &str| number(&serde_json::from_str(line).unwrap(), "/tlb/l1d_misses");
    written.lines().map(misses).collect()
}

/// The region's misses on this processor are those of the program with steps less those of the program without. In the guest, timer interrupts
/// come between: the kernel's own accesses may miss, and take the place of every entry. So may what is different before the region.
#[test]
#[ignore = "needs valgrind, the cross compiler and the fetched Linux guest: cargo xtask test"]
fn a_trace_by_valgrind_has_the_misses_of_the_guest() {
    let scratch = Scratch::new();
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = manifest.join("tests/cross_validation/pages.c");
    let include = format!("-I{}", manifest.join("../../guests/include").display());
    let here = scratch.path("pages-here");
    let built = Command::new("gcc").args(["-O2", &include, "-o"]).args([&here, &source]).status();
    assert!(built.unwrap().success());
    let guest = compiled(&scratch, "pages", &fs::read_to_string(&source).unwrap(), &["-static", &include]);
    let (with, without) = (by_lackey(&scratch, &here, STEPS), by_lackey(&scratch, &here, 0));
    let file = format!("{guest}:/pages");
    let mut missed = 0;
    for ((tlb, with), without) in TLBS.into_iter().zip(with).zip(without) {
        let command = format!("/pages {STEPS}");
        let fixed = ["--guest", "linux", "--file", &file, "--run", &command, "--scheme", "native:4K"];
        let report = compare(&[&fixed[..], &["--set", &l1d(tlb)]].concat());
        let ours = number(&report, "/runs/0/tlb/l1d_misses");
        let theirs = with - without;
        let ticks = number(&report, "/runs/0/cycles") * TICKS_HZ / number(&report, "/host/clock_hz") + 1;
        let of_kernel = number(&report, "/runs/0/loads") + number(&report, "/runs/0/stores") - ACCESSES * STEPS;
        let (sets, ways) = tlb;
        println!(
            "{sets} x {ways}: misses Valgrind {theirs}, Pagewalk {ours}; {of_kernel} accesses of the kernel, at most {ticks} interrupts"
        );
        let explained = of_kernel + (ticks + 1) * sets * ways;
        assert!(ours.abs_diff(theirs) <= explained, "{sets} x {ways}: {theirs}, {ours}, {explained} explained");
        missed += ours;
    }
    assert!(missed > 3 * STEPS, "{missed}");
}
