//! `pagewalk boot`.

use super::outputs::{open_control, open_output, unwritten, write_report};
use crate::cli::{BootArgs, LinuxArgs, NetKind};
use crate::comparison::{Finished, add_beginnings, failure, report};
use crate::control::{Guests, Server, Snapshots};
use crate::error::Failure;
use crate::gdb::{self, Debugger};
use crate::interrupt::{self, Orderly};
use crate::multi_vm::report::sections_of_one;
use crate::observe::{ObserveOutputs, Recordings};
use crate::output::{Format, Output, Printer, print_console, warn};
use crate::profile::{self, NameSources, ProfileOutput};
use crate::progress::Runs;
use crate::runs::copy_out::CopyOuts;
use crate::runs::image::{GuestKind, SHELL, ShellConsole, Work, prepare, program_memory};
use crate::runs::kernel_panic::KernelPanic;
use crate::runs::network::{Opened, Outside};
use crate::runs::start::{self, Start};
use crate::sandbox::Needs;
use crate::shared_memory::warn_of_refusals;
use crate::terminal::{self, Keyboard, KeyboardState, RawTerminal};
use machine::snapshot::DiskContents;
use machine::{Console, Controller, Machine, Outcome, card_address};
use profiles::Attribution;
use rustix::event::PollFd;
use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Runs the command.
///
/// # Errors
/// [`Failure`]: bad usage, or a guest that does not come to a good end.
pub(super) fn run(arguments: &BootArgs) -> Result<ExitCode, Failure> {
    let snapshot = arguments.restore.as_deref().map(start::open).transpose()?;
    let again = arguments.snapshot.is_some() || !arguments.copy_outs.is_empty();
    let goes_on = !again && start::goes_on(&arguments.guest, &arguments.linux);
    let defaults = start::of_guest(goes_on);
    let (on, shared) = start::configured(arguments, snapshot.as_deref(), defaults)?;
    start::check_warm(&arguments.linux, &shared, std::slice::from_ref(&on))?;
    let json = open_output(arguments.json.as_deref())?;
    let open_snapshot = |path: &PathBuf| Output::open_seekable(path).map_err(|error| unwritten(path, &error));
    let taken = arguments.snapshot.as_ref().map(open_snapshot).transpose()?;
    let profile = ProfileOutput::open(&arguments.profile)?;
    let observed = ObserveOutputs::open(&arguments.observe, arguments.trace.as_deref())?;
    let kind = snapshot.as_deref().map_or_else(|| GuestKind::parse(&arguments.guest), start::kind);
    let copies = CopyOuts::prepare(&arguments.copy_outs, &kind, &arguments.linux)?;
    let mut beginning = match &snapshot {
        Some(snapshot) => Start::Snapshot(snapshot.clone()),
        None => {
            let work = work(&kind, arguments);
            let memory = program_memory(&on.config);
            let linux = LinuxArgs { copying: copies.copying(), ..arguments.linux.clone() };
            Start::Boot(Box::new(prepare(kind.clone(), work, &linux, memory)?))
        }
    };
    if goes_on && shared.is_empty() {
        beginning.boot_once(std::slice::from_ref(&on))?;
    }
    let about = beginning.about(&on.config)?;
    let sources = NameSources::of(&beginning, &arguments.linux.files);
    let guests =
        || Guests { names: vec![about.work.clone()], sources: vec![sources.clone()], clock_hz: on.host.clock_hz };
    let control = open_control(&arguments.control, guests, Snapshots::Offered)?;
    beginning.check(&on, &shared)?;
    let mut machine = beginning.machine(&on, &shared)?;
    warn_of_refusals(&machine);
    let recorded = observed.recorded(profile.as_ref().map(ProfileOutput::detail));
    if arguments.gdb.is_some() {
        gdb::check_recorded(&recorded)?;
    }
    recorded.begin(&mut machine);
    let at = arguments.snapshot_at.unwrap_or_default();
    if let Some(path) = &arguments.snapshot {
        let refused = |error| Failure::Usage(format!("--snapshot {}: {error}", path.display()));
        machine.snapshot_at(at, DiskContents::Lost).map_err(refused)?;
    }
    // The sandbox gives up the right to bind a port.
    let opened = match arguments.linux.net {
        Some(NetKind::User) => Some(Opened::open(&arguments.forwards)?),
        Some(NetKind::None | NetKind::Switch) | None if !arguments.forwards.is_empty() => {
            return Err(Failure::Usage("--forward: the guest has no network; --net=user gives it one".to_owned()));
        }
        Some(NetKind::None | NetKind::Switch) | None => None,
    };
    let accept = |address| Debugger::accept(address, "the guest waits");
    let debugger = arguments.gdb.as_ref().map(accept).transpose()?;
    let needs = Needs::of_machines(1).output(json.as_ref()).output(taken.as_ref()).control(control.as_ref());
    let needs = needs.output(profile.as_ref().map(ProfileOutput::output)).network(opened.as_ref());
    let needs = needs.shares(beginning.devices()).paths(copies.paths());
    let _sandbox = observed.needs(needs).enter(arguments.sandbox.sandbox)?;
    // A command has no use for keys, and a guest that waits for none goes on at once.
    let keyboard = if about.command { Typing::None } else { Typing::Keyboard(Keyboard::new()) };
    let progress = Runs::one_drawn();
    let running = progress.begin("", &format!("{} under {}", about.work, on.system));
    machine.show_on(running.gauge());
    // What the guest prints and what is drawn would be mixed on one terminal.
    let drawn = io::stdout().is_terminal().then_some(&progress);
    let network = opened.map(|opened| opened.network(card_address(0)));
    if let Some(network) = &network {
        machine.connect(0, Box::new(network.clone()));
    }
    let mut console = UserConsole {
        keyboard,
        network,
        early: Vec::new(),
        idle_until: None,
        failed: None,
        panic: KernelPanic::default(),
        drawn,
        control,
    };
    let orderly = Orderly::begin();
    let outcome = {
        let _raw = if about.command { None } else { RawTerminal::enter()? };
        let mut outcomes = match debugger {
            Some(debugger) => gdb::run(debugger, &mut machine, &[], &mut console)?,
            None => machine.run_controlled(&mut console),
        };
        outcomes.swap_remove(0)
    };
    let outcome = console.panic.judge(outcome);
    drop(running);
    let failed = console.failed.take();
    let quit = console.control.as_ref().and_then(Server::quit);
    drop(console.control.take());
    drop(progress);
    match failed {
        // A closed reader, as behind `| head`, ends the guest and is no failure.
        Some(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error.into()),
        _ => {}
    }
    if json.is_some() || recorded.any() {
        let work = about.work.clone();
        let statistics = machine.measured();
        let run = Finished {
            work,
            on: on.clone(),
            failed: failure(&outcome, beginning.promise(), &[], None),
            outcome: outcome.clone(),
            statistics,
            output: Vec::new(),
            refused: (machine.refused_segments().0, Vec::new()),
            walk: None,
            saturated: None,
            recordings: Recordings::of(&machine, 0),
            sections: sections_of_one(&machine),
            figures: machine.figures_of(0).values().clone(),
        };
        let runs = [run];
        if let Some(output) = profile {
            let profiles: Vec<Attribution> = runs[0].attribution(&kind.name(), &sources).into_iter().collect();
            profile::print(&profiles, &mut Printer::beside_report(Format::Table)?)?;
            output.write(&profiles)?;
        }
        observed.write(&[(runs[0].identity(0, &kind.name()), &runs[0].recordings)])?;
        if let Some(output) = json {
            let mut value = report(&kind.name(), &on.config, &on.host, &[], &runs);
            add_beginnings(&mut value, &runs, beginning.past(&on)?.as_deref());
            write_report(output, &value)?;
        }
    }
    for text in machine.refused_segments().1 {
        warn(&format!("refused: {text}"));
    }
    if let Some(filter) = machine.saturated_filter() {
        warn(&format!("{filter} (segment.filter.bits)"));
    }
    check(&machine.check())?;
    if let Some(problem) = machine.section_problems().first() {
        return Err(Failure::Run(problem.clone()));
    }
    if let Some(signal) = interrupt::requested() {
        return Err(Failure::Interrupted(signal));
    }
    drop(orderly);
    if let Some(output) = taken {
        let path = output.name().to_owned();
        return match &outcome {
            Outcome::SnapshotTaken => {
                beginning.save(output, &mut machine, &on.config, &about)?;
                Ok(ExitCode::SUCCESS)
            }
            other => Err(Failure::Run(format!("{}: no snapshot: {other} before it came to {at}", path.display()))),
        };
    }
    // Of a guest that failed, why it did is what there is to say.
    if matches!(outcome, Outcome::Finished(_) | Outcome::Shutdown | Outcome::Reset | Outcome::Interrupted) {
        copies.finish()?;
    }
    match &outcome {
        // A command's status is the user's; that of a guest which was asked for none says only that it failed.
        Outcome::Finished(status) if *status == 0 || about.command => Ok(ExitCode::from(*status)),
        Outcome::Shutdown | Outcome::Reset if about.command && kind.reports_status() => {
            Err(Failure::Run(format!("{outcome} before the command had ended")))
        }
        Outcome::Reset => {
            // Another process may wait for it.
            warn(&format!("{outcome}; it is not started again"));
            Ok(ExitCode::SUCCESS)
        }
        Outcome::Interrupted => Ok(quit.map_or(ExitCode::SUCCESS, ExitCode::from)),
        Outcome::Shutdown => Ok(ExitCode::SUCCESS),
        failure => Err(Failure::Run(failure.to_string())),
    }
}

