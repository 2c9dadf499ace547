//! Direct segments under Debian Linux, whose kernel knows nothing of them: the primary region device and the preload library. `cargo xtask
//! test` runs these.

mod common;

use common::{Scratch, compare, compiled, number, predictions_within_a_tenth, run, runs, runs_of};

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

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn the_linear_model_predicts_each_mode() {
    let arguments =
        ["compare", "--model", "--guest", "linux", "--memory", "512M", "--workload", "gups:4M,bfs:14,cg:S,kv:4M"];
    let report = run(arguments).succeeded().stdout;
    assert_eq!(predictions_within_a_tenth(&report), 16, "{report}");
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

/// Boots Linux once under each scheme with a command, and gives the lines of its output, which have to be the same under all, and how many
/// misses a guest's segment held under each.
fn same_under_all(schemes: &str, command: &str, files: &[&str]) -> (Vec<String>, Vec<u64>) {
    let scratch = Scratch::new();
    let json = scratch.text("run.json");
    let mut lines: Option<Vec<String>> = None;
    let mut hits = Vec::new();
    for scheme in schemes.split(',') {
        let mut arguments = vec!["boot", "--guest", "linux", "--memory", "512M", "--scheme", scheme, "--json", &json];
        arguments.extend(["--run", command]);
        files.iter().for_each(|file| arguments.extend(["--file", file]));
        let ended = run(arguments).succeeded();
        let printed: Vec<String> = ended.stdout.lines().map(|line| line.trim().to_owned()).collect();
        assert_eq!(lines.get_or_insert_with(|| printed.clone()), &printed, "{scheme}");
        let report: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
        hits.push(["both", "guest"].map(|kind| number(&report, &format!("/runs/0/segments/{kind}"))).iter().sum());
    }
    (lines.unwrap(), hits)
}

/// Its allocator is jemalloc, which gets its memory from the region and cuts it up by itself.
#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn redis_serves_its_benchmark_from_the_region_and_saves_in_a_child() {
    let load =
        "redis-benchmark -q -n 500 -c 4 -r 300 -d 200 --seed 7 -t set,get,lpush,hset >/dev/null && redis-cli dbsize";
    let large =
        "redis-cli setrange large 3000000 end; redis-cli append large more; redis-cli getrange large 2999999 -1";
    let save = "redis-cli save; redis-cli debug reload; redis-cli bgsave; sleep 1; redis-cli info persistence | grep bgsave_status";
    let digest = "redis-cli debug digest";
    let command = format!(
        "({PRELOAD} redis-server --save '' --enable-debug-command yes >/dev/null & ) ; sleep 1; \
         {load}; {large}; {digest}; {save}; {digest}; redis-cli shutdown; sleep 1; {PRELOAD} redis-check-rdb dump.rdb | tail -n 2"
    );
    let (lines, hits) = same_under_all(SCHEMES, &command, &[]);
    assert!(lines.contains(&"\"\\x00endmore\"".to_owned()), "{lines:#?}");
    assert!(lines.contains(&"rdb_last_bgsave_status:ok".to_owned()), "{lines:#?}");
    let digests: Vec<&String> = lines.iter().filter(|line| line.len() > 38).collect();
    assert!(digests.len() >= 2 && digests[0] == digests[1], "{lines:#?}");
    let with_segment: Vec<bool> = hits.iter().map(|hits| *hits > 1000).collect();
    assert_eq!(with_segment, [false, false, true, false, true, true], "{hits:?}");
}

/// A process with memory of the region, small and large, forks: parent and child change it, and neither sees the other's. The child forks, too,
/// and so does `daemon` of the C library, which calls its own fork.
const FORKS: &str = r#"
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <fcntl.h>

enum { BYTES = 3 << 20 };

static unsigned long sum(const unsigned char *bytes)
{
    unsigned long sum = 0;

    for (unsigned i = 0; i < BYTES; i++)
        sum = sum * 31 + bytes[i];
    return sum;
}

static int child(unsigned char *memory, unsigned long before, int depth)
{
    unsigned char *more = calloc(1, BYTES);

    if (sum(memory) != before || sum(more) != 0)
        return 1;
    memset(memory, depth, BYTES);
    free(memory);
    memset(more, depth + 8, BYTES);
    if (depth < 2) {
        int status;
        pid_t pid = fork();

        if (pid == 0)
            _exit(child(more, sum(more), depth + 1));
        memset(more, 0, BYTES);
        waitpid(pid, &status, 0);
        if (status != 0)
            return 2;
    }
    return 0;
}

