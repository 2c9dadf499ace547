//! A directory that a guest changes.

mod common;

use common::{
    Client, EPERM, ESTALE, FORGET, MKDIR, RENAME, RMDIR, ROOT, SETATTR, UNLINK, long, longs, message, word, words,
};
use files::Access;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

fn world() -> (TempDir, Client) {
    let directory = tempfile::tempdir().unwrap();
    let client = Client::new(directory.path(), Access::Write);
    (directory, client)
}

/// `struct fuse_setattr_in` that sets the members of `valid`.
fn set(valid: u32, size: u64, mode: u32, owners: [u32; 2]) -> Vec<u8> {
    let mut body = words(&[valid, 0], &longs(&[0, size, 0, 5, 6, 0], &[]));
    body.extend(words(&[0, 7, 0, mode, 0, owners[0], owners[1], 0], &[]));
    assert_eq!(body.len(), 88);
    body
}

#[test]
fn files_are_made_written_and_removed() {
    let (directory, mut client) = world();
    let (file, handle) = client.create(ROOT, "new", 0o640).unwrap();
    assert_eq!(client.write(handle, 0, b"hello"), Ok(5));
    assert_eq!(client.write(handle, 3, b"p!"), Ok(2));
    let path = directory.path().join("new");
    assert_eq!(fs::read(&path).unwrap(), b"help!");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7137, 0, "no more rights than asked for");
    client.ask(UNLINK, ROOT, b"new\0").unwrap();
    assert!(!path.exists());
    // It is open, and without a name.
    assert_eq!(long(&client.attributes(file).unwrap(), 8), 5);
    client.ask(SETATTR, file, &set(8, 2, 0, [0, 0])).unwrap();
    assert_eq!(long(&client.attributes(file).unwrap(), 8), 2);
    client.ask(common::RELEASE, file, &longs(&[handle, 0, 0], &[])).unwrap();
    assert_eq!(client.attributes(file), Err(ESTALE));
}

#[test]
fn directories_move_with_what_is_in_them() {
    let (directory, mut client) = world();
    let made = client.ask(MKDIR, ROOT, &words(&[0o755, 0], b"a\0")).unwrap();
    let a = long(&made, 0);
    let (file, _) = client.create(a, "f", 0o644).unwrap();
    client.ask(MKDIR, ROOT, &words(&[0o755, 0], b"b\0")).unwrap();
    let b = client.walk("b").unwrap();
    client.ask(RENAME, ROOT, &longs(&[b], b"a\0c\0")).unwrap();
    assert!(directory.path().join("b/c/f").exists());
    client.open(file, 0).unwrap();
    assert!(client.ask(RENAME, ROOT, &longs(&[a], b"b\0d\0")).is_err(), "a directory does not go into itself");
    assert!(client.ask(RMDIR, b, b"c\0").is_err(), "it is not empty");
    client.ask(UNLINK, a, b"f\0").unwrap();
    client.ask(RMDIR, b, b"c\0").unwrap();
    client.ask(RMDIR, ROOT, b"b\0").unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn attributes_are_set_and_owners_are_not() {
    let (directory, mut client) = world();
    let (file, _) = client.create(ROOT, "f", 0o644).unwrap();
    let answer = client.ask(SETATTR, file, &set(1 | 8 | 32, 3, 0o4711, [0, 0])).unwrap();
    assert_eq!(answer.len(), 104);
    let about = fs::metadata(directory.path().join("f")).unwrap();
    assert_eq!((about.len(), about.permissions().mode() & 0o7777), (3, 0o711));
    let attributes = client.attributes(file).unwrap();
    assert_eq!((long(&attributes, 32), word(&attributes, 52)), (6, 7), "seconds and nanoseconds");
    client.ask(SETATTR, file, &set(2 | 4, 0, 0, [0, 0])).unwrap();
    assert_eq!(client.ask(SETATTR, file, &set(2, 0, 0, [1, 0])), Err(EPERM));
    assert_eq!(client.ask(SETATTR, file, &set(4, 0, 0, [0, 1])), Err(EPERM));
}

#[test]
fn what_is_forgotten_takes_no_room() {
    let (_directory, mut client) = world();
    client.create(ROOT, "f", 0o644).unwrap();
    let file = client.walk("f").unwrap();
    assert_eq!(client.0.held(), (1, 1));
    let forget = message(FORGET, file, &longs(&[2], &[]));
    assert_eq!(client.0.answer(&forget, 0).unwrap(), b"");
    assert_eq!(client.0.held().0, 0);
    let several = message(42, 0, &[words(&[u32::MAX, 0], &[]), longs(&[file, 1], &[])].concat());
    assert_eq!(client.0.answer(&several, 0).unwrap(), b"", "with a count that is not true");
}
