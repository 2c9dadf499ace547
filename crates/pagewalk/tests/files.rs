//! Files between Debian Linux and the host: shared directories, and copies out at the end.

mod common;

use common::{Scratch, linux, run};
use std::fs;
use std::os::unix::fs::symlink;

/// A directory `data` with a file, a directory and a link to a file outside.
fn shared() -> (Scratch, String) {
    let scratch = Scratch::new();
    fs::create_dir_all(scratch.path("data/sub")).unwrap();
    fs::write(scratch.path("data/hello"), "from the host\n").unwrap();
    fs::write(scratch.path("data/sub/inner"), "inner\n").unwrap();
    fs::write(scratch.path("secret"), "secret\n").unwrap();
    symlink("../secret", scratch.path("data/relative")).unwrap();
    symlink(scratch.path("secret"), scratch.path("data/absolute")).unwrap();
    let data = scratch.text("data");
    (scratch, data)
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn the_guest_reads_a_directory_and_nothing_beside_it() {
    let (scratch, data) = shared();
    let big: Vec<u8> = (0..3 << 20).map(|index: u32| (index ^ index >> 9) as u8).collect();
    fs::write(scratch.path("data/big"), &big).unwrap();
    let command = "cat /mnt/data/hello /mnt/data/sub/inner; ls -1 /mnt/data; wc -c < /mnt/data/big; \
                   cat /mnt/data/relative /mnt/data/absolute 2> /dev/null || echo not here; \
                   cat /mnt/data/../secret /mnt/secret 2> /dev/null || echo nor here; \
                   echo x 2> /dev/null > /mnt/data/hello || echo read-only; \
                   mount -o remount,rw /mnt/data; echo x 2> /dev/null > /mnt/data/new || echo still read-only; \
                   rm /mnt/data/hello 2> /dev/null || echo kept; stat -c '%i %Y %a' /mnt/data/sub";
    let end = linux(command, &["--share", &data]).succeeded();
    let (told, inode) = end.stdout.rsplit_once("kept\n").unwrap_or_else(|| panic!("{end:#?}"));
    let expected = "from the host\ninner\nabsolute\nbig\nhello\nrelative\nsub\n3145728\nnot here\nnor here\nread-only\n\
                    still read-only\n";
    assert_eq!(told, expected);
    assert!(inode.ends_with(" 0 555\n"), "{inode}");
    assert_eq!(fs::read_to_string(scratch.path("data/hello")).unwrap(), "from the host\n");
    // Equal files are an equal guest, wherever they are.
    let (_other, elsewhere) = shared();
    fs::write(format!("{elsewhere}/big"), &big).unwrap();
    assert_eq!(linux(command, &["--share", &elsewhere]).succeeded().stdout, end.stdout);
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn the_guest_writes_a_directory_where_it_may() {
    let (scratch, data) = shared();
    let share = format!("{data}:work,write");
    let command = "cd /mnt/work; mkdir -p made/deep; seq 100000 > made/deep/numbers; mv hello renamed; rm sub/inner; rmdir sub; \
                   echo more >> renamed; chmod 700 made/deep/numbers; ln -s renamed link; cat link; \
                   ln -s ../secret out 2> /dev/null || echo no link; ln -s /etc/passwd out 2> /dev/null || echo no link; \
                   mkfifo pipe 2> /dev/null || echo no pipe; mknod node c 1 3 2> /dev/null || echo no device; \
                   touch -- 'a b' $'tab\\there' -n; \
                   touch unlinked; exec 3> unlinked; rm unlinked; echo gone >&3 && echo written";
    let end = linux(command, &["--share", &share]).succeeded();
    let told = "from the host\nmore\nno link\nno link\nno pipe\nno device\n";
    assert!(end.stdout.starts_with(told) && end.stdout.ends_with("written\n"), "{end:#?}");
    let numbers: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    assert_eq!(fs::read_to_string(scratch.path("data/made/deep/numbers")).unwrap(), numbers);
    assert_eq!(fs::read_to_string(scratch.path("data/link")).unwrap(), "from the host\nmore\n");
    let mut names: Vec<_> =
        fs::read_dir(scratch.path("data")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["-n", "a b", "absolute", "link", "made", "relative", "renamed", "tab\there"]);
    assert_eq!(fs::read_to_string(scratch.path("secret")).unwrap(), "secret\n");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn files_are_copied_out_when_the_command_has_ended() {
    let scratch = Scratch::new();
    fs::write(scratch.path("old"), "old").unwrap();
    fs::create_dir(scratch.path("into")).unwrap();
    let copy = |guest: &str, host: &str| format!("{guest}:{}", scratch.text(host));
    let copies = [copy("/tmp/numbers", "old"), copy("/tmp/it's a tree", "tree"), copy("/tmp/numbers", "into")];
    let command = "cd /tmp; seq 100000 > numbers; mkdir -p \"it's a tree/sub\"; cp /bin/busybox \"it's a tree/sub\"; \
                   ln -s /tmp/numbers \"it's a tree/link\"; exit 3";
    let arguments: Vec<&str> = copies.iter().flat_map(|copy| ["--copy-out", copy]).collect();
    let end = linux(command, &arguments);
    assert!(end.code == Some(3) && end.stderr.is_empty() && end.stdout.is_empty(), "the command's own end: {end:#?}");
    let numbers: String = (1..=100_000).map(|number| format!("{number}\n")).collect();
    for name in ["old", "into/numbers", "tree/link"] {
        assert!(fs::read_to_string(scratch.path(name)).unwrap() == numbers, "{name}");
    }
    assert!(!scratch.path("tree/link").is_symlink());
    assert!(fs::read(scratch.path("tree/sub/busybox")).unwrap().starts_with(b"\x7fELF"));
    assert_eq!(scratch.names(), ["into", "old", "tree"]);
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_copy_that_cannot_be_made_leaves_what_was_there() {
    let scratch = Scratch::new();
    fs::write(scratch.path("old"), "old").unwrap();
    let missing = format!("/no/such:{}", scratch.text("old"));
    linux("true", &["--copy-out", &missing]).failed(1, &["--copy-out: /no/such: the guest could not copy it"]);
    // The machine stops before /init comes to it.
    let early = format!("/etc/passwd:{}", scratch.text("old"));
    let end = linux("pagewalk-workloads exit 0", &["--copy-out", &early]);
    end.failed(1, &["--copy-out: /etc/passwd: the machine stopped before"]);
    assert_eq!(fs::read(scratch.path("old")).unwrap(), b"old");
    assert_eq!(scratch.names(), ["old"]);
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn guests_of_a_comparison_and_of_a_run_share_directories() {
    let (scratch, data) = shared();
    let compared = ["compare", "--guest", "linux", "--share", &data, "--run", "cat /mnt/data/hello"];
    let end = run([&compared[..], &["--scheme", "native,nested", "--memory", "256M"]].concat()).succeeded();
    assert!(end.stdout.starts_with("from the host\n"), "{end:#?}");
    let file = format!(
        "processors = 1\n[[guest]]\nname = \"a\"\nguest = \"linux\"\nmemory = \"256M\"\nshares = [\"{data}:d,write\"]\n\
         run = \"cat /mnt/d/hello > /mnt/d/copy\"\n"
    );
    run(["run", &scratch.write("host.toml", file)]).succeeded();
    assert_eq!(fs::read_to_string(scratch.path("data/copy")).unwrap(), "from the host\n");
}

#[test]
#[ignore = "needs the fetched Linux guest: cargo xtask test"]
fn a_snapshot_holds_no_shared_directory() {
    let (scratch, data) = shared();
    let snapshot = scratch.text("guest.snap");
    let end = linux("true", &["--share", &data, "--snapshot", &snapshot]);
    end.failed(2, &["--snapshot", "a shared directory"]);
    assert!(!scratch.path("guest.snap").exists());
}

#[test]
fn what_cannot_be_shared_is_refused() {
    let scratch = Scratch::new();
    let directory = scratch.text(".");
    let named = |options: &str| format!("{directory}:d{options}");
    run(["boot", "--share", &named("")]).failed(2, &["--share", "vos has no files"]);
    run(["boot", "--share", "a:b c"]).failed(2, &["`b c` cannot be the name of a directory in /mnt"]);
    run(["boot", "--guest", "linux", "--share", "/no/such:d"]).failed(2, &["--share: /no/such"]);
    run(["boot", "--guest", "linux", "--share", "/"]).failed(2, &["--share: /", "/:NAME"]);
    run(["boot", "--copy-out", "/a:b"]).failed(2, &["--copy-out is for --guest linux"]);
    run(["boot", "--guest", "linux", "--copy-out", "/a"]).failed(2, &["`/a` is not GUEST:HOST"]);
    run(["boot", "--guest", "linux", "--copy-out", "/a:/no/such/b"]).failed(2, &["--copy-out: /no/such/b"]);
    // A kernel of the user's has the devices, and no /init of ours.
    let kernel = scratch.write("kernel", "no kernel");
    run(["compare", "--guest", &kernel, "--share", &named(",write")]).failed(2, &["only `boot` takes `,write`"]);
    let keep = scratch.text("kept");
    run(["compare", "--guest", &kernel, "--share", &named(""), "--keep", &keep]).failed(2, &["--keep"]);
    assert_eq!(scratch.names(), ["kernel"]);
}
