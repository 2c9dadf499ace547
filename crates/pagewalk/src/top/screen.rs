//! The terminal that the view is drawn on, and the keys that are typed there.

use super::sample::Interval;
use super::view::{Shown, draw};
use crate::terminal::RawTerminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, size};
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::stdio::stdin;
use std::io::{self, Stdout, stdout};
use std::time::Duration;

/// The view on a terminal that does not say its size, such as a serial line.
const UNKNOWN: Rect = Rect { x: 0, y: 0, width: 80, height: 24 };

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// The view ends; the run goes on.
    Quit,
    /// The machine stops, or goes on.
    Pause,
}

/// The terminal. It is as it was before when this is dropped.
#[derive(Debug)]
pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    shown: Shown,
    guests: usize,
    _raw: Option<RawTerminal>,
}

impl Screen {
    /// Takes the terminal.
    ///
    /// # Errors
    /// As the host's system says.
    pub(crate) fn open() -> io::Result<Self> {
        let raw = RawTerminal::enter()?;
        execute!(stdout(), EnterAlternateScreen, Hide)?;
        let viewport = match size()? {
            (0, _) | (_, 0) => Viewport::Fixed(UNKNOWN),
            _ => Viewport::Fullscreen,
        };
        let terminal = Terminal::with_options(CrosstermBackend::new(stdout()), TerminalOptions { viewport })?;
        Ok(Self { terminal, shown: Shown::default(), guests: 1, _raw: raw })
    }

    /// Draws an interval; `None` before the first one has ended.
    ///
    /// # Errors
    /// As the host's system says.
    pub(crate) fn show(&mut self, interval: Option<&Interval>) -> io::Result<()> {
        self.guests = interval.map_or(1, |interval| interval.guests.len().max(1));
        self.terminal.draw(|frame| draw(frame, interval, self.shown))?;
        Ok(())
    }

    /// Whether the machine is to be paused from now on.
    pub(crate) const fn toggle_pause(&mut self) -> bool {
        self.shown.paused = !self.shown.paused;
        self.shown.paused
    }

    /// Waits for a key for at most `time`.
    ///
    /// # Errors
    /// As the host's system says.
    pub(crate) fn key(&mut self, time: Duration) -> io::Result<Option<Wish>> {
        let time = Timespec { tv_sec: 0, tv_nsec: i64::from(time.subsec_nanos()) };
        let ready = poll(&mut [PollFd::new(&stdin(), PollFlags::IN)], Some(&time));
        // A signal ends the wait early. The caller checks for signals.
        if ready.unwrap_or(0) == 0 {
            return Ok(None);
        }
        let mut key = [0];
        if rustix::io::read(stdin(), &mut key)? == 0 {
            return Ok(Some(Wish::Quit));
        }
        Ok(match key[0] {
            // Ctrl-C comes as a key while the terminal is raw.
            b'q' | 3 => Some(Wish::Quit),
            b'p' => Some(Wish::Pause),
            b'\t' => {
                self.shown.chosen = (self.shown.chosen + 1) % self.guests;
                None
            }
            _ => None,
        })
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // The command is over. A terminal that is gone needs no restoring.
        let _ = execute!(stdout(), Show, LeaveAlternateScreen);
    }
}
