//! A directory that a guest reads: what it sees, and that it cannot change a byte.

mod common;

use common::{
    CREATE, Client, EBADF, EINVAL, EMFILE, ENOENT, ENOSYS, EROFS, INIT, LINK, MKDIR, MKNOD, READLINK, RENAME, RMDIR,
    ROOT, SETATTR, STATFS, SYMLINK, UNLINK, long, longs, message, word, words,
};
use files::{Access, MOST_OPEN, Root, Server};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use tempfile::TempDir;

/// A directory with a file, a program, a link and a directory.
fn tree() -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("sub")).unwrap();
    fs::write(at("file"), "content").unwrap();
    fs::write(at("sub/b"), "").unwrap();
    fs::write(at("sub/a"), "").unwrap();
    fs::write(at("program"), "#!").unwrap();
    fs::set_permissions(at("program"), Permissions::from_mode(0o700)).unwrap();
    symlink("../outside", at("link")).unwrap();
    directory
}

#[test]
fn files_are_read() {
    let tree = tree();
    let mut client = Client::new(tree.path(), Access::Read);
    let file = client.walk("file").unwrap();
    let handle = client.open(file, 0).unwrap();
    assert_eq!(client.read(handle, 0, 100).unwrap(), b"content");
    assert_eq!(client.read(handle, 3, 2).unwrap(), b"te");
    assert_eq!(client.read(handle, 1000, 2).unwrap(), b"");
    assert_eq!(client.read(handle + 1, 0, 1), Err(EBADF));
    assert_eq!(client.walk("none"), Err(ENOENT));
}

#[test]
fn an_answer_goes_into_the_room_that_there_is() {
    let tree = tree();
    let mut client = Client::new(tree.path(), Access::Read);
    let file = client.walk("file").unwrap();
    let handle = client.open(file, 0).unwrap();
    let body = [longs(&[handle, 0], &[]), words(&[1000, 0, 0, 0, 0, 0], &[])].concat();
    assert_eq!(client.0.answer(&message(15, 0, &body), 16 + 4).unwrap()[16..], *b"cont");
    assert!(client.0.answer(&message(15, 0, &body), 15).is_err());
    let attributes = client.0.answer(&message(3, file, &[0; 16]), 20).unwrap();
    assert_eq!((attributes.len(), word(&attributes, 4) as i32), (16, -EINVAL));
}

#[test]
fn a_listing_is_sorted_in_pieces_of_any_size() {
    let tree = tree();
    let mut client = Client::new(tree.path(), Access::Read);
    let names = |list: &[(String, u64)]| list.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let whole = client.list(ROOT, 4096).unwrap();
    assert_eq!(names(&whole), [".", "..", "file", "link", "program", "sub"]);
    assert_eq!(client.list(ROOT, 40).unwrap(), whole);
    let sub = client.walk("sub").unwrap();
    assert_eq!(names(&client.list(sub, 4096).unwrap()), [".", "..", "a", "b"]);
    let file = client.walk("file").unwrap();
    assert_eq!(client.list(file, 4096), Err(common::ENOTDIR));
}

