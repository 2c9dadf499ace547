//! A guest that runs machine code of its own in Pagewalk's process, by a hole that is planted in the engine of checked tests alone: the kernel refuses whatever
//! would reach beyond the process.
//!
//! `cargo test --features planted --test sandbox_planted`

#[allow(dead_code, reason = "each test binary uses its part")]
mod common;
mod kernel;

use common::{Ended, Scratch, run};
use kernel::Kernel;

/// Where the attacker's code and texts lie, as offsets that the hole counts from.
const CODE: i32 = 0;
const TEXT: i32 = 0x100;

/// `syscall` with number and arguments from the memory at the first argument: mov rax,[rdi+48]; mov rsi,[rdi+8]; mov rdx,[rdi+16];
/// mov r10,[rdi+24]; mov r8,[rdi+32]; mov r9,[rdi+40]; mov rdi,[rdi]; syscall; ret.
const SYSCALL: [u8; 30] = [
    0x48, 0x8b, 0x47, 0x30, 0x48, 0x8b, 0x77, 0x08, 0x48, 0x8b, 0x57, 0x10, 0x4c, 0x8b, 0x57, 0x18, 0x4c, 0x8b, 0x47,
    0x20, 0x4c, 0x8b, 0x4f, 0x28, 0x48, 0x8b, 0x3f, 0x0f, 0x05, 0xc3,
];

/// An argument of a system call.
#[derive(Clone, Copy)]
enum Argument {
    Number(i32),
    /// The address of the text.
    Text,
}
use Argument::{Number, Text};

/// Boots a guest that makes a system call as the process; its command's status is 0 if the call succeeded, and else the error's number.
fn attack(number: i32, text: &str, arguments: &[Argument], options: &[&str]) -> Ended {
    let mut kernel = Kernel::default();
    for (at, &byte) in (CODE..).zip(&SYSCALL).chain((TEXT..).zip(text.as_bytes().iter().chain([&0]))) {
        kernel.set(10, at).set(11, byte.into()).marker(0x7e1);
    }
    for (register, argument) in (11..).zip(arguments.iter().skip(1)) {
        kernel.argument(register, *argument);
    }
    // a0 last: it holds the leaked address meanwhile.
    kernel.argument(10, arguments.first().copied().unwrap_or(Number(0)));
    kernel.set(16, number).set(17, CODE).marker(0x7e2).end_with_error_number();
    let scratch = Scratch::new();
    let file = scratch.write("kernel", kernel.elf());
    run([&["boot", "--guest", &file, "--memory", "64M", "--run", "x"], options].concat())
}

impl Kernel {
    fn argument(&mut self, register: u32, argument: Argument) {
        match argument {
            Number(value) => self.set(register, value),
            Text => self.keep(5, 10).marker(0x7e0).add(register, 10, TEXT).restore_unless(register, 10, 5),
        };
    }
}

const WITHOUT: [&str; 2] = ["--sandbox", "off"];

/// Whether the guest's code ran and its call was refused with `error`.
#[track_caller]
fn refused_with(ended: &Ended, error: i32) {
    assert_eq!(ended.code, Some(error), "{ended:#?}");
}

#[test]
fn the_hole_is_one_where_there_is_no_sandbox() {
    let open = [Number(-100), Text, Number(0)];
    refused_with(&attack(257, "/etc/passwd", &open, &WITHOUT), 0);
    refused_with(&attack(41, "", &[Number(2), Number(1), Number(0)], &WITHOUT), 0);
    refused_with(&attack(59, "/no/such/program", &[Text, Number(0), Number(0)], &WITHOUT), 2);
}

#[test]
fn a_guest_that_runs_code_as_the_process_opens_no_file() {
    let open = [Number(-100), Text, Number(0)];
    refused_with(&attack(257, "/etc/passwd", &open, &[]), 13);
    let create = [Number(-100), Text, Number(0o102), Number(0o600)];
    refused_with(&attack(257, "/tmp/pagewalk-planted", &create, &[]), 13);
    assert!(!std::path::Path::new("/tmp/pagewalk-planted").exists());
    refused_with(&attack(2, "/etc/passwd", &[Text, Number(0)], &[]), 13);
    attack(437, "/etc/passwd", &[Number(-100), Text], &[]).failed(1, &["system call 437;"]);
}

#[test]
fn a_guest_that_runs_code_as_the_process_reaches_nothing() {
    for (call, text, arguments) in [
        // socket, connect, socketpair.
        (41, "", &[Number(2), Number(1), Number(0)][..]),
        (42, "", &[Number(1)]),
        (53, "", &[Number(1), Number(1)]),
        // execve, execveat, fork, vfork, clone for a process.
        (59, "/bin/true", &[Text, Number(0), Number(0)]),
        (322, "/bin/true", &[Number(-100), Text]),
        (57, "", &[]),
        (58, "", &[]),
        (56, "", &[Number(17)]),
        // ptrace, process_vm_writev, kill of the parent's group, io_uring_setup, bpf, memfd_create, mount, unshare, seccomp.
        (101, "", &[]),
        (311, "", &[]),
        (62, "", &[Number(1), Number(0)]),
        (425, "", &[]),
        (321, "", &[]),
        (319, "", &[Text]),
        (165, "", &[]),
        (272, "", &[]),
        (317, "", &[]),
        // A terminal that is typed on: ioctl with TIOCSTI.
        (16, "x", &[Number(0), Number(0x5412), Text]),
    ] {
        attack(call, text, arguments, &[]).failed(1, &[&format!("sandbox: refused system call {call};")]);
    }
    // clone3 does not end the process: the C library goes on without it.
    refused_with(&attack(435, "", &[], &[]), 38);
}

