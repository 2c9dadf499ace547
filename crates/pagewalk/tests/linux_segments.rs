//! Direct segments under Debian Linux, whose kernel knows nothing of them: the primary region device and the preload library. `cargo xtask
//! test` runs these.

mod common;

use common::{Scratch, compiled, number, run, runs};

const SCHEMES: &str = "native,nested,native-segment,vmm-direct,guest-direct,dual-direct";

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn workloads_compute_the_same_and_miss_in_their_segment() {
    let workloads = "gups:4M,bfs:14,cg:S,kv:4M";
    let arguments = ["--guest", "linux", "--workload", workloads, "--scheme", SCHEMES, "--memory", "512M"];
    let runs = runs(&arguments);
    assert_eq!(runs.len(), 4 * 6);
    for run in &runs {
        assert_eq!(run["outcome"], "the guest's command ended with status 0", "{run:#}");
        assert_eq!(number(run, "/segments/refused"), 0, "{run:#}");
        let scheme = run["scheme"].as_str().unwrap();
        let hits = |kind: &str| number(run, &format!("/segments/{kind}"));
        let expected = match scheme {
            "native-segment:4K" | "dual-direct:4K" => hits("both"),
            "guest-direct:4K+4K" => hits("guest"),
            "vmm-direct:4K" => hits("monitor"),
            _ => u64::from(hits("both") + hits("guest") + hits("monitor") == 0),
        };
        assert!(expected > 0, "{run:#}");
    }
}

/// Fills memory that malloc gave, grows it, and sums it.
const PROGRAM: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(void)
{
    enum { WORDS = 1 << 18 };
    unsigned long sum = 0;
    unsigned long *words = malloc(WORDS * sizeof(*words));
    unsigned long *zeroes = calloc(WORDS, sizeof(*zeroes));
    char *page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    for (unsigned long i = 0; i < WORDS; i++)
        words[i] = i * 0x9e3779b97f4a7c15;
    words = realloc(words, 2 * WORDS * sizeof(*words));
    memset(words + WORDS, 1, WORDS * sizeof(*words));
    memset(page, 7, 1 << 20);
    madvise(page, 4096, MADV_DONTNEED);
    for (unsigned long i = 0; i < 2 * WORDS; i++)
        sum += words[i];
    for (unsigned long i = 0; i < WORDS; i++)
        sum += zeroes[i];
    free(zeroes);
    zeroes = calloc(WORDS, sizeof(*zeroes));
    sum += zeroes[0] + zeroes[WORDS - 1];
    printf("sum %lx page %d %d\n", sum, page[0], page[4096]);
    munmap(page, 1 << 20);
    free(words);
    return 0;
}
"#;

const PRELOAD: &str = "LD_PRELOAD=/usr/lib/libpagewalk-region.so";

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_program_runs_unchanged_from_the_region_one_process_after_the_other() {
    let scratch = Scratch::new();
    let program = compiled(&scratch, "sum", PROGRAM, &[]);
    let command = format!("{PRELOAD} /sum; {PRELOAD} /sum; /sum");
    let mut printed = Vec::new();
    for scheme in ["native", "nested", "native-segment", "guest-direct", "dual-direct"] {
        let json = scratch.text("run.json");
        let arguments = ["boot", "--guest", "linux", "--memory", "512M", "--file", &program, "--run", &command];
        let ended = run(arguments.iter().chain(&["--scheme", scheme, "--json", &json])).succeeded();
        let lines: Vec<&str> = ended.stdout.lines().filter(|line| line.starts_with("sum ")).collect();
        assert!(lines.len() == 3 && lines.iter().all(|line| *line == lines[0]), "{scheme}: {ended:?}");
        printed.push(lines[0].to_owned());
        let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        let hits = ["both", "guest"].map(|kind| number(&report, &format!("/runs/0/segments/{kind}")));
        assert_eq!(hits.iter().sum::<u64>() > 100, scheme.contains("-"), "{scheme}: {hits:?}");
    }
    assert!(printed.iter().all(|line| *line == printed[0] && line.ends_with("page 0 7")), "{printed:?}");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_process_that_does_not_own_the_region_is_refused() {
    let scratch = Scratch::new();
    let source = "#include <unistd.h>\nint main(void) { sleep(3); return 0; }";
    let program = compiled(&scratch, "hold", source, &[]);
    // The second one begins while the first holds the region; a third has it after both.
    let command = format!("{PRELOAD} /hold & sleep 1; {PRELOAD} /hold; sleep 3; {PRELOAD} /hold; echo over");
    let arguments = ["boot", "--guest", "linux", "--memory", "512M", "--scheme", "dual-direct", "--file", &program];
    let ended = run(arguments.iter().chain(&["--run", &command]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.starts_with("pagewalk: refused: segment 0x"), "the monitor's log: {ended:?}");
    assert_eq!(ended.stdout.matches("pagewalk-region: the segment is refused, status 21").count(), 1, "{ended:?}");
    assert!(ended.stdout.contains("over"), "{ended:?}");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn memcached_serves_the_same_load_from_the_region() {
    let load = "memcaslap -s 127.0.0.1:11211 -T 1 -c 8 -x 2000 -v 0.2 2>&1 | grep -E 'cmd_get|get_misses|verify_|written_bytes|packet_drop'";
    let command = format!("({PRELOAD} memcached -u root -t 1 -m 64 & ) ; sleep 1; {load}");
    let arguments = ["--guest", "linux", "--memory", "768M", "--scheme", SCHEMES, "--run", &command];
    for run in runs(&arguments) {
        assert_eq!(run["outcome"], "the guest's command ended with status 0", "{run:#}");
    }
}

/// Self-ballooning: a guest without a region gets one for what its balloon has taken, page by page, from anywhere.
#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn what_the_balloon_takes_comes_back_in_one_piece() {
    let command = "while [ $(($(devmem 0x10010010 64))) -lt 67108864 ]; do sleep 1; done; pagewalk-workloads gups size=16M updates=100000";
    for scheme in ["guest-direct", "dual-direct"] {
        let arguments = [
            "--guest",
            "linux",
            "--memory",
            "512M",
            "--balloon",
            "--set",
            "balloon.target=64M",
            "--set",
            "segment.hot_add=true",
            "--set",
            "segment.region=2M",
            "--scheme",
            scheme,
            "--run",
            command,
        ];
        let runs = runs(&arguments);
        assert_eq!(runs[0]["outcome"], "the guest's command ended with status 0", "{:#}", runs[0]);
        assert!(number(&runs[0], "/segments/guest") + number(&runs[0], "/segments/both") > 50_000, "{:#}", runs[0]);
    }
}
