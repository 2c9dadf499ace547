//! A hostile guest, and a host that changes while it is served: nothing outside the directory is reached.

mod common;

use common::{
    Client, EINVAL, ELOOP, ENOENT, ENOTDIR, EPERM, ESTALE, LOOKUP, MKDIR, MKNOD, RENAME, ROOT, SYMLINK, UNLINK, longs,
    words,
};
use files::Access;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SECRET: &str = "secret";

/// How long the threads of a test go on at the most.
const PATIENCE: Duration = Duration::from_secs(60);

/// A shared directory, beside a directory with a secret.
struct World(TempDir);

impl World {
    fn new() -> Self {
        let world = Self(tempfile::tempdir().unwrap());
        for directory in ["outside", "outside/deep", "share", "share/sub", "share/sub/deep"] {
            fs::create_dir(world.at(directory)).unwrap();
        }
        fs::write(world.at("outside/file"), SECRET).unwrap();
        fs::write(world.at("outside/deep/file"), SECRET).unwrap();
        fs::write(world.at("share/sub/deep/file"), "shared").unwrap();
        world
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn client(&self) -> Client {
        Client::new(&self.at("share"), Access::Write)
    }

    /// What is outside is as it was.
    fn is_unharmed(&self) {
        for (directory, entries) in [("outside", 2), ("outside/deep", 1)] {
            assert_eq!(fs::read_to_string(self.at(directory).join("file")).unwrap(), SECRET);
            assert_eq!(fs::read_dir(self.at(directory)).unwrap().count(), entries);
        }
        assert_eq!(fs::read_dir(self.0.path()).unwrap().count(), 2);
    }
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let world = World::new();
    let mut client = world.client();
    for name in ["..", ".", "", "../outside/file", "sub/deep", "/", "/etc/passwd"] {
        let text = [name.as_bytes(), b"\0"].concat();
        assert_eq!(client.ask(LOOKUP, ROOT, &text), Err(EINVAL), "{name}");
        assert_eq!(client.create(ROOT, name, 0o644), Err(EINVAL), "{name}");
        assert_eq!(client.ask(MKDIR, ROOT, &words(&[0o755, 0], &text)), Err(EINVAL), "{name}");
        assert_eq!(client.ask(UNLINK, ROOT, &text), Err(EINVAL), "{name}");
        let from = [b"sub\0", text.as_slice()].concat();
        assert_eq!(client.ask(RENAME, ROOT, &longs(&[ROOT], &from)), Err(EINVAL), "{name}");
        let to = [text.as_slice(), b"new\0"].concat();
        assert_eq!(client.ask(RENAME, ROOT, &longs(&[ROOT], &to)), Err(EINVAL), "{name}");
    }
    assert_eq!(client.ask(LOOKUP, ROOT, b"no end"), Err(EINVAL));
    assert_eq!(client.look_up(99, "file"), Err(ESTALE));
    world.is_unharmed();
}

/// Links that the host made, to a file and to a directory outside.
#[test]
fn links_that_lead_out_are_not_followed() {
    let world = World::new();
    symlink("../outside", world.at("share/up")).unwrap();
    symlink(world.at("outside/file"), world.at("share/direct")).unwrap();
    let mut client = world.client();
    let (up, direct) = (client.walk("up").unwrap(), client.walk("direct").unwrap());
    // A link is no directory for openat2(2), whatever it leads to.
    assert_eq!(client.look_up(up, "file"), Err(ENOTDIR));
    assert_eq!(client.create(up, "new", 0o644), Err(ENOTDIR));
    assert_eq!(client.ask(MKDIR, up, &words(&[0o755, 0], b"new\0")), Err(ENOTDIR));
    assert_eq!(client.ask(RENAME, ROOT, &longs(&[up], b"sub\0sub\0")), Err(ENOTDIR));
    assert_eq!(client.list(up, 4096), Err(ENOTDIR));
    for flags in [0, 1, 2, 0o1001] {
        assert_eq!(client.open(direct, flags), Err(ELOOP), "{flags:o}");
    }
    // Through a handle of its own, as a new file would be.
    assert_eq!(client.create(ROOT, "direct", 0o644), Err(ELOOP));
    let mut truncate = vec![0; 88];
    truncate[0] = 8;
    assert_eq!(client.ask(common::SETATTR, direct, &truncate), Err(ELOOP));
    world.is_unharmed();
}

/// The host puts a link where a directory was that the guest knows, between two messages.
#[test]
fn a_directory_that_becomes_a_link_is_not_followed() {
    let world = World::new();
    let mut client = world.client();
    let deep = client.walk("sub/deep").unwrap();
    let file = client.look_up(deep, "file").unwrap();
    let open = client.open(file, 2).unwrap();
    fs::rename(world.at("share/sub/deep"), world.at("share/moved")).unwrap();
    symlink(world.at("outside"), world.at("share/sub/deep")).unwrap();
    assert!(matches!(client.open(file, 0), Err(ELOOP | ENOTDIR)));
    assert!(matches!(client.look_up(deep, "file"), Err(ELOOP | ENOTDIR)));
    assert!(matches!(client.create(deep, "new", 0o644), Err(ELOOP | ENOTDIR)));
    assert!(client.list(deep, 4096).is_err());
    assert!(client.ask(UNLINK, deep, b"file\0").is_err());
    assert_eq!(client.read(open, 0, 100).unwrap(), b"shared", "what is open stays the file that was opened");
    world.is_unharmed();
}

/// The same with a directory further up, whose link leads to a directory of the same shape.
#[test]
fn a_path_through_a_link_is_not_followed() {
    let world = World::new();
    let mut client = world.client();
    let deep = client.walk("sub/deep").unwrap();
    let file = client.look_up(deep, "file").unwrap();
    fs::rename(world.at("share/sub"), world.at("share/moved")).unwrap();
    symlink(world.at("outside"), world.at("share/sub")).unwrap();
    for flags in [0, 1, 2, 0o1001] {
        assert_eq!(client.open(file, flags), Err(ELOOP), "{flags:o}");
    }
    assert_eq!(client.attributes(file), Err(ELOOP));
    assert_eq!(client.look_up(deep, "file"), Err(ELOOP));
    assert_eq!(client.create(deep, "new", 0o644), Err(ELOOP));
    assert_eq!(client.ask(MKDIR, deep, &words(&[0o755, 0], b"new\0")), Err(ELOOP));
    assert_eq!(client.ask(UNLINK, deep, b"file\0"), Err(ELOOP));
    assert_eq!(client.ask(RENAME, deep, &longs(&[ROOT], b"file\0stolen\0")), Err(ELOOP));
    assert_eq!(client.ask(RENAME, ROOT, &longs(&[deep], b"moved\0new\0")), Err(ELOOP));
    assert_eq!(client.list(deep, 4096), Err(ENOTDIR));
    world.is_unharmed();
}

/// A thread of the host exchanges a directory and a link while the guest opens and writes, until the guest has found each often.
#[test]
fn renames_in_between_lead_nowhere() {
    const OFTEN: usize = 200;
    let world = World::new();
    symlink(world.at("outside"), world.at("share/other")).unwrap();
    let mut client = world.client();
    let deep = client.walk("sub/deep").unwrap();
    let file = client.look_up(deep, "file").unwrap();
    let (sub, link, aside) = (world.at("share/sub"), world.at("share/other"), world.at("share/aside"));
    let done = AtomicBool::new(false);
    let began = Instant::now();
    let (mut opened, mut refused) = (0, 0);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) && began.elapsed() < PATIENCE {
                for (from, to) in [(&sub, &aside), (&link, &sub), (&sub, &link), (&aside, &sub)] {
                    fs::rename(from, to).unwrap();
                    // Each state lasts for a while, however the threads are scheduled.
                    thread::sleep(Duration::from_micros(50));
                }
            }
        });
        while opened.min(refused) < OFTEN && began.elapsed() < PATIENCE {
            match client.open(file, 2) {
                Ok(handle) => {
                    opened += 1;
                    assert_eq!(client.read(handle, 0, 100).unwrap(), b"shared");
                    client.write(handle, 0, b"shared").unwrap();
                    client.ask(common::RELEASE, file, &longs(&[handle, 0, 0], &[])).unwrap();
                }
                Err(_) => refused += 1,
            }
            if let Ok((_, handle)) = client.create(deep, "new", 0o644) {
                client.ask(common::RELEASE, file, &longs(&[handle, 0, 0], &[])).unwrap();
            }
        }
        done.store(true, Relaxed);
    });
    assert!(opened >= OFTEN && refused >= OFTEN, "{opened} opened, {refused} refused");
    world.is_unharmed();
}

