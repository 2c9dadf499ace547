//! `pagewalk boot`.

use crate::cli::BootArgs;
use crate::comparison::{Finished, report};
use crate::error::Failure;
use crate::image::{GuestKind, Work, prepare};
use crate::output::write_json;
use crate::setup::{configuration, machine_flags};
use crate::terminal::{Keyboard, KeyboardState, RawTerminal};
use machine::host_model::HostModel;
use machine::{Console, Machine, Outcome};
use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Duration;

/// Runs the command.
///
/// # Errors
/// [`Failure`]: bad usage, or a guest that does not come to a good end.
pub(super) fn run(arguments: &BootArgs) -> Result<ExitCode, Failure> {
    let mut flags = machine_flags(&arguments.machine);
    if let Some(scheme) = &arguments.scheme {
        flags.push(("scheme", format!("\"{scheme}\"")));
    }
    let config = configuration(&[], &arguments.machine.config, &flags)?;
    let host = HostModel::load(&config.host)?;
    let kind = GuestKind::parse(&arguments.guest);
    let work = match &arguments.run {
        Some(command) => Work::Command(command.clone()),
        None => Work::Console,
    };
    let prepared = prepare(kind.clone(), work, &arguments.linux)?;
    let mut machine = Machine::assemble(&config, &prepared.image(&config))?;
    // A command has no use for keys, and a guest that waits for none goes on at once.
    let outcome = if arguments.run.is_some() {
        machine.run(&mut UserConsole { keyboard: None, failed: None })
    } else {
        let _raw = RawTerminal::enter()?;
        machine.run(&mut UserConsole { keyboard: Some(Keyboard::new()), failed: None })
    };
    if let Some(path) = &arguments.json {
        let work = arguments.run.clone().unwrap_or_else(|| "console".to_owned());
        let scheme = config.scheme;
        let statistics = machine.measured();
        let run = Finished { work, scheme, outcome: outcome.clone(), statistics, output: Vec::new() };
        let value = report(&kind.name(), &config, &host, &[run]);
        write_json(path, &value).map_err(|error| Failure::Run(format!("{}: {error}", path.display())))?;
    }
    match outcome {
        Outcome::Finished(status) => Ok(ExitCode::from(status)),
        Outcome::Shutdown | Outcome::Interrupted => Ok(ExitCode::SUCCESS),
        failure => Err(Failure::Run(failure.to_string())),
    }
}

/// The user's terminal, or whatever standard input and output are.
struct UserConsole {
    keyboard: Option<Keyboard>,
    /// Standard output takes no more: the run ends.
    failed: Option<io::Error>,
}

impl Console for UserConsole {
    fn output(&mut self, bytes: &[u8]) {
        let mut output = io::stdout().lock();
        if let Err(error) = output.write_all(bytes).and_then(|()| output.flush()) {
            self.failed = Some(error);
        }
    }

    fn input(&mut self) -> io::Result<Vec<u8>> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut keys = Vec::new();
        if let Some(keyboard) = &mut self.keyboard {
            match keyboard.poll(&mut keys)? {
                KeyboardState::Open => {}
                KeyboardState::Ended => self.keyboard = None,
                KeyboardState::Quit => return Err(io::ErrorKind::Interrupted.into()),
            }
        }
        Ok(keys)
    }

    fn idle(&mut self, guest_time: Option<Duration>) -> bool {
        /// At most, so that a key is answered soon after.
        const NAP: Duration = Duration::from_millis(5);
        if self.keyboard.is_none() {
            return false;
        }
        match guest_time {
            Some(time) if time <= NAP => {
                std::thread::sleep(time);
                false
            }
            _ => {
                std::thread::sleep(NAP);
                true
            }
        }
    }
}
