//! What a user gets wrong: one line that names it, exit code 2 or 1, and nothing half-written.

mod common;

use common::{Ended, Scratch, command, ended, run};
use std::fs;
use std::process::Command;

/// `vos`, as an example of a good kernel.
const VOS: &[u8] = include_bytes!("../../../guests/vos/vos.elf");

/// Boots `content` as a kernel's file `name`.
fn boot(name: &str, content: &[u8]) -> Ended {
    let scratch = Scratch::new();
    let kernel = scratch.write(name, content);
    run(["boot", "--timeout", "1", "--guest", &kernel])
}

/// `vos` with `bytes` at `offset` of its ELF file.
fn patched(offset: usize, bytes: &[u8]) -> Vec<u8> {
    let mut kernel = VOS.to_vec();
    kernel[offset..offset + bytes.len()].copy_from_slice(bytes);
    kernel
}

/// The offset of the program header of the first segment that is loaded.
fn loaded_segment() -> usize {
    let word = |at: usize| usize::try_from(u64::from_le_bytes(VOS[at..at + 8].try_into().unwrap())).unwrap();
    let table = word(0x20);
    let count = usize::from(u16::from_le_bytes(VOS[0x38..0x3a].try_into().unwrap()));
    (0..count).map(|index| table + 56 * index).find(|&at| VOS[at..at + 4] == [1, 0, 0, 0]).expect("vos has a segment")
}

/// A flat Image of `length` bytes that says it has `size`.
fn image(length: usize, size: u64, magic: &[u8; 4]) -> Vec<u8> {
    let mut image = vec![0; length];
    image[0x08..0x10].copy_from_slice(&0x20_0000u64.to_le_bytes());
    image[0x10..0x18].copy_from_slice(&size.to_le_bytes());
    image[0x30..0x38].copy_from_slice(b"RISCV\0\0\0");
    image[0x38..0x3c].copy_from_slice(magic);
    image
}

/// vos takes its heap in pages of the scheme's size; the first GiB holds the kernel, and the end of memory the device tree.
#[test]
fn memory_without_a_free_gib_is_named_before_anything_runs() {
    let said = |scheme: &'static str| ["memory: ", scheme, "pages of 1G", "it needs 2049M"];
    for scheme in ["native:1G", "nested:1G+1G", "flat:1G+2M"] {
        for memory in ["1G", "1500M", "2G"] {
            let arguments = ["--scheme", scheme, "--memory", memory];
            let both = ["compare", "--workload", "hello,gups:64K"];
            let end = run([&both[..], &arguments].concat()).failed(2, &said(scheme));
            assert!(end.stdout.is_empty(), "nothing ran: {end:#?}");
            run([&["boot", "--append", "workload=gups size=64K"], &arguments[..]].concat()).failed(2, &said(scheme));
            run([&["compare", "--workload", "hello"], &arguments[..]].concat()).succeeded();
        }
        run(["compare", "--workload", "gups:64K", "--scheme", scheme, "--memory", "2049M"]).succeeded();
    }
    // Who asks for no scheme has those that fit.
    let end = run(["compare", "--workload", "gups:64K", "--memory", "1G"])
        .said(0, &["without native:1G and nested:1G+1G", "2049M"]);
    assert!(end.stdout.contains("nested:2M+2M") && !end.stdout.contains("native:1G"), "{end:#?}");
    // A user who gives the guest another size gets that size.
    run(["boot", "--scheme", "native:1G", "--append", "workload=gups size=64K page=4K"]).succeeded();
}

#[test]
fn a_kernel_that_is_none_is_refused() {
    boot("empty", b"").failed(2, &["empty"]);
    boot("text", b"#!/bin/sh\necho no kernel\n").failed(2, &["text"]);
    boot("noise", &[0x5a; 5000]).failed(2, &["noise"]);
    run(["boot", "--guest", "/no/such/kernel"]).failed(2, &["/no/such/kernel", "No such file"]);
    run(["boot", "--guest", "/"]).failed(2, &["/: ", "directory"]);
    run(["compare", "--guest", "no-such-guest"]).failed(2, &["no-such-guest"]);
}

#[test]
fn a_kernel_cut_short_is_refused_wherever_it_is_cut() {
    for length in [4, 16, 63, 64, 100, VOS.len() / 2, loaded_segment() + 60] {
        boot("cut.elf", &VOS[..length]).failed(2, &["cut.elf"]);
    }
    boot("cut.img", &image(64, 1 << 20, b"RSC\x05")[..60]).failed(2, &["cut.img"]);
}

