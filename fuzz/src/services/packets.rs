//! Frames of a guest to its user network, in front of a host that is as unreliable as it likes.

use network::plan::{GATEWAY, GATEWAY_MAC, GUEST, NAME_SERVER};
use network::{
    Datagrams, Forward, Host, MOST_CONNECTIONS, MOST_FLOWS, MOST_FRAMES, Protocol, Settings, Stream, UserNetwork,
};
use std::cell::RefCell;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::BorrowedFd;
use std::rc::Rc;
use std::time::Duration;
use testing::Random;

/// Ethernet header and the longest IP packet.
const LONGEST_FRAME: usize = 14 + 1500;

/// What the sockets of the host do, and how many there are.
struct World {
    random: Random,
    streams: usize,
    datagrams: usize,
    clock: Duration,
}

/// A host that answers what the input says.
#[derive(Clone)]
struct Unreliable(Rc<RefCell<World>>);

struct StreamSocket(Rc<RefCell<World>>);

struct DatagramSocket(Rc<RefCell<World>>);

impl Drop for StreamSocket {
    fn drop(&mut self) {
        self.0.borrow_mut().streams -= 1;
    }
}

impl Drop for DatagramSocket {
    fn drop(&mut self) {
        self.0.borrow_mut().datagrams -= 1;
    }
}

/// What a call comes to: mostly there is nothing.
fn outcome(random: &mut Random, most: usize) -> io::Result<usize> {
    match random.below(8) {
        0 => Ok(0),
        1 | 2 => Ok(random.below(most as u64 + 1) as usize),
        3 => Err(io::ErrorKind::ConnectionReset.into()),
        4 => Err(io::ErrorKind::ConnectionRefused.into()),
        _ => Err(io::ErrorKind::WouldBlock.into()),
    }
}

impl Unreliable {
    fn stream(&self) -> StreamSocket {
        self.0.borrow_mut().streams += 1;
        StreamSocket(self.0.clone())
    }
}

impl Host for Unreliable {
    type Stream = StreamSocket;
    type Datagrams = DatagramSocket;

    fn connect(&mut self, to: SocketAddr) -> io::Result<StreamSocket> {
        assert_ne!(to.port(), 0);
        if self.0.borrow_mut().random.one_in(8) {
            return Err(io::ErrorKind::HostUnreachable.into());
        }
        Ok(self.stream())
    }

    fn datagrams(&mut self, _to: SocketAddr) -> io::Result<DatagramSocket> {
        let mut world = self.0.borrow_mut();
        if world.random.one_in(8) {
            return Err(io::ErrorKind::HostUnreachable.into());
        }
        world.datagrams += 1;
        Ok(DatagramSocket(self.0.clone()))
    }

    fn accept(&mut self, _forward: usize) -> Option<StreamSocket> {
        let comes = self.0.borrow_mut().random.one_in(4);
        comes.then(|| self.stream())
    }

    fn receive(&mut self, _forward: usize, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
        let random = &mut self.0.borrow_mut().random;
        let bytes = outcome(random, buffer.len()).ok()?;
        Some((bytes, SocketAddr::new(Ipv4Addr::LOCALHOST.into(), random.below(200) as u16)))
    }

    fn send(&mut self, _forward: usize, _bytes: &[u8], _to: SocketAddr) {}

    fn listening(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }

    fn now(&self) -> Duration {
        self.0.borrow().clock
    }
}

impl Stream for StreamSocket {
    fn is_connected(&mut self) -> io::Result<bool> {
        outcome(&mut self.0.borrow_mut().random, 1).map(|made| made > 0).or_else(|error| match error.kind() {
            io::ErrorKind::WouldBlock => Ok(true),
            _ => Err(error),
        })
    }

    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        outcome(&mut self.0.borrow_mut().random, buffer.len())
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        outcome(&mut self.0.borrow_mut().random, bytes.len())
    }

    fn end_writing(&mut self) {}

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

