//! The console: a user at a pseudo-terminal, and input from a pipe.

mod common;

use common::user::User;
use common::{Ended, Scratch, command, ended};
use rustix::process::{Pid, Signal, kill_process};
use std::process::Command;
use std::thread;
use std::time::Duration;

#[test]
fn the_escape_key_ends_a_guest_that_loops() {
    let mut user = User::runs(&["boot", "--append", "workload=spin"]);
    user.sees("vos: spin");
    assert!(user.is_raw());
    // Ctrl-C is the guest's.
    user.types("\x03\x01q\x01\x01");
    thread::sleep(Duration::from_millis(300));
    assert!(user.child.try_wait().unwrap().is_none(), "only Ctrl-A x ends it");
    user.types("\x01x");
    assert_eq!(user.ends(), Some(0));
    assert!(!user.is_raw(), "the terminal is as it was");
}

#[test]
fn the_escape_key_ends_a_guest_that_waits() {
    let mut user = User::runs(&["boot", "--append", "misbehave=sleep"]);
    user.sees("vos: ");
    user.types("\x01");
    user.types("x");
    assert_eq!(user.ends(), Some(0));
}

#[test]
fn the_terminal_is_restored_however_a_guest_ends() {
    for (append, code) in [("workload=hello", 0), ("misbehave=panic", 1), ("workload=crash", 1)] {
        let mut user = User::runs(&["boot", "--append", append]);
        let code_seen = user.ends();
        assert_eq!(code_seen, Some(code), "{append}");
        assert!(!user.is_raw(), "the terminal is as it was");
    }
}

#[test]
fn the_terminal_is_restored_whatever_signal_ends_pagewalk() {
    for signal in [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM] {
        // A guest that loops, and one whose vCPUs wait for keys.
        for append in ["workload=spin", "misbehave=sleep"] {
            let mut user = User::runs(&["boot", "--append", append]);
            user.sees("vos: ");
            kill_process(Pid::from_child(&user.child), signal).unwrap();
            assert_eq!(user.ends(), None, "{signal:?} ended it");
            assert!(!user.is_raw(), "{append}: the terminal is as it was");
        }
    }
}

#[test]
fn vos_has_a_shell_at_a_terminal() {
    let mut user = User::runs(&["boot", "--scheme", "nested", "--harts", "2", "--set", "sbi.pmu=true"]);
    user.sees("Type help for the commands");
    user.sees("vos> ");
    assert!(user.is_raw());
    // Edited: Home, Right, and Backspace and Delete at the end.
    user.types("wlk 0x10000xy\x1b[H\x1b[Ca\x1b[F\x1b[D\x1b[D\x1b[3~\x1b[F\x7f\r");
    user.sees("vos> walk 0x10000\x1b[K\r\nsv39, asid 1, root table at 0x");
    user.sees("entry  16 at 0x");
    user.sees("vr-xu-a-, page of 4K at 0x");
    user.sees("0x10000 is at guest physical 0x");
    user.sees("\r\n\rvos> ");
    user.types("run gups size=64K\r");
    user.sees("\ngups: ok table=65536 updates=32768 errors=0");
    // History: two lines back, and then one.
    user.types("\x1b[A\x1b[A\x1b[B\r");
    user.sees("gups: ok");
    user.types("tlb\r");
    user.sees("references to host tables");
    // Ctrl-C is for the workload, and without one for the line.
    user.types("run spin\r");
    user.sees("run spin\x1b[K\r\n");
    user.types("\x03");
    user.sees("killed: spin\r\n");
    user.types("nonsense\x03run spin &\r");
    user.sees("nonsense\x1b[K^C\r\n");
    user.types("ps\r");
    user.sees("ready    spin\r\n");
    user.types("kill 5\rmem\r");
    user.sees("memory 0x80000000 to 0xc0000000: 1G");
    user.types("no\r");
    user.sees("no: no such command; help shows them\r\n");
    user.types("exit\r");
    assert_eq!(user.ends(), Some(0));
    assert!(!user.is_raw(), "the terminal is as it was");
}