/// What the guest is to do. `vos` has a shell for a user at a terminal, or one who asks for it; otherwise, and where the user appends the name of a
/// workload, it is the workload's.
fn work(kind: &GuestKind, arguments: &BootArgs) -> Work {
    let console = ShellConsole::of_input();
    let appended = arguments.linux.append.as_deref().unwrap_or_default();
    match &arguments.run {
        Some(command) if *kind == GuestKind::Vos && command == SHELL => Work::Shell(console),
        Some(command) => Work::Command(command.clone()),
        None if *kind != GuestKind::Vos || console == ShellConsole::Stream => Work::Console,
        None if appended.split_whitespace().any(|word| word.starts_with("workload=")) => Work::Console,
        None => Work::Shell(console),
    }
}

/// Fails if the hypervisor's tables are wrong.
fn check(wrong: &[String]) -> Result<(), Failure> {
    match wrong.first() {
        Some(first) => Err(Failure::Run(format!("{} entries are wrong; {first}", wrong.len()))),
        None => Ok(()),
    }
}

/// What a terminal sends for the end of input: the guest's shell ends at it.
const END_OF_TRANSMISSION: u8 = 0x04;

/// How long a guest is left idle before the console signals the end of input once more.
const PATIENCE: Duration = Duration::from_millis(200);

