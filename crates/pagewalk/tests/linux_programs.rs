//! Programs of the further package sets, each really at work in the guest, with a result that is checked. `cargo xtask test` fetches
//! the sets and runs these.

mod common;

use common::{Scratch, linux, runs};

/// Sorts, sums square roots by several threads, and prints the sum.
const SOURCE: &str = r#"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 2, NUMBERS = 4000 };

static double sums[THREADS];

static void *sum(void *argument)
{
    long part = (long)argument;

    for (int i = part; i < NUMBERS; i += THREADS)
        sums[part] += sqrt(i);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];

    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, sum, (void *)i) != 0)
            abort();
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%.3f\n", sums[0] + sums[1]);
    return 0;
}
"#;

/// The sum of the square roots below 4000, to three places.
const SUM: &str = "168622.979\n";

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn gcc_compiles_and_its_program_runs() {
    let scratch = Scratch::new();
    let source = scratch.write("sum.c", SOURCE);
    // Several harts reach every case that one does.
    for (scheme, harts, memory) in
        [("native", "1", "384M"), ("nested", "4", "1G"), ("flat", "4", "1G"), ("flat-hw", "4", "1G")]
    {
        let arguments = ["--scheme", scheme, "--harts", harts, "--memory", memory, "--file", &source];
        let end = linux("gcc -O2 -Wall -o /tmp/sum /sum.c -lm && /tmp/sum", &arguments).succeeded();
        assert_eq!(end.stdout, SUM);
    }
    let broken = scratch.write("broken.c", "int main(void) { return x; }\n");
    let end = linux("gcc -fdiagnostics-color=never -c /broken.c", &["--file", &broken]);
    assert!(end.code == Some(1) && end.stdout.contains("'x' undeclared"), "{end:#?}");
    linux("gcc --version", &["--memory", "256M"]).failed(2, &["needs 3", "256.0 MiB"]);
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_compilers_steps_can_be_compared() {
    let scratch = Scratch::new();
    let source = scratch.write("sum.c", SOURCE);
    let arguments = ["--guest", "linux", "--file", &source, "--run", "gcc -O2 -S -o - /sum.c | md5sum"];
    let results = runs(&[&arguments[..], &["--scheme", "native,nested"]].concat());
    assert_eq!(results[0]["outcome"], results[1]["outcome"]);
    assert!(results[1]["overhead"].as_f64().unwrap() > 0.0);
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn hackbench_passes_its_messages() {
    for (harts, mode) in [("1", ""), ("4", ""), ("2", "--threads")] {
        let command = format!("hackbench {mode} -g 2 -f 5 -l 20");
        let end = linux(&command, &["--harts", harts, "--scheme", "nested", "--memory", "128M"]).succeeded();
        assert!(end.stdout.contains("(== 20 tasks)") && end.stdout.contains("Time: "), "{end:#?}");
    }
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn sysbench_counts_its_events() {
    let command = "sysbench threads --threads=4 --time=0 --events=50 run; \
                   sysbench memory --memory-block-size=64K --memory-total-size=8M run; \
                   sysbench mutex --threads=4 --mutex-locks=500 run";
    let end = linux(command, &["--harts", "4", "--memory", "192M"]).succeeded();
    assert!(end.stdout.contains("total number of events:              50\n"), "{end:#?}");
    assert!(end.stdout.contains("8.00 MiB transferred"), "{end:#?}");
    assert_eq!(end.stdout.matches("total number of events:").count(), 3, "{end:#?}");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn stress_ng_forks_maps_and_verifies() {
    let command = "stress-ng --fork 2 --fork-ops 40 --mmap 1 --mmap-bytes 4M --mmap-ops 10 \
                   --vm 1 --vm-bytes 4M --vm-ops 2000 --verify";
    for (harts, scheme) in [("1", "native"), ("4", "nested")] {
        let end = linux(command, &["--harts", harts, "--scheme", scheme, "--memory", "192M"]).succeeded();
        assert!(end.stdout.contains("passed: 4: fork (2) mmap (1) vm (1)"), "{end:#?}");
        assert!(end.stdout.contains("failed: 0") && end.stdout.contains("successful run"), "{end:#?}");
    }
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn interpreters_compute() {
    let perl = "perl -e 'my %h; $h{$_ % 97} += $_ for 1..20000; print join(\",\", map { $h{$_} } 0..2), \"\\n\"'";
    let end = linux(perl, &["--memory", "128M"]).succeeded();
    assert_eq!(end.stdout, "2068137,2068344,2068551\n");
    let python = "python3 -c 'print(sum(i * i for i in range(10000)), len({n % 97 for n in range(5000)}))'";
    assert_eq!(linux(python, &["--memory", "192M"]).succeeded().stdout, "333283335000 97\n");
    let lua = "lua5.4 -e 'local t = {} for i = 1, 5000 do t[i % 97] = (t[i % 97] or 0) + i end print(t[5], #t)'";
    assert_eq!(linux(lua, &["--memory", "96M"]).succeeded().stdout, "128882\t96\n");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn compressors_give_back_what_they_took() {
    // The paths, since busybox's shell takes its own applets of these names first. In the guest's first second, which is 1970's, gzip has no
    // time stamp for a file.
    let command = "cat /usr/bin/pagewalk-workloads /usr/bin/bzip2 > /tmp/a; \
                   for c in 'xz -1' zstd bzip2 'gzip -n'; do \
                   /usr/bin/$c -c < /tmp/a > /tmp/b && /usr/bin/$c -d -c < /tmp/b | cmp - /tmp/a && \
                   [ $(stat -c %s /tmp/b) -lt $(stat -c %s /tmp/a) ] && echo $c; done";
    let end = linux(command, &["--scheme", "nested", "--memory", "128M"]).succeeded();
    assert_eq!(end.stdout, "xz -1\nzstd\nbzip2\ngzip -n\n");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn perf_counts_cycles_and_instructions_by_the_sbis_counters() {
    let command = "perf stat -x, -e cycles,instructions,dTLB-load-misses,r3 sh -c 'i=0; while [ $i -lt 1000 ]; do i=$((i+1)); done' 2>&1";
    let end = linux(command, &["--memory", "512M", "--set", "sbi.pmu=true"]).succeeded();
    let count = |event: &str| -> u64 {
        let row =
            end.stdout.lines().map(|line| line.split(',').collect::<Vec<_>>()).find(|row| row.get(2) == Some(&event));
        row.unwrap_or_else(|| panic!("no {event} in {}", end.stdout))[0].parse().expect("a count")
    };
    // The loop alone takes some hundreds of instructions each time.
    assert!(count("instructions") > 100_000 && count("cycles") > 100_000, "{}", end.stdout);
    assert!(count("dTLB-load-misses") > 0 && count("r3") > 0, "{}", end.stdout);
}
