//! `boot --gdb`: a guest under a debugger, which changes nothing of the run unless the user does.

mod common;

use common::gdb::{Waiting, first_instruction_of_vos, gdb, is_the_same_run, user_entry};
use common::kernel::{A0, A1, A6, A7, CODE_ADDRESS, ECALL, addi, image, jump_back, lui};
use common::{Scratch, compiled, linux};
use object::{Object, ObjectSymbol};
use std::fs;

/// GDB's numbers of registers.
const SP: usize = 2;
const PC: usize = 32;
const SATP: usize = 65 + 0x180;
const PRIVILEGE: usize = 4161;

/// Where the SBI's reset is asked for: SRST with type 0 and reason 0.
fn shut_down() -> [u32; 6] {
    // 0x5352_5354
    [lui(A7, 0x53525), addi(A7, A7, 0x354), addi(A6, 0, 0), addi(A0, 0, 0), addi(A1, 0, 0), ECALL]
}

#[test]
fn breakpoints_watchpoints_and_steps_change_nothing_of_a_run() {
    let entry = user_entry();
    let base = ["--run", "gups", "--append", "size=64K updates=2000", "--memory", "64M", "--scheme", "nested"];
    for settings in [
        &["engine=compiled-all", "fidelity=counts"][..],
        &["engine=threaded", "fidelity=cycles"],
        &["engine=match", "fidelity=core"],
        &["scheme=shadow", "fidelity=counts"],
    ] {
        let settings: Vec<&str> = settings.iter().flat_map(|setting| ["--set", setting]).collect();
        let scheme = if settings.contains(&"scheme=shadow") { &base[..6] } else { &base[..] };
        let arguments = [scheme, &settings[..]].concat();
        let waiting = Waiting::boot(&arguments);
        let mut client = waiting.client();
        assert!(client.ask("?").starts_with(['S', 'T']), "stopped before the first instruction");
        assert_eq!(client.register(1, PC), 0x8020_0000);
        assert!(!client.command("stats").contains("instructions"), "none is executed");
        assert_eq!(client.ask(&format!("Z0,{entry:x},2")), "OK");
        assert!(client.ask("vCont;c").contains("swbreak"));
        assert_eq!((client.register(1, PC), client.register(1, PRIVILEGE)), (entry, 0));
        assert_eq!(client.ask(&format!("z0,{entry:x},2")), "OK");
        let before = client.command("stats");
        // The first store of a function is its return address.
        let sp = client.register(1, SP);
        assert_eq!(client.ask(&format!("Z2,{:x},8", sp - 8)), "OK");
        let stop = client.ask("vCont;c");
        assert!(stop.contains(&format!("watch:{:x};", sp - 8)), "{stop}");
        let at = client.register(1, PC);
        // The instruction before was fetched from the same page, so that a shadow table has it, too.
        let walk = client.command(&format!("walk {at:#x}"));
        assert!(walk.contains("in a page of 4K"), "{arguments:?}: {walk}");
        assert_eq!(client.ask(&format!("z2,{:x},8", sp - 8)), "OK");
        for step in 0..1000 {
            let pc = client.register(1, PC);
            assert!(client.ask("vCont;s:1;c").starts_with("T05"));
            assert_ne!(client.register(1, PC), pc, "step {step} from {at:#x}");
        }
        assert_ne!(client.command("stats"), before);
        assert_eq!(client.ask("D"), "OK");
        is_the_same_run(waiting, &arguments);
    }
}

/// Each instruction of a whole boot is a stop.
#[test]
fn a_run_of_single_steps_is_the_same_run() {
    let scratch = Scratch::new();
    // a0 = 3000; while --a0 { }; shut down.
    let count = [addi(A0, 0, 1000), addi(A0, A0, 1000), addi(A0, A0, 1000), addi(A0, A0, -1), 0xfe05_1ee3];
    let guest = scratch.write("guest.img", image(&[&count[..], &shut_down()].concat()));
    for fidelity in ["fidelity=counts", "fidelity=core"] {
        let arguments = ["--guest", &guest, "--set", fidelity];
        let waiting = Waiting::boot(&arguments);
        let mut client = waiting.client();
        let mut steps = 0;
        let end = loop {
            let stop = client.ask("vCont;s:1;c");
            match stop.as_str() {
                _ if stop.starts_with("T05") => steps += 1,
                _ => break stop,
            }
        };
        assert_eq!(end, "W00", "the guest has shut down");
        assert_eq!(steps, 1 + 3 + 2 * 3000 + 5, "the jump to the code, the loop, and up to the call");
        is_the_same_run(waiting, &arguments);
    }
}

