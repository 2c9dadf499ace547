//! A guest's network on the sockets of this host, all of them at loopback.

#[allow(dead_code, reason = "each test binary uses its part")]
mod common;

use common::{CARD, Guest};
use network::plan::{GATEWAY, GUEST, NAME_SERVER};
use network::{Forward, HostSockets, Listeners, Settings, UserNetwork};
use smoltcp::socket::dhcpv4;
use smoltcp::socket::tcp::State;
use smoltcp::wire::IpEndpoint;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;

fn network(forwards: &[Forward], resolvers: Vec<SocketAddr>) -> UserNetwork<HostSockets> {
    let listeners = Listeners::open(forwards).unwrap();
    let settings = Settings { card: CARD, resolvers, forwards: forwards.to_vec(), seed: 1 };
    UserNetwork::new(HostSockets::new(listeners), settings)
}

/// A port of this host that is free.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn the_guest_gets_its_address_gateway_and_name_server_by_dhcp() {
    let mut guest = Guest::new(network(&[], vec![]));
    let handle = guest.sockets.add(dhcpv4::Socket::new());
    let (address, router, servers) =
        guest.until("no address", |guest| match guest.sockets.get_mut::<dhcpv4::Socket>(handle).poll() {
            Some(dhcpv4::Event::Configured(config)) => {
                Some((config.address, config.router, config.dns_servers.iter().copied().collect::<Vec<_>>()))
            }
            _ => None,
        });
    assert_eq!((address.address(), address.prefix_len()), (GUEST, 24));
    assert_eq!((router, servers), (Some(GATEWAY), vec![NAME_SERVER]));
}

/// A megabyte goes to a server of the host, which sends it back after the guest has ended its half.
#[test]
fn a_connection_carries_both_ways_and_each_half_ends_by_itself() {
    const BYTES: usize = 1 << 20;
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    let served = thread::spawn(move || {
        let (mut stream, _) = server.accept().unwrap();
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        stream.write_all(&got).unwrap();
        got.len()
    });
    let sent: Vec<u8> = (0..BYTES).map(|index| (index * 7 + index / 251) as u8).collect();
    let mut guest = Guest::configured(network(&[], vec![]));
    let handle = guest.connect((GATEWAY, port), 40000);
    let (mut next, mut got) = (0, Vec::new());
    guest.until("the answer has not come", |guest| {
        let socket = guest.socket(handle);
        if socket.can_send() && next < BYTES {
            next += socket.send_slice(&sent[next..]).unwrap();
            if next == BYTES {
                socket.close();
            }
        }
        while socket.can_recv() {
            socket.recv(|bytes| (bytes.len(), got.extend_from_slice(bytes))).unwrap();
        }
        matches!(socket.state(), State::TimeWait | State::Closed).then_some(())
    });
    assert_eq!(served.join().unwrap(), BYTES);
    assert!(got == sent, "{} bytes came back", got.len());
    guest.until("something is left of it", |guest| (!guest.network.is_awaited()).then_some(()));
}

#[test]
fn a_connection_that_the_host_cannot_make_is_refused() {
    let mut guest = Guest::configured(network(&[], vec![]));
    let handle = guest.connect((GATEWAY, free_port()), 40000);
    guest.until("not refused", |guest| (guest.socket(handle).state() == State::Closed).then_some(()));
    guest.until("something is left of it", |guest| (!guest.network.is_awaited()).then_some(()));
}

#[test]
fn a_connection_that_the_server_resets_is_reset() {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut guest = Guest::configured(network(&[], vec![]));
    let handle = guest.connect((GATEWAY, server.local_addr().unwrap().port()), 40000);
    guest.until("not made", |guest| guest.socket(handle).can_send().then_some(()));
    guest.socket(handle).send_slice(b"unread").unwrap();
    let (stream, _) = server.accept().unwrap();
    guest.until("not sent", |guest| (guest.socket(handle).send_queue() == 0).then_some(()));
    // What is unread makes the system reset the connection.
    drop(stream);
    guest.until("not reset", |guest| (guest.socket(handle).state() == State::Closed).then_some(()));
}

