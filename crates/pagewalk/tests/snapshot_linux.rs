//! Snapshots of Linux: a region after a restore is the region after a boot. `cargo xtask test` runs these.

mod common;

use common::{Scratch, compiled, run, runs, within_a_hundredth};

/// Every scheme with base pages that needs no primary region.
const SCHEMES: &str = "native,nested,nested:4K+2M,shadow,flat,flat-hw,reserved,vmm-direct";

/// Every scheme with base pages that can run a guest with a primary region.
const ALL: &str = "native,nested,shadow,flat,flat-hw,reserved,native-segment,vmm-direct,guest-direct,dual-direct";

/// Follows pointers through memory in a random order.
const CHASE: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MARK(n) __asm__ volatile("slti x0, x0, " #n ::: "memory")

struct line {
    struct line *next;
    char rest[56];
};

int main(void)
{
    enum { LINES = 128 << 14, STEPS = 3000000 };
    struct line *lines = aligned_alloc(4096, LINES * sizeof(*lines));
    uint32_t *order = malloc(LINES * sizeof(*order));
    uint64_t seed = 88172645463325252;

    for (uint32_t i = 0; i < LINES; i++)
        order[i] = i;
    for (uint32_t i = LINES - 1; i > 0; i--) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        uint32_t other = seed % i, line = order[i];
        order[i] = order[other];
        order[other] = line;
    }
    for (uint32_t i = 0; i < LINES; i++)
        lines[order[i]].next = &lines[order[(i + 1) % LINES]];
    free(order);
    struct line *at = lines;
    for (int i = 0; i < 200000; i++)
        at = at->next;
    MARK(1);
    for (int i = 0; i < STEPS; i++)
        at = at->next;
    MARK(2);
    printf("chase: ok %d\n", (int)(at - lines));
    return 0;
}
"#;

/// Linux places a program by random numbers that depend on timing: two boots differ by a percent where one layout touches a further table.
const SAME_LAYOUT: [&str; 2] = ["--append", "norandmaps"];

/// Compares `command` after a boot, and after the restore of a snapshot that was taken where its own region begins.
#[track_caller]
fn restored_as_booted(command: &str, schemes: &str, more: &[&str]) {
    let scratch = Scratch::new();
    let file = scratch.text("snapshot");
    let boot = ["boot", "--guest", "linux", "--run", command, "--snapshot", &file, "--snapshot-at", "region:2"];
    // The first region is that of the whole command.
    let named = format!("work: {command}");
    let compare = ["--guest", "linux", "--run", &named, "--scheme", schemes];
    run([&boot[..], more].concat()).succeeded();
    let booted = runs(&[&compare[..], more].concat());
    let restored = runs(&["--restore", &file, "--scheme", schemes]);
    within_a_hundredth(command, &booted, &restored);
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_restore_of_linux_reverses_no_verdict() {
    let scratch = Scratch::new();
    let chase = compiled(&scratch, "chase", CHASE, &["-static"]);
    restored_as_booted("/chase", SCHEMES, &[&["--memory", "512M", "--file", &chase][..], &SAME_LAYOUT].concat());
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_restore_of_a_workload_on_linux_reverses_no_verdict() {
    for work in ["kv size=16M iterations=100000", "gups size=16M updates=1000000"] {
        let command = format!("pagewalk-workloads {work}");
        let settings = ["--memory", "512M", "--set", "segment.region=64M"];
        restored_as_booted(&command, ALL, &[&settings[..], &SAME_LAYOUT].concat());
    }
}
