//! Debian packages that tests need beside Rust.

use crate::Failure;
use crate::steps::run;
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
    Need { thing: "riscv64-linux-gnu-gcc", packages: &["gcc-riscv64-linux-gnu"] },
    Need { thing: "/usr/riscv64-linux-gnu/lib/libc.a", packages: &["libc6-dev-riscv64-cross"] },
    Need { thing: "make", packages: &["make"] },
    Need { thing: "qemu-riscv64", packages: &["qemu-user"] },
    Need { thing: "qemu-system-riscv64", packages: &["qemu-system-riscv", "qemu-system-misc"] },
    Need { thing: "/usr/lib/riscv64-linux-gnu/opensbi/generic/fw_dynamic.bin", packages: &["opensbi"] },
    Need { thing: "/sbin/mkfs.ext4", packages: &["e2fsprogs"] },
    Need { thing: "xz", packages: &["xz-utils"] },
    Need { thing: "chromium", packages: &["chromium", "chromium-browser"] },
];

/// Installs what is missing, and says what that is.
pub(crate) fn install() -> Result<(), Failure> {
    let missing: Vec<&Need> = NEEDS.iter().filter(|need| !is_there(need.thing)).collect();
    if missing.is_empty() {
        println!("nothing is missing");
        return Ok(());
    }
    run(apt_get().args(["-qq", "update"]))?;
    let packages: Vec<&str> = missing.iter().map(|need| available(need)).collect();
    println!("installing {}", packages.join(", "));
    run(apt_get().args(["-qq", "-y", "--no-install-recommends", "install"]).args(packages))?;
    match missing.iter().find(|need| !is_there(need.thing)) {
        Some(need) => Err(format!("{} is still missing", need.thing)),
        None => Ok(()),
    }
}

fn is_there(thing: &str) -> bool {
    if thing.starts_with('/') {
        return Path::new(thing).exists();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(thing).is_file())
}

fn available(need: &Need) -> &'static str {
    let known = |package: &&&str| {
        let mut query = Command::new("apt-cache");
        query.args(["--quiet=2", "show", package]).stdout(Stdio::null()).stderr(Stdio::null());
        query.status().is_ok_and(|status| status.success())
    };
    need.packages.iter().find(known).unwrap_or(&need.packages[0])
}

/// `apt-get`, by way of sudo unless we are root.
fn apt_get() -> Command {
    let identity = Command::new("id").arg("-u").output();
    if identity.is_ok_and(|output| output.stdout == b"0\n") {
        return Command::new("apt-get");
    }
    let mut command = Command::new("sudo");
    command.arg("apt-get");
    command
}
