//! Progress of runs of guests, some of them side by side.

use super::estimate::{Estimate, duration, millions};
use super::message::bar;
use super::screen::{Manner, Screen, height, note};
use super::ticker::Ticker;
use crate::text::quoted::without_controls_in_line;
use machine::{Gauge, Phase};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The most runs that have a line of their own at a time.
const MOST_LINES: usize = 16;

/// The runs of a command.
#[derive(Debug)]
pub(crate) struct Runs {
    shared: Arc<Shared>,
    _ticker: Option<Ticker>,
}

#[derive(Debug)]
struct Shared {
    total: usize,
    threads: usize,
    manner: Manner,
    begun: Instant,
    screen: Screen,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    finished: usize,
    estimate: Estimate,
    running: Vec<Arc<Current>>,
    /// The kinds of those that have not begun.
    waiting: Vec<String>,
    hidden: bool,
}

/// A run that goes on.
#[derive(Debug)]
struct Current {
    kind: String,
    name: String,
    begun: Instant,
    gauge: Arc<Gauge>,
    /// What a run that has no gauge last said.
    said: Mutex<String>,
}

/// A run that goes on; it has ended unfinished where this is dropped.
#[derive(Debug)]
pub(crate) struct Running<'r> {
    runs: &'r Runs,
    current: Arc<Current>,
}

impl Runs {
    /// Runs to come, by their kinds, of which `threads` go on at a time. Runs of one kind do about the same work.
    pub(crate) fn new(kinds: Vec<String>, threads: usize) -> Self {
        Self::told(kinds, threads, Manner::now())
    }

    fn told(kinds: Vec<String>, threads: usize, manner: Manner) -> Self {
        let state =
            State { finished: 0, estimate: Estimate::default(), running: Vec::new(), waiting: kinds, hidden: false };
        let shared = Arc::new(Shared {
            total: state.waiting.len(),
            threads: threads.clamp(1, state.waiting.len().max(1)),
            manner,
            begun: Instant::now(),
            screen: Screen::take(),
            state: Mutex::new(state),
        });
        let ticker = shared.screen.is_drawn().then(|| {
            let shared = shared.clone();
            Ticker::start(move || shared.draw())
        });
        Self { shared, _ticker: ticker }
    }

    /// One run whose result says by itself that it has ended: it has no line without a terminal.
    pub(crate) fn one_drawn() -> Self {
        let manner = match Manner::now() {
            Manner::Drawn => Manner::Drawn,
            Manner::Lines | Manner::Quiet => Manner::Quiet,
        };
        Self::told(vec![String::new()], 1, manner)
    }

    /// A run begins.
    pub(crate) fn begin(&self, kind: &str, name: &str) -> Running<'_> {
        let current = Arc::new(Current {
            kind: kind.to_owned(),
            name: without_controls_in_line(name),
            begun: Instant::now(),
            gauge: Arc::default(),
            said: Mutex::default(),
        });
        let mut state = self.shared.state();
        state.no_longer_waits(kind);
        state.running.push(current.clone());
        Running { runs: self, current }
    }

    /// A run need not be made: its result is there.
    pub(crate) fn kept(&self, kind: &str, name: &str) {
        let mut state = self.shared.state();
        state.no_longer_waits(kind);
        state.finished += 1;
        self.shared.tell(state, name, "kept from before");
    }

    /// Draws nothing from now on: other code uses the terminal.
    pub(crate) fn hide(&self) {
        let mut state = self.shared.state();
        if !state.hidden {
            state.hidden = true;
            self.shared.screen.wipe();
        }
    }
}

impl Running<'_> {
    /// What the run shows how far it is on.
    pub(crate) fn gauge(&self) -> Arc<Gauge> {
        self.current.gauge.clone()
    }

    /// What a run without a gauge is doing.
    pub(crate) fn say(&self, text: &str) {
        *locked(&self.current.said) = without_controls_in_line(text);
    }

    /// The run has ended; `problem` says how, where that is not well.
    pub(crate) fn finish(self, problem: Option<&str>) {
        let Current { kind, name, begun, gauge, .. } = &*self.current;
        let (instructions, time) = (gauge.instructions(), begun.elapsed());
        let mut state = self.runs.shared.state();
        state.finished += 1;
        if problem.is_none() {
            state.estimate.add(kind, instructions, time);
        }
        let took = match instructions {
            0 => duration(time),
            _ => format!("{} M instructions in {}", millions(instructions), duration(time)),
        };
        let how = problem.map_or_else(|| took.clone(), |problem| format!("failed after {took}: {problem}"));
        self.runs.shared.tell(state, name, &how);
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.runs.shared.state().running.retain(|run| !Arc::ptr_eq(run, &self.current));
    }
}