#[test]
fn a_forward_leads_into_the_guest() {
    let port = free_port();
    let forward: Forward = format!("{port}:22").parse().unwrap();
    let mut guest = Guest::configured(network(&[forward], vec![]));
    let handle = guest.tcp();
    guest.socket(handle).listen(22).unwrap();
    let client = thread::spawn(move || {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(b"hello").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    });
    guest.until("no connection has come", |guest| {
        let socket = guest.socket(handle);
        (socket.recv_queue() == 5).then(|| assert_eq!(socket.remote_endpoint().unwrap().addr, GATEWAY.into()))
    });
    guest.socket(handle).send_slice(b"from the guest").unwrap();
    guest.socket(handle).close();
    guest.until("the client is not done", |_| client.is_finished().then_some(()));
    assert_eq!(client.join().unwrap(), "from the guest");
}

/// No program listens in the guest.
#[test]
fn a_forward_to_a_port_that_is_closed_ends_the_clients_connection() {
    let port = free_port();
    let mut guest = Guest::configured(network(&[format!("{port}:22").parse().unwrap()], vec![]));
    let client = thread::spawn(move || {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.read(&mut [0; 8]).unwrap_or(0)
    });
    guest.until("the client is not done", |_| client.is_finished().then_some(()));
    assert_eq!(client.join().unwrap(), 0);
}

#[test]
fn a_port_that_is_taken_cannot_be_forwarded() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let forward: Forward = format!("{}:22", taken.local_addr().unwrap().port()).parse().unwrap();
    let error = Listeners::open(&[forward]).unwrap_err().to_string();
    assert!(error.starts_with(&forward.to_string()), "{error}");
}

#[test]
fn datagrams_go_out_and_answers_come_back() {
    let server = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((bytes, from)) = server.recv_from(&mut buffer) {
            server.send_to(&buffer[..bytes], from).unwrap();
        }
    });
    let mut guest = Guest::configured(network(&[], vec![]));
    let handle = guest.udp(5000);
    guest.datagrams(handle).send_slice(b"ping", IpEndpoint::new(GATEWAY.into(), port)).unwrap();
    let (answer, from) = guest.until("no answer", |guest| {
        guest.datagrams(handle).recv().ok().map(|(bytes, metadata)| (bytes.to_vec(), metadata.endpoint))
    });
    assert_eq!((&answer[..], from), (&b"ping"[..], IpEndpoint::new(GATEWAY.into(), port)));
}

/// The first name server says nothing; who asks again gets an answer from the second.
#[test]
fn the_next_name_server_is_asked_where_one_does_not_answer() {
    let (silent, speaks) = (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
    let servers = vec![silent.local_addr().unwrap(), speaks.local_addr().unwrap()];
    thread::spawn(move || {
        let mut buffer = [0; 512];
        let (bytes, from) = speaks.recv_from(&mut buffer).unwrap();
        speaks.send_to(&buffer[..bytes], from).unwrap();
    });
    let mut guest = Guest::configured(network(&[], servers));
    let handle = guest.udp(5000);
    let server = IpEndpoint::new(NAME_SERVER.into(), 53);
    guest.datagrams(handle).send_slice(b"question", server).unwrap();
    let mut buffer = [0; 512];
    guest.until("not asked", |_| {
        silent.set_nonblocking(true).unwrap();
        silent.recv(&mut buffer).ok()
    });
    guest.datagrams(handle).send_slice(b"question", server).unwrap();
    guest.until("no answer", |guest| guest.datagrams(handle).recv().is_ok().then_some(()));
}

#[test]
fn a_forward_of_datagrams_leads_in_and_answers_lead_out() {
    let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut guest = Guest::configured(network(&[format!("{port}:53/udp").parse().unwrap()], vec![]));
    let handle = guest.udp(53);
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.set_nonblocking(true).unwrap();
    client.send_to(b"question", ("127.0.0.1", port)).unwrap();
    let from = guest.until("nothing came", |guest| {
        guest.datagrams(handle).recv().ok().map(|(bytes, metadata)| {
            assert_eq!(bytes, b"question");
            metadata.endpoint
        })
    });
    guest.datagrams(handle).send_slice(b"answer", from).unwrap();
    let mut buffer = [0; 16];
    let bytes = guest.until("no answer", |_| client.recv(&mut buffer).ok());
    assert_eq!(&buffer[..bytes], b"answer");
}
