//! Running the host's own programs: apt, dpkg, xz.

use super::GuestError;
use std::io;
use std::process::{Child, Command, Output, Stdio};

/// A program of the host, and what to say when it is not there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    pub(crate) program: &'static str,
    pub(crate) purpose: &'static str,
}

pub(crate) const APT_GET: Tool = Tool { program: "apt-get", purpose: "it fetches and verifies Debian's packages" };
pub(crate) const DPKG_DEB: Tool = Tool { program: "dpkg-deb", purpose: "it unpacks Debian's packages" };
pub(crate) const XZ: Tool = Tool { program: "xz", purpose: "it decompresses the kernel's modules" };
pub(crate) const ZSTD: Tool = Tool { program: "zstd", ..XZ };
pub(crate) const GZIP: Tool = Tool { program: "gzip", ..XZ };

impl Tool {
    /// A command with no input, its messages in English.
    pub(crate) fn command(self) -> Command {
        let mut command = Command::new(self.program);
        command.env("LC_ALL", "C").env("DEBIAN_FRONTEND", "noninteractive").stdin(Stdio::null());
        command
    }

    /// Starts `command`, its output kept.
    pub(crate) fn start(self, command: &mut Command) -> Result<Child, GuestError> {
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|error| self.unusable(&error))
    }

    /// Runs `command` to its end.
    pub(crate) fn output(self, command: &mut Command) -> Result<Output, GuestError> {
        command.output().map_err(|error| self.unusable(&error))
    }

    /// Runs `command` to its end; its standard output, if it succeeds.
    pub(crate) fn run(self, command: &mut Command) -> Result<Vec<u8>, GuestError> {
        let output = self.output(command)?;
        if output.status.success() { Ok(output.stdout) } else { Err(self.failed(&output)) }
    }

    /// The error that an unsuccessful `output` means.
    pub(crate) fn failed(self, output: &Output) -> GuestError {
        let text = String::from_utf8_lossy(&output.stderr);
        let reason = telling_line(&text).map_or_else(|| output.status.to_string(), str::to_owned);
        let reason = match unmet(&String::from_utf8_lossy(&output.stdout)) {
            Some(unmet) => format!("{reason} {unmet}"),
            None => reason,
        };
        GuestError::Tool { program: self.program, reason }
    }

    fn unusable(self, error: &io::Error) -> GuestError {
        match error.kind() {
            io::ErrorKind::NotFound => GuestError::MissingTool { program: self.program, purpose: self.purpose },
            _ => GuestError::Tool { program: self.program, reason: error.to_string() },
        }
    }
}

/// The line of `text` that says most: that the disk is full, else the first error, else the first warning, else the last line.
pub(crate) fn telling_line(text: &str) -> Option<&str> {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let marked = |mark| lines().find_map(|line| line.strip_prefix(mark)).map(str::trim);
    let full = lines().find(|line| line.contains("No space left on device"));
    full.or_else(|| marked("E: ")).or_else(|| marked("W: ")).or_else(|| lines().next_back())
}

/// The dependency that apt cannot meet, which it names on standard output, away from the error.
fn unmet(text: &str) -> Option<String> {
    let (_, list) = text.split_once("The following packages have unmet dependencies:\n")?;
    let (package, dependency) = list.lines().next()?.split_once(" : ")?;
    Some(format!("({}: {})", package.trim(), dependency.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    /// Regression: of a package that apt cannot install, the message said "you have held broken packages" and no more.
    #[test]
    fn an_unmet_dependency_is_named() {
        let output = Output {
            status: std::process::ExitStatus::from_raw(100 << 8),
            stdout: b"Reading package lists...\nThe following packages have unmet dependencies:\n \
                      libtext-charwidth-perl : Depends: perlapi-5.40.0\n"
                .to_vec(),
            stderr: b"E: Unable to correct problems, you have held broken packages.\n".to_vec(),
        };
        assert_eq!(
            APT_GET.failed(&output).to_string(),
            "`apt-get` failed: Unable to correct problems, you have held broken packages. \
             (libtext-charwidth-perl: Depends: perlapi-5.40.0)"
        );
    }

    #[test]
    fn errors_come_before_warnings() {
        assert_eq!(telling_line("W: careful\nE: no space\nE: giving up\n"), Some("no space"));
        assert_eq!(telling_line("W: careful\nmore\n"), Some("careful"));
        let tar = "tar: ./a: Cannot write: No space left on device\ntar: Exiting\ndpkg-deb: error: tar failed\n";
        assert_eq!(telling_line(tar), Some("tar: ./a: Cannot write: No space left on device"));
        assert_eq!(telling_line("one\ntwo\n\n"), Some("two"));
        assert_eq!(telling_line("\n"), None);
    }

    #[test]
    fn a_missing_program_is_named() {
        let tool = Tool { program: "pagewalk-no-such-program", purpose: "a test" };
        let error = tool.run(&mut tool.command()).unwrap_err();
        assert!(matches!(error, GuestError::MissingTool { program: "pagewalk-no-such-program", .. }), "{error}");
    }
}
