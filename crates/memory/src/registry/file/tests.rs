use super::super::{Reservation, Scope, SectionName};
use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};

fn name(text: &str) -> SectionName {
    SectionName::new(text, Scope::System).unwrap()
}

fn add(file: &RegistryFile, text: &str) -> Result<(), RegistryError> {
    file.change(|registry| registry.add(Reservation::new(name(text), 4096).unwrap()))
}

fn names(file: &RegistryFile) -> Vec<String> {
    file.read().unwrap().iter().map(|entry| entry.name.to_string()).collect()
}

#[test]
fn a_registry_begins_empty_and_keeps_what_is_added() {
    let directory = tempfile::tempdir().unwrap();
    let file = RegistryFile::new(directory.path().join("deep/er/registry.toml"));
    assert!(file.read().unwrap().is_empty());
    add(&file, "a").unwrap();
    add(&file, "b").unwrap();
    assert_eq!(names(&file), ["a", "b"]);
    assert!(matches!(add(&file, "a"), Err(RegistryError::Edit(EditError::Exists(_)))));
    assert_eq!(names(&file), ["a", "b"]);
}

#[test]
fn many_writers_at_once_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let file = RegistryFile::new(directory.path().join("registry.toml"));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let file = &file;
            scope.spawn(move || (0..8).for_each(|index| add(file, &format!("n{thread}-{index}")).unwrap()));
        }
        // A reader never sees half a file.
        for _ in 0..200 {
            file.read().unwrap();
        }
    });
    assert_eq!(names(&file).len(), 64);
}

#[test]
fn a_damaged_file_is_refused_and_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("registry.toml");
    let file = RegistryFile::new(&path);
    for (content, said) in [
        (&b"version = 1\nname = 3\n"[..], "line 2, key `name`"),
        (b"version = 1\n\n\xff\xfe", "line 3"),
        (b"", "line 1, key `version`"),
    ] {
        fs::write(&path, content).unwrap();
        for error in [file.read().unwrap_err(), add(&file, "a").unwrap_err()] {
            let text = error.to_string();
            assert!(text.contains("registry.toml") && text.contains(said), "{text}");
        }
        assert_eq!(fs::read(&path).unwrap(), content);
    }
}

#[test]
fn what_a_killed_command_left_blocks_no_other() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("registry.toml");
    let file = RegistryFile::new(&path);
    add(&file, "a").unwrap();
    let elsewhere = directory.path().join("elsewhere");
    fs::write(&elsewhere, "mine").unwrap();
    symlink(&elsewhere, beside(&path, ".new")).unwrap();
    add(&file, "b").unwrap();
    assert_eq!(names(&file), ["a", "b"]);
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "mine");
    assert!(!path.is_symlink());
}

#[test]
fn a_link_to_the_file_stays_one_and_so_do_its_permissions() {
    let directory = tempfile::tempdir().unwrap();
    let (real, link) = (directory.path().join("real.toml"), directory.path().join("link.toml"));
    add(&RegistryFile::new(&real), "a").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&real, &link).unwrap();
    add(&RegistryFile::new(&link), "b").unwrap();
    assert!(link.is_symlink());
    assert_eq!(names(&RegistryFile::new(&real)), ["a", "b"]);
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn a_file_that_cannot_be_written_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("registry.toml");
    fs::create_dir(&path).unwrap();
    assert!(add(&RegistryFile::new(&path), "a").unwrap_err().to_string().contains("registry.toml"));
    let below_a_file = directory.path().join("file");
    fs::write(&below_a_file, "").unwrap();
    let error = add(&RegistryFile::new(below_a_file.join("registry.toml")), "a").unwrap_err();
    assert!(matches!(error, RegistryError::Io { .. }), "{error}");
}
