//! What a mistake is answered with: one line in plain English that names the file, key or value at fault and the range that holds, and nothing of
//! the program's own types and temporary files.

mod common;

use common::{Ended, Scratch, run};

/// What no message has in it: types of Rust, words of its libraries, numbers of the system's errors.
const JARGON: [&str; 16] = [
    "expected u",
    "usize",
    "4294967295",
    "invalid digit",
    "untagged",
    "unknown variant",
    "unknown field",
    "did not match any",
    "struct ",
    "TOML parse error",
    "os error",
    ".pagewalk-",
    "stream did not contain",
    "EOF while",
    "invalid type",
    "panicked",
];

#[track_caller]
fn refused(arguments: &[&str], said: &str) {
    let Ended { stderr, .. } = run(arguments).failed(2, &[said]);
    for jargon in JARGON {
        assert!(!stderr.contains(jargon), "{arguments:?}: {jargon:?} in {stderr}");
    }
}

#[test]
fn a_slip_in_a_command_or_an_option_finds_what_was_meant() {
    for (arguments, said) in [
        (&["comapre"][..], "unknown command `comapre`; did you mean `compare`?"),
        (&["guest", "fetsh"], "did you mean `fetch`?"),
        (&["compare", "--schem", "native"], "unknown option `--schem`; did you mean `--scheme`?"),
        (&["vlm", "--ful"], "did you mean `--full`?"),
        (&["compare", "gups"], "unexpected argument `gups`"),
        (&["report"], "see `pagewalk report --help`"),
        (&["reproduce", "gandi2014"], "did you mean `gandhi2014`?"),
    ] {
        refused(arguments, said);
    }
}

#[test]
fn a_value_out_of_range_is_said_with_the_range_that_holds() {
    for (arguments, said) in [
        (&["boot", "--harts", "0"][..], "--harts: `0` is not a number from 1 to 64"),
        (&["boot", "--harts", "65"], "from 1 to 64"),
        (&["boot", "--harts", "4294967296"], "from 1 to 64"),
        (&["boot", "--harts", "two"], "`two` is not a number from 1 to 64"),
        (&["boot", "--timeout", "0"], "a number of at least 1"),
        (&["boot", "--memory", "1.5G"], "--memory: `1.5G` is not a size"),
        (&["bench", "--repeat", "x"], "--repeat: `x` is not a number from 1 to 1000"),
    ] {
        refused(arguments, said);
    }
}

#[test]
fn a_setting_of_the_wrong_kind_is_said_in_words_of_the_users() {
    for (setting, said) in [
        ("harts=two", "harts: `two` is not a number from 1 to 64"),
        ("harts=1.5", "harts: `1.5` is not a number from 1 to 64"),
        ("harts=[1]", "harts: a list is not a number from 1 to 64"),
        ("harts=true", "harts: `true` is not a number"),
        ("harts=65", "harts: `65` is not a number from 1 to 64"),
        ("harts=", "harts=: the value is missing"),
        ("mmu=3", "key `mmu` is a table"),
        ("mmu.nested_tlb=-1", "mmu.nested_tlb: `-1` is not `on`, `off` or a number of entries"),
        ("mmu.ad=maybe", "mmu.ad: unknown value `maybe` (hardware, switchable, fault)"),
        ("engine=Threaded", "did you mean `threaded`?"),
        ("memory=true", "memory: not a size such as"),
        ("timeout=soon", "timeout: `soon` is not a whole number of seconds"),
        ("seed=x", "seed: `x` is not a whole number"),
        ("quantum=x", "quantum: `x` is not a number of cycles from 100 to 1000000000"),
        ("isa.c=perhaps", "isa.c: `perhaps` is not true or false"),
        ("shadow.count=x", "a number from 1 to 1024"),
        ("faulty.count=x", "a number from 0 to 65536"),
        ("disk.latency_us=x", "a number from 0 to 1000000"),
        ("mmu.l1d=[{sizes=['4K'],sets=4}]", "key `ways` is missing"),
    ] {
        refused(&["boot", "--set", setting], said);
    }
}

#[test]
fn a_file_of_the_wrong_kind_is_said_with_what_it_is_and_what_was_wanted() {
    let scratch = Scratch::new();
    let own = std::env::current_exe().unwrap();
    let program = own.to_str().unwrap();
    let text = scratch.write("text", "some words\n");
    let json = scratch.write("some.json", "{\"a\": 1}\n");
    let toml = scratch.write("some.toml", "harts = 2\n");
    let page = scratch.text("page.html");
    for (arguments, said) in [
        (&["report", &toml, &page][..], "TOML, not the JSON of compare, run, vlm, reproduce, calibrate or validate"),
        (&["report", &text, &page], "a text file, not the JSON of compare"),
        (&["report", program, &page], "an ELF program for "),
        (&["report", &json, &page], "JSON, but not the JSON of compare"),
        (&["advise", &toml], "TOML, not the JSON of compare or run"),
        (&["boot", "--restore", &text], "a text file, not a snapshot"),
        (&["boot", "--restore", program], "an ELF program for "),
        (&["boot", "--guest", &text], "a text file: neither a RISC-V Linux Image nor an ELF file"),
        (&["boot", "--guest", &json], "JSON: neither"),
        (&["boot", "--config", &json], "JSON, not TOML"),
        (&["boot", "--config", program], ", not TOML"),
        (&["run", program], ", not TOML"),
        (&["boot", "--config", "/"], "/: Is a directory"),
    ] {
        refused(arguments, said);
    }
}

#[test]
fn a_mistake_in_a_file_is_said_with_line_and_key() {
    let scratch = Scratch::new();
    for (text, said) in [
        ("harts = = 2\n", "line 1: harts: "),
        ("memory = '1G'\nharts = 'two'\n", "line 2: harts: `two` is not a number from 1 to 64"),
        ("[mmu]\nl4 = 2\n", "line 2: unknown key `mmu.l4`"),
    ] {
        refused(&["boot", "--config", &scratch.write("c.toml", text)], said);
    }
    let host = scratch.write("host.toml", "\nprocessors = 'two'\n[[guest]]\nname = 'a'\nworkload = 'hello'\n");
    refused(&["run", &host], "host.toml: line 2: processors: `two` is not a whole number");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_program_for_another_processor_is_refused_by_its_architecture() {
    let own = std::env::current_exe().unwrap();
    let file = format!("{}:/p", own.display());
    refused(&["boot", "--guest", "linux", "--file", &file, "--run", "/p"], "which the RISC-V guest cannot run");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_kernel_panic_is_not_called_a_reset() {
    let panic = "echo c > /proc/sysrq-trigger";
    let Ended { stderr, .. } =
        run(["boot", "--guest", "linux", "--run", panic]).failed(1, &["Kernel panic - not syncing"]);
    assert!(!stderr.contains("asked for a reset"), "{stderr}");
}
