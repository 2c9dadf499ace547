//! Programs for another processor among the files that a user puts into a guest. A guest's shell says no more of one than
//! `not found`, or tries to read it as a script.

use super::work::Work;
use crate::cli::FileSpec;
use crate::error::Failure;
use crate::progress::note;
use machine::file_kind;
use std::fs::File;
use std::io::Read;

/// Words that come before the program that a command runs.
const WRAPPERS: [&str; 6] = ["time", "exec", "env", "nice", "command", "nohup"];

/// Refuses a program that the guest's command runs and the guest's processor cannot; says of any other that it cannot be run.
///
/// # Errors
/// [`Failure::Usage`], naming the file and its architecture.
pub(crate) fn check(files: &[FileSpec], work: &Work) -> Result<(), Failure> {
    for file in files {
        let mut start = Vec::new();
        // What cannot be read is reported when it is put into the guest.
        let read = File::open(&file.host).and_then(|open| open.take(64).read_to_end(&mut start));
        let Some(architecture) = read.ok().and_then(|_| file_kind::foreign_program(&start)) else { continue };
        let problem =
            format!("--file {}: a program for {architecture}, which the RISC-V guest cannot run", file.host.display());
        match work {
            Work::Command(command) if runs(command, &file.guest) => return Err(Failure::Usage(problem)),
            Work::Command(_) | Work::Console | Work::Shell(_) | Work::Workload { .. } => note(&problem),
        }
    }
    Ok(())
}

/// Whether a shell command runs the program at `path`, rather than naming it as an argument.
fn runs(command: &str, path: &str) -> bool {
    command.split([';', '&', '|', '\n', '(', ')', '{', '}']).any(|part| {
        let program = part.split_whitespace().find(|word| !word.contains('=') && !WRAPPERS.contains(word));
        program
            .is_some_and(|word| word.trim_start_matches("./").trim_start_matches('/') == path.trim_start_matches('/'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_run_is_told_from_one_that_is_named() {
        for command in ["/p", "./p", "p -x", "cd /tmp; time /p", "A=1 /p | sort", "(exec /p)"] {
            assert!(runs(command, "/p"), "{command}");
        }
        for command in ["objdump -d /p", "cat /p", "/bin/p", "echo a && strip /p", ""] {
            assert!(!runs(command, "/p"), "{command}");
        }
    }
}
