//! The reserved memory registry as a user keeps it, and what happens to its file when commands die, run at the same time or find no room.

mod common;

use common::{Scratch, command, ended, run};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A registry in a directory of its own.
struct Registry(Scratch);

impl Registry {
    fn new() -> Self {
        Self(Scratch::new())
    }

    fn file(&self) -> String {
        self.0.text("registry.toml")
    }

    /// The arguments of `pagewalk reserve LINE` on this registry.
    fn arguments(&self, line: &str) -> Vec<String> {
        let words = ["reserve"].into_iter().chain(line.split_whitespace());
        words.map(str::to_owned).chain(["--file".to_owned(), self.file()]).collect()
    }

    fn run(&self, line: &str) -> common::Ended {
        run(self.arguments(line))
    }

    fn show(&self, options: &str) -> Value {
        let json = self.0.text("show.json");
        self.run(&format!("show {options} --json {json}")).succeeded();
        serde_json::from_slice(&fs::read(json).unwrap()).unwrap()
    }

    fn content(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }
}

#[test]
fn a_registry_from_its_first_entry_to_its_last() {
    let registry = Registry::new();
    let said = registry.run("add cache --size 7680M --alloc --zeroed").succeeded().stdout;
    assert!(said.contains("cache, 7680M, alloc, zeroed, page tables"), "{said}");
    registry.run("add cache --size 64M --group 5 --no-page-tables").succeeded();
    registry.run("add cache --size 64M").failed(2, &["cache is reserved already"]);
    registry.run("modify cache --group 5 --size 128M --alloc").succeeded();
    registry.run("free cache --group 5").succeeded();
    registry.run("free cache --group 5").failed(2, &["cache of group 5", "freed already"]);
    registry.run("free cache --group 6").failed(2, &["nothing is reserved for cache of group 6"]);

    let shown = registry.show("--set memory=64M");
    let entry = |index: usize, key: &str| shown["reservations"][index][key].clone();
    assert_eq!((entry(0, "bytes"), entry(0, "state"), entry(0, "alignment")), (7680_u64 << 20).into_honoured("1G"));
    assert_eq!(
        (entry(1, "group"), entry(1, "bytes"), entry(1, "state")),
        (5.into(), (128 << 20).into(), "freed".into())
    );
    assert_eq!(shown["tuning"]["reserved_bytes"], 7680_u64 << 20);
    // Leaf tables of 2 MiB each, those above of 1 GiB each, and one above them.
    assert_eq!(shown["tuning"]["table_bytes"], (3840 + 8 + 1) * 4096);
    let least = (7680_u64 << 20) + (3840 + 8 + 1) * 4096 + (64 << 20);
    assert_eq!(shown["tuning"]["least_host_bytes"], least);

    registry.run("modify cache --group 5 --again").succeeded();
    assert_eq!(registry.show("")["reservations"][1]["state"], "honoured");
    registry.run("remove cache").succeeded();
    registry.run("remove cache --group 5").succeeded();
    registry.run("remove cache").failed(2, &["nothing is reserved for cache"]);
    assert_eq!(registry.show("")["reservations"].as_array().unwrap().len(), 0);
}

/// What `show` says of a size that is honoured on such a boundary.
trait IntoHonoured {
    fn into_honoured(self, alignment: &str) -> (Value, Value, Value);
}

impl IntoHonoured for u64 {
    fn into_honoured(self, alignment: &str) -> (Value, Value, Value) {
        (self.into(), "honoured".into(), alignment.into())
    }
}

#[test]
fn what_does_not_fit_a_host_is_refused_by_name_with_the_numbers() {
    let registry = Registry::new();
    registry.run("add large --size 1G --alloc --no-page-tables").succeeded();
    registry.run("add small --size 64M --no-page-tables").succeeded();
    let host = "--host-memory 1G --set memory=512M";
    let shown = registry.show(host);
    assert_eq!(
        (&shown["reservations"][0]["state"], &shown["reservations"][1]["state"]),
        (&"refused".into(), &"honoured".into())
    );
    assert_eq!(shown["host"]["fluid_pages"], (1 << 18) - (64 << 8));
    let text = registry.run(&format!("show {host}")).succeeded().stdout;
    let line = text.lines().find(|line| line.starts_with("refused: large")).unwrap();
    for number in ["262144", "131072"] {
        assert!(line.contains(number), "{line}");
    }
}

/// Under `native-segment` the reservation had taken the memory that the guest can lie in alone: what the machine kept free for `native` it did
/// not keep free there.
#[test]
fn a_reservation_leaves_native_segment_its_memory() {
    let registry = Registry::new();
    registry.run("add cache --size 64M --alloc").succeeded();
    let file = registry.file();
    for scheme in ["native", "native-segment"] {
        let boot = ["boot", "--run", "hello", "--memory", "64M", "--scheme", scheme, "--reserved-memory", &file];
        let output = run(boot).succeeded().stdout;
        assert!(output.contains("hello: ok"), "{scheme}: {output}");
    }
}

