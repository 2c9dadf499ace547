//! Progress, as a user sees it on a terminal, and as a file has it.

mod common;

use common::{QUIET, Scratch};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::Read;
use std::process::{Command, Stdio};

/// What a terminal of 24 lines shows after some output, as far as progress uses one: text, line ends, and the sequences that move up and clear.
#[derive(Default)]
struct Screen {
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
}

impl Screen {
    fn show(&mut self, output: &str) {
        let mut rest = output.chars();
        while let Some(c) = rest.next() {
            match c {
                '\r' => self.column = 0,
                '\n' => self.row += 1,
                '\x1b' => self.obey(&mut rest),
                c => self.put(c),
            }
        }
    }

    fn put(&mut self, c: char) {
        if self.lines.len() <= self.row {
            self.lines.resize(self.row + 1, Vec::new());
        }
        let line = &mut self.lines[self.row];
        if line.len() <= self.column {
            line.resize(self.column + 1, ' ');
        }
        line[self.column] = c;
        self.column += 1;
    }

    fn obey(&mut self, rest: &mut std::str::Chars<'_>) {
        assert_eq!(rest.next(), Some('['), "only sequences that begin with CSI");
        let mut number = String::new();
        let command = rest.find(|c| {
            number.extend(c.is_ascii_digit().then_some(*c));
            c.is_ascii_alphabetic()
        });
        let count = number.parse().unwrap_or(1);
        match command {
            Some('A') => self.row = self.row.saturating_sub(count),
            Some('B') => self.row += count,
            Some('G') => self.column = count - 1,
            Some('K') => {
                if let Some(line) = self.lines.get_mut(self.row) {
                    line.clear();
                }
            }
            // Colours, and whether the cursor is seen.
            Some('m' | 'h' | 'l') => {}
            other => panic!("CSI {number} {other:?}"),
        }
    }

    fn text(&self) -> String {
        self.lines.iter().map(|line| line.iter().collect::<String>() + "\n").collect()
    }
}

/// Runs `pagewalk` with standard error on a terminal; its exit code and all that appeared there.
fn on_a_terminal(arguments: &[&str]) -> (Option<i32>, String) {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
    grantpt(&controller).expect("its other end");
    unlockpt(&controller).expect("its other end");
    tcsetwinsize(&controller, Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }).expect("a size");
    let name = ptsname(&controller, Vec::new()).expect("its name");
    let terminal = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("its other end");
    let mut child = Command::new(env!("CARGO_BIN_EXE_pagewalk"))
        .args(arguments)
        .env("TERM", "xterm")
        .env_remove(QUIET)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(terminal)
        .spawn()
        .expect("pagewalk starts");
    let (mut output, mut buffer) = (Vec::new(), [0; 4096]);
    // It ends with the last descriptor of the terminal, when reading fails.
    let mut screen = File::from(controller);
    while let Ok(length @ 1..) = screen.read(&mut buffer) {
        output.extend_from_slice(&buffer[..length]);
    }
    (child.wait().expect("it is our child").code(), String::from_utf8_lossy(&output).into_owned())
}

/// Runs `pagewalk` with standard error in a pipe; its exit code and the lines there.
fn in_a_pipe(arguments: &[&str]) -> (Option<i32>, Vec<String>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pagewalk"));
    let output = command.args(arguments).env_remove(QUIET).stdin(Stdio::null()).output().expect("pagewalk starts");
    let lines = String::from_utf8_lossy(&output.stderr).lines().map(str::to_owned).collect();
    (output.status.code(), lines)
}

/// Work for some seconds: the guest loops until its time is over.
fn loops(scratch: &Scratch, seconds: &str) -> Vec<String> {
    let slow = common::slow_host(scratch);
    let run = ["compare", "--workload", "hello,spin", "--scheme", "native,nested", "--threads", "1"];
    let all = [&run[..], &["--fidelity", "counts", "--timeout", seconds]].concat();
    all.iter().map(|&word| word.to_owned()).chain(slow).collect()
}

