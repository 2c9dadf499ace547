//! `run --gdb`: several guests on one host under one debugger, which changes nothing of the run unless the user does.

mod common;

use common::Scratch;
use common::gdb::{Client, Waiting, first_instruction_of_vos, gdb, is_the_same_run, user_entry};
use common::kernel::{A0, A1, A6, A7, CODE_ADDRESS, ECALL, addi, image, lui};

/// GDB's numbers of registers.
const SP: usize = 2;
const PC: usize = 32;
const PRIVILEGE: usize = 4161;

/// Two guests of vos that share two pCPUs, under the keys of `config`.
fn two_guests(scratch: &Scratch, config: &str) -> String {
    let text = format!(
        r#"
        processors = 2
        slice_us = 100
        [config]
        {config}
        memory = "64M"
        timeout = 20
        [[guest]]
        name = "random"
        workload = "gups"
        options = "size=64K updates=2000"
        processors = 2
        [[guest]]
        name = "sorted"
        workload = "qsort"
        options = "size=4K procs=2"
        "#
    );
    scratch.write("host.toml", text)
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// The thread that a packet says has stopped.
#[track_caller]
fn stopped(packet: &str) -> usize {
    let thread = packet.split("thread:").nth(1).and_then(|rest| rest.split(';').next()).expect("a stop of a thread");
    usize::from_str_radix(thread, 16).expect("a number")
}

#[test]
fn stops_in_one_guest_change_nothing_of_any() {
    let entry = user_entry();
    for config in [
        "scheme = \"nested\"\nengine = \"compiled-all\"",
        "scheme = \"shadow\"\nengine = \"threaded\"\nfidelity = \"cycles\"",
        "scheme = \"nested\"\nengine = \"match\"\nfidelity = \"core\"",
    ] {
        let scratch = Scratch::new();
        let file = two_guests(&scratch, config);
        let waiting = Waiting::run(&[&file]);
        let mut client = waiting.client();
        assert_eq!(client.ask("qfThreadInfo"), "m01,02,03");
        assert_eq!(client.ask("qThreadExtraInfo,2"), hex("vm random, hart 1, not started"));
        assert!(!client.command("stats").contains("instructions"), "none is executed");
        assert_eq!(client.ask(&format!("Z0,{entry:x},2")), "OK");
        // Each guest comes to its user program, in whatever order.
        let mut seen = Vec::new();
        while seen.len() < 2 {
            let stop = client.ask("vCont;c");
            assert!(stop.contains("swbreak"), "{stop}");
            let thread = stopped(&stop);
            assert_eq!((client.register(thread, PC), client.register(thread, PRIVILEGE)), (entry, 0));
            let vm = if thread == 3 { "sorted" } else { "random" };
            let walk = client.command(&format!("walk {entry:#x}"));
            let hart = (thread - 1) % 2;
            assert!(walk.starts_with(&format!("vm {vm}, hart {hart}: gVA {entry:#x} -> gPA")), "{config}: {walk}");
            assert!(client.command("stats").contains(&format!("vm {vm}, hart {hart}")));
            if !seen.contains(&vm) {
                seen.push(vm);
            }
        }
        assert_eq!(client.ask(&format!("z0,{entry:x},2")), "OK");
        // Memory and counts are those of the VM of the thread.
        let text = |client: &mut Client, thread: usize| {
            client.register(thread, PC);
            (client.command("stats"), client.command("phys 0x80200000 64"))
        };
        let (first, third) = (text(&mut client, 1), text(&mut client, 3));
        assert_ne!(first.0, third.0);
        assert_eq!(first.1, third.1, "both have the same kernel there");
        assert!(client.command("tlb 1").contains("harts 0 to 0"), "the second VM has one hart");
        // The only hart of one VM steps; those of the other run.
        for _ in 0..300 {
            let pc = client.register(3, PC);
            let stop = client.ask("vCont;s:3;c");
            assert_eq!((stop.starts_with("T05"), stopped(&stop)), (true, 3), "{stop}");
            assert_ne!(client.register(3, PC), pc);
        }
        // A store to a stack.
        let sp = client.register(3, SP);
        assert_eq!(client.ask(&format!("Z2,{:x},8", sp - 64)), "OK");
        let stop = client.ask("vCont;c");
        assert!(stop.contains("watch:") || stop.starts_with('W'), "{stop}");
        if !stop.starts_with('W') {
            assert_eq!(client.ask(&format!("z2,{:x},8", sp - 64)), "OK");
            assert_eq!(client.ask("D"), "OK");
        }
        is_the_same_run(waiting, &[&file]);
    }
}

#[test]
fn a_guest_that_has_ended_has_no_threads() {
    let entry = user_entry();
    let scratch = Scratch::new();
    // The SBI's reset: SRST with type 0 and reason 0.
    let shut_down = [lui(A7, 0x53525), addi(A7, A7, 0x354), addi(A6, 0, 0), addi(A0, 0, 0), addi(A1, 0, 0), ECALL];
    let brief = scratch.write("brief.img", image(&shut_down));
    let text = format!(
        "processors = 1\n[config]\nscheme = 'nested'\nmemory = '64M'\n[[guest]]\nname = 'brief'\nguest = '{brief}'\nrun = ''\n\
         [[guest]]\nname = 'longer'\nworkload = 'qsort'\noptions = 'size=4K procs=2'\n"
    );
    let file = scratch.write("host.toml", text);
    let waiting = Waiting::run(&[&file]);
    let mut client = waiting.client();
    assert_eq!(client.ask("qfThreadInfo"), "m01,02");
    assert_eq!(client.ask(&format!("Z1,{CODE_ADDRESS:x},4")), "OK");
    assert_eq!(stopped(&client.ask("vCont;c")), 1);
    assert_eq!(client.ask(&format!("z1,{CODE_ADDRESS:x},4")), "OK");
    assert_eq!(client.ask(&format!("Z1,{entry:x},2")), "OK");
    assert_eq!(stopped(&client.ask("vCont;c")), 2);
    assert_eq!(client.ask("qfThreadInfo"), "m02");
    assert_eq!(client.ask("T1"), "E01");
    assert_eq!(client.ask("Hg1"), "OK");
    assert_eq!(client.ask("p20"), "E16", "it has no registers either");
    assert!(client.command("walk 0x80200000").starts_with("vm longer, hart 0"), "what is left is looked at");
    // Nothing waits for a step of what has ended.
    assert_eq!(client.ask(&format!("z1,{entry:x},2")), "OK");
    assert_eq!(client.ask("vCont;s:1;c"), "W00");
    is_the_same_run(waiting, &[&file]);
}

#[test]
fn kill_ends_all_guests() {
    let scratch = Scratch::new();
    let file = two_guests(&scratch, "scheme = \"nested\"");
    let waiting = Waiting::run(&[&file]);
    waiting.client().send("k");
    let (ended, json) = waiting.end();
    ended.succeeded();
    let json = String::from_utf8(json.expect("JSON")).expect("text");
    assert_eq!(json.matches("\"outcome\": \"interrupted\"").count(), 2, "{json}");
}

#[test]
fn a_debugger_is_of_one_run_and_stands_alone() {
    let scratch = Scratch::new();
    let file = two_guests(&scratch, "scheme = \"nested\"");
    let refused = |arguments: &[&str], named: &[&str]| {
        common::run([&["run", &file, "--gdb", "0"], arguments].concat()).failed(2, named);
    };
    refused(&["--spin", "rslp,none"], &["--gdb is of one run; --spin names several methods"]);
    refused(&["--control", "unix:control"], &["--gdb", "--control"]);
    refused(&["--reuse", &scratch.text("reuse.json")], &["--gdb", "--reuse"]);
}

#[test]
#[ignore = "needs gdb-multiarch"]
fn gdb_debugs_the_guests_of_a_host() {
    let entry = user_entry();
    let scratch = Scratch::new();
    let file = two_guests(&scratch, "scheme = \"nested\"");
    let waiting = Waiting::run(&[&file]);
    let (hbreak, walk) = (format!("hbreak *{entry:#x} thread 2"), "eval \"monitor walk 0x%lx\", $pc");
    let of_other = format!("hbreak *{entry:#x} thread 3");
    let said = gdb(
        &waiting,
        &[
            "info threads",
            &of_other,
            "continue",
            "info registers pc priv",
            walk,
            "thread 1",
            "info registers pc priv",
            "monitor stats",
            "monitor phys 0x80200000 16",
            "thread 3",
            "delete",
            "set $word = $sp - 8",
            "watch *(long *) $word thread 3",
            "continue",
            "delete",
            "stepi 20",
            "info threads",
            &hbreak,
            "delete",
            "continue",
        ],
    );
    for (thread, name) in [(1, "vm random, hart 0"), (2, "vm random, hart 1"), (3, "vm sorted, hart 0")] {
        assert!(said.contains(&format!("Thread 1.{thread} ({name}, ")), "no {name} in {said}");
    }
    for expected in [
        &format!("hit Breakpoint 1, {entry:#018x}"),
        "prv:0 [User/Application]",
        &format!("vm sorted, hart 0: gVA {entry:#x} -> gPA 0x"),
        "with nothing cached: 15 references",
        "[Switching to thread 1 (Thread 1.1)]",
        "vm random, hart 0",
        &first_instruction_of_vos(),
        "hit Hardware watchpoint 2: *(long *) $word",
        "[Inferior 1 (process 1) exited normally]",
    ] {
        assert!(said.contains(expected), "no `{expected}` in {said}");
    }
    is_the_same_run(waiting, &[&file]);
}
