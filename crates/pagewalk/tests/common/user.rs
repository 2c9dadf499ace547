//! A user at a pseudo-terminal.

use super::screen::Screen;
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Termios, tcgetattr};
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};

/// A user at a terminal on which `pagewalk` runs.
pub(crate) struct User {
    /// The terminal's other end: what the user types goes in here.
    pub(crate) hands: File,
    /// What the user sees. It ends with the terminal, when reading fails.
    pub(crate) screen: Screen,
    pub(crate) terminal: OwnedFd,
    pub(crate) child: Child,
}

impl User {
    /// Starts `pagewalk` with `arguments` on a new terminal.
    pub(crate) fn runs(arguments: &[&str]) -> Self {
        let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&controller).expect("its other end");
        unlockpt(&controller).expect("its other end");
        let name = ptsname(&controller, Vec::new()).expect("its name");
        let terminal = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("its other end");
        let end = || Stdio::from(terminal.try_clone().expect("a descriptor"));
        let child = Command::new(env!("CARGO_BIN_EXE_pagewalk"))
            .args(arguments)
            .stdin(end())
            .stdout(end())
            .stderr(end())
            .spawn()
            .expect("pagewalk starts");
        let hands = File::from(controller);
        let screen = Screen::new(hands.try_clone().expect("a descriptor"));
        Self { hands, screen, terminal, child }
    }

    pub(crate) fn types(&mut self, keys: &str) {
        self.hands.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Waits until `text` appears, after what was seen before.
    #[track_caller]
    pub(crate) fn sees(&mut self, text: &str) {
        self.screen.sees(text);
    }

    pub(crate) fn settings(&self) -> Termios {
        tcgetattr(&self.terminal).expect("the terminal is there")
    }

    /// Whether the terminal hands each key on at once, and shows none by itself.
    pub(crate) fn is_raw(&self) -> bool {
        !self.settings().local_modes.intersects(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Waits for the command's end; its exit code.
    #[track_caller]
    pub(crate) fn ends(&mut self) -> Option<i32> {
        self.screen.until_the_end_of(&mut self.child)
    }
}

impl Drop for User {
    fn drop(&mut self) {
        // Where a test failed; otherwise it has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
