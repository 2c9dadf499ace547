//! The requests of all clients, served between turns of the machine.

use super::answer::{self, Guests};
use super::client::{Client, Next};
use super::freed::{FreedReservation, section_name};
use super::listener::{Listener, SocketAddress};
use super::request::Request;
use crate::interrupt;
use machine::Machine;
use profiles::Names;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};
use std::io;
use std::time::{Duration, Instant};

/// How often a running machine looks for requests.
const PERIOD: Duration = Duration::from_millis(5);

/// How long a machine that is paused waits before it looks at the keyboard again.
const KEYBOARD_PERIOD: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The most clients at the same time.
const MOST_CLIENTS: usize = 16;

/// The most requests of one client that are served before others, and the guests, have their turn.
const MOST_REQUESTS: usize = 16;

/// Whether a run may write a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Snapshots {
    /// If it was started with a file for one.
    Offered,
    /// The command takes none.
    None,
}

/// Whether guests run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Paused,
}

/// The server of one machine.
#[derive(Debug)]
pub(crate) struct Server {
    listener: Listener,
    clients: Vec<Client>,
    guests: Guests,
    /// Names of each guest's functions, once they were needed.
    functions: Vec<Names>,
    snapshots: Snapshots,
    state: State,
    looked: Option<Instant>,
    /// The exit code that a client asked for.
    quit: Option<u8>,
}

impl Server {
    /// Listens at `address`, for a machine with these guests.
    ///
    /// # Errors
    /// As [`Listener::open`].
    pub(crate) fn open(address: &SocketAddress, guests: Guests, snapshots: Snapshots) -> io::Result<Self> {
        let listener = Listener::open(address)?;
        let (clients, functions) = (Vec::new(), Vec::new());
        Ok(Self { listener, clients, guests, functions, snapshots, state: State::Running, looked: None, quit: None })
    }

    /// The socket that it listens on.
    pub(crate) const fn listener(&self) -> &Listener {
        &self.listener
    }

    /// The exit code that a client asked for when it ended the run; `None` if none did.
    pub(crate) const fn quit(&self) -> Option<u8> {
        self.quit
    }

    /// Serves what clients have asked for. A machine that they pause stays here until they resume it. `keyboard` is called meanwhile, and ends the
    /// run with an error.
    ///
    /// # Errors
    /// [`io::ErrorKind::Interrupted`]: a client or a signal ends the run; or what `keyboard` returns.
    pub(crate) fn between_turns(
        &mut self,
        machine: &mut Machine,
        keyboard: &mut dyn FnMut() -> io::Result<()>,
    ) -> io::Result<()> {
        if self.looked.is_some_and(|looked| looked.elapsed() < PERIOD) {
            return Ok(());
        }
        self.serve(machine)?;
        while self.state == State::Paused {
            self.wait();
            interrupt::check()?;
            keyboard()?;
            self.serve(machine)?;
        }
        self.looked = Some(Instant::now());
        Ok(())
    }

    /// What becomes ready when a client asks for something. After a wait for it, [`look`](Self::look) is due.
    pub(crate) fn awaited(&self) -> Vec<PollFd<'_>> {
        let listener = PollFd::new(&self.listener, PollFlags::IN);
        let clients = self.clients.iter().map(|client| PollFd::new(client, client.awaited()));
        std::iter::once(listener).chain(clients).collect()
    }

    /// Looks for requests before the next turn, however short the last look is ago.
    pub(crate) fn look(&mut self) {
        self.looked = None;
    }

    /// Waits for a request, a signal, or until the keyboard is due.
    fn wait(&self) {
        let mut ready = self.awaited();
        let wake = interrupt::descriptor();
        ready.extend(wake.as_ref().map(|wake| PollFd::new(wake, PollFlags::IN)));
        // An interrupted wait is over.
        let _ = poll(&mut ready, Some(&KEYBOARD_PERIOD));
    }

    fn serve(&mut self, machine: &mut Machine) -> io::Result<()> {
        while let Some(connection) = self.listener.accept() {
            let mut client = Client::new(connection);
            if self.clients.len() >= MOST_CLIENTS {
                client.reply(&failed(&format!("there are {MOST_CLIENTS} clients already")));
                continue;
            }
            self.clients.push(client);
        }
        let mut clients = std::mem::take(&mut self.clients);
        for client in &mut clients {
            client.send();
            for _ in 0..MOST_REQUESTS {
                match client.next() {
                    Next::Line(line) => client.reply(&self.reply(&line, machine)),
                    Next::TooLong => {
                        client.reply(&failed("the line is too long"));
                        client.end();
                    }
                    Next::Nothing => break,
                }
                if self.quit.is_some() {
                    return Err(io::ErrorKind::Interrupted.into());
                }
            }
            client.send();
        }
        clients.retain(|client| !client.is_closed());
        self.clients = clients;
        Ok(())
    }

    /// The reply to a line, which is carried out.
    fn reply(&mut self, line: &[u8], machine: &mut Machine) -> String {
        match Request::parse(line).and_then(|request| self.carry_out(request, machine)) {
            Ok(value) => json!({ "ok": value }).to_string(),
            Err(problem) => failed(&problem),
        }
    }

    fn carry_out(&mut self, request: Request, machine: &mut Machine) -> Result<Value, String> {
        match request {
            Request::Status {} => {}
            Request::Pause {} => self.state = State::Paused,
            Request::Resume {} => self.state = State::Running,
            Request::Statistics {} => return Ok(answer::statistics(machine, &self.guests, &mut self.functions)),
            Request::Snapshot {} => {
                if self.snapshots == Snapshots::None {
                    return Err("this run takes no snapshot: boot does, with --snapshot FILE".to_owned());
                }
                machine.snapshot_now().map_err(|error| error.to_string())?;
                self.state = State::Running;
            }
            Request::Balloon { bytes } => machine.set_balloon_target(bytes).map_err(|error| error.to_string())?,
            Request::Free { name, group } => {
                let name = section_name(&name, group)?;
                let freed = machine.free_reservation(&name).map_err(|error| error.to_string())?;
                return Ok(json!(FreedReservation::from(&freed)));
            }
            Request::Quit { status } => self.quit = Some(status),
        }
        Ok(answer::status(machine, &self.guests.names, self.state_name()))
    }

    const fn state_name(&self) -> &'static str {
        match (self.quit, self.state) {
            (Some(_), _) => "ending",
            (None, State::Running) => "running",
            (None, State::Paused) => "paused",
        }
    }
}

fn failed(problem: &str) -> String {
    json!({ "error": problem }).to_string()
}
