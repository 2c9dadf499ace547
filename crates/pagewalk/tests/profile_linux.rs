//! `--profile` of Linux: its processes, what they have mapped, and the functions of programs and libraries that are loaded anywhere.

mod common;

use common::profiles::{exact, json};
use common::{Scratch, compiled, number, run, runs_of};
use serde_json::Value;
use std::fs;

/// A program that reads 16 MiB at random, and then 4 MiB in order.
const TWO_ARRAYS: &str = "
    #include <stdlib.h>
    #include <string.h>
    static char in_order[4 << 20] = { 1 };
    static char cleared[1 << 20];
    static volatile unsigned long sum;
    __attribute__((noinline)) static void read_at_random(const unsigned char *table, unsigned long bytes) {
        unsigned long x = 88172645463325252UL;
        for (int i = 0; i < 100000; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            sum += table[x % bytes]; /* at random */
        }
    }
    __attribute__((noinline)) static void read_in_order(void) {
        for (int i = 0; i < sizeof in_order; i += 64) sum += in_order[i];
        for (int i = 0; i < sizeof cleared; i += 64) cleared[i]++;
    }
    int main(void) {
        unsigned long bytes = 16UL << 20;
        unsigned char *table = malloc(bytes);
        memset(table, 1, bytes);
        read_at_random(table, bytes);
        read_in_order();
        return 0;
    }";

/// The parts of a list that have a value at a key.
fn parts<'v>(profile: &'v Value, list: &str, key: &str, value: &str) -> Vec<&'v Value> {
    profile[list].as_array().expect("a list").iter().filter(|part| part[key] == value).collect()
}

/// The number of the space of a process.
#[track_caller]
fn space(profile: &Value, name: &str) -> u64 {
    let found = parts(profile, "spaces", "name", name);
    assert!(found.len() == 1 && found[0]["pid"].is_number(), "{name}: {:#}", profile["spaces"]);
    number(found[0], "/space")
}

/// Counts of a function for an object, in a space.
fn count(profile: &Value, space: u64, (symbol, object): (&str, &str), counter: &str) -> u64 {
    let both = parts(profile, "symbols_and_objects", "symbol", symbol).into_iter();
    let both = both.filter(|part| part["object"] == object && number(part, "/space") == space);
    both.map(|part| part["counts"][counter].as_u64().unwrap_or(0)).sum()
}

#[test]
#[ignore = "needs the fetched Linux guest and a cross compiler"]
fn a_program_that_is_loaded_anywhere_has_functions_lines_and_data() {
    let scratch = Scratch::new();
    let program = compiled(&scratch, "two-arrays", TWO_ARRAYS, &["-g", "-O1"]);
    let file = format!("{program}:/usr/bin/two-arrays");
    let guest = ["--guest", "linux", "--file", &file, "--run", "two-arrays", "--memory", "256M"];
    let profile = exact(&[&guest[..], &["--scheme", "native,nested,shadow"]].concat());
    for profile in runs_of(&profile) {
        let space = space(&profile, "two-arrays");
        // An access in random order misses, but for the few pages that the TLB holds.
        let random = count(&profile, space, ("read_at_random", "[anonymous]"), "l1d_misses");
        assert!(random > 95_000, "{random}: {:#}", profile["symbols_and_objects"]);
        // A variable with a value is in the file, and one without is behind it.
        let pages = |object| count(&profile, space, ("read_in_order", object), "l1d_misses");
        let (in_order, cleared) = (pages("in_order"), pages("cleared"));
        // Each page is missed once, and once more for each fault of the guest's or of a shadow table at its first use.
        assert!((1024..5 * 1024).contains(&in_order), "{in_order}");
        assert!((256..8 * 256).contains(&cleared), "{cleared}");
        // `malloc` is in a library without a symbol table; what others link to is known.
        assert!(count(&profile, space, ("memset", "[anonymous]"), "l1d_misses") >= 4096);
        let line = 1 + TWO_ARRAYS.lines().position(|line| line.contains("at random */")).unwrap();
        let lines = parts(&profile, "lines", "symbol", "read_at_random");
        assert!(lines[0]["line"].as_str().unwrap().ends_with(&format!("two-arrays.c:{line}")), "{:#}", lines[0]);
        assert!(!parts(&profile, "objects", "name", "[direct map]").is_empty());
        let mapped = |name: &str| parts(&profile, "mappings", "name", name);
        let libc = mapped("libc.so.6").into_iter().find(|found| number(found, "/space") == space).expect("libc");
        assert!(libc["path"].as_str().unwrap().ends_with("/libc.so.6"), "{libc:#}");
        assert!(!mapped("[stack]").is_empty() && !mapped("[heap]").is_empty() && !mapped("[anonymous]").is_empty());
        assert_eq!(mapped("two-arrays")[0]["path"], "/usr/bin/two-arrays");
        assert!(parts(&profile, "symbols", "name", "[other instructions]").is_empty());
    }
}

