//! The steps of `cargo xtask test`, each also a chore of its own, and the other chores.

use crate::checks::{commits, cycles, directories, impls, words};
use crate::step::{BOTH, FULL, Step};
use crate::{dependencies, dist, examples, fuzz, guests, lints, packages, python, readme, suites, tools};

/// All steps, in the order in which they build on each other; those that take seconds come first.
pub(crate) const STEPS: &[Step] = &[
    Step { name: "format", summary: "the source is formatted", tiers: BOTH, needed_by: None, run: lints::format },
    Step {
        name: "commits",
        summary: "subjects of commits have fewer than 72 characters",
        tiers: BOTH,
        needed_by: None,
        run: commits::check,
    },
    Step {
        name: "cycles",
        summary: "modules of a crate do not use each other in cycles",
        tiers: BOTH,
        needed_by: None,
        run: cycles::check,
    },
    Step {
        name: "directories",
        summary: "no directory holds more than 20 source files",
        tiers: BOTH,
        needed_by: None,
        run: directories::check,
    },
    Step {
        name: "impls",
        summary: "no type has inherent impl blocks in more than three files",
        tiers: BOTH,
        needed_by: None,
        run: impls::check,
    },
    Step { name: "words", summary: "words are those of the field", tiers: BOTH, needed_by: None, run: words::check },
    Step {
        name: "packages",
        summary: "install the Debian packages that tests need, if any is missing (root or sudo)",
        tiers: FULL,
        needed_by: None,
        run: packages::install,
    },
    Step {
        name: "tools",
        summary: "install cargo-nextest, cargo-deny, typos, axe-core and the Firefox Profiler into target/tools, if they are missing",
        tiers: FULL,
        needed_by: None,
        run: tools::install,
    },
    Step {
        name: "dependencies",
        summary: "licences, duplicates, sources and advisories of dependencies (cargo-deny)",
        tiers: FULL,
        needed_by: None,
        run: dependencies::check,
    },
    Step {
        name: "spelling",
        summary: "words are spelt right (typos)",
        tiers: FULL,
        needed_by: None,
        run: lints::spelling,
    },
    Step {
        name: "guests",
        summary: "rebuild vos and the workloads, compare the bytes, run them on QEMU",
        tiers: FULL,
        needed_by: Some("release"),
        run: guests::check,
    },
    Step { name: "lints", summary: "Clippy has no warning", tiers: FULL, needed_by: None, run: lints::clippy },
    Step {
        name: "rustdoc",
        summary: "the reference made of comments has no warning",
        tiers: FULL,
        needed_by: None,
        run: lints::rustdoc,
    },
    Step {
        name: "fetch",
        summary: "fetch the Linux guest, with all package sets that tests use, and make the Debian image",
        tiers: FULL,
        needed_by: Some("release"),
        run: suites::fetch,
    },
    Step {
        name: "quick",
        summary: "unit tests of every crate, and the tests of those below the command, with debug assertions",
        tiers: BOTH,
        needed_by: None,
        run: suites::quick,
    },
    Step {
        name: "release",
        summary: "integration tests at full speed, those with the Linux guest and QEMU too",
        tiers: FULL,
        needed_by: None,
        run: suites::release,
    },
    Step {
        name: "python",
        summary: "the Python package: functions, guests in steps, sweeps on Ray, notebooks, types",
        tiers: FULL,
        needed_by: None,
        run: python::test,
    },
    Step {
        name: "planted",
        summary: "a guest that runs machine code as the process, by a planted hole, is held by the sandbox",
        tiers: FULL,
        needed_by: None,
        run: suites::planted,
    },
    Step {
        name: "fuzz",
        summary: "every fuzz target, steered by coverage, for 30 seconds each or PAGEWALK_FUZZ_SECONDS",
        tiers: FULL,
        needed_by: None,
        run: fuzz::perform,
    },
    Step {
        name: "readme",
        summary: "run the README's first command, and compare what it prints with the README",
        tiers: FULL,
        needed_by: None,
        run: readme::check,
    },
    Step {
        name: "examples",
        summary: "run the commands that docs/ shows with what they print, and compare; run its scripts",
        tiers: FULL,
        needed_by: None,
        run: examples::check,
    },
];

/// Chores that no test does.
pub(crate) const CHORES: &[Step] = &[
    Step {
        name: "update-readme",
        summary: "write what the README's first command prints into the README",
        tiers: &[],
        needed_by: None,
        run: readme::update,
    },
    Step {
        name: "update-docs",
        summary: "write what the commands in docs/ print into docs/",
        tiers: &[],
        needed_by: None,
        run: examples::update,
    },
    Step {
        name: "dist",
        summary: "make a tarball of the program, linked statically, with manual pages, completions, docs and a checksum",
        tiers: &[],
        needed_by: None,
        run: dist::make,
    },
    Step {
        name: "wheel",
        summary: "build the wheel of the Python package, which carries the command, install it, and use it",
        tiers: &[],
        needed_by: None,
        run: python::wheel,
    },
    Step {
        name: "fuzz-corpus",
        summary: "put into fuzz/corpus the smallest inputs that reach what fuzzing has reached",
        tiers: &[],
        needed_by: None,
        run: fuzz::minimize,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_beside_others_is_needed_by_a_later_one_of_the_same_runs() {
        for (index, step) in STEPS.iter().enumerate() {
            let Some(name) = step.needed_by else { continue };
            let later = STEPS[index + 1..].iter().find(|later| later.name == name);
            assert_eq!(later.map(|later| later.tiers), Some(step.tiers), "{} is needed by {name}", step.name);
        }
    }
}