#[test]
fn a_kernel_for_another_machine_is_refused_by_name() {
    boot("x86.elf", &patched(0x12, &62u16.to_le_bytes())).failed(2, &["x86.elf", "x86"]);
    boot("arm.elf", &patched(0x12, &183u16.to_le_bytes())).failed(2, &["arm.elf", "RISC-V"]);
    boot("rv32.elf", &patched(4, &[1])).failed(2, &["rv32.elf", "32"]);
    boot("big.elf", &patched(5, &[2])).failed(2, &["big.elf", "endian"]);
    boot("arm.img", &image(8192, 8192, b"ARM\x64")).failed(2, &["arm.img", "ARM"]);
    let mut bz_image = vec![0; 8192];
    bz_image[0x1fe..0x200].copy_from_slice(&[0x55, 0xaa]);
    bz_image[0x202..0x206].copy_from_slice(b"HdrS");
    boot("bzImage", &bz_image).failed(2, &["bzImage", "x86"]);
    // The test itself, by its true name.
    let own = std::env::current_exe().unwrap();
    run(["boot", "--guest", own.to_str().unwrap()]).failed(2, &["x86"]);
}

#[test]
fn segments_that_cannot_be_are_refused() {
    const FILE_OFFSET: usize = 0x08;
    const PHYSICAL: usize = 0x18;
    const FILE_BYTES: usize = 0x20;
    const MEMORY_BYTES: usize = 0x28;
    let segment = loaded_segment();
    for (field, value) in [
        (FILE_OFFSET, u64::MAX - 10),
        (FILE_OFFSET, 1 << 40),
        (FILE_BYTES, u64::MAX),
        (FILE_BYTES, 1 << 40),
        (MEMORY_BYTES, 1),
        (MEMORY_BYTES, u64::MAX),
        (MEMORY_BYTES, 1 << 40),
        (PHYSICAL, 0),
        (PHYSICAL, 0x7fff_f000),
        (PHYSICAL, u64::MAX - 0xfff),
        (PHYSICAL, 1 << 50),
    ] {
        boot("bad.elf", &patched(segment + field, &value.to_le_bytes())).failed(2, &["bad.elf", "segment"]);
    }
    // The table of segments, and the entry point.
    boot("table.elf", &patched(0x20, &u64::MAX.to_le_bytes())).failed(2, &["table.elf"]);
    boot("entry.elf", &patched(0x18, &0x1234u64.to_le_bytes())).failed(2, &["entry.elf", "0x1234"]);
    boot("none.elf", &patched(0x38, &[0, 0])).failed(2, &["none.elf"]);
    boot("huge.img", &image(8192, 1 << 40, b"RSC\x05")).failed(2, &["huge.img"]);
}

#[test]
fn unknown_names_are_said_with_the_nearest_or_the_known_ones() {
    for (arguments, named) in [
        (&["compare", "--workload", "guppy"][..], &["`guppy`", "gups"][..]),
        (&["compare", "--workload", "gups:"], &["gups:"]),
        (&["compare", "--guest", "linux", "--workload", "jobs"], &["`jobs`", "vos"]),
        (&["compare", "--scheme", "native,nestde"], &["`nestde`", "did you mean `nested`?"]),
        (&["compare", "--scheme", "native,paged"], &["`paged`", "nested"]),
        (&["compare", "--scheme", "nested:3K"], &["`3K`", "2M"]),
        (&["compare", "--scheme", "native:4K+4K"], &["native:4K+4K"]),
        (&["boot", "--scheme", "nest"], &["nest"]),
        (&["bench", "--workload", "speed"], &["`speed`", "sieve"]),
        (&["bench", "--scheme", "fast"], &["`fast`"]),
        (&["compare", "--set", "host=vax-1978"], &["`vax-1978`", "sandybridge-2012", "file"]),
        (&["compare", "--set", "host=xeon"], &["`xeon`", "did you mean `xeon-2017`?"]),
        (&["compare", "--workload", "strem"], &["did you mean `stream`?"]),
        (&["compare", "--set", "mmu.walk_cache=off"], &["did you mean `mmu.walk_caches`?"]),
        (&["compare", "--set", "mmu.l3=1"], &["mmu.l3", "unknown key"]),
        (&["compare", "--set", "mmmu.l2=1"], &["mmmu"]),
        (&["compare", "--set", "isa.v=true"], &["isa.v"]),
        (&["compare", "--set", "engine=warp"], &["warp", "threaded"]),
        (&["compare", "--set", "paging.guest=sv32"], &["sv32", "sv39"]),
        (&["compare", "--set", "mmu.ad=maybe"], &["maybe", "hardware"]),
        (&["launch"], &["launch"]),
        (&["boot", "--colour"], &["--colour"]),
        (&["guest", "fly"], &["fly"]),
    ] {
        run(arguments).failed(2, named);
    }
}

