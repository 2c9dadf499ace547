//! Debian Linux on a network: with the host's sockets behind it, and with other guests on a switch. All is at this host's loopback.

mod common;

use common::{Scratch, linux, run};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(240);

/// A server of one file by HTTP; its port.
fn http_server(body: Vec<u8>) -> u16 {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = server.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in server.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while lines.next().is_some_and(|line| line.is_ok_and(|line| !line.is_empty())) {}
            let header = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            // A client that has enough may go.
            let _ = stream.write_all(header.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    port
}

/// A port of this host that is free.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn the_guest_has_its_address_and_reaches_the_gateway() {
    let command = "ip -4 addr show dev eth0 | grep -o 'inet [0-9./]*'; ip route | grep -o 'default via [0-9.]*'; \
                   cat /etc/resolv.conf; ping -c 2 10.0.2.2 | grep -o '2 packets received'";
    let end = linux(command, &["--net"]).succeeded();
    assert_eq!(end.stdout, "inet 10.0.2.15/24\ndefault via 10.0.2.2\nnameserver 10.0.2.3\n2 packets received\n");
}

/// Four megabytes from a server of the host, and a port at which no program listens.
#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn the_guest_fetches_a_file_from_a_server_of_the_host() {
    let body: Vec<u8> = (0..4 << 20).map(|index: u32| (index ^ index >> 9) as u8).collect();
    let scratch = Scratch::new();
    let sum = Command::new("md5sum").arg(scratch.write("body", &body)).output().unwrap();
    let sum = String::from_utf8(sum.stdout).unwrap();
    let port = http_server(body);
    let closed = free_port();
    let command = format!(
        "wget -q -O - http://10.0.2.2:{port}/file | md5sum; wget -q -O - http://10.0.2.2:{closed}/ 2>&1 | grep -o refused"
    );
    let end = linux(&command, &["--net"]).succeeded();
    assert_eq!(end.stdout, format!("{}  -\nrefused\n", &sum[..32]));
}

/// A guest that runs, with a port of this host.
struct Served {
    child: Child,
    port: u16,
}

impl Served {
    fn start(command: &str, guest_port: u16, arguments: &[&str]) -> Self {
        let port = free_port();
        let forward = format!("{port}:{guest_port}");
        let arguments =
            [&["boot", "--guest", "linux", "--run", command, "--net", "--forward", &forward], arguments].concat();
        let mut pagewalk = Command::new(env!("CARGO_BIN_EXE_pagewalk"));
        pagewalk.args(arguments).env(common::QUIET, "1").stdin(Stdio::null());
        Self { child: pagewalk.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap(), port }
    }

    /// Connects, as soon as the guest has a server.
    fn first_bytes(&self) -> Vec<u8> {
        let began = Instant::now();
        loop {
            assert!(began.elapsed() < PATIENCE, "the guest does not answer");
            if let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) {
                stream.set_read_timeout(Some(PATIENCE)).unwrap();
                let mut buffer = [0; 64];
                if let Ok(bytes @ 1..) = stream.read(&mut buffer) {
                    return buffer[..bytes].to_vec();
                }
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The client of ssh is the host's.
#[test]
#[ignore = "needs the fetched Linux guest, and ssh: cargo xtask test"]
fn ssh_leads_into_the_guest() {
    let scratch = Scratch::new();
    let key = scratch.text("key");
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &key]).status();
    assert!(made.expect("openssh-client is installed").success());
    let public = format!("{key}.pub:/root/.ssh/authorized_keys");
    let command = "chmod 700 /root/.ssh; chmod 600 /root/.ssh/authorized_keys; mkdir -p /etc/dropbear; \
                   dropbearkey -t ed25519 -f /etc/dropbear/key > /dev/null; dropbear -F -E -s -r /etc/dropbear/key";
    let guest = Served::start(command, 22, &["--file", &public, "--rng"]);
    assert!(guest.first_bytes().starts_with(b"SSH-2.0-dropbear"));
    let port = guest.port.to_string();
    let quiet = ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"];
    let ssh = |command: &str, input: Stdio| {
        let mut ssh = Command::new("timeout");
        ssh.args(["240", "ssh", "-F", "none", "-i", &key, "-p", &port]).args(quiet).args(["root@127.0.0.1", command]);
        let output = ssh.stdin(input).output().unwrap();
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned(), output.stderr)
    };
    let end = ssh("uname -m; exit 3", Stdio::null());
    assert_eq!((end.0, &end.1[..]), (Some(3), "riscv64\n"), "{}", String::from_utf8_lossy(&end.2));
}

#[test]
fn a_forward_needs_a_network_and_a_port_that_is_free() {
    run(["boot", "--forward", "2222:22"]).failed(2, &["--net"]);
    run(["boot", "--net=none", "--forward", "2222:22"]).failed(2, &["--forward: the guest has no network"]);
    run(["boot", "--net", "--forward", "2222"]).failed(2, &["`2222` is not [HOSTADDR:]HOSTPORT:GUESTPORT[/udp]"]);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let forward = format!("{}:22", taken.local_addr().unwrap().port());
    run(["boot", "--net", "--forward", &forward]).failed(2, &[&forward, "in use"]);
}

/// Two guests on a switch, a file of `pagewalk run`.
fn on_switch(server: &str, client: &str, memory: &str) -> String {
    format!(
        "processors = 2\nnet = \"switch\"\nnet_latency_us = 20\n[config]\nscheme = \"nested\"\ntimeout = 60\n\
         [[guest]]\nname = \"server\"\nguest = \"linux\"\nrun = \"{server}\"\nmemory = \"{memory}\"\nallocation = [0]\n\
         background = true\n\
         [[guest]]\nname = \"client\"\nguest = \"linux\"\nrun = \"{client}\"\nmemory = \"{memory}\"\nallocation = [1]\n"
    )
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn guests_on_a_switch_reach_each_other_by_name_and_equal_runs_are_equal() {
    let scratch = Scratch::new();
    let client = "until ping -c 1 -W 1 server > /dev/null; do true; done; ping -c 3 server | tail -n 2";
    let file = scratch.write("two.toml", on_switch("sleep 1000", client, "128M"));
    let once = |name: &str| {
        let json = scratch.text(name);
        let end = run(["run", &file, "--output", "--json", &json]).succeeded();
        assert!(end.stdout.contains("3 packets transmitted, 3 packets received, 0% packet loss"), "{end:#?}");
        (end.stdout, std::fs::read(json).unwrap())
    };
    let first = once("first.json");
    assert!(first == once("second.json"), "two equal runs differ");
}

/// memcached in one guest, and its load generator in the other.
#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn memcached_serves_a_client_in_another_guest() {
    let scratch = Scratch::new();
    let client =
        "until echo quit | nc -w 1 server 11211; do sleep 0.1; done; memcaslap -s server:11211 -T 1 -c 4 -x 300 -v 0.2";
    let file = scratch.write("two.toml", on_switch("memcached -u root", client, "192M"));
    let once = |name: &str| {
        let json = scratch.text(name);
        let end = run(["run", &file, "--output", "--json", &json]).succeeded();
        assert!(end.stdout.contains("Ops: 300 "), "{end:#?}");
        for wrong in ["get_misses", "verify_misses", "verify_failed"] {
            assert!(end.stdout.contains(&format!("{wrong}: 0\n")), "{wrong} in {end:#?}");
        }
        std::fs::read(json).unwrap()
    };
    assert!(once("first.json") == once("second.json"), "two equal runs differ");
}