/// Two directories with the same files: another order of making them, another time, another owner's bits.
#[test]
fn equal_directories_look_equal() {
    let see = |directory: &Path| {
        let mut client = Client::new(directory, Access::Read);
        let mut seen = Vec::new();
        for path in ["sub/a", "program", "file", "sub", "link"] {
            let node = client.walk(path).unwrap();
            seen.push((path, client.attributes(node).unwrap()));
        }
        (seen, client.list(ROOT, 4096).unwrap())
    };
    let (first, second) = (tree(), tree());
    fs::remove_file(second.path().join("sub/a")).unwrap();
    fs::write(second.path().join("sub/a"), "").unwrap();
    fs::set_permissions(second.path().join("file"), Permissions::from_mode(0o600)).unwrap();
    let file = fs::File::open(second.path().join("file")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(see(first.path()), see(second.path()));
}

#[test]
fn attributes_say_what_a_reader_may_do() {
    let tree = tree();
    let mut client = Client::new(tree.path(), Access::Read);
    let mut mode = |path: &str| {
        let node = client.walk(path).unwrap();
        let attributes = client.attributes(node).unwrap();
        assert_eq!(attributes.len(), 88);
        (word(&attributes, 60), long(&attributes, 8))
    };
    assert_eq!(mode("file"), (0o100_444, 7));
    assert_eq!(mode("program"), (0o100_555, 2));
    assert_eq!(mode("sub"), (0o040_555, 4096));
    assert_eq!(mode("link").0, 0o120_777);
    let listed = client.list(ROOT, 4096).unwrap();
    let file = client.walk("file").unwrap();
    assert_eq!(long(&client.attributes(file).unwrap(), 0), listed.iter().find(|(name, _)| name == "file").unwrap().1);
}

#[test]
fn nothing_is_changed() {
    let tree = tree();
    let mut client = Client::new(tree.path(), Access::Read);
    let file = client.walk("file").unwrap();
    for flags in [1, 2, 0o1000] {
        assert_eq!(client.open(file, flags), Err(EROFS), "{flags:o}");
    }
    let handle = client.open(file, 0).unwrap();
    assert_eq!(client.write(handle, 0, b"x"), Err(EROFS));
    assert_eq!(client.create(ROOT, "new", 0o644), Err(EROFS));
    for (opcode, body) in [
        (SETATTR, vec![0; 88]),
        (MKDIR, words(&[0o755, 0], b"new\0")),
        (MKNOD, words(&[0o100_644, 0, 0, 0], b"new\0")),
        (SYMLINK, b"new\0file\0".to_vec()),
        (UNLINK, b"file\0".to_vec()),
        (RMDIR, b"sub\0".to_vec()),
        (RENAME, longs(&[ROOT], b"file\0new\0")),
        (CREATE, words(&[0, 0o644, 0, 0], b"file\0")),
    ] {
        assert_eq!(client.ask(opcode, ROOT, &body), Err(EROFS), "{opcode}");
    }
    assert_eq!(client.ask(LINK, ROOT, &longs(&[file], b"new\0")), Err(ENOSYS));
    assert_eq!(client.list(ROOT, 4096).unwrap().len(), 6);
    assert_eq!(fs::read(tree.path().join("file")).unwrap(), b"content");
}

#[test]
fn links_are_text() {
    let tree = tree();
    let mut client = Client::new(tree.path(), Access::Read);
    let link = client.walk("link").unwrap();
    assert_eq!(client.ask(READLINK, link, &[]).unwrap(), b"../outside");
    assert_eq!(client.ask(STATFS, ROOT, &[]).unwrap().len(), 80);
}

#[test]
fn a_guest_opens_no_more_than_it_may() {
    let tree = tree();
    let mut client = Client::new(tree.path(), Access::Read);
    let file = client.walk("file").unwrap();
    let first = client.open(file, 0).unwrap();
    for _ in 1..MOST_OPEN {
        client.open(file, 0).unwrap();
    }
    assert_eq!(client.open(file, 0), Err(EMFILE));
    assert_eq!(client.ask(common::OPENDIR, ROOT, &[0; 8]), Err(EMFILE));
    client.ask(common::RELEASE, file, &longs(&[first, 0, 0], &[])).unwrap();
    client.open(file, 0).unwrap();
    // A driver that starts again has nothing open.
    client.ask(INIT, 0, &words(&[7, 31, 0, 0], &[])).unwrap();
    assert_eq!(client.0.held(), (0, 0));
}

#[test]
fn a_guest_that_begins_otherwise_gets_nothing() {
    let tree = tree();
    let mut client = Client(Server::new(Root::open(tree.path(), Access::Read).unwrap()));
    assert!(client.look_up(ROOT, "file").is_err(), "before FUSE_INIT");
    assert!(client.ask(INIT, 0, &words(&[7, 30, 0, 0], &[])).is_err(), "too old");
    assert!(client.look_up(ROOT, "file").is_err());
    let later = client.ask(INIT, 0, &words(&[8, 0, 0, 0], &[])).unwrap();
    assert_eq!(word(&later, 0), 7, "it is told which version there is");
    assert!(client.look_up(ROOT, "file").is_err());
    client.ask(INIT, 0, &words(&[7, 31, 0, 0], &[])).unwrap();
    client.look_up(ROOT, "file").unwrap();
}

#[test]
fn a_directory_that_is_not_there_is_named() {
    let error = Root::open(Path::new("/no/such"), Access::Read).unwrap_err().to_string();
    assert!(error.contains("/no/such"), "{error}");
    assert!(Root::open(Path::new("/dev/null"), Access::Read).is_err());
}