/// How often a guest that waits for nothing but keys gets the end of input, before it counts as halted.
const REMINDERS: u32 = 10;

/// The user's terminal, or whatever standard input and output are.
struct UserConsole<'p> {
    keyboard: Typing,
    /// Keys that were typed while the machine was paused.
    early: Vec<u8>,
    /// When a wait ends that a request has interrupted: requests do not prolong it.
    idle_until: Option<Instant>,
    /// Standard output takes no more: the run ends.
    failed: Option<io::Error>,
    /// Whether the guest's kernel gave up.
    panic: KernelPanic,
    /// What is drawn until the guest prints anything.
    drawn: Option<&'p Runs>,
    /// The socket through which others control the run.
    control: Option<Server>,
    /// The network outside of the machine, if the guest has one.
    network: Option<Outside>,
}

/// The most keys that are kept while the machine is paused.
const MOST_EARLY: usize = 4096;

/// What the guest's keyboard is.
enum Typing {
    /// Standard input.
    Keyboard(Keyboard),
    /// Standard input, which has ended: the key that says so is typed whenever the guest has been idle for a while, because a guest
    /// that is not reading yet may drop it.
    Ended {
        /// When it was typed last.
        said: Instant,
        /// How often in a row the guest has been found waiting for keys and nothing else.
        unanswered: u32,
    },
    /// A command runs, without input from the terminal.
    None,
}