#[test]
fn harts_are_threads() {
    let entry = user_entry();
    let arguments = ["--run", "hello", "--harts", "4", "--memory", "64M"];
    let waiting = Waiting::boot(&arguments);
    let mut client = waiting.client();
    assert_eq!(client.ask("qfThreadInfo"), "m01,02,03,04");
    assert_eq!(client.ask("qThreadExtraInfo,2"), hex("hart 1, not started"));
    assert_eq!(client.ask(&format!("Z1,{entry:x},2")), "OK");
    let stop = client.ask("vCont;c");
    assert!(stop.contains("hwbreak"), "{stop}");
    let running = (1..=4).find(|&thread| stop.contains(&format!("thread:{thread:02x};"))).expect("one of four");
    assert_eq!(client.register(running, PC), entry);
    assert_ne!(client.register(running, SATP), 0);
    assert_ne!(client.register(running % 4 + 1, PC), entry);
    assert!(client.command(&format!("walk {entry:#x} {}", running - 1)).contains("in a page of 4K"));
    assert!(client.command("walk 0").contains("page fault"));
    assert!(client.command("tlb 4").contains("harts 0 to 3"));
    assert_eq!(client.ask("Hg9"), "OK");
    assert_eq!(client.ask("p20"), "E16", "there is no ninth thread");
    assert_eq!(client.ask("D"), "OK");
    is_the_same_run(waiting, &arguments);
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn an_interrupt_stops_a_guest_that_never_ends_and_what_is_written_ends_it() {
    let scratch = Scratch::new();
    let guest = scratch.write("guest.img", image(&[&[jump_back(0)], &shut_down()[..]].concat()));
    let waiting = Waiting::boot(&["--guest", &guest]);
    let mut client = waiting.client();
    client.send("vCont;c");
    std::thread::sleep(std::time::Duration::from_millis(300));
    client.send_raw(b"\x03");
    let stop = client.receive().expect("a stop");
    assert!(stop.starts_with("T02"), "{stop}");
    assert_eq!(client.register(1, PC), CODE_ADDRESS);
    assert_eq!(client.ask(&format!("m{CODE_ADDRESS:x},4")), "6f000000", "j .");
    // The loop becomes `nop`, in memory that is translated.
    assert_eq!(client.ask(&format!("M{CODE_ADDRESS:x},4:13000000")), "OK");
    assert_eq!(client.ask("P1=2a00000000000000"), "OK");
    assert_eq!(client.register(1, 1), 42);
    assert_eq!(client.ask("m8,4"), "E0e", "no memory is there");
    assert_eq!(client.ask("vCont;c"), "W00");
    let (ended, _) = waiting.end();
    ended.succeeded();
}

#[test]
fn pc_can_be_written_in_the_middle_of_a_turn() {
    let scratch = Scratch::new();
    let guest = scratch.write("guest.img", image(&[&[jump_back(0)], &shut_down()[..]].concat()));
    let waiting = Waiting::boot(&["--guest", &guest]);
    let mut client = waiting.client();
    assert!(client.ask("vCont;s:1;c").starts_with("T05"));
    assert_eq!(client.register(1, PC), CODE_ADDRESS);
    let behind: String = (CODE_ADDRESS + 4).to_le_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(client.ask(&format!("P20={behind}")), "OK");
    assert_eq!(client.ask("vCont;c"), "W00");
    waiting.end().0.succeeded();
}

#[test]
fn kill_ends_the_run() {
    let scratch = Scratch::new();
    let guest = scratch.write("guest.img", image(&[jump_back(0)]));
    let waiting = Waiting::boot(&["--guest", &guest]);
    waiting.client().send("k");
    let (ended, json) = waiting.end();
    ended.succeeded();
    assert!(String::from_utf8(json.expect("JSON")).expect("text").contains("\"outcome\": \"interrupted\""));
}

/// A debugger is no more trusted than a guest: whatever it sends, and whenever it goes, the run ends with a line.
#[test]
fn a_debugger_that_goes_or_sends_rubbish_ends_the_run_with_a_line() {
    let scratch = Scratch::new();
    let guest = scratch.write("guest.img", image(&[jump_back(0)]));
    let ended = |bytes: &[&[u8]]| {
        let waiting = Waiting::boot(&["--guest", &guest]);
        let mut client = waiting.client();
        bytes.iter().for_each(|bytes| client.send_raw(bytes));
        drop(client);
        waiting.end().0
    };
    let went = "closed the connection without detaching";
    ended(&[]).failed(1, &["gdb: ", went]);
    ended(&[b"$vCont;c#a8"]).failed(1, &["gdb: ", went]);
    ended(&[b"$m0"]).failed(1, &["gdb: ", went]);
    ended(&[b"$?#00"]).failed(1, &["gdb: "]);
    ended(&[&[b'$'; 100_000]]).failed(1, &["gdb: "]);
    ended(&[b"$", &[b'a'; 100_000], b"#00"]).failed(1, &["gdb: "]);
    // What is no packet, and packets with operands that are none.
    let mut random = testing_random();
    for _ in 0..20 {
        let mut bytes = Vec::new();
        for _ in 0..50 {
            let kind = b"?gGmMpPHqQvZzsckDTX"[(random() % 19) as usize];
            let rest: Vec<u8> =
                (0..random() % 12).map(|_| b"0123456789abcdef,;:-\xff*"[(random() % 22) as usize]).collect();
            let packet = [&[kind][..], &rest].concat();
            let sum = packet.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
            bytes.extend([b"+$", &packet[..], format!("#{sum:02x}").as_bytes()].concat());
        }
        let ended = ended(&[&bytes]);
        assert!(matches!(ended.code, Some(0 | 1)) && !ended.stderr.contains("panicked"), "{ended:#?} after {bytes:?}");
        assert!(ended.stderr.lines().count() <= 1, "{ended:#?}");
    }
}

/// Numbers of a fixed sequence.
fn testing_random() -> impl FnMut() -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 16
    }
}

