//! Progress of work that is one thing after the other.

use super::estimate::duration;
use super::screen::{Manner, Screen, note};
use super::ticker::Ticker;
use crate::text::quoted::without_controls_in_line;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// One line that says what is being done; it is drawn only on a terminal. Downloads also print a line without a terminal.
#[derive(Debug)]
pub struct Progress {
    state: Arc<Mutex<Line>>,
    _ticker: Option<Ticker>,
}

#[derive(Debug)]
struct Line {
    message: String,
    amount: Option<Amount>,
    since: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Amount {
    unit: Unit,
    done: u64,
    total: u64,
}

#[derive(Clone, Copy, Debug)]
enum Unit {
    Bytes,
    Steps,
}

impl Progress {
    /// A line that says nothing yet.
    #[must_use]
    pub fn new() -> Self {
        let state = Arc::new(Mutex::new(Line { message: String::new(), amount: None, since: Instant::now() }));
        let screen = Screen::take();
        let ticker = screen.is_drawn().then(|| {
            let state = state.clone();
            Ticker::start(move || screen.draw(&[locked(&state).text()]))
        });
        Self { state, _ticker: ticker }
    }

    /// Shows `message`: work of unknown length.
    pub fn say(&mut self, message: &str) {
        self.begin(message, None);
    }

    /// Shows `message` with a bar of `total` bytes.
    pub fn bytes(&mut self, message: &str, total: u64) {
        if Manner::now() == Manner::Lines {
            note(&format!("{message}: {}", mebibytes(total)));
        }
        self.begin(message, Some(Amount { unit: Unit::Bytes, done: 0, total }));
    }

    /// Shows `message` with a bar of `total` steps.
    pub fn count(&mut self, message: &str, total: u64) {
        self.begin(message, Some(Amount { unit: Unit::Steps, done: 0, total }));
    }

    /// Moves the bar to `position` of its total.
    pub fn at(&mut self, position: u64) {
        if let Some(amount) = &mut locked(&self.state).amount {
            amount.done = position.min(amount.total);
        }
    }

    fn begin(&mut self, message: &str, amount: Option<Amount>) {
        *locked(&self.state) = Line { message: without_controls_in_line(message), amount, since: Instant::now() };
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

impl Line {
    fn text(&self) -> String {
        let (message, so_far) = (&self.message, self.since.elapsed());
        let Some(Amount { unit, done, total }) = self.amount else {
            return format!("{message}, {} so far", duration(so_far));
        };
        let share = done as f64 / total.max(1) as f64;
        let amount = match unit {
            Unit::Bytes => format!("{} of {}", mebibytes(done), mebibytes(total)),
            Unit::Steps => format!("{done} of {total}"),
        };
        // The rate of the first moments says nothing of the rest.
        let left = if so_far.as_secs() >= 2 && share > 0.02 && share < 1.0 {
            format!(", about {} left", duration(so_far.mul_f64((1.0 - share) / share)))
        } else {
            String::new()
        };
        format!("{message} {} {amount}{left}", bar(share))
    }
}

/// A bar of 24 columns, of which so much is full.
pub(super) fn bar(share: f64) -> String {
    const WIDTH: usize = 24;
    let full = (share.clamp(0.0, 1.0) * WIDTH as f64) as usize;
    format!("[{}{}]", "=".repeat(full), " ".repeat(WIDTH - full))
}

fn mebibytes(bytes: u64) -> String {
    format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20))
}

fn locked(state: &Mutex<Line>) -> MutexGuard<'_, Line> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn text(amount: Amount, ago: u64) -> String {
        let since = Instant::now().checked_sub(Duration::from_secs(ago)).unwrap();
        Line { message: "downloading base".to_owned(), amount: Some(amount), since }.text()
    }

    #[test]
    fn nothing_is_said_of_the_time_left_before_anything_is_done() {
        let amount = |done| Amount { unit: Unit::Bytes, done, total: 40 << 20 };
        for (done, ago) in [(0, 60), (1, 60), (10 << 20, 1)] {
            assert!(!text(amount(done), ago).contains("left"), "{done} after {ago} s");
        }
        let half = text(amount(20 << 20), 30);
        assert!(
            half.starts_with("downloading base [============            ] 20.0 MiB of 40.0 MiB, about 30 s"),
            "{half}"
        );
    }
}