#[test]
fn the_shell_of_vos_reads_a_pipe_to_its_end() {
    let shell = |input: &str| {
        let scratch = Scratch::new();
        let file = scratch.write("input", input);
        let line = format!("'{}' boot --run shell <'{file}'", env!("CARGO_BIN_EXE_pagewalk"));
        ended(Command::new("sh").args(["-c", &line])).succeeded().stdout
    };
    let shown = shell("run hello there\nwalk 0x8000000000\nrun gups size=3\nwalk\nexit\nnever read\n");
    let (_, said) = shown.split_once("to end.\n").expect("a greeting");
    let expected = "vos> run hello there\nhello: ok there\nvos> walk 0x8000000000\nwalk: 0x8000000000 is no address of sv39\n\
                    vos> run gups size=3\nsize=3: must be in ";
    assert!(said.starts_with(expected), "{said}");
    assert!(said.contains("status 2: gups size=3\nvos> walk\nusage: walk ADDRESS"), "{said}");
    assert!(said.ends_with("vos> exit\n"), "{said}");
    // An end of input ends the last line, and then the shell; more than any buffer on the way holds at once.
    let many: String = (0..300).map(|number| format!("run hello {number}\n")).collect();
    let shown = shell(&(many + "run hello last"));
    assert!(shown.contains("hello: ok 0\n") && shown.contains("hello: ok 299\n"), "{shown}");
    assert!(shown.ends_with("vos> run hello last\nhello: ok last\nvos> exit\n"), "{shown}");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_shell_answers_at_a_terminal() {
    for scheme in ["native", "nested"] {
        let mut user = User::runs(&["boot", "--guest", "linux", "--scheme", scheme, "--harts", "2"]);
        user.sees("# ");
        assert!(user.is_raw());
        user.types("echo $((6 * 7))-answer\n");
        user.sees("42-answer");
        user.sees("# ");
        // Ctrl-C reaches the guest's program, and Ctrl-A Ctrl-A is one Ctrl-A: the beginning of the line.
        user.types("echo re''ady; cat\n");
        user.sees("ready");
        user.types("some words\n");
        user.sees("some words\r\nsome words");
        user.types("\x03");
        user.sees("# ");
        user.types("-middle\x01\x01echo begin\n");
        user.sees("begin-middle");
        user.sees("# ");
        user.types("sleep 1000 & jobs\n");
        user.sees("sleep 1000");
        user.types("\x01x");
        assert_eq!(user.ends(), Some(0), "{scheme}");
        assert!(!user.is_raw(), "the terminal is as it was");
    }
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_shell_that_exits_ends_the_machine() {
    let mut user = User::runs(&["boot", "--guest", "linux"]);
    user.sees("# ");
    user.types("exit\n");
    assert_eq!(user.ends(), Some(0));
    assert!(!user.is_raw(), "the terminal is as it was");
}

/// A shell in the guest that reads `input` from a pipe.
fn piped(input: &str) -> Ended {
    let scratch = Scratch::new();
    let file = scratch.write("input", input);
    let line = format!("cat '{file}' | timeout 120 '{}' boot --guest linux", env!("CARGO_BIN_EXE_pagewalk"));
    ended(Command::new("sh").args(["-c", &line]))
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_shell_reads_a_pipe_to_its_end() {
    let end = piped("echo one-$((1 + 1))\nuname -m\nexit\n").succeeded();
    assert!(end.stdout.contains("one-2") && end.stdout.contains("riscv64"), "{end:#?}");
    let end = piped("echo no-exit-$((1 + 1))\n").succeeded();
    assert!(end.stdout.contains("no-exit-2"), "{end:#?}");
    // More than any buffer on the way holds at once.
    let many: String = (0..400).map(|number| format!("echo line-{number}-of-many-that-are-typed-at-once\n")).collect();
    let end = piped(&many).succeeded();
    assert!(end.stdout.contains("\nline-0-of") && end.stdout.contains("\nline-399-of"), "{end:#?}");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn without_input_a_shell_ends() {
    ended(&mut command(["boot", "--guest", "linux"])).succeeded();
}