#[test]
fn a_port_is_one_of_this_host_and_a_path_that_is_there_is_refused() {
    let scratch = Scratch::new();
    let taken = scratch.write("taken", "");
    common::run(["boot", "--gdb", &format!("unix:{taken}")]).failed(1, &["--gdb unix:", "in use"]);
    assert!(fs::metadata(&taken).is_ok(), "what was there is left alone");
    common::run(["boot", "--gdb", "host:1"]).failed(2, &["host:1", "unix:PATH"]);
}

#[test]
#[ignore = "needs gdb-multiarch"]
fn gdb_debugs_a_program_of_vos() {
    let entry = user_entry();
    let arguments =
        ["--run", "gups", "--append", "size=64K updates=2000", "--memory", "64M", "--scheme", "nested", "--harts", "4"];
    let waiting = Waiting::boot(&arguments);
    let (hbreak, symbols) = (format!("hbreak *{entry:#x}"), "info registers pc priv");
    let said = gdb(
        &waiting,
        &[
            "info threads",
            &hbreak,
            "continue",
            symbols,
            "x/i $pc",
            "eval \"monitor walk 0x%lx\", $pc",
            "set $word = $sp - 8",
            "watch *(long *) $word",
            "continue",
            "delete",
            "stepi 20",
            "monitor help",
            "monitor stats",
            "monitor tlb",
            "monitor phys 0x80200000 16",
            "monitor host 0x80000000",
            "continue",
        ],
    );
    for thread in 1..=4 {
        assert!(said.contains(&format!("Thread 1.{thread} (hart {}", thread - 1)), "{said}");
    }
    for expected in [
        &format!("hit Breakpoint 1, {entry:#018x}"),
        "prv:0 [User/Application]",
        &format!("gVA {entry:#x} -> gPA 0x"),
        "with nothing cached: 15 references",
        "hit Hardware watchpoint 2: *(long *) $word",
        "New value = ",
        "monitor phys ADDRESS",
        "walks.guest_refs",
        "exits.nested_fault",
        "ASID 1",
        &first_instruction_of_vos(),
        "[Inferior 1 (process 1) exited normally]",
    ] {
        assert!(said.contains(expected), "no `{expected}` in {said}");
    }
    is_the_same_run(waiting, &arguments);
}

/// A program of Linux by its symbols, and the kernel by an address that it is at in every boot.
#[test]
#[ignore = "needs gdb-multiarch, the fetched Linux guest and a cross compiler"]
fn gdb_debugs_linux_and_a_program_in_it() {
    const SOURCE: &str = "
        #include <stdio.h>
        volatile long counter;
        __attribute__((noinline)) void work(long n) { for (long i = 0; i < n; i++) counter += i; }
        int main(void) { work(10); printf(\"%ld\\n\", counter); return 0; }";
    let scratch = Scratch::new();
    let program = compiled(&scratch, "program", SOURCE, &["-static", "-g", "-O1"]);
    let file = format!("{program}:/program");
    let symbols = linux("grep -w __riscv_sys_getuid /proc/kallsyms", &[]).succeeded().stdout;
    let address = symbols.split_whitespace().next().expect("the kernel has the symbol").to_owned();
    let arguments =
        ["--guest", "linux", "--file", &file, "--run", "id -u; /program", "--scheme", "nested:2M", "--harts", "2"];
    let waiting = Waiting::boot(&arguments);
    let (load, kernel) = (format!("file {program}"), format!("hbreak *0x{address}"));
    let said = gdb(
        &waiting,
        &[
            &load,
            &kernel,
            "continue",
            "info registers pc priv",
            "monitor walk $pc",
            "eval \"monitor walk 0x%lx\", $pc",
            "delete",
            "break work",
            "continue",
            "backtrace 2",
            "delete",
            "watch counter",
            "continue",
            "continue",
            "print counter",
            "delete",
            "step",
            "print counter",
            "info threads",
            "continue",
        ],
    );
    let data = fs::read(&program).expect("the program is there");
    let elf = object::File::parse(&*data).expect("an ELF file");
    let work = elf.symbols().find(|symbol| symbol.name() == Ok("work")).expect("it has symbols").address();
    assert_ne!(work, 0);
    for expected in [
        &format!("hit Breakpoint 1, 0x{address}"),
        "prv:1 [Supervisor]",
        "`$pc` is not an address",
        "levels: guest ",
        "#0  work (n=",
        "in main ()",
        "Old value = 0",
        "New value = 1",
        "New value = 3",
        "= 3",
        "= 45",
        "[Inferior 1 (process 1) exited normally]",
    ] {
        assert!(said.contains(expected), "no `{expected}` in {said}");
    }
    is_the_same_run(waiting, &arguments);
}
