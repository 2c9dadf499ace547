//! The one place of a process where progress is drawn.

use crate::output::warn;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long work runs before anything is drawn: what is over sooner needs none.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often it is drawn again.
pub(super) const REFRESH: Duration = Duration::from_millis(250);

/// Whether the user wants no progress.
static QUIET: AtomicBool = AtomicBool::new(false);

/// What is on the terminal: at most one picture, so that none is left over when another begins.
static SCREEN: Mutex<Option<Picture>> = Mutex::new(None);

struct Picture {
    bar: ProgressBar,
    since: Instant,
}

/// How progress is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Manner {
    /// Drawn on the terminal.
    Drawn,
    /// A line for each thing that is done.
    Lines,
    /// Not at all.
    Quiet,
}

impl Manner {
    pub(super) fn now() -> Self {
        match (QUIET.load(Ordering::Relaxed), stderr().is_terminal()) {
            (true, _) => Self::Quiet,
            (false, true) => Self::Drawn,
            (false, false) => Self::Lines,
        }
    }
}

/// Tells no progress from now on.
pub(crate) fn set_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Prints a line on standard error, above what is drawn there.
pub(crate) fn note(line: &str) {
    let print = || warn(line);
    match &*screen() {
        Some(picture) => picture.bar.suspend(print),
        None => print(),
    }
}

/// As [`note`], of a line that only says how it went: `--quiet` leaves it out.
pub(crate) fn remark(line: &str) {
    if !QUIET.load(Ordering::Relaxed) {
        note(line);
    }
}

/// Runs `print` while nothing is drawn. It is for what belongs on standard output, which may be the terminal that the progress is drawn on.
pub(crate) fn aside<T>(print: impl FnOnce() -> T) -> T {
    match &*screen() {
        Some(picture) => picture.bar.suspend(print),
        None => print(),
    }
}

/// A claim to the terminal. It is free again when this is dropped, and nothing is left of what was drawn.
#[derive(Debug)]
pub(super) struct Screen {
    drawn: bool,
}

impl Screen {
    /// Takes the terminal, if there is one and nothing else draws there.
    pub(super) fn take() -> Self {
        let mut screen = screen();
        let drawn = Manner::now() == Manner::Drawn && screen.is_none();
        if drawn {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
            bar.set_style(ProgressStyle::with_template("{msg}").expect("the template is valid"));
            *screen = Some(Picture { bar, since: Instant::now() });
        }
        Self { drawn }
    }

    /// Whether anything is drawn at all.
    pub(super) const fn is_drawn(&self) -> bool {
        self.drawn
    }

    /// Draws these lines in place of those before.
    pub(super) fn draw(&self, lines: &[String]) {
        if !self.drawn {
            return;
        }
        let screen = screen();
        let Some(picture) = screen.as_ref().filter(|picture| picture.since.elapsed() >= PATIENCE) else { return };
        let width = width();
        let cut: Vec<String> = lines.iter().map(|line| line.chars().take(width).collect()).collect();
        if picture.bar.is_hidden() {
            picture.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        picture.bar.set_message(cut.join("\n"));
    }

    /// Wipes what is drawn, for good.
    pub(super) fn wipe(&self) {
        if self.drawn
            && let Some(picture) = &*screen()
        {
            picture.bar.finish_and_clear();
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if self.drawn
            && let Some(picture) = screen().take()
        {
            picture.bar.finish_and_clear();
        }
    }
}

fn screen() -> MutexGuard<'static, Option<Picture>> {
    SCREEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Columns of the terminal; a line as long as that would wrap in some.
fn width() -> usize {
    let columns = rustix::termios::tcgetwinsize(stderr()).map_or(80, |size| usize::from(size.ws_col));
    columns.clamp(20, 500) - 1
}

/// Lines that fit on the terminal.
pub(super) fn height() -> usize {
    rustix::termios::tcgetwinsize(stderr()).map_or(24, |size| usize::from(size.ws_row)).max(4)
}
