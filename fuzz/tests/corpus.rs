//! Every target on every input that is kept: the corpus, and inputs that have failed before.

use fuzz::{TARGETS, Target};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// The files in a directory, in the order of their names; none where there is no directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn run(directory: &str) -> usize {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
    let mut inputs = 0;
    for (name, target) in TARGETS {
        for file in files(&root.join(name)) {
            let input = fs::read(&file).unwrap();
            let outcome = catch_unwind(AssertUnwindSafe(|| target(&input)));
            assert!(outcome.is_ok(), "target {name} fails on {}", file.display());
            inputs += 1;
        }
    }
    inputs
}

#[test]
fn no_target_fails_on_its_corpus() {
    assert!(run("corpus") >= TARGETS.len(), "a target without a corpus starts from nothing");
}

#[test]
fn no_target_fails_again_on_what_it_once_failed_on() {
    run("regressions");
}

/// No target reads a directory that is named after none.
#[test]
fn every_directory_of_inputs_is_a_targets() {
    let is_target =
        |path: &PathBuf| TARGETS.iter().any(|(name, _): &Target| path.file_name().is_some_and(|file| file == *name));
    for directory in ["corpus", "regressions"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(directory);
        let strange: Vec<_> = files(&root).into_iter().filter(|path| path.is_dir() && !is_target(path)).collect();
        assert!(strange.is_empty(), "{strange:?}");
    }
}

#[test]
fn an_empty_input_is_no_failure() {
    for (_, target) in TARGETS {
        target(&[]);
    }
}

/// The corpus is for everybody who clones the repository.
#[test]
fn the_corpus_is_small() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let bytes: u64 =
        files(&root).iter().flat_map(|target| files(target)).map(|file| file.metadata().unwrap().len()).sum();
    assert!(bytes < 1 << 20, "{bytes} bytes");
}
