//! Guests under a debugger: GDB itself, or a client of a few packets.

use object::{Object, ObjectSection};

use super::{Ended, QUIET, Scratch, command};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

/// Where user programs of vos begin: the same program each time.
pub(crate) fn user_entry() -> u64 {
    let program = include_bytes!("../../../../guests/workloads/pagewalk-workloads");
    object::File::parse(&program[..]).expect("an ELF file").entry()
}

/// The line with the first instruction of vos, as `monitor phys` shows it.
pub(crate) fn first_instruction_of_vos() -> String {
    let kernel = object::File::parse(&include_bytes!("../../../../guests/vos/vos.elf")[..]).expect("an ELF file");
    let text = kernel.section_by_name(".text").and_then(|text| text.data().ok()).expect("a kernel has code");
    let bytes: Vec<String> = text[..4].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{:#018x}  {}", kernel.entry(), bytes.join(" "))
}

/// A command that waits for a debugger.
pub(crate) struct Waiting {
    command: &'static str,
    child: Child,
    stderr: BufReader<ChildStderr>,
    scratch: Scratch,
}

impl Waiting {
    /// `boot` with `arguments`, once it waits.
    pub(crate) fn boot(arguments: &[&str]) -> Self {
        Self::begin("boot", "the guest waits", arguments)
    }

    /// `run` with `arguments`, once it waits.
    pub(crate) fn run(arguments: &[&str]) -> Self {
        Self::begin("run", "the guests wait", arguments)
    }

    fn begin(name: &'static str, waits: &str, arguments: &[&str]) -> Self {
        let scratch = Scratch::new();
        let (socket, json) = (format!("unix:{}", scratch.text("gdb")), scratch.text("out.json"));
        let mut command = command([&[name, "--gdb", &socket, "--json", &json], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("standard error is text");
        let expected = format!("pagewalk: {waits} for a debugger: target remote {}\n", scratch.text("gdb"));
        assert_eq!(line, expected);
        Self { command: name, child, stderr, scratch }
    }

    /// Where it waits.
    pub(crate) fn socket(&self) -> String {
        self.scratch.text("gdb")
    }

    /// The number of its process: of `timeout`, which passes signals on.
    pub(crate) fn process(&self) -> i32 {
        self.child.id().cast_signed()
    }

    /// A client of it.
    pub(crate) fn client(&self) -> Client {
        let stream = UnixStream::connect(self.socket()).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a time limit");
        Client { stream }
    }

    /// How it ended, without the line on where it waited; and its JSON, if there is any.
    pub(crate) fn end(mut self) -> (Ended, Option<Vec<u8>>) {
        let mut stderr = String::new();
        self.stderr.read_to_string(&mut stderr).expect("standard error is text");
        let output = self.child.wait_with_output().expect("it ends");
        let ended =
            Ended { code: output.status.code(), stdout: String::from_utf8_lossy(&output.stdout).into_owned(), stderr };
        (ended, fs::read(self.scratch.path("out.json")).ok())
    }
}

/// The same run without a debugger: its standard output and JSON.
pub(crate) fn undebugged(command: &str, arguments: &[&str]) -> (String, Vec<u8>) {
    let scratch = Scratch::new();
    let json = scratch.text("out.json");
    let ended = super::run([&[command, "--json", &json], arguments].concat()).succeeded();
    (ended.stdout, fs::read(json).expect("the JSON was written"))
}

/// The run under a debugger is, to the byte, the one without it.
#[track_caller]
pub(crate) fn is_the_same_run(waiting: Waiting, arguments: &[&str]) {
    let command = waiting.command;
    let (ended, json) = waiting.end();
    let ended = ended.succeeded();
    let (stdout, expected) = undebugged(command, arguments);
    assert_eq!(ended.stdout, stdout);
    let text = |json: Vec<u8>| String::from_utf8(json).expect("JSON is text");
    assert_eq!(text(json.expect("the JSON was written")), text(expected));
}

/// What GDB prints when it executes `commands` on the guest.
pub(crate) fn gdb(waiting: &Waiting, commands: &[&str]) -> String {
    let mut gdb = Command::new("timeout");
    gdb.args(["240", "gdb-multiarch", "-nx", "-batch", "-ex", "set pagination off", "-ex", "set width 0"]);
    gdb.args(["-ex", "set architecture riscv:rv64", "-ex", &format!("target remote {}", waiting.socket())]);
    for command in commands {
        gdb.args(["-ex", command]);
    }
    let output = gdb.env(QUIET, "1").stdin(Stdio::null()).output().expect("gdb-multiarch is installed");
    // What `monitor` prints goes to standard error in some versions.
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A debugger that knows a few packets of GDB's remote protocol.
pub(crate) struct Client {
    stream: UnixStream,
}

impl Client {
    /// Sends bytes as they are. Pagewalk may have ended by then, as after its last packet.
    pub(crate) fn send_raw(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }

    /// Sends a packet.
    pub(crate) fn send(&mut self, packet: &str) {
        let sum = packet.bytes().fold(0_u8, u8::wrapping_add);
        self.send_raw(format!("${packet}#{sum:02x}").as_bytes());
    }

    /// The next packet, which is acknowledged; `None` at the end.
    pub(crate) fn receive(&mut self) -> Option<String> {
        let mut packet = Vec::new();
        let mut within = false;
        loop {
            let mut byte = [0];
            if self.stream.read(&mut byte).expect("it answers") == 0 {
                return None;
            }
            match byte[0] {
                b'$' => within = true,
                b'#' if within => break,
                other if within => packet.push(other),
                _ => {}
            }
        }
        self.stream.read_exact(&mut [0; 2]).expect("a sum follows");
        self.send_raw(b"+");
        Some(String::from_utf8(expanded(&packet)).expect("packets are text here"))
    }

    /// What it answers to a packet.
    #[track_caller]
    pub(crate) fn ask(&mut self, packet: &str) -> String {
        self.send(packet);
        self.receive().expect("an answer")
    }

    /// What a `monitor` command prints.
    #[track_caller]
    pub(crate) fn command(&mut self, command: &str) -> String {
        let hex: String = command.bytes().map(|byte| format!("{byte:02x}")).collect();
        self.send(&format!("qRcmd,{hex}"));
        let mut text = Vec::new();
        loop {
            match self.receive().expect("an answer").as_str() {
                "OK" => return String::from_utf8(text).expect("text"),
                packet => text.extend(bytes_of(packet.strip_prefix('O').expect("output"))),
            }
        }
    }

    /// Register `number` of GDB, of thread `thread`.
    #[track_caller]
    pub(crate) fn register(&mut self, thread: usize, number: usize) -> u64 {
        assert_eq!(self.ask(&format!("Hg{thread:x}")), "OK");
        let bytes = bytes_of(&self.ask(&format!("p{number:x}")));
        bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }
}

/// A packet with its repetitions written out: `0*"` is `0000` (GDB manual, appendix E.1).
fn expanded(packet: &[u8]) -> Vec<u8> {
    const BIAS: usize = 29;
    let mut bytes: Vec<u8> = Vec::new();
    let mut rest = packet.iter();
    while let Some(&byte) = rest.next() {
        match (byte, bytes.last().copied()) {
            (b'*', Some(last)) => {
                let count = usize::from(*rest.next().expect("a count")) - BIAS;
                bytes.extend(std::iter::repeat_n(last, count));
            }
            _ => bytes.push(byte),
        }
    }
    bytes
}

/// The bytes of hexadecimal digits.
#[track_caller]
pub(crate) fn bytes_of(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().map(|digit| char::from(digit).to_digit(16).expect("a digit") as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