int main(void)
{
    unsigned char *memory = malloc(BYTES);
    int status = 0;
    unsigned long before;
    pid_t pid;
    int report;

    for (unsigned i = 0; i < BYTES; i++)
        memory[i] = i * 7 + i / 4096;
    before = sum(memory);
    pid = fork();
    if (pid == 0)
        _exit(child(memory, before, 1));
    /* While the child runs. */
    for (int i = 0; i < 4; i++)
        memset(memory, i, BYTES);
    for (unsigned i = 0; i < BYTES; i++)
        memory[i] = i * 7 + i / 4096;
    waitpid(pid, &status, 0);
    printf("fork: child %x, parent %d\n", status, sum(memory) == before);
    /* A child that is made behind the library's back has nothing of the region, and ends. */
    pid = _Fork();
    if (pid == 0) {
        memory[0] = 99;
        _exit(0);
    }
    waitpid(pid, &status, 0);
    printf("_Fork: signal %d, byte %d\n", WTERMSIG(status), memory[0]);
    fflush(stdout);
    if (daemon(0, 1) != 0)
        return 3;
    report = open("/daemon", O_WRONLY | O_CREAT, 0600);
    dprintf(report, "daemon: %d\n", sum(memory) == before);
    return 0;
}
"#;

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn the_child_of_a_fork_has_a_copy_of_the_region() {
    let scratch = Scratch::new();
    let program = compiled(&scratch, "forks", FORKS, &[]);
    let command = format!("{PRELOAD} /forks; sleep 1; cat /daemon");
    let (lines, hits) = same_under_all("native-segment,guest-direct,dual-direct", &command, &[&program]);
    assert_eq!(lines, ["fork: child 0, parent 1", "_Fork: signal 11, byte 0", "daemon: 1"]);
    assert!(hits.iter().all(|hits| *hits > 1000), "{hits:?}");
}

