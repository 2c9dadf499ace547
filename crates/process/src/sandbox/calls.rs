//! The system calls that a run may make, each with what it is needed for. `docs/sandbox.md` has the same list.

/// A system call that is allowed.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// Its name.
    pub name: &'static str,
    /// Its number on this processor.
    pub number: i64,
    /// With which arguments.
    pub rule: Rule,
    /// What it is needed for.
    pub why: &'static str,
}

/// With which arguments a call is allowed.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    /// With any.
    Always,
    /// If all conditions of one of these hold.
    If(&'static [&'static [Condition]]),
    /// Memory that is not executable, or compiled code that is not writable.
    Protect,
    /// The first argument is the process's own number.
    OwnProcess,
}

/// A condition on the argument of a number, from 0 on.
#[derive(Clone, Copy, Debug)]
pub enum Condition {
    /// It is this.
    Is(u8, u64),
    /// None of these bits is set.
    Clear(u8, u64),
    /// All of these bits are set.
    Set(u8, u64),
}

use Condition::{Clear, Is, Set};
use Rule::{Always, If, OwnProcess, Protect};

/// What a thread of the C library shares with the others: everything. A process of its own it would not.
const THREAD: u64 =
    (libc::CLONE_VM | libc::CLONE_FS | libc::CLONE_FILES | libc::CLONE_SIGHAND | libc::CLONE_THREAD) as u64;

