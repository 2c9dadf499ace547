//! The kernel of servers, the figures that guests report, reservations of a host's own file, and sections with an unnamed file.

mod common;

use common::{Scratch, command, ended, number};
use serde_json::{Value, json};
use std::fs;

const PAGE: u64 = 4096;

/// Twelve servers on two processors that map a section of 8 MiB.
fn servers(options: &str) -> String {
    format!(
        "processors = 2\n[config]\nscheme = 'nested'\ntimeout = 60\n[[section]]\nname = 'cache'\nsize = '8M'\n[[guest]]\nname = 'one'\n\
         workload = 'servers'\nmemory = '64M'\nprocessors = 2\nallocation = [0, 1]\nsections = [{{ name = 'cache' }}]\n\
         options = 'section=cache iterations=12 {options}'\n"
    )
}

/// What `run` prints and reports of the host of `text`.
fn run(text: &str) -> (String, Value) {
    let scratch = Scratch::new();
    let host = scratch.write("host.toml", text);
    let json = scratch.path("report.json");
    let end = ended(&mut command(["run", &host, "--output", "--json", json.to_str().unwrap()])).succeeded();
    (end.stdout, serde_json::from_slice(&fs::read(json).unwrap()).unwrap())
}

fn figure(report: &Value, name: &str) -> u64 {
    number(report, &format!("/guests/0/figures/{name}"))
}

#[test]
fn servers_that_share_tables_start_and_stop_sooner_and_wait_less() {
    let (shown, shared) = run(&servers(""));
    assert!(shown.contains("servers: ok servers=12 pages=2048"), "{shown}");
    assert!(shown.contains("start_lock_waited_ns"), "{shown}");
    let (_, private) = run(&servers("tables=private"));
    for name in ["start_ns", "mean_start_ns", "stop_ns", "start_lock_held_ns", "stop_lock_held_ns"] {
        let (shared, private) = (figure(&shared, name), figure(&private, name));
        assert!(0 < shared && shared < private, "{name}: {shared} and {private}");
    }
    // A lock is held for no longer than a phase takes, and each of two processors waits for no longer. A hold and a wait are exact to a tick of 100 ns.
    for phase in ["start", "stop"] {
        let of = |what: &str| figure(&private, &format!("{phase}_{what}"));
        let inexact = 100 * of("lock_takes");
        assert!(of("lock_held_ns") <= of("ns") + inexact, "{private:#}");
        assert!(of("lock_waited_ns") <= 2 * of("ns") + inexact, "{private:#}");
        assert!(of("lock_waits") <= of("lock_takes"));
    }
    // Twelve servers and the launcher delete their spaces.
    assert_eq!((figure(&private, "servers"), figure(&private, "stop_lock_takes")), (12, 13));
}

#[test]
fn copied_links_lead_to_the_same_pages_in_less_time() {
    // With 8 MiB there are four links to make, with 1 GiB 512.
    let large = |options: &str| run(&servers(options).replace("8M", "1G"));
    let (shown, copied) = large("role=copied");
    assert!(shown.contains("servers: ok servers=12 pages=262144"), "{shown}");
    let (_, made) = large("");
    assert!(figure(&copied, "start_lock_held_ns") < figure(&made, "start_lock_held_ns"));
}

#[test]
fn options_of_servers_are_checked() {
    for (options, line) in [
        ("role=first", "servers: role=first: must be copied"),
        ("size=64", "must be in"),
        ("frames=7", "servers: frames=7: not an option of this workload"),
    ] {
        let scratch = Scratch::new();
        let host = scratch.write("host.toml", servers(options));
        let end = ended(&mut command(["run", &host, "--output"]));
        assert_eq!(end.code, Some(1), "{options}");
        assert!(end.stdout.contains(line), "{options}: {}", end.stdout);
    }
}

