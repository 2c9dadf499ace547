//! `pagewalk top`: what a run does now.

use crate::cli::TopArgs;
use crate::control::{Connection, Reply, Request};
use crate::error::Failure;
use crate::interrupt::{self, Orderly};
use crate::output::print;
use crate::top::{Sample, Screen, Wish, lines, object};
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long the process sleeps before it looks for a signal again.
const NAP: Duration = Duration::from_millis(50);

/// Runs the command.
///
/// # Errors
/// [`Failure::Run`]: nothing listens at the socket.
pub(in crate::commands) fn run(arguments: &TopArgs) -> Result<ExitCode, Failure> {
    let mut connection = Connection::open(&arguments.socket)?;
    let _orderly = Orderly::begin();
    let period = Duration::from_secs_f64(arguments.interval);
    let drawn = io::stdout().is_terminal() && io::stdin().is_terminal() && arguments.count.is_none() && !arguments.json;
    if drawn { draw(&mut connection, period) } else { log(&mut connection, period, arguments) }
}

/// Lines, one group for each interval.
fn log(connection: &mut Connection, period: Duration, arguments: &TopArgs) -> Result<ExitCode, Failure> {
    let Some(mut before) = sample(connection)? else { return Ok(ExitCode::SUCCESS) };
    let mut left = arguments.count;
    while left != Some(0) {
        pause(period)?;
        let Some(now) = sample(connection)? else { break };
        let interval = now.since(&before);
        let text = if arguments.json { format!("{}\n", object(&interval)) } else { lines(&interval) };
        print(&text)?;
        before = now;
        left = left.map(|left| left - 1);
    }
    Ok(ExitCode::SUCCESS)
}

/// A view that is drawn again after each interval.
fn draw(connection: &mut Connection, period: Duration) -> Result<ExitCode, Failure> {
    let Some(mut before) = sample(connection)? else { return Ok(ExitCode::SUCCESS) };
    let mut screen = Screen::open()?;
    screen.show(None)?;
    loop {
        let until = Instant::now() + period;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            interrupt::check()?;
            match screen.key(left.min(NAP))? {
                Some(Wish::Quit) => return Ok(ExitCode::SUCCESS),
                Some(Wish::Pause) => {
                    let request = if screen.toggle_pause() { Request::Pause {} } else { Request::Resume {} };
                    connection.ask(&request)?;
                }
                None => {}
            }
        }
        let Some(now) = sample(connection)? else { return Ok(ExitCode::SUCCESS) };
        screen.show(Some(&now.since(&before)))?;
        before = now;
    }
}

/// Counters up to now; `None` if the run has ended.
fn sample(connection: &mut Connection) -> Result<Option<Sample>, Failure> {
    match connection.ask(&Request::Statistics {})? {
        Reply::Answer(answer) => Sample::read(&answer)
            .map(Some)
            .map_err(|error| Failure::Run(format!("not the statistics of this version: {error}"))),
        Reply::Ended => Ok(None),
    }
}

fn pause(period: Duration) -> io::Result<()> {
    let until = Instant::now() + period;
    while let Some(left) = until.checked_duration_since(Instant::now()) {
        interrupt::check()?;
        sleep(left.min(NAP));
    }
    Ok(())
}