macro_rules! calls {
    ($(#[$about:meta])* $list:ident; $($(#[$only:meta])? $name:ident $number:ident $rule:expr, $why:literal;)*) => {
        $(#[$about])*
        pub const $list: &[Call] = &[$(
            $(#[$only])? Call { name: stringify!($name), number: libc::$number, rule: $rule, why: $why },
        )*];
    };
}

calls! {
    /// Those of every run. They are asked in the order of their numbers.
    CALLS;
    brk SYS_brk Always, "memory of the allocator";
    mmap SYS_mmap If(&[&[Clear(2, libc::PROT_EXEC as u64)]]), "memory of guests, files and threads, never executable";
    munmap SYS_munmap Always, "the same memory, given back";
    mremap SYS_mremap If(&[&[Is(3, 0)], &[Is(3, libc::MREMAP_MAYMOVE as u64)]]), "a large allocation grows";
    madvise SYS_madvise Always, "pages of guests' memory that are zero again, huge pages";
    mprotect SYS_mprotect Protect, "memory that is not executable; compiled code, in its own range, written and then executed";
    clone SYS_clone If(&[&[Set(0, THREAD)]]), "threads, and no processes";
    set_robust_list SYS_set_robust_list Always, "a thread starts";
    rseq SYS_rseq Always, "a thread starts";
    sigaltstack SYS_sigaltstack Always, "a thread starts and ends";
    gettid SYS_gettid Always, "a thread starts";
    sched_getaffinity SYS_sched_getaffinity Always, "a thread starts; how many processors there are";
    prctl SYS_prctl If(&[&[Is(0, libc::PR_SET_NAME as u64)], &[Is(0, 0x5356_4d41)]]), "names of threads and of their memory";
    prlimit64 SYS_prlimit64 If(&[&[Is(2, 0)]]), "the size of a thread's stack, read and not changed";
    exit SYS_exit Always, "a thread ends";
    exit_group SYS_exit_group Always, "the process ends";
    futex SYS_futex Always, "threads wait for each other";
    sched_yield SYS_sched_yield Always, "threads wait for each other";
    restart_syscall SYS_restart_syscall Always, "a wait goes on after the process was stopped";
    rt_sigaction SYS_rt_sigaction Always, "the process ends by the signal that asked it to";
    rt_sigprocmask SYS_rt_sigprocmask Always, "a thread starts; the process ends by a signal";
    rt_sigreturn SYS_rt_sigreturn Always, "a signal was handled";
    getpid SYS_getpid Always, "the process ends by a signal";
    tgkill SYS_tgkill OwnProcess, "the process ends by a signal, sent to itself";
    kill SYS_kill OwnProcess, "the process ends by a signal, sent to itself";
    clock_gettime SYS_clock_gettime Always, "time, where the kernel does not show it without a call";
    gettimeofday SYS_gettimeofday Always, "time, where the kernel does not show it without a call";
    clock_nanosleep SYS_clock_nanosleep Always, "an idle console; progress";
    nanosleep SYS_nanosleep Always, "an idle console; progress";
    getrandom SYS_getrandom Always, "seeds of hash tables";
    read SYS_read Always, "the keyboard, files that are open";
    readv SYS_readv Always, "files that are open";
    pread64 SYS_pread64 Always, "disks, snapshots, sections, swap";
    write SYS_write Always, "the console, tables, reports";
    writev SYS_writev Always, "the console, tables, reports";
    pwrite64 SYS_pwrite64 Always, "disks, snapshots, sections, swap";
    lseek SYS_lseek Always, "the size of a disk; snapshots";
    ftruncate SYS_ftruncate Always, "a blank disk";
    fsync SYS_fsync Always, "outputs are durable before they are renamed";
    fdatasync SYS_fdatasync Always, "a guest flushes its disk";
    fallocate SYS_fallocate Always, "swap";
    close SYS_close Always, "files that are open";
    fcntl SYS_fcntl Always, "copies of standard output; flags of files that are open";
    flock SYS_flock Always, "a temporary file that has a name belongs to a living process";
    fchmod SYS_fchmod Always, "an output has the rights of the one it replaces";
    fstat SYS_fstat Always, "files that are open";
    newfstatat SYS_newfstatat Always, "disks, outputs";
    statx SYS_statx Always, "disks, outputs";
    openat SYS_openat Always, "disks, sections, swap and kept results, beneath their paths only; refused where a run has none";
    getdents64 SYS_getdents64 Always, "temporary files that dead processes left in the directory of kept results";
    readlinkat SYS_readlinkat Always, "links in the path of a kept result";
    getcwd SYS_getcwd Always, "the path of a kept result";
    linkat SYS_linkat Always, "an output gets its name, in its own directory";
    renameat SYS_renameat Always, "an output takes its place, in its own directory";
    renameat2 SYS_renameat2 Always, "an output takes its place, in its own directory";
    unlinkat SYS_unlinkat Always, "a temporary file is removed";
    ioctl SYS_ioctl If(&[
        &[Is(1, libc::TCGETS)],
        &[Is(1, libc::TCSETS)],
        &[Is(1, libc::TCSETSW)],
        &[Is(1, TCGETS2)],
        &[Is(1, TCSETS2)],
        &[Is(1, TCSETSW2)],
        &[Is(1, libc::TIOCGWINSZ)],
        &[Is(1, libc::FIOCLEX)],
    ]), "the mode and size of the terminal, and nothing that types on it";
    ppoll SYS_ppoll Always, "the keyboard";
    recvfrom SYS_recvfrom Always, "a signal reaches the thread that waits for it";
    sendto SYS_sendto If(&[&[Is(4, 0)]]), "a signal reaches the thread that waits for it; no address can be named";
    #[cfg(target_arch = "x86_64")] poll SYS_poll Always, "the keyboard";
    #[cfg(target_arch = "x86_64")] open SYS_open Always, "as `openat`";
    #[cfg(target_arch = "x86_64")] readlink SYS_readlink Always, "links in the path of a kept result";
    #[cfg(target_arch = "x86_64")] rename SYS_rename Always, "an output takes its place, in its own directory";
    #[cfg(target_arch = "x86_64")] unlink SYS_unlink Always, "a temporary file is removed";
}

calls! {
    /// Those of a run that reaches the network, beside [`CALLS`].
    NETWORK_CALLS;
    socket SYS_socket If(&[
        &[Is(0, libc::AF_INET as u64), Is(1, STREAM), Is(2, libc::IPPROTO_TCP as u64)],
        &[Is(0, libc::AF_INET6 as u64), Is(1, STREAM), Is(2, libc::IPPROTO_TCP as u64)],
        &[Is(0, libc::AF_INET as u64), Is(1, DATAGRAMS), Is(2, libc::IPPROTO_UDP as u64)],
        &[Is(0, libc::AF_INET6 as u64), Is(1, DATAGRAMS), Is(2, libc::IPPROTO_UDP as u64)],
    ]), "sockets for TCP and UDP, and no others";
    connect SYS_connect Always, "what the guest sends goes where the guest says";
    getsockopt SYS_getsockopt If(&[&[Is(1, libc::SOL_SOCKET as u64), Is(2, libc::SO_ERROR as u64)]]), "whether a connection was made";
    getpeername SYS_getpeername Always, "the same";
    shutdown SYS_shutdown Always, "the guest has ended its half of a connection";
}

calls! {
    /// Those of a run that shares a directory with a guest, beside [`CALLS`].
    SHARE_CALLS;
    openat2 SYS_openat2 Always, "a file of the directory, found beneath it and through no link";
}

calls! {
    /// Those of a run whose guest may change such a directory, beside [`SHARE_CALLS`].
    SHARE_WRITE_CALLS;
    mkdirat SYS_mkdirat Always, "the guest makes a directory";
    symlinkat SYS_symlinkat Always, "the guest makes a link";
    utimensat SYS_utimensat Always, "the guest sets the times of a file";
}

/// The kinds of sockets, which never block.
const STREAM: u64 = (libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) as u64;
const DATAGRAMS: u64 = (libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC) as u64;

/// The terminal's mode with its speed as a number: asm-generic/ioctls.h, `_IOR('T', 0x2A, struct termios2)` and what follows.
const TCGETS2: u64 = 0x802c_542a;
const TCSETS2: u64 = 0x402c_542b;
const TCSETSW2: u64 = 0x402c_542c;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Calls by which a process reaches others, the network, or more rights.
    const NEVER: [i64; 14] = [
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_clone3,
        libc::SYS_socket,
        libc::SYS_connect,
        libc::SYS_bind,
        libc::SYS_ptrace,
        libc::SYS_process_vm_writev,
        libc::SYS_io_uring_setup,
        libc::SYS_bpf,
        libc::SYS_seccomp,
        libc::SYS_memfd_create,
        libc::SYS_pkey_mprotect,
        libc::SYS_unshare,
    ];

    #[test]
    fn each_call_is_listed_once_and_none_reaches_out() {
        let numbers: BTreeSet<i64> = CALLS.iter().map(|call| call.number).collect();
        assert_eq!(numbers.len(), CALLS.len());
        assert!(NEVER.iter().all(|call| !numbers.contains(call)));
        let others = [NETWORK_CALLS, SHARE_CALLS, SHARE_WRITE_CALLS].concat();
        assert!(others.iter().all(|call| !numbers.contains(&call.number)));
    }

    #[test]
    fn a_run_that_reaches_the_network_binds_no_port_and_makes_no_other_sockets() {
        let numbers: Vec<i64> = NETWORK_CALLS.iter().map(|call| call.number).collect();
        assert!([libc::SYS_bind, libc::SYS_listen, libc::SYS_sendmsg].iter().all(|call| !numbers.contains(call)));
        let socket = NETWORK_CALLS.iter().find(|call| call.number == libc::SYS_socket).unwrap();
        let Rule::If(alternatives) = socket.rule else { panic!("any socket") };
        assert!(alternatives.iter().all(|all| all.len() == 3));
    }

    #[test]
    fn the_documentation_has_the_list_with_the_reasons() {
        let page = include_str!("../../../../docs/sandbox.md");
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        let all = [CALLS, NETWORK_CALLS, SHARE_CALLS, SHARE_WRITE_CALLS].concat();
        let expected: Vec<String> = all.iter().map(|call| format!("| `{}` | {} |", call.name, call.why)).collect();
        assert_eq!(rows, expected, "docs/sandbox.md: the table of system calls");
    }
}