impl Datagrams for DatagramSocket {
    fn send(&mut self, _bytes: &[u8]) {}

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        outcome(&mut self.0.borrow_mut().random, buffer.len())
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// A frame of the guest: noise, or one whose headers are mostly right.
fn frame(random: &mut Random, heard: &[u8]) -> Vec<u8> {
    let noise = |random: &mut Random, most: u64| -> Vec<u8> {
        (0..random.below(most)).map(|_| random.below(256) as u8).collect()
    };
    if random.one_in(16) {
        return noise(random, 128);
    }
    let mut frame = Vec::from(GATEWAY_MAC);
    frame.extend([2, 0, 0, 0, 0, 1]);
    if random.one_in(16) {
        frame.extend([0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, random.below(3) as u8]);
        frame.extend([2, 0, 0, 0, 0, 1, 10, 0, 2, 15, 0, 0, 0, 0, 0, 0, 10, 0, 2, random.below(8) as u8]);
        return frame;
    }
    let to = random.pick(&[GATEWAY, GATEWAY, NAME_SERVER, Ipv4Addr::new(198, 51, 100, 7), Ipv4Addr::BROADCAST, GUEST]);
    let protocol = random.pick(&[6_u8, 6, 6, 17, 17, 1, 2]);
    let payload = match protocol {
        6 => segment(random, heard),
        17 => {
            let ports = [random.pick(&[1000_u16, 1001, 68, 53]), random.pick(&[53_u16, 67, 80, 49152, 49153])];
            let body = if random.one_in(3) { dhcp(random) } else { noise(random, 64) };
            let mut datagram: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
            let length = if random.one_in(8) { random.below(100) as u16 } else { 8 + body.len() as u16 };
            datagram.extend(length.to_be_bytes());
            datagram.extend([0, 0]);
            datagram.extend(body);
            datagram
        }
        _ => [vec![8, 0, 0, 0], noise(random, 64)].concat(),
    };
    let from = if random.one_in(16) { Ipv4Addr::UNSPECIFIED } else { GUEST };
    let total = if random.one_in(16) { random.below(100) as u16 } else { 20 + payload.len() as u16 };
    frame.extend([0x08, 0x00, if random.one_in(32) { random.below(256) as u8 } else { 0x45 }, 0]);
    frame.extend(total.to_be_bytes());
    frame.extend([0, 0, if random.one_in(16) { random.below(256) as u8 } else { 0x40 }, 0, 64, protocol, 0, 0]);
    frame.extend(from.octets());
    frame.extend(to.octets());
    frame.extend(payload);
    frame
}

/// A segment of TCP. Its numbers follow those of the segment that was heard last, where there is one, so that connections come about.
fn segment(random: &mut Random, heard: &[u8]) -> Vec<u8> {
    let number =
        |at: usize| heard.get(at..at + 4).map_or(0, |bytes| u32::from_be_bytes(bytes.try_into().expect("four bytes")));
    let port =
        |at: usize| heard.get(at..at + 2).map_or(0, |bytes| u16::from_be_bytes(bytes.try_into().expect("two bytes")));
    let replies = heard.len() >= 54 && heard[23] == 6 && !random.one_in(4);
    let (from, to, sequence, acknowledged) = if replies {
        (port(36), port(34), number(42), number(38).wrapping_add(1))
    } else {
        (random.pick(&[1000, 1001, 1002, 22]), random.pick(&[80, 80, 81, 53]), random.below(8) as u32, 0)
    };
    let shift = |random: &mut Random, number: u32| {
        if random.one_in(4) { number.wrapping_add(random.below(1 << 20) as u32) } else { number }
    };
    let flags = random.pick(&[0x02_u8, 0x10, 0x10, 0x18, 0x11, 0x04, 0x12, 0x01, 0x14, 0xff]);
    let options: Vec<u8> = (0..4 * random.below(4)).map(|_| random.pick(&[0, 1, 2, 3, 4, 5, 8, 10, 255])).collect();
    let mut segment: Vec<u8> = [from, to].iter().flat_map(|port| port.to_be_bytes()).collect();
    segment.extend(shift(random, sequence).to_be_bytes());
    segment.extend(shift(random, acknowledged).to_be_bytes());
    segment.extend([((20 + options.len()) as u8 / 4) << 4, flags]);
    segment.extend((random.below(1 << 16) as u16).to_be_bytes());
    segment.extend([0, 0, 0, 0]);
    segment.extend(options);
    segment.extend((0..random.below(200)).map(|byte| byte as u8));
    segment
}

/// A message of a DHCP client.
fn dhcp(random: &mut Random) -> Vec<u8> {
    let mut message = vec![0; 240];
    message[..4].copy_from_slice(&[1, 1, 6, 0]);
    message[236..].copy_from_slice(&[0x63, 0x82, 0x53, 0x63]);
    message.extend([53, 1, random.below(9) as u8]);
    message.extend((0..random.below(24)).map(|_| random.below(64) as u8));
    message.push(255);
    message
}

/// Runs the target.
///
/// # Panics
/// If more is kept for the guest than is allowed, or it gets a frame that is not the gateway's.
pub fn run(input: &[u8]) {
    let world = World { random: Random::of_input(input), streams: 0, datagrams: 0, clock: Duration::ZERO };
    let host = Unreliable(Rc::new(RefCell::new(world)));
    let forwards = [(2222, 22, Protocol::Tcp), (5353, 53, Protocol::Udp)];
    let forwards = forwards.map(|(port, guest, protocol)| Forward {
        host: SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port),
        guest,
        protocol,
    });
    let settings = Settings {
        card: [2, 0, 0, 0, 0, 1],
        resolvers: vec!["192.0.2.1:53".parse().expect("an address"), "192.0.2.2:53".parse().expect("an address")],
        forwards: forwards.to_vec(),
        seed: 1,
    };
    let mut network = UserNetwork::new(host.clone(), settings);
    let mut heard = Vec::new();
    while host.0.borrow().random.has_input() {
        let step = host.0.borrow_mut().random.below(8);
        match step {
            0 => {
                let mut world = host.0.borrow_mut();
                let passed = world.random.below(40_000);
                world.clock += Duration::from_millis(passed);
            }
            1 | 2 => network.exchange(),
            _ => {
                let frame = frame(&mut host.0.borrow_mut().random, &heard);
                network.send(&frame);
            }
        }
        let takes = host.0.borrow_mut().random.one_in(2);
        let mut frames = 0;
        if takes {
            while let Some(frame) = network.frame() {
                assert_eq!(frame[6..12], GATEWAY_MAC, "a frame that is not the gateway's");
                assert!(frame.len() <= LONGEST_FRAME, "{} bytes", frame.len());
                frames += 1;
                heard = frame.to_vec();
                network.took();
            }
        }
        assert!(frames <= MOST_FRAMES);
        let world = host.0.borrow();
        assert!(world.streams <= MOST_CONNECTIONS && world.datagrams <= MOST_FLOWS);
    }
}