#[test]
fn a_guest_that_runs_code_as_the_process_gets_no_executable_memory_beside_its_own() {
    // mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0).
    let map = [Number(0), Number(4096), Number(7), Number(0x22), Number(-1), Number(0)];
    attack(9, "", &map, &[]).failed(1, &["system call 9;"]);
    // mprotect of the range of compiled code, to be written and executed at once; and of other memory, to be executed.
    attack(10, "", &[Text, Number(4096), Number(7)], &[]).failed(1, &["system call 10;"]);
    attack(10, "", &[Number(0x1000), Number(4096), Number(5)], &[]).failed(1, &["system call 10;"]);
}

/// Descriptors that are tried: more than a run has open.
const DESCRIPTORS: i32 = 32;

/// Attacks a run that has a control socket.
fn attack_controlled(number: i32, text: &str, arguments: &[Argument]) -> Ended {
    let scratch = Scratch::new();
    let address = format!("unix:{}", scratch.text("socket"));
    attack(number, text, arguments, &["--control", &address])
}

#[test]
fn a_guest_that_runs_code_as_the_process_accepts_clients_on_the_control_socket_only() {
    // accept4(descriptor, 0, 0, 0).
    let accept = |descriptor| [Number(descriptor), Number(0), Number(0), Number(0)];
    attack(288, "", &accept(0), &[]).failed(1, &["system call 288;"]);
    let tried: Vec<Ended> =
        (0..DESCRIPTORS).map(|descriptor| attack_controlled(288, "", &accept(descriptor))).collect();
    // No client waits: EAGAIN.
    let allowed = tried.iter().filter(|ended| ended.code == Some(11)).count();
    let refused = tried.iter().filter(|ended| ended.stderr.contains("refused system call 288;")).count();
    assert_eq!((allowed, refused), (1, tried.len() - 1), "{tried:#?}");
}

#[test]
fn a_guest_that_runs_code_as_the_process_gains_nothing_else_from_a_control_socket() {
    for (call, arguments) in [
        // socket, connect, accept without flags, bind, listen, socketpair, execve.
        (41, &[Number(1), Number(1), Number(0)][..]),
        (42, &[Number(3)]),
        (43, &[Number(3)]),
        (49, &[Number(3)]),
        (50, &[Number(3)]),
        (53, &[Number(1), Number(1)]),
        (59, &[Text, Number(0), Number(0)]),
    ] {
        let message = format!("sandbox: refused system call {call};");
        attack_controlled(call, "/bin/true", arguments).failed(1, &[&message]);
    }
    refused_with(&attack_controlled(257, "/etc/passwd", &[Number(-100), Text, Number(0)]), 13);
}

#[test]
fn a_guest_that_runs_code_as_the_process_removes_files_beside_the_control_socket_only() {
    let (beside, elsewhere) = (Scratch::new(), Scratch::new());
    let address = format!("unix:{}", beside.text("socket"));
    let (near, far) = (beside.write("near", "x"), elsewhere.write("far", "x"));
    // unlinkat(AT_FDCWD, path, 0).
    let remove = |path: &str| attack(263, path, &[Number(-100), Text, Number(0)], &["--control", &address]);
    refused_with(&remove(&far), 13);
    assert_eq!(elsewhere.names(), ["far"]);
    refused_with(&remove(&near), 0);
    assert!(beside.names().is_empty(), "{:?}", beside.names());
}

/// What a run with a network may do beside, and what it still may not.
#[test]
fn a_guest_that_runs_code_as_the_process_gets_sockets_for_tcp_and_udp_only_where_there_is_a_network() {
    // AF_INET, SOCK_STREAM or SOCK_DGRAM with SOCK_NONBLOCK and SOCK_CLOEXEC, IPPROTO_TCP or IPPROTO_UDP.
    let (stream, datagrams) =
        ([Number(2), Number(0o2_004_001), Number(6)], [Number(2), Number(0o2_004_002), Number(17)]);
    for socket in [stream, datagrams] {
        refused_with(&attack(41, "", &socket, &["--net"]), 0);
        for network in [&["--net=none"][..], &[]] {
            attack(41, "", &socket, network).failed(1, &["sandbox: refused system call 41;"]);
        }
    }
    for (call, arguments) in [
        // socket: of the system's own kind, of raw packets, and one that would block.
        (41, &[Number(1), Number(0o2_004_001), Number(0)][..]),
        (41, &[Number(2), Number(0o2_004_003), Number(1)]),
        (41, &[Number(2), Number(1), Number(6)]),
        // bind, listen, accept4 on what is no forward, sendto with an address, setsockopt.
        (49, &[Number(3)]),
        (50, &[Number(3)]),
        (288, &[Number(3)]),
        (44, &[Number(3), Text, Number(1), Number(0), Text, Number(16)]),
        (54, &[Number(3)]),
    ] {
        attack(call, "x", arguments, &["--net"]).failed(1, &[&format!("sandbox: refused system call {call};")]);
    }
}
