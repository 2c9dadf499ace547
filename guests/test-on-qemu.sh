#!/bin/sh
# Runs vos under qemu-system-riscv64, whose "virt" machine has our memory map, and the Linux program under
# qemu-riscv64. Says what failed; exit status 1 if anything did. As many checks run at once as there are
# processors. Holds for QEMU 7.2 to 10 with the OpenSBI that Debian 12, Ubuntu 24.04 and Debian 13 ship with it.
# Needs qemu-system-riscv64, opensbi and qemu-user; another QEMU is named by QEMU and QEMU_USER, other images by VOS
# and PROGRAM.
#
#   test-on-qemu.sh [quick | smoke]     with "quick", small sizes only; with "smoke", each workload once
set -u

here=$(cd "$(dirname "$0")" && pwd)
export VOS="${VOS:-$here/vos/vos.elf}"
export QEMU="${QEMU:-qemu-system-riscv64}"
# Output is compared byte by byte, whatever the user's language.
export LC_ALL=C
program=${PROGRAM:-$here/workloads/pagewalk-workloads}
qemu_user=${QEMU_USER:-qemu-riscv64}

# vos SECONDS OPTIONS COMMAND-LINE: what vos prints, and "TIMEOUT" when it does not end.
vos() {
    output=$(mktemp)
    # shellcheck disable=SC2086 # the options are words
    timeout "$1" "$QEMU" -machine virt -display none -monitor none \
        -serial stdio $2 -kernel "$VOS" -append "$3" </dev/null >"$output" 2>/dev/null
    status=$?
    # The firmware speaks before vos. `misbehave=sbi` has it write the byte 255 as well, by the debug console extension,
    # which OpenSBI has since 1.3 (so with QEMU 8.2 and 10, but not with 7.2).
    tr -d '\r\377' <"$output" | sed -n '/^vos:/,$p'
    rm -f "$output"
    [ "$status" -eq 0 ] || echo TIMEOUT
}

# check NAME WANTED-COUNT PATTERN OUTPUT: exactly so many lines match.
check() {
    count=$(printf '%s\n' "$4" | grep -c -E "$3")
    if [ "$count" -eq "$2" ]; then
        echo passed >>"$RESULTS"
    else
        echo failed >>"$RESULTS"
        printf 'FAILED %s: %s lines match %s, not %s:\n%s\n' "$1" "$count" "$3" "$2" "$4" >&2
    fi
}

# How this script calls itself for one check of those that it runs at once:
# --check SECONDS NAME WANTED-COUNT PATTERN OPTIONS COMMAND-LINE
if [ "${1:-}" = --check ]; then
    check "$3" "$4" "$5" "$(vos "$2" "$6" "$7")"
    exit 0
fi

size=${1:-all}
RESULTS=$(mktemp)
queue=$(mktemp)
export RESULTS
trap 'rm -f "$RESULTS" "$queue"' EXIT

# vos_check NAME WANTED-COUNT PATTERN OPTIONS COMMAND-LINE: to be run with the others by run_queue.
vos_check() {
    printf '%s\0' "${seconds:-120}" "$@" >>"$queue"
}

run_queue() {
    xargs -0 -n 6 -P "$(nproc)" sh "$0" --check <"$queue" || echo failed >>"$RESULTS"
}

# Says how many checks passed and failed; the exit status of the script.
report() {
    failures=$(grep -c failed "$RESULTS")
    echo "$("$QEMU" --version | head -n 1): $(grep -c passed "$RESULTS") passed, $failures failed"
    [ "$failures" -eq 0 ]
}

small_of() {
    case $1 in
    gups | qsort | stream) echo size=1M ;;
    kv) echo "size=1M iterations=20000" ;;
    bfs) echo "size=11 iterations=3" ;;
    mcf) echo "size=200" ;;
    cg) echo ;;
    *) echo size=2M ;;
    esac
}

workloads="gups bfs cg stream kv sieve triad triadp qsort mcf"

if [ "$size" = smoke ]; then
    for workload in hello $workloads; do
        vos_check "$workload" 1 "^$workload: ok" "-m 512M" "workload=$workload $(small_of "$workload")"
    done
    run_queue
    report
    exit
fi

# Every workload in every mode, with every page size, on one hart and as copies on four.
for paging in sv39 sv48 sv57; do
    for page in 4K 2M 1G; do
        vos_check "hello $paging $page" 1 '^hello: ok' "-m 3G" \
            "workload=hello paging=$paging page=$page"
        for workload in $workloads; do
            vos_check "$workload $paging $page" 1 "^$workload: ok" "-m 3G" \
                "workload=$workload $(small_of "$workload") paging=$paging page=$page"
        done
    done
    for workload in gups cg kv; do
        vos_check "$workload $paging 6 copies, 4 harts" 6 "^$workload: ok" "-m 1G -smp 4" \
            "workload=$workload $(small_of "$workload") paging=$paging procs=6"
        vos_check "$workload $paging 3 copies, 1 hart" 3 "^$workload: ok" "-m 1G" \
            "workload=$workload $(small_of "$workload") paging=$paging procs=3 page=2M"
    done
