use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;

fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    write_file(path, &json(value)?)
}

#[test]
fn an_output_replaces_the_earlier_one_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.json");
    write_json(&path, &[1, 2]).unwrap();
    write_json(&path, &[3]).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "[\n  3\n]\n");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn a_failure_leaves_the_earlier_output() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    fs::create_dir(&path).unwrap();
    assert!(write_file(&path, b"x").is_err());
    assert!(write_file(&directory.path().join("no/such"), b"x").is_err());
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn others_may_read_an_output_as_the_umask_says() {
    let directory = tempfile::tempdir().unwrap();
    let ordinary = directory.path().join("ordinary");
    fs::write(&ordinary, b"x").unwrap();
    let path = directory.path().join("out");
    write_file(&path, b"x").unwrap();
    let mode = |path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&path), mode(&ordinary));
}

#[test]
fn an_output_keeps_the_permissions_of_the_one_it_replaces() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out");
    fs::write(&path, b"x").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    write_file(&path, b"y").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn controls_that_json_allows_are_escaped() {
    let text = String::from_utf8(json(&"a\u{9b}31m\x7f\x1b").unwrap()).unwrap();
    assert_eq!(text, "\"a\\u009b31m\\u007f\\u001b\"\n");
    assert_eq!(serde_json::from_str::<String>(&text).unwrap(), "a\u{9b}31m\x7f\x1b");
}
