//! What has to be put right before the process ends, however it ends: the terminal's mode, and temporary files.
//!
//! Each is registered while it is needed and taken care of by its owner's `Drop`. Where the process ends without dropping its owners,
//! [`run`] does the same.

use rustix::stdio::stdin;
use rustix::termios::{OptionalActions, Termios, tcsetattr};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What is registered.
struct Registered {
    terminal: Option<Termios>,
    paths: Vec<PathBuf>,
}

static REGISTERED: Mutex<Registered> = Mutex::new(Registered { terminal: None, paths: Vec::new() });

fn registered<R>(change: impl FnOnce(&mut Registered) -> R) -> R {
    change(&mut REGISTERED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A mode of the terminal on standard input that is restored when this is dropped.
#[derive(Debug)]
pub(crate) struct TerminalMode(());

impl TerminalMode {
    /// Will restore `mode`.
    pub(crate) fn restore_later(mode: Termios) -> Self {
        process::fatal::remember_terminal();
        registered(|registered| registered.terminal = Some(mode));
        Self(())
    }
}

impl Drop for TerminalMode {
    fn drop(&mut self) {
        registered(|registered| registered.terminal.take()).iter().for_each(restore);
        process::fatal::forget_terminal();
    }
}

/// A temporary file or directory that is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct TemporaryPath(PathBuf);

impl TemporaryPath {
    /// Will remove `path`, and what is in it if it is a directory.
    pub(crate) fn remove_later(path: PathBuf) -> Self {
        registered(|registered| registered.paths.push(path.clone()));
        Self(path)
    }

    /// The path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Removes nothing: what had the path has another one now.
    pub(crate) fn forget(self) {
        self.unregister();
        std::mem::forget(self);
    }

    fn unregister(&self) {
        registered(|registered| registered.paths.retain(|path| *path != self.0));
    }
}

impl Drop for TemporaryPath {
    fn drop(&mut self) {
        remove(&self.0);
        self.unregister();
    }
}

/// Puts everything right that is registered. The process ends next.
pub(crate) fn run() {
    registered(|registered| {
        registered.terminal.iter().for_each(restore);
        registered.paths.iter().for_each(|path| remove(path));
    });
}

/// It is no failure if that fails: a temporary file is of no use to anybody, and does no harm.
fn remove(path: &Path) {
    let _ = fs::remove_file(path).or_else(|_| fs::remove_dir_all(path));
}

/// Nothing better is left to do than to try; the terminal may be gone. Output that is not drawn yet is not waited for: a terminal that is stopped
/// would keep the process from ending.
fn restore(mode: &Termios) {
    let _ = tcsetattr(stdin(), OptionalActions::Now, mode);
}