done

# The default sizes.
if [ "$size" != quick ]; then
    for workload in $workloads; do
        vos_check "$workload, default size" 1 "^$workload: ok" "-m 512M" "workload=$workload"
    done
    vos_check "cg, class W" 1 '^cg: ok' "-m 512M" "workload=cg size=W"
fi

# Variants of the machine.
vos_check "no sstc" 1 'timer sbi' "-cpu rv64,sstc=off" "workload=hello"
vos_check "no sstc, preemption" 4 '^gups: ok' "-cpu rv64,sstc=off" "workload=gups size=1M procs=4"
vos_check "2 of 4 harts" 1 'harts 2,' "-smp 4" "harts=2"
vos_check "linear map of 2M" 1 '^kv: ok' "-m 512M" "workload=kv size=1M linear=2M"
vos_check "A and D on fault" 1 '^kv: ok' "-m 512M" "workload=kv size=1M ad=fault"
vos_check "clearing always" 1 '^kv: ok' "-m 512M" "workload=kv size=1M clear=always"
vos_check "little memory" 1 '^hello: ok' "-m 8M" "workload=hello"
vos_check "much memory" 1 '^hello: ok' "-m 6G" "workload=hello"
# Four harts of QEMU on two busy processors take a minute.
seconds=300 vos_check "300 processes" 300 '^hello: ok' "-m 128M -smp 4" "workload=hello procs=300"

# Jobs, with and without shortage of frames. QEMU's firmware is slow at remote fences, so few with four harts.
jobs="workload=jobs size=64K common=32K iterations=20"
for paging in sv39 sv48 sv57; do
    vos_check "jobs $paging" 1 '^jobs: ok .* page_outs=[1-9]' "-m 64M" "$jobs frames=40 paging=$paging"
    vos_check "jobs $paging, 4 harts" 1 '^jobs: ok' "-m 64M -smp 4" \
        "$jobs iterations=5 frames=60 paging=$paging"
done
vos_check "jobs, A and D on fault" 1 '^jobs: ok' "-m 64M" "$jobs frames=40 ad=fault"
vos_check "jobs, retried faults" 1 '^jobs: ok' "-m 64M" "$jobs frames=40 validate=retry"
vos_check "jobs, first in first out" 1 '^jobs: ok' "-m 64M" "$jobs frames=40 replace=fifo"
vos_check "jobs, default size" 1 '^jobs: ok .* page_outs=[1-9]' "-m 64M" "workload=jobs"

# What must fail, and how.
vos_check "crash" 1 'process 1 killed: invalid access: cause 15 .* address 8$' "" "workload=crash"
vos_check "no gigapage" 1 'killed: no free memory block' "-m 512M" "workload=gups page=1G"
vos_check "out of memory" 1 'killed: no free memory block' "-m 32M" "workload=gups size=64M"
vos_check "bad option" 1 'panic: command line: page=3K: no such choice' "" "page=3K"
vos_check "too many harts" 1 'panic: command line: harts=5: the machine has 2' "-smp 2" "harts=5"
vos_check "unknown workload" 1 'nonsense: no such workload' "" "workload=nonsense"
vos_check "unknown option" 1 'foo=1: unknown option' "" "workload=gups foo=1"
vos_check "panic" 1 'vos: panic: as asked' "" "misbehave=panic"
vos_check "load from nowhere" 1 'panic: trap in the kernel: cause 5' "" "misbehave=load"
for misbehaviour in plic virtio sbi; do
    vos_check "misbehave=$misbehaviour" 1 '^hello: ok' "" "misbehave=$misbehaviour"
done
for misbehaviour in jump spin sleep satp; do
    seconds=2 vos_check "misbehave=$misbehaviour" 1 TIMEOUT "" "misbehave=$misbehaviour"
done
run_queue

# The same program under Linux.
for workload in $workloads; do
    # shellcheck disable=SC2046 # the options are words
    check "Linux $workload" 1 "^$workload: ok" \
        "$("$qemu_user" "$program" "$workload" $(small_of "$workload"))"
done
"$qemu_user" "$program" marker 0x1ff
check "Linux marker" 1 '^0$' "$?"
"$qemu_user" "$program" roi begin
check "Linux roi" 1 '^0$' "$?"
timeout 1 "$qemu_user" "$program" exit 3
check "Linux exit waits" 1 '^124$' "$?"
check "Linux jobs" 1 'this kernel is not vos' "$("$qemu_user" "$program" jobs)"
"$qemu_user" "$program" gups nonsense=1 >/dev/null
check "Linux bad option" 1 '^2$' "$?"

report
