//! Standard output and standard error.

use crate::text::quoted::{without_controls, without_controls_in_line};
use rustix::termios::tcgetwinsize;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether an output named `-` has standard output to itself.
static CLAIMED: AtomicBool = AtomicBool::new(false);

/// The fewest columns for which text is arranged.
const LEAST_COLUMNS: usize = 20;

/// Prints `text`, which is Pagewalk's own, on standard output; on standard error where an output named `-` has standard output. Control
/// characters that a guest or a file brought into it are shown as escapes. A closed reader, as behind `| head`, is no failure.
///
/// # Errors
/// As the host's system says, such as no space where the output is directed to.
pub fn print(text: &str) -> io::Result<()> {
    write_out(without_controls(text).as_bytes())
}

/// Prints what a guest printed. A terminal gets it with its control characters as escapes, and everything else as it is.
///
/// # Errors
/// As [`print()`].
pub fn print_of_guest(bytes: &[u8]) -> io::Result<()> {
    let terminal =
        if CLAIMED.load(Ordering::Relaxed) { io::stderr().is_terminal() } else { io::stdout().is_terminal() };
    if terminal { print(&String::from_utf8_lossy(bytes).replace("\r\n", "\n")) } else { write_out(bytes) }
}

/// Passes on what a guest's console prints, as it is: the user's terminal is the guest's.
///
/// # Errors
/// The system's, and [`io::ErrorKind::BrokenPipe`] if the reader has closed it.
pub fn print_console(bytes: &[u8]) -> io::Result<()> {
    if CLAIMED.load(Ordering::Relaxed) {
        return io::stderr().write_all(bytes);
    }
    let mut output = io::stdout().lock();
    output.write_all(bytes).and_then(|()| output.flush())
}

/// Columns of the terminal that [`print()`] prints on; `None` if it is none.
pub(super) fn columns() -> Option<usize> {
    let size = if CLAIMED.load(Ordering::Relaxed) {
        io::stderr().is_terminal().then(|| tcgetwinsize(io::stderr()))
    } else {
        io::stdout().is_terminal().then(|| tcgetwinsize(io::stdout()))
    };
    // A terminal that does not know its size has the usual one.
    let known = |columns: u16| (columns > 0).then_some(usize::from(columns));
    size.map(|size| size.ok().and_then(|size| known(size.ws_col)).unwrap_or(80).max(LEAST_COLUMNS))
}

/// Says `message` on standard error, in one line that begins with the command's name. A failure to write it is ignored.
pub fn warn(message: &str) {
    // One write: lines of several threads do not mix.
    let _ = io::stderr().write_all(format!("pagewalk: {}\n", without_controls_in_line(message)).as_bytes());
}

fn write_out(bytes: &[u8]) -> io::Result<()> {
    match print_console(bytes) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Takes standard output for one output alone.
pub(super) fn claim_standard_output() -> io::Result<()> {
    if CLAIMED.swap(true, Ordering::Relaxed) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "another output goes to standard output already"));
    }
    Ok(())
}
