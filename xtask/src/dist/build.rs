//! The program that is distributed: linked statically, without symbols and without paths of the machine that built it.

use crate::failure::Failure;
use crate::process::{in_search_path, output_of, root, run, target};
use crate::suites::{DIST_PROFILE, WITHOUT_SYMBOLS};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// What the program needs of the systems on which it runs: nothing but their kernel.
const MUSL: &str = "x86_64-unknown-linux-musl";
/// The same, but for a C library that has parts which it loads, such as those for names of hosts.
const GNU: &str = "x86_64-unknown-linux-gnu";
/// The C compiler for musl: the package `musl-tools` of Debian.
const MUSL_COMPILER: &str = "musl-gcc";

/// The program for the target that can be built here.
pub(super) struct Built {
    pub(super) target: &'static str,
    pub(super) program: PathBuf,
}

/// Builds the program in the profile of releases.
pub(super) fn build() -> Result<Built, Failure> {
    let target_name = target_name();
    let mut flags = vec![remap(&root().display().to_string(), "/pagewalk")];
    if let Some(home) = cargo_home() {
        flags.push(remap(&home.display().to_string(), "/cargo"));
    }
    if target_name == GNU {
        flags.extend(["-C".to_owned(), "target-feature=+crt-static".to_owned()]);
    }
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args([
        "build",
        "--profile",
        DIST_PROFILE,
        "--locked",
        "--package",
        "pagewalk",
        "--bin",
        "pagewalk",
        "--target",
        target_name,
    ]);
    cargo.args(WITHOUT_SYMBOLS);
    // Behind the flags of `.cargo/config.toml`, which an environment variable would replace.
    cargo.args(["--config", &format!("target.{target_name}.rustflags={flags:?}")]);
    run(cargo.current_dir(root()))?;
    let program = target().join(target_name).join(DIST_PROFILE).join("pagewalk");
    if has_symbols(&fs::read(&program).map_err(|error| format!("{}: {error}", program.display()))?) {
        return Err(format!("{}: the linker has left its symbols", program.display()));
    }
    Ok(Built { target: target_name, program })
}

/// Whether a program has a symbol table: the name of its section is in the file.
fn has_symbols(program: &[u8]) -> bool {
    const NAME: &[u8] = b"\0.symtab\0";
    program.windows(NAME.len()).any(|bytes| bytes == NAME)
}

/// Musl, if its compiler is there and rustup has the target or gets it.
fn target_name() -> &'static str {
    if in_search_path(MUSL_COMPILER).is_none() {
        println!(
            "{MUSL_COMPILER} is not installed (package musl-tools): the program is linked statically with the GNU C library"
        );
        return GNU;
    }
    match run(Command::new("rustup").args(["target", "add", MUSL]).current_dir(root())) {
        Ok(()) => MUSL,
        Err(problem) => {
            println!("{problem}: the program is linked statically with the GNU C library");
            GNU
        }
    }
}

fn remap(from: &str, to: &str) -> String {
    format!("--remap-path-prefix={from}={to}")
}

fn cargo_home() -> Option<PathBuf> {
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo"));
    std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(home)
}

/// The time of the archive's files: `SOURCE_DATE_EPOCH`, or else that of the last commit.
pub(super) fn epoch() -> Result<u64, Failure> {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok();
    let text = match &given {
        Some(text) => text.clone(),
        None => output_of(Command::new("git").args(["log", "-1", "--format=%ct"]), "git log")?,
    };
    text.trim().parse().map_err(|_| format!("SOURCE_DATE_EPOCH: `{}` is no number of seconds", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_with_a_symbol_table_is_recognised() {
        let this = std::env::current_exe().and_then(fs::read).unwrap();
        assert!(has_symbols(&this), "tests are built with symbols");
        assert!(!has_symbols(b"\0.strtab\0.symtab_shndx\0"));
    }
}