#[test]
fn progress_names_workload_scheme_and_phase_and_leaves_nothing_on_the_terminal() {
    let scratch = Scratch::new();
    let arguments = loops(&scratch, "300");
    let (code, output) = on_a_terminal(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(code, Some(1), "the loop meets its time limit: {output}");
    for shown in ["spin under native:4K", "boot", "M instructions", " of 4 runs finished", "so far"] {
        assert!(output.contains(shown), "no {shown:?} in {output:?}");
    }
    // indicatif's own estimate once said 930964y.
    assert!(!output.contains("y left") && !output.contains(" 0s"), "{output:?}");
    let mut screen = Screen::default();
    screen.show(&output);
    let text = screen.text();
    let left: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert!(
        matches!(left[..], [only] if only.starts_with("pagewalk: spin under ")) || left[0].starts_with("pagewalk: "),
        "{left:#?}"
    );
    assert!(!text.contains("runs finished"), "a stale bar: {left:#?}");
}

#[test]
fn short_work_draws_nothing() {
    let (code, output) =
        on_a_terminal(&["compare", "--workload", "hello", "--scheme", "native", "--fidelity", "counts"]);
    assert_eq!((code, output.as_str()), (Some(0), ""));
}

#[test]
fn without_a_terminal_each_run_that_has_ended_has_a_line() {
    let run = ["compare", "--workload", "hello,gups:64K", "--scheme", "native,nested", "--threads", "1"];
    let (code, lines) = in_a_pipe(&[&run[..], &["--fidelity", "counts"]].concat());
    assert_eq!((code, lines.len()), (Some(0), 4), "{lines:#?}");
    for (number, (line, run)) in lines
        .iter()
        .zip([
            "hello under native:4K",
            "hello under nested:4K+4K",
            "gups:64K under native:4K",
            "gups:64K under nested:4K+4K",
        ])
        .enumerate()
    {
        assert!(line.starts_with(&format!("pagewalk: {} of 4: {run}: ", number + 1)), "{line}");
        assert!(line.contains(" M instructions in "), "{line}");
    }
}

#[test]
fn quiet_commands_tell_no_progress() {
    for arguments in [
        &["compare", "--workload", "hello", "--scheme", "native", "--quiet"][..],
        &["-q", "bench", "--workload", "sieve:64K", "--scheme", "native", "--repeat", "1"],
        &["boot", "--append", "workload=hello"],
    ] {
        assert_eq!(in_a_pipe(arguments), (Some(0), Vec::new()), "{arguments:?}");
    }
}

#[test]
fn kept_runs_are_told_of_as_kept() {
    let scratch = Scratch::new();
    let keep = scratch.text("keep");
    let arguments = ["compare", "--workload", "hello", "--scheme", "native", "--keep", &keep];
    assert!(in_a_pipe(&arguments).1[0].contains(" M instructions in "));
    assert_eq!(in_a_pipe(&arguments).1, ["pagewalk: 1 of 1: hello under native:4K: kept from before"]);
}

#[test]
fn hosts_and_benchmarks_tell_of_their_runs() {
    let scratch = Scratch::new();
    let host = scratch.write("host.toml", "processors = 1\n[[guest]]\nname = 'a'\nworkload = 'hello'\n");
    let (code, lines) = in_a_pipe(&["run", &host, "--spin", "none,wapd"]);
    assert_eq!((code, lines.len()), (Some(0), 2), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("host.toml with wapd: ")), "{lines:#?}");
    let bench = ["bench", "--workload", "sieve:64K", "--scheme", "native", "--repeat", "2"];
    let (code, lines) = in_a_pipe(&bench);
    assert_eq!((code, lines.len()), (Some(0), 2), "{lines:#?}");
    assert!(lines[1].starts_with("pagewalk: 2 of 2: sieve under native:4K: "), "{lines:#?}");
}