impl State {
    fn no_longer_waits(&mut self, kind: &str) {
        if let Some(at) = self.waiting.iter().position(|waiting| waiting == kind) {
            self.waiting.swap_remove(at);
        }
    }

    /// How long all that is left takes; `None` before a run of each kind in it has ended.
    fn left(&self, threads: usize) -> Option<Duration> {
        let running = self.running.iter().map(|run| {
            let share = run.share(&self.estimate).unwrap_or(0.0);
            Some(self.estimate.time(&run.kind)?.mul_f64((1.0 - share).max(0.0)))
        });
        let waiting = self.waiting.iter().map(|kind| self.estimate.time(kind));
        let sum = running.chain(waiting).sum::<Option<Duration>>()?;
        let side_by_side = threads.min(self.running.len() + self.waiting.len()).max(1);
        (!self.running.is_empty()).then(|| sum / side_by_side as u32)
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        locked(&self.state)
    }

    /// Says that a run is done with, where nothing is drawn.
    fn tell(&self, state: MutexGuard<'_, State>, name: &str, how: &str) {
        let number = state.finished;
        drop(state);
        if self.manner == Manner::Lines {
            note(&format!("{number} of {}: {name}: {how}", self.total));
        }
    }

    fn draw(&self) {
        let state = self.state();
        // Held while it is drawn, so that nothing appears after it was hidden.
        if !state.hidden {
            self.screen.draw(&self.lines(&state));
        }
    }

    /// A line for each run that goes on, and one for all.
    fn lines(&self, state: &State) -> Vec<String> {
        let most = MOST_LINES.min(height().saturating_sub(3)).max(1);
        let shown = &state.running[..state.running.len().min(most)];
        let width = shown.iter().map(|run| run.name.chars().count()).max().unwrap_or(0).min(48);
        let mut lines: Vec<String> = shown.iter().map(|run| run.line(&state.estimate, width)).collect();
        if state.running.len() > shown.len() {
            lines.push(format!("and {} more", state.running.len() - shown.len()));
        }
        if self.total > 1 {
            let within: f64 = state.running.iter().filter_map(|run| run.share(&state.estimate)).sum();
            let share = (state.finished as f64 + within) / self.total as f64;
            let left =
                state.left(self.threads).map_or(String::new(), |left| format!(", about {} left", duration(left)));
            let (finished, so_far) = (state.finished, duration(self.begun.elapsed()));
            lines.push(format!("{} {finished} of {} runs finished, {so_far} so far{left}", bar(share), self.total));
        }
        lines
    }
}

impl Current {
    /// How much of it is done; `None` where the amount of work is unknown.
    fn share(&self, estimate: &Estimate) -> Option<f64> {
        let expected = estimate.instructions(&self.kind)?;
        Some((self.gauge.instructions() as f64 / expected as f64).min(1.0))
    }

    fn line(&self, estimate: &Estimate, width: usize) -> String {
        let (name, done, so_far) = (&self.name, self.gauge.instructions(), self.begun.elapsed());
        if done == 0 {
            let said = locked(&self.said).clone();
            let said = if said.is_empty() { "starts".to_owned() } else { said };
            return format!("{name:width$}  {said}, {}", duration(so_far));
        }
        let phase = self.gauge.phase();
        let longest = [Phase::Boot, Phase::WarmUp, Phase::Measure, Phase::After].map(|phase| phase.name().len());
        let longest = longest.into_iter().max().unwrap_or(0);
        let amount = match estimate.instructions(&self.kind) {
            // It does more than the others did: how much more is not known.
            Some(expected) if expected >= done => {
                let left = so_far.mul_f64((expected - done) as f64 / done as f64);
                format!("{} of {} M instructions, about {} left", millions(done), millions(expected), duration(left))
            }
            _ => format!("{} M instructions, {}", millions(done), duration(so_far)),
        };
        format!("{name:width$}  {:longest$}  {amount}", phase.name())
    }
}

fn locked<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