#[test]
fn figures_of_one_guest_are_in_the_reports_of_compare_and_boot() {
    let scratch = Scratch::new();
    let config = scratch.write("c.toml", "memory = '64M'\n[[section]]\nname = 'cache'\nsize = '8M'\n");
    let json = scratch.text("c.json");
    let append = "section=cache iterations=3";
    let compare = ["compare", "--fidelity", "counts", "--config", &config, "--scheme", "nested", "--workload"];
    let rest = ["servers", "--append", append, "--json", &json];
    ended(&mut command(compare.iter().chain(&rest))).succeeded();
    let compared: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    assert_eq!(compared["runs"][0]["figures"]["servers"], json!(3));
    let booted = scratch.text("b.json");
    let boot =
        ["boot", "--run", "servers", "--config", &config, "--set", "scheme=nested", "--append", append, "--json"];
    ended(&mut command(boot.iter().chain(&[booted.as_str()]))).succeeded();
    let booted: Value = serde_json::from_slice(&fs::read(booted).unwrap()).unwrap();
    assert_eq!(booted["runs"][0]["figures"]["servers"], json!(3));
}

/// splitmix64 of a guest's seed.
struct Random(u64);

impl Random {
    const fn mixed(z: u64) -> u64 {
        let z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        Self::mixed(self.0)
    }
}

/// Faults of a memory of `quota` pages, first in, first out.
fn first_in_first_out(pages: impl IntoIterator<Item = u64>, quota: usize) -> u64 {
    let (mut held, mut faults) = (std::collections::VecDeque::new(), 0);
    for page in pages {
        if held.contains(&page) {
            continue;
        }
        faults += 1;
        if held.len() == quota {
            held.pop_front();
        }
        held.push_back(page);
    }
    faults
}

#[test]
fn random_references_to_a_pageable_section_fault_as_often_as_its_quota_says() {
    let (pages, references, seed) = (512, 4000, 7);
    for quota in [64, 300] {
        let text = format!(
            "processors = 1\n[config]\nscheme = 'nested'\ntimeout = 600\n[[section]]\nname = 'cache'\nsize = '{}K'\nkind = 'pageable'\n\
             [[guest]]\nname = 'one'\nworkload = 'references'\nmemory = '64M'\nquota = '{}K'\nsections = [{{ name = 'cache' }}]\n\
             options = 'section=cache updates={references} seed={seed}'\n",
            pages * PAGE / 1024,
            quota * PAGE / 1024
        );
        let (shown, report) = run(&text);
        assert!(shown.contains("references: ok pages=512 references=4000"), "{shown}");
        let mut random = Random(Random::mixed(seed));
        let used = (0..2 * references).map(|_| random.next() % pages);
        let expected = first_in_first_out((0..pages).chain(used).chain(0..pages), quota as usize);
        let fault = |kind: &str| number(&report, &format!("/guests/0/sections/faults/{kind}"));
        assert_eq!(fault("disk"), pages);
        assert_eq!(fault("disk") + fault("listed"), expected);
        assert_eq!(report["sections"][0]["kind"], "pageable");
    }
}

#[test]
fn reservations_of_the_hosts_own_file_take_the_place_of_the_registry() {
    let reserved = |keys: &str| format!("reservation = [{{ name = 'cache', size = '8M', {keys} }}]\n{}", servers(""));
    let (_, report) = run(&reserved("alloc = true, page_tables = true"));
    assert_eq!(report["sections"][0]["kind"], "alloc");
    assert!(report["reserved_memory"]["refused"].as_array().unwrap().is_empty());
    let scratch = Scratch::new();
    for (keys, words) in [
        ("alloc = true, page_tables = true, colour = 1", &["reservation", "colour"][..]),
        ("alloc = 'yes', page_tables = true", &["reservation", "alloc"]),
        ("alloc = false, zeroed = true, page_tables = true", &["reservation", "zeroed"]),
    ] {
        let host = scratch.write("host.toml", reserved(keys));
        ended(&mut command(["run", &host])).failed(2, &[&["host.toml"], words].concat());
    }
}