#[test]
fn what_cannot_be_asked_for_is_named() {
    let registry = Registry::new();
    registry.run("add a/b --size 1M").failed(2, &["a/b"]);
    registry.run("add cache --size 1000").failed(2, &["cache", "1000", "4096"]);
    registry.run("add cache --size lots").failed(2, &["lots", "--size"]);
    registry.run("add cache --size 1M --zeroed").failed(2, &["--alloc"]);
    registry.run("modify cache").failed(2, &["--size"]);
    registry.run("modify cache --alloc --fluid").failed(2, &["--fluid"]);
    assert!(!Path::new(&registry.file()).exists(), "nothing was written");
    let home = Scratch::new();
    let mut without = command(["reserve", "show"]);
    ended(without.env_remove("HOME").env_remove("XDG_CONFIG_HOME")).failed(2, &["--file"]);
    let mut with = command(["reserve", "add", "cache", "--size", "1M"]);
    ended(with.env_remove("XDG_CONFIG_HOME").env("HOME", home.path(""))).succeeded();
    assert!(home.path(".config/pagewalk/reserved-memory.toml").exists());
}

#[test]
fn a_damaged_registry_is_refused_with_line_and_key_and_left_alone() {
    let registry = Registry::new();
    registry.run("add cache --size 1M --alloc").succeeded();
    let good = registry.content();
    for (damaged, named) in [
        (good.replace("\"1M\"", "\"1Q\""), "line 6, key `size`"),
        (good.replace("alloc = true", "alloc = "), "line 7, key `alloc`"),
        (good.replace("version = 1", "version = 9"), "line 2, key `version`"),
        (good[..good.len() / 2].to_owned(), "line"),
    ] {
        fs::write(registry.file(), &damaged).unwrap();
        for line in ["show", "add other --size 1M", "remove cache"] {
            registry.run(line).failed(2, &["registry.toml", named]);
        }
        assert_eq!(registry.content(), damaged);
    }
}

/// A registry of which no command has room to write a copy.
#[test]
fn a_full_disk_leaves_the_registry_as_it_was() {
    let registry = Registry::new();
    for index in 0..12 {
        registry.run(&format!("add a-name-as-long-as-they-may-be-in-here-{index} --size 1M")).succeeded();
    }
    let before = registry.content();
    assert!(before.len() > 1024);
    // A file may have one block; the signal that comes with a longer one is ignored, so that the write fails as on a full disk.
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 1; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_pagewalk")]);
    limited.args(registry.arguments("add one-more --size 1M"));
    ended(&mut limited).failed(1, &["registry.toml", "too large"]);
    assert_eq!(registry.content(), before);
    assert!(!Path::new(&(registry.file() + ".new")).exists());
    registry.run("add one-more --size 1M").succeeded();
}

#[test]
fn commands_at_once_all_have_their_effect() {
    let registry = Registry::new();
    let spawn = |index| command(registry.arguments(&format!("add n{index} --size 1M"))).stdout(Stdio::null()).spawn();
    let children: Vec<_> = (0..24).map(|index| spawn(index).unwrap()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(registry.show("")["reservations"].as_array().unwrap().len(), 24);
}

/// Commands are killed at moments that cover the whole of their lives. Whatever was reached, the file is the old one or the new one, and the next command works.
#[test]
fn a_killed_command_leaves_the_old_registry_or_the_new_one() {
    const KILLS: u32 = 150;
    let registry = Registry::new();
    for index in 0..20 {
        registry.run(&format!("add n{index} --size 1M")).succeeded();
    }
    registry.run("add cache --size 1M").succeeded();
    let of_size = |size: u64| registry.content().replace(&format!("size = \"{size}K\""), "size = \"SIZE\"");
    registry.run("modify cache --size 5K").failed(2, &["5120"]);
    registry.run("modify cache --size 12K").succeeded();
    let expected = of_size(12);

    let begin = Instant::now();
    registry.run("modify cache --size 12K").succeeded();
    let lifetime = begin.elapsed();
    let mut size = 12;
    let (mut old, mut new) = (0, 0);
    for kill in 0..KILLS {
        let next = size + 4;
        // The last ones are left to finish, whatever the host's load.
        let patience = if kill < KILLS - 5 { lifetime * kill * 3 / (KILLS * 2) } else { Duration::from_secs(60) };
        let mut child = Command::new(env!("CARGO_BIN_EXE_pagewalk"))
            .args(registry.arguments(&format!("modify cache --size {next}K")))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begin = Instant::now();
        while begin.elapsed() < patience && child.try_wait().unwrap().is_none() {
            sleep(Duration::from_micros(50));
        }
        let _ = child.kill();
        child.wait().unwrap();
        if of_size(size) == expected {
            old += 1;
        } else {
            assert_eq!(of_size(next), expected, "neither old nor new");
            (size, new) = (next, new + 1);
        }
    }
    assert!(old > 0 && new >= 5, "{old} left the old registry and {new} the new one");
    registry.run("modify cache --size 1M").succeeded();
}
