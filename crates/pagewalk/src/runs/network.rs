//! The network of a guest outside of the machine, as the command provides it.

use crate::error::Failure;
use network::{Forward, HostSockets, Listeners, Settings, UserNetwork, resolvers};
use process::Datagrams;
use rustix::event::PollFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often sockets are looked at while the guest runs and sends nothing.
const PERIOD: Duration = Duration::from_micros(100);

/// The least time that a guest which is idle waits at once: whatever comes, its time goes on.
const LEAST: Duration = Duration::from_millis(1);

/// What a user network needs of the host, opened before the process gives up the right to.
#[derive(Debug, Default)]
pub(crate) struct Opened {
    listeners: Listeners,
    resolvers: Vec<std::net::SocketAddr>,
}

impl Opened {
    /// Listens for the forwards, and finds the host's name servers.
    ///
    /// # Errors
    /// [`Failure::Usage`], naming the forward that cannot be had.
    pub(crate) fn open(forwards: &[Forward]) -> Result<Self, Failure> {
        let listeners = Listeners::open(forwards).map_err(|error| Failure::Usage(format!("--forward {error}")))?;
        // Without name servers, names are not found; addresses are.
        let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
        Ok(Self { listeners, resolvers: resolvers(&text) })
    }

    /// The same without forwards, for one of several machines.
    pub(crate) fn alone(&self) -> Self {
        Self { listeners: Listeners::default(), resolvers: self.resolvers.clone() }
    }

    /// What the sandbox must leave.
    pub(crate) fn needs(&self) -> (Vec<u32>, Datagrams) {
        let (connections, datagrams) = self.listeners.numbers();
        let number = |sockets: Vec<i32>| sockets.into_iter().filter_map(|socket| u32::try_from(socket).ok()).collect();
        (number(connections), Datagrams { anywhere: number(datagrams) })
    }

    /// The network of one guest, whose card is at `card`.
    pub(crate) fn network(self, card: [u8; 6]) -> Outside {
        let forwards = self.listeners.forwards().copied().collect();
        let settings = Settings { card, resolvers: self.resolvers, forwards, seed: u64::from(std::process::id()) };
        let network = UserNetwork::new(HostSockets::new(self.listeners), settings);
        let now = Instant::now();
        Outside(Arc::new(Mutex::new(Shared { network, waited: Duration::ZERO, look: true, looked: now })))
    }
}

/// A network that the machine and the console share: the machine exchanges frames with it, the console waits for them.
#[derive(Clone, Debug)]
pub(crate) struct Outside(Arc<Mutex<Shared>>);

#[derive(Debug)]
struct Shared {
    network: UserNetwork<HostSockets>,
    /// For how long the guest has been idle since a frame came, or since its time last went on.
    waited: Duration,
    /// Whether sockets are looked at in any case.
    look: bool,
    looked: Instant,
}

impl Outside {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        // One thread runs a machine and its console: a lock that is poisoned was held by a thread that has ended.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether anything may still come for the guest.
    pub(crate) fn is_awaited(&self) -> bool {
        self.shared().network.is_awaited()
    }

    /// The guest is idle for `guest_time`, or until something comes. `wait` waits for so long, or for one of these sockets, and says whether
    /// something came. Returns whether the guest is to look.
    pub(crate) fn idle(
        &self,
        guest_time: Option<Duration>,
        wait: impl FnOnce(Option<Duration>, Vec<PollFd<'_>>) -> bool,
    ) -> bool {
        let mut shared = self.shared();
        let left = guest_time.map(|time| time.saturating_sub(shared.waited));
        if left == Some(Duration::ZERO) {
            shared.waited = Duration::ZERO;
            return false;
        }
        let delay = shared.network.delay().map(|delay| delay.max(LEAST));
        let began = Instant::now();
        let came = wait([left, delay].into_iter().flatten().min(), shared.network.awaited());
        let took = began.elapsed();
        if !came && left.is_some_and(|left| took >= left) {
            shared.waited = Duration::ZERO;
            return false;
        }
        shared.waited += took;
        shared.look = true;
        true
    }
}

impl machine::Network for Outside {
    fn send(&mut self, frame: &[u8]) {
        let mut shared = self.shared();
        shared.network.send(frame);
        shared.look = true;
    }

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut shared = self.shared();
        if shared.look || shared.looked.elapsed() >= PERIOD {
            shared.looked = Instant::now();
            if std::mem::take(&mut shared.look) || shared.network.is_ready() {
                shared.network.exchange();
            }
        }
        let frame = shared.network.frame()?.to_vec();
        shared.network.took();
        Some(frame)
    }

    fn waited(&mut self) -> Duration {
        std::mem::take(&mut self.shared().waited)
    }
}
