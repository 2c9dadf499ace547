//! A progress bar on standard error, for whatever takes longer than a second.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long work runs before a bar appears: what is over sooner needs none.
const PATIENCE: Duration = Duration::from_secs(1);

/// One line of progress. It is drawn only if standard error is a terminal, and is wiped when dropped.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    /// Dropped to tell the thread that shows the bar that the work is over.
    working: Option<mpsc::Sender<()>>,
}

impl Progress {
    /// A line that says nothing yet.
    #[must_use]
    pub fn new() -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        let working = std::io::stderr().is_terminal().then(|| {
            let (working, over) = mpsc::channel();
            let bar = bar.clone();
            thread::spawn(move || {
                if over.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(Duration::from_millis(200));
                }
            });
            working
        });
        Self { bar, working }
    }

    /// Shows `message` with a spinner: work of unknown length.
    pub fn say(&mut self, message: &str) {
        self.restyle("{spinner} {msg}", message, None);
    }

    /// Shows `message` with a bar of `total` bytes.
    pub fn bytes(&mut self, message: &str, total: u64) {
        self.restyle("{msg} [{bar:30}] {bytes}/{total_bytes} {eta}", message, Some(total));
    }

    /// Shows `message` with a bar of `total` steps.
    pub fn count(&mut self, message: &str, total: u64) {
        self.restyle("{msg} [{bar:30}] {pos}/{len} {eta}", message, Some(total));
    }

    /// Moves the bar to `position` of its total.
    pub fn at(&mut self, position: u64) {
        self.bar.set_position(position);
    }

    fn restyle(&mut self, template: &str, message: &str, length: Option<u64>) {
        self.bar
            .set_style(ProgressStyle::with_template(template).expect("the template is valid").progress_chars("=> "));
        self.bar.set_message(message.to_owned());
        self.bar.set_position(0);
        match length {
            Some(length) => self.bar.set_length(length),
            None => self.bar.unset_length(),
        }
    }
}

impl Default for Progress {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.working = None;
        self.bar.finish_and_clear();
    }
}
