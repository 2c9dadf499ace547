//! The host's terminal as a guest's console.

use crate::cleanup::TerminalMode;
use crate::interrupt;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::stdio::stdin;
use rustix::termios::{OptionalActions, isatty, tcgetattr, tcsetattr};
use std::io;
use std::time::Duration;

/// The key that begins a command to Pagewalk: Ctrl-A, as in QEMU and minicom.
const ESCAPE: u8 = 0x01;

/// The terminal in raw mode: every key reaches the guest, Ctrl-C too. It is as it was before when this is dropped, and when the process
/// ends by a signal.
#[derive(Debug)]
pub struct RawTerminal {
    _before: TerminalMode,
}

impl RawTerminal {
    /// Puts the terminal on standard input into raw mode; `None` if standard input is none.
    ///
    /// # Errors
    /// As the host's system says.
    pub fn enter() -> io::Result<Option<Self>> {
        if !isatty(stdin()) {
            return Ok(None);
        }
        let before = tcgetattr(stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        // Registered first: a signal in between restores what has not changed yet.
        let before = TerminalMode::restore_later(before);
        tcsetattr(stdin(), OptionalActions::Now, &raw)?;
        Ok(Some(Self { _before: before }))
    }
}

/// What standard input has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyboardState {
    /// More may come.
    Open,
    /// Nothing more comes.
    Ended,
    /// The user asked for the machine's end.
    Quit,
}

/// Standard input, read without waiting. On a terminal, Ctrl-A x quits and Ctrl-A Ctrl-A sends one Ctrl-A; a file or pipe is
/// passed on as it is.
#[derive(Debug)]
pub struct Keyboard {
    escapes: Option<EscapeFilter>,
}

impl Keyboard {
    /// Standard input as it is now: a terminal or not.
    #[must_use]
    pub fn new() -> Self {
        Self { escapes: isatty(stdin()).then(EscapeFilter::default) }
    }

    /// Appends what has been typed since the last call to `keys`.
    ///
    /// # Errors
    /// As the host's system says.
    pub fn poll(&mut self, keys: &mut Vec<u8>) -> io::Result<KeyboardState> {
        let input = stdin();
        let mut ready = [PollFd::new(&input, PollFlags::IN)];
        match poll(&mut ready, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) {
            Ok(0) | Err(Errno::INTR) => return Ok(KeyboardState::Open),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut buffer = [0; 256];
        match rustix::io::read(input, &mut buffer) {
            Ok(0) => Ok(KeyboardState::Ended),
            Ok(length) => Ok(self.pass(&buffer[..length], keys)),
            // A terminal that hung up says so by EIO.
            Err(Errno::IO) => Ok(KeyboardState::Ended),
            Err(Errno::AGAIN | Errno::INTR) => Ok(KeyboardState::Open),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until something is typed or one of `others` is ready, for `patience` at the most, or for ever. Returns whether something was, or
    /// whether standard input has ended.
    #[must_use]
    pub fn wait(&self, patience: Option<Duration>, others: Vec<PollFd<'_>>) -> bool {
        let input = stdin();
        let mut descriptors = others;
        descriptors.push(PollFd::new(&input, PollFlags::IN));
        wait(patience, descriptors)
    }

    fn pass(&mut self, typed: &[u8], keys: &mut Vec<u8>) -> KeyboardState {
        let Some(escapes) = &mut self.escapes else {
            keys.extend_from_slice(typed);
            return KeyboardState::Open;
        };
        for &key in typed {
            match escapes.key(key) {
                Key::None => {}
                Key::Byte(key) => keys.push(key),
                Key::Quit => return KeyboardState::Quit,
            }
        }
        KeyboardState::Open
    }
}

/// Waits until one of `descriptors` is ready, or a signal has come, for `patience` at the most, or for ever. Returns whether one is.
#[must_use]
pub(crate) fn wait(patience: Option<Duration>, descriptors: Vec<PollFd<'_>>) -> bool {
    let mut ready = descriptors;
    // A signal may have come just before: it is waited for as keys are.
    let wake = interrupt::descriptor();
    ready.extend(wake.as_ref().map(|wake| PollFd::new(wake, PollFlags::IN)));
    let timeout = patience.map(|patience| Timespec {
        tv_sec: patience.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: patience.subsec_nanos().into(),
    });
    // An interrupted wait is one that found something: the caller looks, and waits again.
    poll(&mut ready, timeout.as_ref()).is_ok_and(|ready| ready > 0)
}

impl Default for Keyboard {
    fn default() -> Self {
        Self::new()
    }
}

/// What a key means once the escape key is accounted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    None,
    Byte(u8),
    Quit,
}

/// Whether the escape key was typed last.
#[derive(Debug, Default)]
struct EscapeFilter {
    escaped: bool,
}

impl EscapeFilter {
    fn key(&mut self, key: u8) -> Key {
        match (std::mem::take(&mut self.escaped), key) {
            (false, ESCAPE) => {
                self.escaped = true;
                Key::None
            }
            (false, key) => Key::Byte(key),
            (true, ESCAPE) => Key::Byte(ESCAPE),
            (true, b'x' | b'X') => Key::Quit,
            // No command: dropped, so that a slip of the finger does nothing.
            (true, _) => Key::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(keyboard: &mut Keyboard, keys: &[u8]) -> (Vec<u8>, KeyboardState) {
        let mut passed = Vec::new();
        let state = keyboard.pass(keys, &mut passed);
        (passed, state)
    }

    #[test]
    fn the_escape_key_quits_or_sends_itself() {
        let mut terminal = Keyboard { escapes: Some(EscapeFilter::default()) };
        assert_eq!(typed(&mut terminal, b"a\x01\x01b\x01qc\x03"), (b"a\x01bc\x03".to_vec(), KeyboardState::Open));
        assert_eq!(typed(&mut terminal, b"d\x01"), (b"d".to_vec(), KeyboardState::Open));
        assert_eq!(typed(&mut terminal, b"xe"), (Vec::new(), KeyboardState::Quit), "also across two reads");
    }

    #[test]
    fn a_pipe_is_passed_on_as_it_is() {
        let mut pipe = Keyboard { escapes: None };
        assert_eq!(typed(&mut pipe, b"\x01x"), (b"\x01x".to_vec(), KeyboardState::Open));
    }
}