/// More in the region than there is memory for a copy of.
#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_fork_without_memory_for_the_copy_fails_cleanly() {
    let scratch = Scratch::new();
    let source = r#"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
    size_t bytes = 250 << 20;
    /* Volatile, so that the compiler keeps it. */
    char *volatile memory = malloc(bytes);
    pid_t pid;

    memset(memory, 5, bytes);
    pid = fork();
    if (pid == 0)
        _exit(0);
    printf("%s\n", pid < 0 ? strerror(errno) : "forked");
    if (memory[bytes - 1] != 5)
        return 1;
    free(memory);
    pid = fork();
    if (pid == 0)
        _exit(0);
    printf("%s\n", pid < 0 ? strerror(errno) : "forked");
    return 0;
}
"#;
    let program = compiled(&scratch, "large", source, &[]);
    let (lines, _) = same_under_all("dual-direct", &format!("{PRELOAD} /large"), &[&program]);
    assert_eq!(lines, ["Cannot allocate memory", "forked"]);
}

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
    // A region goes to who has a use for it.
    let source = r#"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
    char *volatile memory = malloc(1 << 20);

    memset(memory, 1, 1 << 20);
    sleep(3);
    return 0;
}
"#;
    let program = compiled(&scratch, "hold", source, &[]);
    // The second one begins while the first holds the region; a third has it after both. Where processes wait for their turn, no process is refused.
    let command = "/hold & sleep 1; /hold; sleep 3; /hold; echo over";
    let arguments = ["boot", "--guest", "linux", "--memory", "512M", "--scheme", "dual-direct", "--file", &program];
    run(arguments.iter().chain(&["--run", command])).succeeded();
    let hasty = command.replace("sleep 1;", "sleep 1; rm /run/pagewalk-region;");
    let ended = run(arguments.iter().chain(&["--run", &hasty]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.starts_with("pagewalk: refused: segment 0x"), "the hypervisor's log: {ended:?}");
    assert_eq!(ended.stderr.matches("the primary region belongs to another process").count(), 1, "{ended:?}");
    assert!(!ended.stdout.contains("pagewalk-region"), "a program's output is its own: {ended:?}");
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

/// Takes 32 MiB as its arguments say, and adds to words of it at random.
const RANDOM: &str = r#"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = 4 << 20, SMALL = 1 << 12 };

static uint64_t fixed[WORDS];

static uint64_t add(uint64_t *const *rows, unsigned long updates)
{
    uint64_t x = 1;
    uint64_t sum = 0;

    for (unsigned long i = 0; i < updates; i++) {
        x = x * 6364136223846793005ull + 1442695040888963407ull;
        sum += rows[(x >> 33) % (WORDS / SMALL)][(x >> 45) % SMALL]++;
    }
    return sum;
}

int main(int count, char **words)
{
    const char *kind = count > 1 ? words[1] : "large";
    static uint64_t *rows[WORDS / SMALL];
    uint64_t *large = strcmp(kind, "large") == 0 ? malloc(WORDS * sizeof(*large)) : fixed;
    int status = 0;
    pid_t child;

    for (unsigned i = 0; i < WORDS / SMALL; i++)
        rows[i] = strcmp(kind, "small") == 0 ? malloc(SMALL * sizeof(**rows)) : large + i * SMALL;
    for (unsigned i = 0; i < WORDS / SMALL; i++)
        for (unsigned j = 0; j < SMALL; j++)
            rows[i][j] = i + j;
    printf("%s %lx\n", kind, add(rows, 2000000));
    fflush(stdout);
    child = fork();
    if (child == 0)
        _exit(add(rows, 1000) == 0);
    memset(rows[0], 0, SMALL * sizeof(**rows));
    waitpid(child, &status, 0);
    printf("child %x, sum %lx\n", status, add(rows, 1000));
    return 0;
}
"#;

/// Memory that the program takes in one piece, in many, and not at all because it has it from the start: which of it is in a region depends on how the
/// program is linked, and what it does on neither that nor the scheme.
#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_program_of_the_users_has_a_primary_region_without_being_asked() {
    let scratch = Scratch::new();
    for (link, kinds) in [(&[][..], &["large"][..]), (&["-static"], &["large", "small", "fixed"])] {
        let program = compiled(&scratch, "random", RANDOM, link);
        for kind in kinds {
            let command = format!("/random {kind}");
            let scheme = "native,nested,native-segment,guest-direct,dual-direct";
            let arguments = ["--guest", "linux", "--memory", "512M", "--file", &program, "--run", &command];
            let report = compare(&[&arguments[..], &["--scheme", scheme]].concat());
            let region = "all systems with guest pages of 4K have a primary region (256M";
            assert!(report["caption"].to_string().contains(region), "{:#}", report["caption"]);
            let runs = runs_of(&report);
            let instructions = number(&runs[0], "/instructions") as f64;
            for run in &runs {
                assert!(run["failed"].is_null(), "{link:?} {kind}: {run:#}");
                let hits = number(run, "/segments/both") + number(run, "/segments/guest");
                assert_eq!(hits > 1_000_000, run["scheme"].as_str().unwrap().contains('-'), "{link:?} {kind}: {run:#}");
                let ratio = number(run, "/instructions") as f64 / instructions;
                // Memory of a segment is there without page faults, and slower machines have more timer ticks: both are the kernel's instructions.
                assert!((0.9..1.1).contains(&ratio), "{link:?} {kind}: unequal work, {ratio}: {run:#}");
                let noted =
                    run["notes"].as_array().unwrap().iter().any(|note| note.to_string().contains("M instructions"));
                assert_eq!(noted, (ratio - 1.0).abs() > 0.02, "{link:?} {kind}: {run:#}");
            }
        }
    }
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_comparison_on_linux_names_the_huge_pages_that_its_guests_have() {
    let command = "cut -d[ -f2 /sys/kernel/mm/transparent_hugepage/enabled";
    let told = |more: &[&str]| {
        let arguments = ["compare", "--guest", "linux", "--run", command, "--scheme", "native:4K,native:2M"];
        run(arguments.iter().chain(more)).succeeded().stdout
    };
    let usual = told(&[]);
    let caption =
        "Linux's transparent huge pages (guest.thp): never with guest pages of 4K, always with guest pages of 2M";
    assert!(usual.contains(caption) && usual.contains("never]") && usual.contains("always]"), "{usual}");
    let chosen = told(&["--set", "guest.thp=madvise"]);
    assert!(chosen.contains("(guest.thp): madvise\n") && chosen.contains("madvise]"), "{chosen}");
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
