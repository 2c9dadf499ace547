//! The line in which a guest's kernel says why it gives up. A kernel that panics asks for a reset without a reason, as one that is
//! rebooted does, so that its console alone tells the two apart.

use crate::text::quoted::without_controls_in_line;
use machine::Outcome;

/// What such a line has in it, and whether it begins with that (behind the kernel's time stamp).
const MARKS: [(&str, Place); 4] = [
    ("Kernel panic - not syncing", Place::Anywhere),
    ("panic: ", Place::Start),
    ("PANIC: ", Place::Start),
    ("kernel panicked at ", Place::Start),
];

#[derive(Clone, Copy)]
enum Place {
    Start,
    Anywhere,
}

/// Longer lines are cut.
const LONGEST: usize = 240;

/// Reads what a guest prints.
#[derive(Debug, Default)]
pub(crate) struct KernelPanic {
    /// The line that is being printed.
    line: Vec<u8>,
    found: Option<String>,
}

impl KernelPanic {
    /// The guest has printed `bytes`.
    pub(crate) fn read(&mut self, bytes: &[u8]) {
        if self.found.is_some() {
            return;
        }
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            let room = LONGEST.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            if part.ends_with(b"\n") {
                self.end_line();
            }
        }
    }

    fn end_line(&mut self) {
        let line = String::from_utf8_lossy(&self.line).into_owned();
        self.line.clear();
        if self.found.is_none() {
            self.found = panic_of(&line);
        }
    }

    /// How a run ended that the machine says ended so.
    pub(crate) fn judge(&mut self, outcome: Outcome) -> Outcome {
        self.end_line();
        match outcome {
            Outcome::Shutdown
            | Outcome::GuestFailure
            | Outcome::Reset
            | Outcome::ResetAfterFailure
            | Outcome::Unmeasured(_)
            | Outcome::Halted
            | Outcome::Timeout { .. } => self.found.take().map_or(outcome, Outcome::Panicked),
            // A program of the guest's may print such a line, too.
            Outcome::Finished(_)
            | Outcome::Panicked(_)
            | Outcome::OutOfMemory(_)
            | Outcome::Inconsistent(_)
            | Outcome::CodeMemory(_)
            | Outcome::SnapshotTaken
            | Outcome::Interrupted
            | Outcome::Unfinished => outcome,
        }
    }
}

/// The panic that a line tells of, without its time stamp, and with control characters as escapes.
fn panic_of(line: &str) -> Option<String> {
    let line = without_controls_in_line(line);
    // `[    0.123456] `, and the number of a processor behind it in some kernels.
    let text = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
        .map_or(line.as_str(), |(_, rest)| rest)
        .trim_start();
    MARKS.iter().find_map(|&(mark, place)| match place {
        Place::Start => text.starts_with(mark).then(|| text.to_owned()),
        Place::Anywhere => text.find(mark).map(|at| text[at..].to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(printed: &[&[u8]], outcome: Outcome) -> Outcome {
        let mut panic = KernelPanic::default();
        printed.iter().for_each(|bytes| panic.read(bytes));
        panic.judge(outcome)
    }

    #[test]
    fn a_reset_after_a_panic_is_a_panic_with_its_line() {
        let linux: &[&[u8]] = &[
            b"hello\r\n[    1.5] Kernel panic - not syn",
            b"cing: VFS: Unable to mount root fs\r\n[    1.6] CPU: 0\r\n",
        ];
        let line = "Kernel panic - not syncing: VFS: Unable to mount root fs";
        assert_eq!(judged(linux, Outcome::Reset), Outcome::Panicked(line.to_owned()));
        assert_eq!(
            judged(linux, Outcome::Timeout { seconds: 3, doing: String::new() }),
            Outcome::Panicked(line.to_owned())
        );
        let unended: &[&[u8]] = &[b"panic: \x1b[31mkerneltrap"];
        assert_eq!(judged(unended, Outcome::Halted), Outcome::Panicked("panic: \\u{1b}[31mkerneltrap".to_owned()));
    }

    #[test]
    fn a_command_that_ended_did_not_panic_whatever_it_printed() {
        let printed: &[&[u8]] = &[b"panic: runtime error\n"];
        assert_eq!(judged(printed, Outcome::Finished(2)), Outcome::Finished(2));
        assert_eq!(judged(&[b"no panic: here\n"], Outcome::Reset), Outcome::Reset);
    }

    #[test]
    fn a_line_without_end_takes_no_memory() {
        let mut panic = KernelPanic::default();
        (0..100).for_each(|_| panic.read(&[b'x'; 4096]));
        assert!(panic.line.len() <= LONGEST);
    }
}
