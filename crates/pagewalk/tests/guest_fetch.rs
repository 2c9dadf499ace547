//! `pagewalk guest fetch` end to end, with an archive of three packages and stand-ins for apt-get and dpkg-deb, so that it can
//! fail when and how a test wants.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

/// `apt-get -c CONF … COMMAND … [-- PACKAGE…]`. It logs each call; a file `broken-COMMAND` makes that command fail, `slow` makes
/// downloads take a while. The archive has the suites trixie and sid, and kernels 7 in sid alone. Packages depend on nothing.
const APT_GET: &str = r#"#!/bin/sh
pool=${0%/*}/../pool
state=${0%/*}/..
conf= ; command=
while [ $# -gt 0 ]; do
    case $1 in
    -c) conf=$2; shift ;;
    --print-uris) command=resolve ;;
    --download-only) command=download ;;
    update | indextargets) command=$1 ;;
    --) shift; break ;;
    esac
    shift
done
echo "$command $*" >>"$state/log"
if [ -e "$state/broken-$command" ]; then echo "E: $command is broken" >&2; exit 100; fi
case $command in
indextargets) echo http://archive.example/debian ;;
update) grep -Eq '^deb .*arch=riscv64.* http://archive.example/debian (trixie|sid) main$' "${conf%/*}/sources.list" || exit 100 ;;
esac
for package; do
    file=$(cd "$pool" && ls "$package"_*.deb 2>/dev/null)
    case $package in linux-image-7*) grep -q ' sid main$' "${conf%/*}/sources.list" || file= ;; esac
    if [ -z "$file" ]; then echo "E: Unable to locate package $package" >&2; exit 100; fi
    case $command in
    resolve) echo "'http://archive.example/$file' $file $(stat -c %s "$pool/$file") MD5Sum:0" ;;
    download) [ ! -e "$state/slow" ] || sleep 1; cp "$pool/$file" "${conf%/*}/archives/" ;;
    esac
done
"#;

/// `dpkg-deb -x ARCHIVE DIRECTORY`, for archives that are tar files.
const DPKG_DEB: &str = "#!/bin/sh\nexec tar -xf \"$2\" -C \"$3\"\n";

const BUSYBOX: &[u8] = b"[\0[[\0insmod\0mount\0poweroff\0setsid\0sh\0\0";

struct Archive {
    directory: tempfile::TempDir,
}

impl Archive {
    fn new() -> Self {
        let archive = Self { directory: tempfile::tempdir().unwrap() };
        for directory in ["bin", "pool"] {
            fs::create_dir(archive.path(directory)).unwrap();
        }
        for (name, script) in [("apt-get", APT_GET), ("dpkg-deb", DPKG_DEB)] {
            let path = archive.path("bin").join(name);
            fs::write(&path, script).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        archive.publish("linux-image-riscv64", "6.1", "boot/vmlinux-6.1-riscv64", b"kernel");
        archive.publish("busybox-static", "1%3a1.37", "usr/bin/busybox", BUSYBOX);
        archive.publish("stress-ng", "0.1", "usr/bin/stress-ng", b"program");
        archive
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn publish(&self, package: &str, version: &str, path: &str, content: &[u8]) {
        let tree = self.path("tree");
        let file = tree.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
        let pool = self.path("pool");
        for old in fs::read_dir(&pool).unwrap().map(|entry| entry.unwrap().path()) {
            if old.file_name().unwrap().to_str().unwrap().starts_with(&format!("{package}_")) {
                fs::remove_file(old).unwrap();
            }
        }
        let archive = pool.join(format!("{package}_{version}_riscv64.deb"));
        let status = Command::new("tar").arg("-cf").arg(archive).arg("-C").arg(&tree).arg(".").status();
        assert!(status.unwrap().success());
        fs::remove_dir_all(tree).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pagewalk"));
        let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
        command.args(["guest", "fetch"]).args(arguments).env("PATH", path).env("PAGEWALK_CACHE", self.path("cache"));
        // Without a terminal it would print its progress where `failed` looks for one line.
        command.env("PAGEWALK_QUIET", "1");
        command
    }

    fn fetch(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The calls of apt-get since the last time.
    fn calls(&self) -> Vec<String> {
        let log = self.path("log");
        let text = fs::read_to_string(&log).unwrap_or_default();
        let _ = fs::remove_file(log);
        text.lines().map(|line| line.trim().to_owned()).collect()
    }

    fn packages(&self) -> Vec<String> {
        let directory = fs::read_dir(self.path("cache/linux/packages")).unwrap();
        let mut names: Vec<_> = directory.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| !name.ends_with(".json"));
        names.sort();
        names
    }

    fn installed(&self, path: &str) -> PathBuf {
        self.path("cache/linux/packages").join(path)
    }
}

const BASE: &[&str] = &["--only", "base"];
const KERNEL: &str = "linux-image-riscv64_6.1/boot/vmlinux-6.1-riscv64";

#[track_caller]
fn said(output: &Output, expected: &str) {
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains(expected), "{output:?}");
}

/// Failed with `code` and one line that contains `expected`.
#[track_caller]
fn failed(output: &Output, code: i32, expected: &str) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{output:?}");
    assert!(text.starts_with("pagewalk: ") && text.lines().count() == 1 && text.contains(expected), "{output:?}");
}

fn touch(path: &Path) {
    fs::write(path, "").unwrap();
}

#[test]
fn a_fetch_brings_what_is_missing_and_nothing_twice() {
    let archive = Archive::new();
    said(&archive.fetch(BASE), "Linux 6.1-riscv64 fetched");
    assert_eq!(archive.packages(), ["busybox-static_1%3a1.37", "linux-image-riscv64_6.1"]);
    assert_eq!(fs::read(archive.installed(KERNEL)).unwrap(), b"kernel");
    archive.calls();
    said(&archive.fetch(BASE), "already there");
    assert_eq!(archive.calls(), [""; 0], "the network is left alone");
    said(&archive.fetch(&["--only", "stress-ng"]), "base, stress-ng");
    assert_eq!(archive.calls(), ["indextargets", "update", "resolve stress-ng", "download stress-ng"]);
    assert!(!archive.path("cache/linux/apt").exists() && !archive.path("cache/linux/work").exists());
}

#[test]
fn a_renewal_replaces_versions() {
    let archive = Archive::new();
    said(&archive.fetch(BASE), "6.1-riscv64 fetched");
    archive.publish("linux-image-riscv64", "6.2", "boot/vmlinux-6.2-riscv64", b"newer");
    said(&archive.fetch(BASE), "6.1-riscv64 already there");
    said(&archive.fetch(&["--only", "base", "--renew"]), "6.2-riscv64 fetched");
    assert_eq!(archive.packages(), ["busybox-static_1%3a1.37", "linux-image-riscv64_6.2"]);
}

#[test]
fn a_further_kernel_comes_from_the_suite_that_has_it() {
    const RELEASE: &str = "7.2-riscv64";
    let archive = Archive::new();
    archive.publish("linux-image-7.2-riscv64", "7.2-1", "usr/lib/modules/7.2-riscv64/vmlinuz", b"kernel 7.2");
    // The index of trixie-backports does not come: the next suite is tried all the same.
    said(&archive.fetch(&["--only", "base", "--kernel", RELEASE]), "linux-image-7.2-riscv64");
    let kernel = archive.installed("linux-image-7.2-riscv64_7.2-1/boot/vmlinux-7.2-riscv64");
    assert_eq!(fs::read(&kernel).unwrap(), b"kernel 7.2", "where kernels of earlier packages are");
    assert_eq!(fs::read(archive.installed(KERNEL)).unwrap(), b"kernel", "the default kernel stays");
    archive.calls();
    said(&archive.fetch(&["--only", "base", "--kernel", RELEASE]), "already there");
    assert!(archive.calls().is_empty(), "nothing is brought twice");
    // A renewal leaves it alone, and so does damage of other packages.
    said(&archive.fetch(&["--only", "base", "--renew"]), "fetched");
    assert!(kernel.exists() && !archive.calls().iter().any(|call| call.contains(RELEASE)));
    // A damaged one goes, because its suite may not have it any more.
    fs::write(&kernel, b"damaged").unwrap();
    said(&archive.fetch(BASE), "fetched");
    assert!(!kernel.exists());
    failed(
        &archive.fetch(&["--only", "base", "--kernel", "7.9-riscv64", "--suite", "sid"]),
        2,
        "no kernel 7.9-riscv64 in Debian sid",
    );
}

#[test]
fn damage_is_mended() {
    let archive = Archive::new();
    said(&archive.fetch(BASE), "fetched");
    for damage in [|path: &Path| fs::write(path, "kernal").unwrap(), |path: &Path| fs::remove_file(path).unwrap()] {
        damage(&archive.installed(KERNEL));
        said(&archive.fetch(BASE), "fetched");
        assert_eq!(fs::read(archive.installed(KERNEL)).unwrap(), b"kernel");
    }
    fs::write(archive.path("cache/linux/manifest.json"), "{\"format\":").unwrap();
    archive.calls();
    said(&archive.fetch(BASE), "fetched");
    assert_eq!(archive.calls(), ["indextargets", "update", "resolve linux-image-riscv64 busybox-static"]);
}

#[test]
fn what_no_guest_uses_is_left_out() {
    let archive = Archive::new();
    for (version, path) in
        [("1", "usr/lib/gcc/14/libasan.a"), ("2", "usr/share/doc/x"), ("3", "usr/lib/gcc/14/libgcc.a")]
    {
        archive.publish("gcc", version, path, b"content");
        archive.publish("libc6-dev", version, "usr/include/stdio.h", b"");
        said(&archive.fetch(&["--only", "gcc", "--renew"]), "gcc");
        let kept = archive.installed(&format!("gcc_{version}")).join(path).exists();
        assert_eq!(kept, path.ends_with("libgcc.a"), "{path}");
    }
}

#[test]
fn a_failure_is_one_line_and_leaves_the_earlier_guest() {
    let archive = Archive::new();
    said(&archive.fetch(BASE), "fetched");
    for step in ["indextargets", "update", "resolve", "download"] {
        let broken = archive.path(&format!("broken-{step}"));
        touch(&broken);
        failed(&archive.fetch(&["--only", "stress-ng"]), 1, &format!("{step} is broken"));
        fs::remove_file(broken).unwrap();
        said(&archive.fetch(BASE), "already there");
    }
    failed(&archive.fetch(&["--only", "no-such-package"]), 2, "no-such-package");
    said(&archive.fetch(&["--only", "stress-ng"]), "fetched");
}

#[test]
fn a_fetch_that_was_cut_short_is_taken_up() {
    let archive = Archive::new();
    touch(&archive.path("slow"));
    let mut first = archive.command(BASE).spawn().unwrap();
    while !archive.path("cache/linux/apt/archives/linux-image-riscv64_6.1_riscv64.deb").exists() {
        assert!(first.try_wait().unwrap().is_none(), "it ended before it was cut short");
        std::thread::sleep(Duration::from_millis(20));
    }
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(!archive.path("cache/linux/manifest.json").exists());
    said(&archive.fetch(BASE), "fetched");
}

#[test]
fn two_fetches_at_once_do_not_disturb_each_other() {
    let archive = Archive::new();
    touch(&archive.path("slow"));
    let (first, second) = (archive.command(BASE).spawn().unwrap(), archive.fetch(BASE));
    assert!(first.wait_with_output().unwrap().status.success());
    assert!(second.status.success(), "{second:?}");
    assert_eq!(archive.calls().iter().filter(|call| call.starts_with("download")).count(), 1);
}

#[test]
fn without_apt_a_fetch_says_so() {
    let archive = Archive::new();
    fs::remove_file(archive.path("bin/apt-get")).unwrap();
    let output = archive.command(BASE).env("PATH", archive.path("bin")).output().unwrap();
    failed(&output, 1, "`apt-get` is not installed");
}
