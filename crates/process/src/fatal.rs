//! Signals for what the process itself did: SIGBUS and SIGSYS. Each ends the process with one line on standard error and status 1.
//!
//! * SIGBUS: a page of a mapped file is gone, because another process made the file shorter or its medium cannot be read. A snapshot's memory is mapped from
//!   its file, and its guest cannot go on without it.
//! * SIGSYS: a system call that the [sandbox](crate::sandbox) refuses.
//!
//! JUSTIFICATION for unsafe: a signal handler is installed by `sigaction`, and uses nothing but what POSIX allows in one (signal-safety(7)): `write`,
//! `tcsetattr` and `_exit`. It cannot return: the faulting access would be made again.
#![allow(unsafe_code)]

use libc::{c_int, c_void, siginfo_t, termios};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::{io, mem, ptr};

/// The status of a run that failed.
const FAILED: c_int = 1;

/// The mode that standard input's terminal is to be left in; null if it is as it was.
static TERMINAL: AtomicPtr<termios> = AtomicPtr::new(ptr::null_mut());

/// Installs the handler.
///
/// # Errors
/// As the host's system says.
pub fn install() -> io::Result<()> {
    for signal in [libc::SIGBUS, libc::SIGSYS] {
        // SAFETY: all zeroes is a valid `sigaction`, and the handler has the type that SA_SIGINFO asks for.
        let done = unsafe {
            let mut action: libc::sigaction = mem::zeroed();
            action.sa_sigaction = handle as *const () as usize;
            // The thread's alternate stack, where it has one: an engine's stack may be full.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(signal, &raw const action, ptr::null_mut())
        };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    // A write beyond the limit of a file's size then fails, and says so where it is made.
    // SAFETY: no handler is installed.
    if unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) } == libc::SIG_ERR {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Remembers the mode of the terminal on standard input, so that the handler restores it. Does nothing where there is no terminal.
pub fn remember_terminal() {
    // SAFETY: all zeroes is a valid `termios`, which `tcgetattr` fills.
    let mode = unsafe {
        let mut mode: termios = mem::zeroed();
        if libc::tcgetattr(libc::STDIN_FILENO, &raw mut mode) != 0 {
            return;
        }
        mode
    };
    // Never freed: the handler may be looking at it.
    TERMINAL.store(Box::leak(Box::new(mode)), Ordering::Release);
}

/// The terminal is as it was: the handler leaves it alone.
pub fn forget_terminal() {
    TERMINAL.store(ptr::null_mut(), Ordering::Release);
}

/// What the kernel says of SIGSYS; `siginfo_t` of the C library has no names for it.
#[repr(C)]
struct Refused {
    signal: c_int,
    error: c_int,
    code: c_int,
    caller: *const c_void,
    number: c_int,
    architecture: u32,
}

extern "C" fn handle(signal: c_int, info: *const siginfo_t, _context: *mut c_void) {
    let mut line = Line::new();
    if signal == libc::SIGSYS {
        // SAFETY: the kernel fills these fields for SIGSYS (sigaction(2), `si_call_addr` and what follows).
        let number = unsafe { (*info.cast::<Refused>()).number };
        line.push("sandbox: refused system call ");
        line.push_number(number.unsigned_abs());
        line.push("; --sandbox off runs without a sandbox");
    } else {
        line.push("a mapped file, such as a snapshot, has become shorter or cannot be read");
    }
    line.push("\n");
    let terminal = TERMINAL.load(Ordering::Acquire);
    // SAFETY: these functions are safe in handlers; the terminal's mode is never freed.
    unsafe {
        if !terminal.is_null() {
            libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, terminal);
        }
        libc::write(libc::STDERR_FILENO, line.bytes.as_ptr().cast(), line.length);
        libc::_exit(FAILED);
    }
}

/// A line that is put together without allocating.
struct Line {
    bytes: [u8; 160],
    length: usize,
}

impl Line {
    fn new() -> Self {
        let mut line = Self { bytes: [0; 160], length: 0 };
        line.push("pagewalk: ");
        line
    }

    /// Adds `text`, as far as there is room.
    fn push(&mut self, text: &str) {
        for (to, &byte) in self.bytes[self.length..].iter_mut().zip(text.as_bytes()) {
            *to = byte;
            self.length += 1;
        }
    }

    fn push_number(&mut self, number: u32) {
        if number >= 10 {
            self.push_number(number / 10);
        }
        let digit = b'0' + (number % 10) as u8;
        if let Some(to) = self.bytes.get_mut(self.length) {
            *to = digit;
            self.length += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_put_together_and_never_overflows() {
        let mut line = Line::new();
        line.push("call ");
        for number in [0, 9, 10, 257, u32::MAX] {
            line.push_number(number);
            line.push(" ");
        }
        assert_eq!(&line.bytes[..line.length], b"pagewalk: call 0 9 10 257 4294967295 ");
        (0..100).for_each(|_| line.push("more"));
        assert_eq!(line.length, line.bytes.len());
    }
}