impl UserConsole<'_> {
    /// Waits for the user, for a client of the control socket or for one of `sockets`; returns whether one of them has something.
    fn wait(&mut self, patience: Option<Duration>, sockets: Vec<PollFd<'_>>) -> bool {
        let clients = self.control.as_ref().map(Server::awaited).unwrap_or_default();
        let sockets: Vec<PollFd<'_>> = sockets.into_iter().chain(clients).collect();
        let ready = match &self.keyboard {
            Typing::Keyboard(keyboard) => keyboard.wait(patience, sockets),
            // The end of input is typed again after a while.
            Typing::Ended { .. } => terminal::wait(Some(patience.map_or(PATIENCE, |time| time.min(PATIENCE))), sockets),
            Typing::None => terminal::wait(patience, sockets),
        };
        if let Some(control) = &mut self.control {
            control.look();
        }
        ready
    }
}

impl Console for UserConsole<'_> {
    fn output(&mut self, _guest: usize, bytes: &[u8]) {
        self.panic.read(bytes);
        if let Some(progress) = self.drawn.take() {
            progress.hide();
        }
        if let Err(error) = print_console(bytes) {
            self.failed = Some(error);
        }
    }

    fn input(&mut self) -> io::Result<Vec<u8>> {
        interrupt::check()?;
        if let Some(error) = &self.failed {
            return Err(error.kind().into());
        }
        let mut keys = std::mem::take(&mut self.early);
        match &mut self.keyboard {
            Typing::Keyboard(keyboard) => match keyboard.poll(&mut keys)? {
                KeyboardState::Open => {}
                KeyboardState::Ended => self.keyboard = Typing::Ended { said: Instant::now(), unanswered: 0 },
                KeyboardState::Quit => return Err(io::ErrorKind::Interrupted.into()),
            },
            Typing::Ended { said, .. } if said.elapsed() > PATIENCE => {
                *said = Instant::now();
                keys.push(END_OF_TRANSMISSION);
            }
            Typing::Ended { .. } | Typing::None => {}
        }
        Ok(keys)
    }

    fn listens(&self) -> bool {
        let network = || self.network.as_ref().is_some_and(Outside::is_awaited);
        match self.keyboard {
            Typing::Keyboard(_) => true,
            Typing::Ended { .. } | Typing::None => network(),
        }
    }

    fn idle(&mut self, guest_time: Option<Duration>) -> bool {
        if let Some(network) = self.network.clone().filter(Outside::is_awaited) {
            return network.idle(guest_time, |patience, sockets| self.wait(patience, sockets));
        }
        match (&mut self.keyboard, guest_time) {
            (Typing::Keyboard(keyboard), time) => match &mut self.control {
                None => keyboard.wait(time, Vec::new()),
                Some(control) => {
                    let now = Instant::now();
                    let until = time.and_then(|time| now.checked_add(time)).into_iter().chain(self.idle_until).min();
                    let until = until.filter(|_| time.is_some());
                    let left = until.map(|until| until.saturating_duration_since(now));
                    let ready = keyboard.wait(left, control.awaited());
                    self.idle_until = until.filter(|_| ready);
                    control.look();
                    ready
                }
            },
            (Typing::Ended { unanswered, .. }, None) => {
                *unanswered += 1;
                std::thread::sleep(PATIENCE);
                *unanswered <= REMINDERS
            }
            // The guest's clock goes with the user's as long as a user may watch.
            (Typing::Ended { unanswered, .. }, Some(time)) => {
                *unanswered = 0;
                std::thread::sleep(time.min(PATIENCE));
                time > PATIENCE
            }
            (Typing::None, _) => false,
        }
    }
}

impl Controller for UserConsole<'_> {
    fn between_turns(&mut self, machine: &mut Machine) -> io::Result<()> {
        let Some(control) = &mut self.control else { return Ok(()) };
        let (keyboard, early) = (&mut self.keyboard, &mut self.early);
        control.between_turns(machine, &mut || {
            let Typing::Keyboard(open) = keyboard else { return Ok(()) };
            if early.len() >= MOST_EARLY {
                return Ok(());
            }
            match open.poll(early)? {
                KeyboardState::Open => {}
                KeyboardState::Ended => *keyboard = Typing::Ended { said: Instant::now(), unanswered: 0 },
                KeyboardState::Quit => return Err(io::ErrorKind::Interrupted.into()),
            }
            Ok(())
        })
    }
}
