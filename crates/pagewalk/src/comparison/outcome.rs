//! Whether a run failed, and why.

use crate::runs::start::Promise;
use crate::text::quoted::last_line;
use machine::Outcome;

/// Why a run failed, in one line; `None` of one whose guest came to a good end and whose tables were right. `wrong` is what a check of the tables
/// found, and `output` what the guest printed, where that was kept.
pub(crate) fn failure(outcome: &Outcome, promise: Promise, wrong: &[String], output: Option<&[u8]>) -> Option<String> {
    let silent = matches!(outcome, Outcome::Shutdown | Outcome::Reset) && promise == Promise::Status;
    if !outcome.succeeded() || silent {
        let last = |output| last_line(output).unwrap_or_else(|| "nothing".to_owned());
        let printed = output.map(|output| format!("; it printed: {}", last(output)));
        return Some(format!("{outcome}{}", printed.unwrap_or_default()));
    }
    wrong.first().map(|first| format!("{} entries are wrong; {first}", wrong.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_run_says_why() {
        let of = |outcome: Outcome| failure(&outcome, Promise::Status, &[], Some(b"begun\n\x1b[2Jno memory \r\n\n"));
        assert_eq!(of(Outcome::Finished(0)), None);
        let told = of(Outcome::Finished(2)).unwrap();
        assert_eq!(told, "the guest's command ended with status 2; it printed: \\u{1b}[2Jno memory");
        assert_eq!(of(Outcome::Shutdown).unwrap(), "the guest shut down; it printed: \\u{1b}[2Jno memory");
        assert_eq!(failure(&Outcome::Halted, Promise::Status, &[], None).unwrap(), Outcome::Halted.to_string());
        assert!(of(Outcome::Timeout { seconds: 3, doing: String::new() }).is_some() && of(Outcome::Halted).is_some());
    }

    #[test]
    fn a_kernel_that_promises_nothing_may_go_off() {
        assert_eq!(failure(&Outcome::Shutdown, Promise::Nothing, &[], Some(b"")), None);
        assert_eq!(failure(&Outcome::Reset, Promise::Nothing, &[], Some(b"")), None);
        let failed = failure(&Outcome::GuestFailure, Promise::Nothing, &[], Some(b"")).unwrap();
        assert!(failed.ends_with("it printed: nothing"), "{failed}");
    }

    #[test]
    fn wrong_tables_fail_a_run_that_ended_well() {
        let wrong = ["entry 3".to_owned(), "entry 4".to_owned()];
        let told = failure(&Outcome::Finished(0), Promise::Status, &wrong, None);
        assert_eq!(told.as_deref(), Some("2 entries are wrong; entry 3"));
    }
}