#[test]
fn a_guest_makes_no_link_that_leads_out() {
    let world = World::new();
    let mut client = world.client();
    for target in ["/etc/passwd", "..", "../outside", "sub/../../outside", "sub/..", ""] {
        let body = [b"link\0", target.as_bytes(), b"\0"].concat();
        assert_eq!(client.ask(SYMLINK, ROOT, &body), Err(EPERM), "{target}");
    }
    client.ask(SYMLINK, ROOT, b"link\0sub/deep/file\0").unwrap();
    assert_eq!(fs::read_to_string(world.at("share/link")).unwrap(), "shared");
}

#[test]
fn a_guest_makes_no_devices_and_no_programs_of_their_owner() {
    let world = World::new();
    let mut client = world.client();
    for kind in [0o010_000, 0o020_000, 0o060_000, 0o140_000] {
        assert_eq!(client.ask(MKNOD, ROOT, &words(&[kind | 0o644, 0x103, 0, 0], b"node\0")), Err(EPERM), "{kind:o}");
    }
    client.create(ROOT, "program", 0o6755).unwrap();
    let mode = fs::metadata(world.at("share/program")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7000, 0, "{mode:o}");
}

/// Opening a pipe would block the machine.
#[test]
fn a_pipe_of_the_host_is_not_there() {
    let world = World::new();
    let made = Command::new("mkfifo").arg(world.at("share/pipe")).status().unwrap();
    assert!(made.success());
    let mut client = world.client();
    assert_eq!(client.look_up(ROOT, "pipe"), Err(ENOENT));
    assert!(client.list(ROOT, 4096).unwrap().iter().all(|(name, _)| name != "pipe"));
    assert!(client.create(ROOT, "pipe", 0o644).is_err());
    // The host puts one in the place of a file that the guest knows.
    let file = client.walk("sub/deep/file").unwrap();
    fs::remove_file(world.at("share/sub/deep/file")).unwrap();
    fs::rename(world.at("share/pipe"), world.at("share/sub/deep/file")).unwrap();
    assert_eq!(client.open(file, 0), Err(ENOENT));
}
