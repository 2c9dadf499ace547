//! `pagewalk hosts`.

mod common;

use common::{command, ended};
use std::fs;

#[test]
fn hosts_are_listed_and_printed_with_their_sources() {
    let list = ended(&mut command(["hosts"])).succeeded().stdout;
    let names: Vec<&str> = list.lines().skip(1).take(7).filter_map(|line| line.split_whitespace().next()).collect();
    let shipped = [
        "sandybridge-2012",
        "xeon-2017",
        "sapphirerapids-2023",
        "p550-2024",
        "sunway-1621",
        "alpha-1997",
        "hitachi-1985",
    ];
    assert_eq!(names, shipped);
    let printed = ended(&mut command(["hosts", "sunway-1621"])).succeeded().stdout;
    let file = fs::read_to_string(format!("{}/../../hosts/sunway-1621.toml", env!("CARGO_MANIFEST_DIR"))).unwrap();
    assert_eq!(printed, file);
}

#[test]
fn what_is_printed_is_a_host_of_ones_own() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine.toml");
    let printed = ended(&mut command(["hosts", "xeon-2017"])).succeeded().stdout;
    fs::write(&file, printed.replace("name = \"xeon-2017\"", "name = \"mine\"")).unwrap();
    assert!(ended(&mut command(["hosts", file.to_str().unwrap()])).succeeded().stdout.contains("\"mine\""));
    fs::write(&file, "name = 1").unwrap();
    ended(&mut command(["hosts", file.to_str().unwrap()])).failed(2, &["mine.toml"]);
    ended(&mut command(["hosts", "xeon-2016"])).failed(2, &["xeon-2016", "xeon-2017"]);
}

#[test]
fn a_host_over_a_base_is_printed_in_full_and_runs() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("mine.toml");
    fs::write(&file, "base = 'xeon-2017'\nname = 'mine'\nprices.exit = 900\n").unwrap();
    let file = file.to_str().unwrap();
    let printed = ended(&mut command(["hosts", file])).succeeded().stdout;
    assert!(printed.contains("mine.toml; from guest to hypervisor\nexit = 900\n"), "{printed}");
    assert!(printed.contains("# xeon-2017; from hypervisor to guest\nentry = 500\n"), "{printed}");
    // The sandbox leaves both files readable.
    let other = directory.path().join("other.toml");
    fs::write(&other, "base = 'mine.toml'\nname = 'other'\n").unwrap();
    for file in [file, other.to_str().unwrap()] {
        let host = format!("host={file}");
        ended(&mut command(["boot", "--set", &host, "--append", "workload=hello"])).succeeded();
    }
}
