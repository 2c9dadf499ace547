//! How long a command of a guest takes, by the host's clock: two lines that its shell prints on the console are the start and the end.

use super::benchmarks::Script;
use std::time::{Duration, Instant};

const BEGIN: &str = "pagewalk-bench-begin";
const END: &str = "pagewalk-bench-end";

/// The words for a shell: what is not measured, and what is, between two lines.
pub(super) fn timed(script: &Script) -> String {
    let Script { before, command } = script;
    // The lines are printed by parts, so that a shell which echoes its command prints no such line.
    format!("{before}\nprintf '%s-begin\\n' pagewalk-bench\n{command}\nprintf '%s-end %d\\n' pagewalk-bench $?\n")
}

/// Reads a console.
#[derive(Default)]
pub(super) struct Stopwatch {
    line: Vec<u8>,
    begin: Option<Instant>,
    end: Option<(Instant, u32)>,
    /// The last lines, for a message.
    pub(super) latest: Vec<String>,
}

/// Lines that are kept.
const LATEST: usize = 3;
/// Bytes of a line that are kept.
const LINE_BYTES: usize = 200;

impl Stopwatch {
    /// The guest printed `bytes` just now.
    pub(super) fn read(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if byte != b'\n' {
                if self.line.len() < LINE_BYTES {
                    self.line.push(byte);
                }
                continue;
            }
            let line = String::from_utf8_lossy(&std::mem::take(&mut self.line)).trim().to_owned();
            if line == BEGIN {
                self.begin = Some(Instant::now());
            } else if let Some(status) = line.strip_prefix(END) {
                self.end = status.trim().parse().ok().map(|status| (Instant::now(), status));
            } else if !line.is_empty() {
                self.latest.push(line);
                let surplus = self.latest.len().saturating_sub(LATEST);
                self.latest.drain(..surplus);
            }
        }
    }

    /// Whether the command has ended.
    pub(super) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// The time of the command.
    ///
    /// # Errors
    /// If the command failed, or did not end: why.
    pub(super) fn time(&self) -> Result<Duration, String> {
        match (self.begin, self.end) {
            (Some(begin), Some((end, 0))) => Ok(end - begin),
            (Some(_), Some((_, status))) => Err(format!("the command failed with status {status}{}", self.said())),
            (Some(_), None) => Err(format!("the command did not end{}", self.said())),
            (None, _) => Err(format!("the command did not start{}", self.said())),
        }
    }

    fn said(&self) -> String {
        if self.latest.is_empty() { String::new() } else { format!("; it printed: {}", self.latest.join(" / ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_between_the_two_lines() {
        let mut watch = Stopwatch::default();
        watch.read(b"Linux\r\npagewalk-bench-be");
        assert!(watch.time().unwrap_err().starts_with("the command did not start; it printed: Linux"));
        watch.read(b"gin\r\nhello\r\n");
        assert!(!watch.has_ended());
        assert!(watch.time().unwrap_err().starts_with("the command did not end"));
        watch.read(b"pagewalk-bench-end 0\r\n");
        assert!(watch.has_ended() && watch.time().is_ok());
    }

    #[test]
    fn a_command_that_fails_has_no_time() {
        let mut watch = Stopwatch::default();
        watch.read(b"pagewalk-bench-begin\nsh: gcc: not found\npagewalk-bench-end 127\n");
        assert_eq!(watch.time().unwrap_err(), "the command failed with status 127; it printed: sh: gcc: not found");
    }

    #[test]
    fn a_shell_that_echoes_the_command_starts_no_watch() {
        let mut watch = Stopwatch::default();
        watch.read(timed(&Script { before: "true".to_owned(), command: "false".to_owned() }).as_bytes());
        assert_eq!(watch.time().unwrap_err().split(';').next(), Some("the command did not start"));
    }
}
