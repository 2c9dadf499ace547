//! The Debian guest: its image, its boot, the states that it goes on from, and what is measured in it. `cargo xtask test` runs these; `cargo xtask fetch` makes
//! the image.

mod common;

use common::{Ended, Scratch, number, run, runs};
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;

fn debian(command: &str, arguments: &[&str]) -> Ended {
    let mut end = run(["boot", "--guest", "debian", "--run", command].iter().chain(arguments));
    // The first run on a kind of machine says that it boots.
    end.stderr = end.stderr.lines().filter(|line| !line.contains("booting Debian once")).collect();
    end
}

/// The cache of the user, in which the image is.
fn cache() -> PathBuf {
    let chosen = std::env::var_os("PAGEWALK_CACHE").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/pagewalk");
    chosen.unwrap_or_else(home).join("debian")
}

#[test]
#[ignore = "needs the Debian image: cargo xtask fetch"]
fn systemd_comes_up_and_no_unit_has_failed() {
    let command =
        "systemctl is-system-running; systemctl --failed --no-legend; cat /proc/1/comm; findmnt -n -o FSTYPE /";
    let end = debian(command, &[]).succeeded();
    assert_eq!(end.stdout, "running\nsystemd\next4\n");
}

#[test]
#[ignore = "needs the Debian image: cargo xtask fetch"]
fn packages_are_configured_and_dpkg_finds_nothing_wrong() {
    let command = "dpkg --audit; dpkg-query -W -f '${db:Status-Abbrev}\\n' | sort -u; dpkg --verify; apt-cache policy apt | grep -c Installed";
    let end = debian(command, &[]).succeeded();
    assert_eq!(end.stdout, "ii \n1\n");
}

#[test]
#[ignore = "needs the Debian image: cargo xtask fetch"]
fn a_commands_status_and_bytes_are_passed_on_and_changes_are_gone() {
    let end = debian("printf 'a\\r\\nb'; echo there > /root/file; exit 7", &[]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(7), "a\r\nb"), "{end:#?}");
    let end = debian("cat /root/file", &[]);
    assert_eq!((end.code, end.stdout.as_str()), (Some(1), "cat: /root/file: No such file or directory\n"), "{end:#?}");
}

#[test]
#[ignore = "needs the Debian image: cargo xtask fetch"]
fn a_boot_from_the_first_instruction_does_the_same_as_a_state() {
    let scratch = Scratch::new();
    let own = scratch.write("own.sh", "echo own $1\n");
    let command = "sh /own.sh x; id -un; pwd; systemctl is-system-running";
    let file = ["--file", own.as_str()];
    let cold = debian(command, &[&file[..], &["--cold"]].concat()).succeeded();
    let warm = debian(command, &file).succeeded();
    assert_eq!(cold.stdout, "own x\nroot\n/\nrunning\n");
    assert_eq!(warm.stdout, cold.stdout);
}

#[test]
#[ignore = "needs the Debian image: cargo xtask fetch"]
fn a_comparison_goes_on_from_one_state_under_every_scheme() {
    let arguments =
        ["--guest", "debian", "--run", "gzip -c /usr/bin/perl | wc -c", "--scheme", "native,nested,shadow,flat"];
    let found = runs(&arguments);
    assert_eq!(found.len(), 4);
    for run in &found {
        assert_eq!(run["start"], "warm", "{run}");
        assert!(number(run, "/instructions") > 10_000_000, "{run}");
    }
    assert!(found[1]["overhead"].as_f64().unwrap() > 0.0, "{}", found[1]);
    assert_eq!(found, runs(&arguments), "equal runs are equal");
}

/// Each replaced the disk that the other had opened, and the sandbox then refused it: "Permission denied". No other test has this seed, so the state is made
/// here once for each build of the command.
#[test]
#[ignore = "needs the Debian image: cargo xtask fetch"]
fn first_runs_at_the_same_time_boot_once_and_share_the_state() {
    let first = || run(["boot", "--guest", "debian", "--run", "echo up", "--set", "seed=20261125"]);
    let ends: Vec<Ended> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..3).map(|_| scope.spawn(first)).collect();
        runs.into_iter().map(|run| run.join().expect("it succeeds")).collect()
    });
    assert!(ends.iter().all(|end| (end.code, end.stdout.as_str()) == (Some(0), "up\n")), "{ends:#?}");
    let boots = ends.iter().filter(|end| end.stderr.contains("booting Debian once")).count();
    assert!(boots <= 1, "{ends:#?}");
}

#[test]
#[ignore = "needs the Debian image: cargo xtask fetch"]
fn files_come_out_of_a_guest_that_boots() {
    let scratch = Scratch::new();
    let host = scratch.path("release");
    let copy = format!("/etc/debian_version:{}", host.display());
    debian("true", &["--copy-out", &copy]).succeeded();
    assert!(fs::read_to_string(&host).unwrap().starts_with("13"));
}

#[test]
#[ignore = "needs the Debian image: cargo xtask fetch"]
fn a_guest_that_goes_on_reaches_a_server_of_the_host() {
    use std::io::{Read, Write};
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut said = [0; 5];
        connection.read_exact(&mut said).unwrap();
        connection.write_all(b"and you\n").unwrap();
        said
    });
    let command = format!("exec 3<>/dev/tcp/10.0.2.2/{port}; echo here >&3; cat <&3; date +%Y");
    let end = debian(&format!("bash -c '{command}'"), &["--net"]).succeeded();
    assert_eq!(&server.join().unwrap(), b"here\n");
    let (answer, year) = end.stdout.split_once('\n').unwrap();
    assert_eq!(answer, "and you");
    assert!(year.trim().parse::<u32>().unwrap() >= 2026, "the date is the host's: {year}");
}

#[test]
#[ignore = "needs the Debian image: cargo xtask fetch"]
fn a_second_image_of_the_same_request_is_there_already() {
    let before = fs::read(cache().join("image.json")).unwrap();
    let end = run(["guest", "image", "debian"]).succeeded();
    assert!(end.stdout.contains("already there"), "{end:#?}");
    assert_eq!(fs::read(cache().join("image.json")).unwrap(), before);
}

#[test]
fn without_an_image_the_guest_says_how_to_make_one() {
    let scratch = Scratch::new();
    let empty = scratch.path("cache");
    let arguments = ["boot", "--guest", "debian", "--run", "true", "--cache", empty.to_str().unwrap()];
    run(arguments).failed(1, &["guest image debian"]);
    run(["boot", "--guest", "debian", "--programs", "gcc"]).failed(2, &["--programs", "--packages"]);
    run(["boot", "--cold"]).failed(2, &["--cold", "--guest debian"]);
    run(["guest", "image", "debian", "--size", "1M"]).failed(2, &["--size", "512M"]);
    run(["guest", "image", "fedora"]).failed(2, &["fedora", "debian"]);
}
