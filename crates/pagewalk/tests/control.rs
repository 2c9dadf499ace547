//! `--control`: a run with a socket, and clients that ask things of it.

mod common;
mod kernel;

use common::kernel::{image, jump_back};
use common::user::User;
use common::{QUIET, Scratch, command, ended, run};
use kernel::Kernel;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::ops::{Deref, DerefMut};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A run with a socket.
struct Run {
    scratch: Scratch,
    child: Process,
}

/// A process that ends with the test, also where the test fails.
struct Process(Option<Child>);

impl Deref for Process {
    type Target = Child;

    fn deref(&self) -> &Child {
        self.0.as_ref().expect("it is waited for once")
    }
}

impl DerefMut for Process {
    fn deref_mut(&mut self) -> &mut Child {
        self.0.as_mut().expect("it is waited for once")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A connection to it.
struct Client {
    replies: BufReader<UnixStream>,
}

impl Run {
    /// Starts `pagewalk` with `arguments` on an endless guest, and waits for its socket.
    fn endless(arguments: &[&str]) -> Self {
        let scratch = Scratch::new();
        let kernel = scratch.write("kernel", Kernel::default().spin().elf());
        Self::start(scratch, &[&["boot", "--guest", &kernel][..], arguments].concat())
    }

    fn start(scratch: Scratch, arguments: &[&str]) -> Self {
        let address = format!("unix:{}", scratch.text("socket"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_pagewalk"));
        command.args(arguments).args(["--control", &address]).env(QUIET, "1");
        // Its standard input stays open: it is a keyboard on which no key is typed.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().expect("it starts");
        let run = Self { scratch, child: Process(Some(child)) };
        // The file is there before it listens.
        let since = Instant::now();
        while UnixStream::connect(run.scratch.path("socket")).is_err() {
            assert!(since.elapsed() < PATIENCE, "it listens");
            sleep(Duration::from_millis(10));
        }
        run
    }

    fn client(&self) -> Client {
        let stream = UnixStream::connect(self.scratch.path("socket")).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Client { replies: BufReader::new(stream) }
    }

    /// Waits for its end. What does not end is killed.
    fn end(mut self) -> (Output, Scratch) {
        let since = Instant::now();
        while self.child.try_wait().expect("it is our child").is_none() {
            if since.elapsed() > PATIENCE {
                self.child.kill().expect("it runs");
            }
            sleep(Duration::from_millis(5));
        }
        let child = self.child.0.take().expect("it is waited for once");
        (child.wait_with_output().expect("it has ended"), self.scratch)
    }
}

impl Client {
    fn send(&mut self, bytes: &[u8]) {
        self.replies.get_mut().write_all(bytes).expect("it reads");
    }

    #[track_caller]
    fn reply(&mut self) -> Value {
        let mut line = String::new();
        self.replies.read_line(&mut line).expect("a reply");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    #[track_caller]
    fn ask(&mut self, request: &str) -> Value {
        self.send(format!("{request}\n").as_bytes());
        self.reply()
    }

    /// The answer to a request that is carried out.
    #[track_caller]
    fn answer(&mut self, request: &str) -> Value {
        let reply = self.ask(request);
        assert!(reply["ok"].is_object(), "{request}: {reply}");
        reply["ok"].clone()
    }

    /// Waits until the run is beyond this time, in cycles. A busy host may take a while to begin.
    fn runs_beyond(&mut self, elapsed: u64) {
        let from = Instant::now();
        while self.answer(r#"{"do":"status"}"#)["elapsed"].as_u64() <= Some(elapsed) {
            assert!(from.elapsed() < PATIENCE, "the run does not go on");
            sleep(Duration::from_millis(5));
        }
    }

    /// Why a request is refused.
    #[track_caller]
    fn refusal(&mut self, request: &str) -> String {
        let reply = self.ask(request);
        reply["error"].as_str().unwrap_or_else(|| panic!("{request}: {reply}")).to_owned()
    }
}

#[test]
fn a_paused_machine_counts_nothing_and_goes_on() {
    let run = Run::endless(&["--scheme", "nested"]);
    let mut client = run.client();
    assert_eq!(client.answer(r#"{"do":"status"}"#)["state"], "running");
    client.runs_beyond(0);
    assert_eq!(client.answer(r#"{"do":"pause"}"#)["state"], "paused");
    let first = client.answer(r#"{"do":"statistics"}"#);
    sleep(Duration::from_millis(300));
    assert_eq!(client.answer(r#"{"do":"statistics"}"#), first);
    assert!(first["elapsed"].as_u64() > Some(0) && first["guests"][0]["instructions"].as_u64() > Some(0), "{first}");
    assert_eq!(client.answer(r#"{"do":"resume"}"#)["state"], "running");
    client.runs_beyond(first["elapsed"].as_u64().expect("a number of cycles"));
    assert_eq!(client.answer(r#"{"do":"quit","status":7}"#)["state"], "ending");
    let (ended, scratch) = run.end();
    assert_eq!(ended.status.code(), Some(7), "{ended:?}");
    assert_eq!(scratch.names(), ["kernel"], "the socket is removed");
}

#[test]
fn ctl_asks_and_prints_the_answer() {
    let listening = Run::endless(&[]);
    let socket = listening.scratch.text("socket");
    let ctl = |arguments: &[&str]| run([&["ctl", &socket], arguments].concat());
    assert_eq!(fs::metadata(&socket).unwrap().permissions().mode() & 0o777, 0o600);
    let printed = ctl(&["pause"]).succeeded().stdout;
    assert_eq!(serde_json::from_str::<Value>(&printed).unwrap()["state"], "paused");
    assert_eq!(ctl(&["statistics"]).succeeded().stdout, ctl(&["statistics"]).succeeded().stdout);
    ctl(&["resume"]).succeeded();
    ctl(&["balloon", "64M"]).failed(1, &[&socket, "no guest has a memory balloon"]);
    ctl(&["snapshot"]).failed(1, &[&socket, "without a file for a snapshot"]);
    ctl(&["quit"]).succeeded();
    assert_eq!(listening.end().0.status.code(), Some(0));
    ctl(&["status"]).failed(1, &[&socket]);
    run(["ctl", &socket, "stop"]).failed(2, &["stop"]);
    run(["boot", "--control", &socket]).failed(2, &["--control", "is not unix:PATH"]);
}

/// The path that was connected to had lost its first slash.
#[test]
fn ctl_takes_an_absolute_path_as_the_run_has_it() {
    let listening = Run::endless(&[]);
    run(["ctl", &format!("unix:{}", listening.scratch.text("socket")), "quit"]).succeeded();
    assert_eq!(listening.end().0.status.code(), Some(0));
}

#[test]
fn malformed_requests_get_one_error_each_and_stop_nothing() {
    let run = Run::endless(&[]);
    let mut client = run.client();
    for line in
        ["", "x", "{}", "[1]", r#"{"do":"stop"}"#, r#"{"do":"quit","status":-1}"#, r#"{"do":"balloon"}"#, "\u{0}"]
    {
        assert!(client.refusal(line).starts_with("not a request: "), "{line}");
    }
    client.send(b"\xff\xfe\n");
    assert!(client.reply()["error"].is_string());
    let nested = "[".repeat(4000);
    assert!(client.refusal(&nested).starts_with("not a request: "));
    assert!(client.refusal(r#"{"do":"balloon","bytes":4097}"#).contains("4096"));
    client.answer(r#"{"do":"status"}"#);
    // Two requests in one write, and one in two.
    client.send(b"{\"do\":\"status\"}\n{\"do\":\"status\"}\n{\"do\"");
    assert!(client.reply()["ok"].is_object() && client.reply()["ok"].is_object());
    client.send(b":\"status\"}\n");
    assert!(client.reply()["ok"].is_object());
    let mut endless = run.client();
    endless.send(&[b'x'; 10_000]);
    assert_eq!(endless.reply()["error"], "the line is too long");
    let mut rest = Vec::new();
    let _ = endless.replies.read_to_end(&mut rest);
    assert!(rest.is_empty(), "the connection ends");
    client.answer(r#"{"do":"quit"}"#);
    assert_eq!(run.end().0.status.code(), Some(0));
}

#[test]
fn clients_do_not_disturb_each_other() {
    let run = Run::endless(&[]);
    let (mut one, mut two) = (run.client(), run.client());
    one.answer(r#"{"do":"pause"}"#);
    assert_eq!(two.answer(r#"{"do":"status"}"#)["state"], "paused");
    drop(one);
    assert_eq!(two.answer(r#"{"do":"status"}"#)["state"], "paused", "whose client is gone");
    two.answer(r#"{"do":"resume"}"#);
    // One asks and never reads.
    let mut silent = run.client();
    silent.replies.get_mut().set_write_timeout(Some(Duration::from_secs(2))).unwrap();
    let request = b"{\"do\":\"statistics\"}\n".repeat(1000);
    while silent.replies.get_mut().write_all(&request).is_ok() {}
    two.answer(r#"{"do":"status"}"#);
    let crowd: Vec<Client> = (0..40).map(|_| run.client()).collect();
    let mut last = run.client();
    assert!(last.reply()["error"].as_str().unwrap().contains("clients already"));
    drop(crowd);
    two.answer(r#"{"do":"quit"}"#);
    assert_eq!(run.end().0.status.code(), Some(0));
}

#[test]
fn results_are_the_same_with_and_without_the_socket() {
    let scratch = Scratch::new();
    let report = |name: &str, more: &[&str]| {
        let json = scratch.text(name);
        let fixed = ["boot", "--run", "gups size=1M updates=20000", "--scheme", "nested", "--json", &json];
        run([&fixed[..], more].concat()).succeeded();
        fs::read(json).unwrap()
    };
    let address = format!("unix:{}", scratch.text("socket"));
    assert_eq!(report("with", &["--control", &address]), report("without", &[]));
}

#[test]
fn a_run_of_several_guests_is_controlled_as_well() {
    let scratch = Scratch::new();
    let host = scratch.write(
        "host.toml",
        "processors = 1\nconfig = { scheme = \"nested\" }\n\
         guest = [{ name = \"a\", count = 2, workload = \"spin\", memory = \"64M\" }]\n",
    );
    let run = Run::start(scratch, &["run", &host]);
    let mut client = run.client();
    let status = client.answer(r#"{"do":"pause"}"#);
    assert_eq!(status["guests"].as_array().unwrap().len(), 2, "{status}");
    assert!(client.refusal(r#"{"do":"snapshot"}"#).contains("boot"));
    client.answer(r#"{"do":"quit","status":9}"#);
    let (ended, _) = run.end();
    assert_eq!(ended.status.code(), Some(9), "{ended:?}");
    assert!(String::from_utf8_lossy(&ended.stdout).contains("interrupted"), "{ended:?}");
}

/// Reserves `line` in the registry `file`.
fn reserve(file: &str, line: &str) {
    let words = ["reserve", "add"].into_iter().chain(line.split_whitespace()).chain(["--file", file]);
    run(words).succeeded();
}

/// A guest maps a part of the reservation `part`; the others are not used.
#[test]
fn reservations_are_freed_on_a_running_host() {
    const PART: u64 = 256 + 1;
    let scratch = Scratch::new();
    let (registry, json) = (scratch.text("registry.toml"), scratch.text("out.json"));
    reserve(&registry, "cache --size 4M --alloc");
    reserve(&registry, "part --size 3M --alloc --zeroed");
    reserve(&registry, "pool --size 2M --group 5");
    reserve(&registry, "bare --size 2M --no-page-tables");
    let before = fs::read(&registry).unwrap();
    let host = scratch.write(
        "host.toml",
        "processors = 1\nconfig = { scheme = \"nested\" }\nsection = [{ name = \"part\", size = \"1M\" }]\n\
         guest = [{ name = \"a\", workload = \"spin\", memory = \"64M\", sections = [{ name = \"part\" }] }]\n",
    );
    let listening = Run::start(scratch, &["run", &host, "--reserved-memory", &registry, "--json", &json]);
    let socket = listening.scratch.text("socket");
    let free = |words: &str| {
        let words = ["reserve", "free"].into_iter().chain(words.split_whitespace()).chain(["--control", &socket]);
        ended(command(words).env("PAGEWALK_RESERVED_MEMORY", &registry))
    };
    let said = free("cache").succeeded().stdout;
    let count = |line: &str| line.trim_end().split_once("is now ").expect(line).1.split(';').next().unwrap().to_owned();
    let fluid: u64 = count(&said).parse().expect("a number of pages");
    assert_eq!(
        said,
        format!(
            "freed on the host at {socket}: cache: 1027 pages to the free list, 1027 to the fluid page count, which is now {fluid}\n"
        )
    );
    free("cache").failed(1, &[&socket, "the memory of cache is freed already"]);
    let said = free("part").succeeded().stdout;
    let rest = 768 + 3 - PART;
    assert!(said.contains(&format!("part: {rest} pages to the free list, {rest} to the")), "{said}");
    assert!(said.ends_with(&format!("is now {}; {PART} more follow when the section ends\n", fluid + rest)), "{said}");
    free("other").failed(1, &[&socket, "nothing is reserved for other"]);
    free("pool").failed(1, &[&socket, "nothing is reserved for pool"]);
    free("a/b").failed(2, &["a/b"]);
    free("bare --file x").failed(2, &["--file", "--control"]);
    let fluid = fluid + rest + 513;
    let printed = run(["ctl", &socket, "free", "pool", "--group", "5"]).succeeded().stdout;
    let printed: Value = serde_json::from_str(&printed).unwrap();
    let of = |key: &str| printed[key].as_u64().unwrap_or_else(|| panic!("{key}: {printed}"));
    assert_eq!((&printed["name"], of("group"), of("fluid_pages")), (&"pool".into(), 5, fluid));
    assert_eq!((of("free_list_pages"), of("returned_pages"), of("kept_pages")), (0, 513, 0));
    let mut client = listening.client();
    let bare = client.answer(r#"{"do":"free","name":"bare","group":null}"#);
    assert_eq!((bare["returned_pages"].as_u64(), bare["fluid_pages"].as_u64()), (Some(512), Some(fluid + 512)));
    assert!(client.refusal(r#"{"do":"free","name":"a b"}"#).contains("`a b` is not a valid name"));
    client.answer(r#"{"do":"quit"}"#);
    let (ended, _scratch) = listening.end();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert_eq!(fs::read(&registry).unwrap(), before, "the registry's file stays as it is");
    let report: Value = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let freed = report["reserved_memory"]["freed"].as_array().expect("a list");
    let names: Vec<_> = freed.iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["cache", "part", "pool", "bare"]);
    assert_eq!(freed[2], printed, "a report has what the reply had");
    let at_start = report["reserved_memory"]["fluid_pages"].as_u64().expect("a number of pages");
    assert_eq!(freed[0]["fluid_pages"].as_u64(), Some(at_start + 1027));
    free("cache").failed(1, &[&socket]);
}

#[test]
fn boot_frees_reservations_as_well_and_a_host_without_any_has_none() {
    let registry = Scratch::new();
    let file = registry.text("registry.toml");
    reserve(&file, "cache --size 4M");
    let run = Run::endless(&["--scheme", "nested", "--reserved-memory", &file]);
    let socket = format!("unix:{}", run.scratch.text("socket"));
    common::run(["reserve", "free", "cache", "--control", &socket]).succeeded();
    run.client().answer(r#"{"do":"quit"}"#);
    run.end();
    let run = Run::endless(&[]);
    let socket = run.scratch.text("socket");
    common::run(["reserve", "free", "cache", "--control", &socket]).failed(1, &["nothing is reserved for cache"]);
    run.client().answer(r#"{"do":"quit"}"#);
    run.end();
}

#[test]
fn a_snapshot_is_taken_when_it_is_asked_for() {
    let scratch = Scratch::new();
    let file = scratch.text("snapshot");
    // The guest waits for keys for ever, and never comes to a region of interest.
    let mut run = Run::endless(&["--snapshot", &file]);
    let mut client = run.client();
    client.answer(r#"{"do":"pause"}"#);
    client.answer(r#"{"do":"snapshot"}"#);
    assert!(run.child.wait().unwrap().success());
    drop(run);
    let bytes = fs::read(&file).unwrap();
    assert!(!bytes.is_empty());
    let restored = common::run(["boot", "--restore", &file, "--timeout", "1"]);
    restored.failed(1, &["the time limit of 1 guest seconds"]);
}

/// `wfi`.
const WAIT: u32 = 0x1050_0073;

#[test]
fn a_guest_that_waits_for_keys_is_controlled_as_well() {
    let scratch = Scratch::new();
    let kernel = scratch.write("kernel", image(&[WAIT, jump_back(4)]));
    let run = Run::start(scratch, &["boot", "--guest", &kernel]);
    let mut client = run.client();
    for _ in 0..100 {
        assert_eq!(client.answer(r#"{"do":"status"}"#)["state"], "running");
    }
    client.answer(r#"{"do":"pause"}"#);
    client.answer(r#"{"do":"resume"}"#);
    client.answer(r#"{"do":"quit","status":2}"#);
    assert_eq!(run.end().0.status.code(), Some(2));
}

#[test]
fn guests_with_a_balloon_are_asked() {
    let run = Run::endless(&["--balloon", "--memory", "128M"]);
    let mut client = run.client();
    client.answer(r#"{"do":"balloon","bytes":67108864}"#);
    client.answer(r#"{"do":"balloon","bytes":0}"#);
    assert!(client.refusal(r#"{"do":"balloon","bytes":134217728}"#).contains("not less than the memory"));
    client.answer(r#"{"do":"quit"}"#);
    assert_eq!(run.end().0.status.code(), Some(0));
}

#[test]
fn a_socket_of_a_living_process_is_refused_and_that_of_a_dead_one_replaced() {
    let first = Run::endless(&[]);
    let kernel = first.scratch.text("kernel");
    let address = format!("unix:{}", first.scratch.text("socket"));
    let arguments = ["boot", "--guest", &kernel, "--timeout", "1", "--control", &address];
    run(arguments).failed(1, &[&address, "another process listens there"]);
    first.client().answer(r#"{"do":"quit"}"#);
    let (_, scratch) = first.end();
    drop(UnixListener::bind(scratch.path("socket")).unwrap());
    let again = Run::start(scratch, &["boot", "--guest", &kernel]);
    again.client().answer(r#"{"do":"quit"}"#);
    let (_, scratch) = again.end();
    fs::write(scratch.path("socket"), "mine").unwrap();
    run(arguments).failed(1, &[&address, "no socket"]);
    assert_eq!(fs::read(scratch.path("socket")).unwrap(), b"mine");
}

#[test]
fn a_signal_ends_a_paused_run_and_removes_the_socket() {
    for paused in [false, true] {
        let run = Run::endless(&[]);
        if paused {
            run.client().answer(r#"{"do":"pause"}"#);
        }
        kill_process(Pid::from_child(&run.child), Signal::TERM).unwrap();
        let (ended, scratch) = run.end();
        assert_eq!(ended.status.signal(), Some(Signal::TERM.as_raw()), "{ended:?}");
        assert_eq!(scratch.names(), ["kernel"], "paused: {paused}");
    }
}

#[test]
fn several_methods_have_no_socket() {
    let scratch = Scratch::new();
    let host = scratch.write("host.toml", "processors = 1\nguest = [{ name = \"a\", workload = \"hello\" }]\n");
    let address = format!("unix:{}", scratch.text("socket"));
    run(["run", &host, "--spin", "rslp,yield", "--control", &address]).failed(2, &["--control", "--spin"]);
    assert!(!Path::new(&scratch.text("socket")).exists());
}

#[test]
fn top_prints_what_came_in_each_interval() {
    let run = Run::endless(&["--scheme", "nested"]);
    let socket = run.scratch.text("socket");
    run.client().runs_beyond(0);
    let top = |more: &[&str]| {
        common::run([&["top", &socket, "--interval", "0.1", "--count", "2"], more].concat()).succeeded().stdout
    };
    let intervals: Vec<Value> =
        top(&["--json"]).lines().map(|line| serde_json::from_str(line).expect("an object in each line")).collect();
    let [first, second] = &intervals[..] else { panic!("{intervals:?}") };
    let simulated = |interval: &Value| interval["simulated_s"].as_f64().unwrap();
    let between = second["at_s"].as_f64().unwrap() - first["at_s"].as_f64().unwrap();
    assert!(simulated(second) > 0.0 && (between - simulated(second)).abs() < 1e-9, "{intervals:?}");
    assert!(second["guests"][0]["instructions"].as_u64() > Some(0), "{intervals:?}");
    assert!(second["guests"][0]["functions"].is_null(), "the run makes no profile");
    // A machine that stands still.
    run.client().answer(r#"{"do":"pause"}"#);
    let text = top(&[]);
    assert!(text.lines().all(|line| line.contains("0.0 M instructions, IPC 0.00")), "{text}");
    run.client().answer(r#"{"do":"quit"}"#);
    run.end();
    common::run(["top", &socket, "--count", "1"]).failed(1, &[&socket]);
    common::run(["top", &socket, "--interval", "0"]).failed(2, &["from 0.1 to 3600"]);
}

#[test]
fn top_names_the_functions_of_a_run_with_a_profile() {
    let scratch = Scratch::new();
    let profile = scratch.text("profile.json");
    let guest = ["boot", "--run", "gups size=4M updates=4000000000", "--scheme", "nested", "--profile", &profile];
    let run = Run::start(scratch, &guest);
    let socket = run.scratch.text("socket");
    // The table is filled first.
    run.client().runs_beyond(500_000_000);
    let line = common::run(["top", &socket, "--interval", "0.5", "--count", "1", "--json"]).succeeded().stdout;
    let interval: Value = serde_json::from_str(&line).unwrap();
    let guest = &interval["guests"][0];
    let costliest = &guest["functions"][0];
    assert_eq!(costliest["function"], "update", "{interval}");
    assert_eq!(costliest["process"], guest["name"], "the only process");
    let charged: u64 = guest["functions"].as_array().unwrap().iter().map(|one| one["cycles"].as_u64().unwrap()).sum();
    let cost = guest["translation"].as_u64().unwrap() + guest["monitor"].as_u64().unwrap();
    assert!(charged.abs_diff(cost) <= cost / 100, "functions add up to the cost of the interval: {charged}, {cost}");
    run.client().answer(r#"{"do":"quit"}"#);
    run.end();
}

#[test]
fn top_changes_no_result() {
    let scratch = Scratch::new();
    let arguments = |json: &str| {
        ["boot", "--run", "gups size=1M updates=2000000", "--scheme", "nested", "--json", json].map(str::to_owned)
    };
    let alone = scratch.text("alone");
    common::run(arguments(&alone)).succeeded();
    let watched = scratch.text("watched");
    let expected = fs::read(&alone).unwrap();
    let run = Run::start(scratch, &arguments(&watched).each_ref().map(String::as_str));
    let top = common::run(["top", &run.scratch.text("socket"), "--interval", "0.1"]).succeeded();
    let (ended, _scratch) = run.end();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert_eq!(fs::read(&watched).unwrap(), expected, "{}", top.stdout);
}

#[test]
fn top_draws_on_a_terminal_and_leaves_it_as_it_was() {
    let run = Run::endless(&["--scheme", "nested"]);
    let mut user = User::runs(&["top", &run.scratch.text("socket"), "--interval", "0.1"]);
    user.sees("guests");
    user.sees("IPC");
    assert!(user.is_raw());
    user.types("p");
    user.sees("paused");
    assert_eq!(run.client().answer(r#"{"do":"status"}"#)["state"], "paused");
    user.types("p\t");
    user.sees("running");
    user.types("q");
    assert_eq!(user.ends(), Some(0));
    assert!(!user.is_raw());
    assert_eq!(run.client().answer(r#"{"do":"status"}"#)["state"], "running", "the run goes on");
    run.client().answer(r#"{"do":"quit"}"#);
    run.end();
}
