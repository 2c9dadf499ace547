//! Debian packages that tests need beside Rust.

use crate::failure::Failure;
use crate::process::{in_search_path, run};
use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// Something that tests use, how to see that it is there, and the package that brings it.
struct Need {
    /// A program of the search path, or a file by its whole path.
    thing: &'static str,
    /// Packages that bring it; the first that the system's archive has is taken.
    packages: &'static [&'static str],
}

const NEEDS: &[Need] = &[
    Need { thing: "pip3", packages: &["python3-pip"] },
    Need { thing: "riscv64-linux-gnu-gcc", packages: &["gcc-riscv64-linux-gnu"] },
    Need { thing: "riscv64-linux-gnu-g++", packages: &["g++-riscv64-linux-gnu"] },
    Need { thing: "/usr/riscv64-linux-gnu/lib/libc.a", packages: &["libc6-dev-riscv64-cross"] },
    Need { thing: "c++", packages: &["g++"] },
    Need { thing: "make", packages: &["make"] },
    Need { thing: "qemu-riscv64", packages: &["qemu-user"] },
    Need { thing: "qemu-system-riscv64", packages: &["qemu-system-riscv", "qemu-system-misc"] },
    Need { thing: "/usr/lib/riscv64-linux-gnu/opensbi/generic/fw_dynamic.bin", packages: &["opensbi"] },
    Need { thing: "/sbin/mkfs.ext4", packages: &["e2fsprogs"] },
    Need { thing: "/usr/bin/ssh", packages: &["openssh-client"] },
    Need { thing: "/usr/lib/u-boot/qemu-riscv64_smode/u-boot.bin", packages: &["u-boot-qemu"] },
    // Debugs guests over `boot --gdb`: the system's own GDB may know its own processor alone.
    Need { thing: "gdb-multiarch", packages: &["gdb-multiarch"] },
    // Traces programs on the host's own processor (tests/cross_validation.rs).
    Need { thing: "valgrind", packages: &["valgrind"] },
    Need { thing: "xz", packages: &["xz-utils"] },
    Need { thing: "chromium", packages: &["chromium", "chromium-browser"] },
];

/// Lists what is missing, and installs it if the user agrees. Without a terminal, as in CI, it is installed without a question.
pub(crate) fn install() -> Result<(), Failure> {
    let missing: Vec<&Need> = NEEDS.iter().filter(|need| !is_there(need.thing)).collect();
    if missing.is_empty() {
        println!("nothing is missing");
        return Ok(());
    }
    print!("{}", listed(&missing));
    if in_search_path("apt-get").is_none() {
        return Err("this system has no apt-get: install by hand what is listed above".to_owned());
    }
    let caller = Caller::ours();
    let packages = || missing.iter().map(|need| available(need)).collect::<Vec<_>>();
    let by_hand = by_hand(caller, &packages());
    println!("By hand: {by_hand}");
    if !agreed(caller)? {
        return Err(format!("nothing was installed; by hand: {by_hand}"));
    }
    run(apt_get(caller).args(["-qq", "update"]))?;
    // The archive may have other packages than before the update.
    run(apt_get(caller).args(["-qq", "-y", "--no-install-recommends", "install"]).args(packages()))?;
    match missing.iter().find(|need| !is_there(need.thing)) {
        Some(need) => Err(format!("{} is still missing", need.thing)),
        None => Ok(()),
    }
}

/// A line for each thing that is missing, with the packages that bring it.
fn listed(missing: &[&Need]) -> String {
    let line = |need: &&Need| format!("  {}: package {}\n", need.thing, need.packages.join(" or "));
    ["Missing:\n".to_owned()].into_iter().chain(missing.iter().map(line)).collect()
}

/// The command that installs `packages`.
fn by_hand(caller: Caller, packages: &[&str]) -> String {
    let sudo = match caller {
        Caller::Root => "",
        Caller::User => "sudo ",
    };
    format!("{sudo}apt-get install --no-install-recommends {}", packages.join(" "))
}

/// Whether to install: what the user answers. Without a terminal the answer is yes.
fn agreed(caller: Caller) -> Result<bool, Failure> {
    let input = std::io::stdin();
    if std::env::var_os("CI").is_some() || !input.is_terminal() {
        return Ok(true);
    }
    let how = match caller {
        Caller::Root => "as root",
        Caller::User => "with sudo",
    };
    print!("Install them now, {how}? [y/N] ");
    std::io::stdout().flush().map_err(|error| error.to_string())?;
    let mut answer = String::new();
    input.lock().read_line(&mut answer).map_err(|error| error.to_string())?;
    Ok(is_yes(&answer))
}

fn is_yes(answer: &str) -> bool {
    ["y", "yes"].contains(&answer.trim().to_lowercase().as_str())
}

fn is_there(thing: &str) -> bool {
    if thing.starts_with('/') { Path::new(thing).exists() } else { in_search_path(thing).is_some() }
}

/// The first of the packages that the archive has, or else the first.
fn available(need: &Need) -> &'static str {
    let known = |package: &&&str| {
        let mut query = Command::new("apt-cache");
        query.args(["--quiet=2", "show", package]).stdout(Stdio::null()).stderr(Stdio::null());
        query.status().is_ok_and(|status| status.success())
    };
    need.packages.iter().find(known).unwrap_or(&need.packages[0])
}

/// Who runs this.
#[derive(Clone, Copy)]
enum Caller {
    Root,
    User,
}

impl Caller {
    fn ours() -> Self {
        let identity = Command::new("id").arg("-u").output();
        if identity.is_ok_and(|output| output.stdout == b"0\n") { Self::Root } else { Self::User }
    }
}

/// `apt-get`, by way of sudo unless we are root.
fn apt_get(caller: Caller) -> Command {
    match caller {
        Caller::Root => Command::new("apt-get"),
        Caller::User => {
            let mut command = Command::new("sudo");
            command.arg("apt-get");
            command
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_listed_with_its_packages_before_root_is_asked_for() {
        let missing = [
            &Need { thing: "make", packages: &["make"] },
            &Need { thing: "chromium", packages: &["chromium", "chromium-browser"] },
        ];
        assert_eq!(
            listed(&missing),
            "Missing:\n  make: package make\n  chromium: package chromium or chromium-browser\n"
        );
        let packages = ["make", "chromium"];
        assert_eq!(by_hand(Caller::Root, &packages), "apt-get install --no-install-recommends make chromium");
        assert_eq!(by_hand(Caller::User, &packages), "sudo apt-get install --no-install-recommends make chromium");
    }

    #[test]
    fn only_a_clear_yes_installs() {
        assert!(is_yes("y\n") && is_yes("Yes\n"));
        assert!(!is_yes("\n") && !is_yes("n\n") && !is_yes(""));
    }
}