#[test]
fn values_of_the_wrong_kind_are_said_with_their_key() {
    for (setting, named) in [
        ("harts", &["harts", "KEY=VALUE"][..]),
        ("=1", &["KEY=VALUE"]),
        ("harts=", &["harts="]),
        ("harts=two", &["harts", "two"]),
        ("harts=0", &["harts", "64"]),
        ("harts=65", &["harts", "64"]),
        ("harts=-1", &["harts"]),
        ("harts=[1]", &["harts"]),
        ("harts.more=1", &["harts"]),
        ("memory=lots", &["memory", "lots"]),
        ("memory=4097", &["memory", "4K"]),
        ("memory=0", &["memory"]),
        ("memory=99999999999T", &["memory"]),
        ("quantum=1", &["quantum"]),
        ("isa.c=perhaps", &["isa.c", "perhaps"]),
        ("isa.f=false", &["isa.d", "isa.f"]),
        ("scheme=7", &["scheme"]),
        ("mmu.walk_caches=maybe", &["walk_caches"]),
        ("mmu.walk_caches=3", &["walk_caches"]),
        ("mmu.nested_tlb=-1", &["nested_tlb"]),
        ("mmu.l1d=12", &["mmu.l1d"]),
        ("mmu.l1d=[]", &["mmu.l1d"]),
        ("mmu.l1d=[{ sizes = ['4K'], sets = 3, ways = 1 }]", &["mmu.l1d", "power of two"]),
        ("mmu.l1d=[{ sizes = ['4K'], sets = 0, ways = 1 }]", &["mmu.l1d"]),
        ("mmu.l1d=[{ sizes = ['4K'], sets = 1, ways = 0 }]", &["mmu.l1d"]),
        ("mmu.l1d=[{ sizes = [], sets = 1, ways = 1 }]", &["mmu.l1d"]),
        ("mmu.l1d=[{ sizes = ['3K'], sets = 1, ways = 1 }]", &["3K"]),
        ("mmu.l1d=[{ sizes = ['4K'], sets = 4294967295, ways = 4294967295 }]", &["mmu.l1d"]),
        ("mmu.l2=[{ sizes = ['4K'], sets = 1073741824, ways = 1073741824 }]", &["mmu.l2"]),
        ("mmu.nested_tlb=4294967295", &["nested_tlb"]),
        ("mmu.walk_caches={ guest = [4294967295, 1, 1, 1], host = [1, 1, 1, 1] }", &["walk_caches"]),
    ] {
        run(["boot", "--set", setting]).failed(2, named);
    }
    for (arguments, named) in [
        (["--harts", "0"], "--harts"),
        (["--harts", "many"], "many"),
        (["--memory", "1.5G"], "1.5G"),
        (["--timeout", "0"], "--timeout"),
        (["--timeout", "-1"], "-1"),
    ] {
        run(["boot", arguments[0], arguments[1]]).failed(2, &[named]);
    }
}

#[test]
fn a_configuration_file_is_named_with_what_is_wrong_in_it() {
    let scratch = Scratch::new();
    for (name, content, named) in [
        ("syntax.toml", "harts = = 2\n", "syntax.toml"),
        ("key.toml", "[mmu]\nl4 = 2\n", "l4"),
        ("type.toml", "harts = 'two'\n", "harts"),
        ("binary.toml", "\u{0}\u{1}", "binary.toml"),
    ] {
        let file = scratch.write(name, content);
        run(["boot", "--config", &file]).failed(2, &[name, named]);
    }
    run(["boot", "--config", "/no/such.toml"]).failed(2, &["/no/such.toml"]);
    let host = scratch.write("host.toml", "name = 'half'\n");
    run(["boot", "--set", &format!("host={host}")]).failed(2, &["host.toml"]);
}

#[test]
fn memory_that_does_not_suffice_is_named() {
    run(["boot", "--memory", "4M"]).failed(2, &["vos", "8 MiB", "4"]);
    run(["boot", "--memory", "1T"]).failed(2, &["memory", "256G"]);
    run(["boot", "--memory", "256G"]).failed(2, &["vos", "253G", "256G"]);
    run(["boot", "--memory", "253G", "--scheme", "nested:1G", "--append", "workload=hello"]).succeeded();
    run(["compare", "--workload", "hello", "--scheme", "native,nested/memory=254G"]).failed(2, &["253G"]);
}

#[test]
fn a_disk_that_is_none_is_named() {
    let scratch = Scratch::new();
    run(["boot", "--disk", "/no/such.img"]).failed(2, &["/no/such.img"]);
    run(["boot", "--disk", "/"]).failed(2, &["/"]);
    run(["boot", "--disk", "/dev/null"]).failed(2, &["/dev/null"]);
    let empty = scratch.write("empty.img", b"");
    run(["boot", "--disk", &empty]).failed(2, &["empty.img"]);
    let nine = [format!("--disk={}", scratch.write("one.img", vec![0; 512]))].into_iter().cycle().take(9);
    run(["boot".to_owned()].into_iter().chain(nine)).failed(2, &["8"]);
}