#[test]
#[ignore = "needs the fetched Linux guest"]
fn redis_has_functions_and_data() {
    let command =
        "redis-server --daemonize yes --save '' >/dev/null; sleep 1; redis-benchmark -q -n 2000 -r 2000 -t set,get";
    let profile = exact(&["--guest", "linux", "--run", command, "--scheme", "nested", "--memory", "256M"]);
    let profile = &runs_of(&profile)[0];
    let servers = profile["spaces"].as_array().unwrap().iter();
    let servers = servers.filter(|space| space["name"].as_str().unwrap().starts_with("redis-server"));
    // A daemon forks: the second process is the server.
    let server = servers.max_by_key(|space| number(space, "/counts/l1d_misses")).expect("a server");
    let of = number(server, "/space");
    let of_server = |list: &str, name: &str| {
        let found = parts(profile, list, "name", name).into_iter().find(|part| number(part, "/space") == of);
        found.map_or(0, |part| part["counts"]["l1d_misses"].as_u64().unwrap_or(0))
    };
    for function in ["lookupKey", "processCommand", "call", "malloc", "__strcasecmp"] {
        assert!(of_server("symbols", function) > 0, "no misses of {function}: {:#}", profile["symbols"]);
    }
    for object in ["server", "[anonymous]", "[stack]", "libc.so.6", "[direct map]"] {
        assert!(of_server("objects", object) > 0, "no misses of {object}: {:#}", profile["objects"]);
    }
    space(profile, "redis-benchmark");
}

/// Every part of the profile, of four harts, is the same under each engine, and adds up to what the run counted.
#[test]
#[ignore = "needs the fetched Linux guest"]
fn a_profile_of_four_harts_adds_up_under_every_engine() {
    let command = "for i in 1 2 3 4; do (ls -l /usr/bin | sort | wc -c) & done; wait";
    let of = |engine: &str| {
        let engine = format!("engine={engine}");
        exact(&["--guest", "linux", "--run", command, "--scheme", "nested,shadow", "--harts", "4", "--set", &engine])
    };
    let threaded = of("threaded");
    assert_eq!(threaded, of("match"));
    assert_eq!(threaded, of("compiled"));
    let runs = runs_of(&threaded);
    let spaces = runs[0]["spaces"].as_array().unwrap();
    let lists = spaces.iter().filter(|space| space["name"].as_str().unwrap().starts_with("ls"));
    assert_eq!(lists.count(), 4, "{spaces:#?}");
}

/// What is read of the guest's memory changes no result.
#[test]
#[ignore = "needs the fetched Linux guest"]
fn processes_are_found_without_an_effect() {
    let scratch = Scratch::new();
    let (profile, with, without) = (scratch.text("p.json"), scratch.text("with.json"), scratch.text("without.json"));
    let guest = ["compare", "--guest", "linux", "--run", "ls -lR /usr | wc", "--scheme", "native,nested,shadow,agile"];
    run(guest.iter().chain(&["--profile", &profile, "--json", &with])).succeeded();
    run(guest.iter().chain(&["--json", &without])).succeeded();
    assert_eq!(fs::read(with).unwrap(), fs::read(without).unwrap());
    assert!(
        json(&profile)["runs"].as_array().unwrap().iter().all(|run| !run["mappings"].as_array().unwrap().is_empty())
    );
}

/// The kernel's own description is in its memory, so a restored guest has names, too.
#[test]
#[ignore = "needs the fetched Linux guest"]
fn a_restored_linux_has_processes_and_mappings() {
    let scratch = Scratch::new();
    let (snapshot, file) = (scratch.text("linux.snapshot"), scratch.text("p.json"));
    let boot = ["boot", "--guest", "linux", "--run", "sleep 1; ls -l /usr/bin | sort | tail -n 1"];
    run(boot.iter().chain(&["--snapshot", &snapshot, "--snapshot-at", "region:1"])).succeeded();
    run(["compare", "--restore", &snapshot, "--scheme", "nested", "--profile", &file]).succeeded();
    let profile = &runs_of(&json(&file))[0];
    space(profile, "ls");
    assert!(!parts(profile, "mappings", "name", "busybox").is_empty(), "{:#}", profile["mappings"]);
}