#[test]
fn files_are_for_linux() {
    run(["boot", "--file", "/etc/hostname"]).failed(2, &["--file", "linux"]);
    run(["boot", "--kernel", "/etc/hostname"]).failed(2, &["--kernel", "linux"]);
    run(["compare", "--run", "true"]).failed(2, &["--run", "linux"]);
}

#[test]
fn a_cache_without_a_guest_says_how_to_fetch_one() {
    let scratch = Scratch::new();
    let cache = scratch.text("cache");
    let boot = ["boot", "--guest", "linux", "--run", "true", "--cache", &cache];
    run(boot).failed(1, &["cache", "pagewalk guest fetch"]);
    fs::create_dir_all(scratch.path("cache/linux")).unwrap();
    for manifest in ["", "{\"format\":", "[]"] {
        fs::write(scratch.path("cache/linux/manifest.json"), manifest).unwrap();
        run(boot).failed(1, &["cache", "pagewalk guest fetch"]);
    }
    fs::remove_file(scratch.path("cache/linux/manifest.json")).unwrap();
    fs::create_dir(scratch.path("cache/linux/manifest.json")).unwrap();
    run(boot).failed(1, &["manifest.json", "directory"]);
}

/// A short comparison that writes to `json`, after `before` in a shell.
fn compare_after(before: &str, json: &str) -> Ended {
    let line = format!("{before}; exec \"$0\" compare --workload hello --scheme native --json '{json}'");
    ended(Command::new("timeout").args(["60", "sh", "-c", &line, env!("CARGO_BIN_EXE_pagewalk")]))
}

#[test]
fn a_report_that_cannot_be_written_leaves_the_earlier_one() {
    let scratch = Scratch::new();
    let json = scratch.write("out.json", "earlier\n");
    // The disk is full after 512 bytes; the signal that says so is ignored, as a full disk sends none.
    compare_after("trap '' XFSZ; ulimit -f 1", &json).failed(1, &["out.json"]);
    assert_eq!(fs::read_to_string(&json).unwrap(), "earlier\n");
    assert_eq!(scratch.names(), ["out.json"], "nothing is left beside it");
    compare_after("true", &json).succeeded();
    assert!(fs::read_to_string(&json).unwrap().starts_with("{\n"));
    assert_eq!(scratch.names(), ["out.json"], "nothing is left beside it");
}

#[test]
fn a_report_where_nothing_can_be_written_is_named() {
    compare_after("true", "/no/such/directory/out.json").failed(1, &["/no/such/directory/out.json"]);
    // Before the work, not after.
    for command in ["boot", "bench"] {
        run([command, "--json", "/no/such/directory/out.json"]).failed(1, &["/no/such/directory/out.json"]);
    }
    compare_after("true", "/proc/out.json").failed(1, &["/proc/out.json"]);
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("out.json")).unwrap();
    compare_after("true", &scratch.text("out.json")).failed(1, &["out.json", "directory"]);
    assert_eq!(scratch.names(), ["out.json"]);
}

#[test]
fn a_full_disk_behind_standard_output_is_a_failure() {
    for arguments in [&["compare", "--workload", "hello", "--scheme", "native"][..], &["boot"], &["guest", "list"]] {
        let full = fs::File::options().write(true).open("/dev/full").expect("Linux has /dev/full");
        let end = ended_into(command(arguments), full);
        end.failed(1, &["standard output", "No space left"]);
    }
}

fn ended_into(mut command: Command, output: fs::File) -> Ended {
    let child = command.stdout(output).stderr(std::process::Stdio::piped()).spawn().expect("the command starts");
    let output = child.wait_with_output().expect("the command ends");
    Ended {
        code: output.status.code(),
        stdout: String::new(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn workloads_say_what_they_do_not_understand() {
    for workload in ["gups:3", "gups:7T", "cg:Q", "bfs:99", "kv:x"] {
        run(["compare", "--workload", workload, "--scheme", "native"]).failed(2, &["--workload", workload]);
        let (name, size) = workload.split_once(':').unwrap();
        run(["boot", "--append", &format!("workload={name} size={size}")]).failed(1, &["status 2"]);
    }
    let end = run(["boot", "--append", "workload=warp"]).failed(1, &["status 2"]);
    assert!(end.stdout.contains("warp"), "{end:#?}");
    let end = run(["boot", "--append", "paging=sv99"]).failed(1, &["status 255"]);
    assert!(end.stdout.contains("sv99"), "{end:#?}");
}

#[test]
fn a_command_line_that_is_too_long_is_an_error() {
    run(["boot", "--append", &"x".repeat(100_000)]).failed(1, &["status 255"]);
}
