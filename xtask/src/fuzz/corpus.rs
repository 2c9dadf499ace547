//! Keeps the corpus small: of the inputs that are there and those that runs have found, the smallest that together reach everything.
//!
//! Seeds that were written by hand have names of their own, and stay. The others are named by libFuzzer, after the SHA-1 of their bytes.

use super::target::{Target, create};
use crate::failure::Failure;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// What a corpus was, and what it is.
#[derive(Debug)]
pub(super) struct Change {
    before: Size,
    after: Size,
}

/// The size of a corpus.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    inputs: usize,
    bytes: u64,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { before, after } = self;
        write!(f, "{} inputs of {} bytes; were {} of {}", after.inputs, after.bytes, before.inputs, before.bytes)
    }
}

/// Minimizes the corpus of `target`, with what was found.
pub(super) fn minimize(target: &Target) -> Result<Change, Failure> {
    let (corpus, found) = (target.corpus(), target.found());
    create(&found)?;
    let minimal = found.with_file_name(format!("{}.minimal", target.name()));
    if minimal.exists() {
        fs::remove_dir_all(&minimal).map_err(at(&minimal))?;
    }
    create(&minimal)?;
    let before = size(&corpus)?;
    target.run(&["-merge=1".to_owned()], &[minimal.clone(), corpus.clone(), found])?;
    replace(&corpus, &minimal)?;
    fs::remove_dir_all(&minimal).map_err(at(&minimal))?;
    Ok(Change { before, after: size(&corpus)? })
}

/// Makes the inputs that libFuzzer named in `corpus` those of `minimal`, but for those that a seed equals.
fn replace(corpus: &Path, minimal: &Path) -> Result<(), Failure> {
    let (found, seeds): (Vec<PathBuf>, Vec<PathBuf>) =
        files(corpus)?.into_iter().partition(|file| is_named_by_hash(file));
    for file in found {
        fs::remove_file(&file).map_err(at(&file))?;
    }
    let mut written = Vec::new();
    for seed in seeds {
        written.push(fs::read(&seed).map_err(at(&seed))?);
    }
    for file in files(minimal)? {
        let input = fs::read(&file).map_err(at(&file))?;
        let to = corpus.join(file.file_name().unwrap_or_default());
        if !written.contains(&input) {
            fs::write(&to, input).map_err(at(&to))?;
        }
    }
    Ok(())
}

/// Whether libFuzzer named `file`.
fn is_named_by_hash(file: &Path) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.len() == 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn size(directory: &Path) -> Result<Size, Failure> {
    files(directory)?.iter().try_fold(Size::default(), |Size { inputs, bytes }, file| {
        let more = fs::metadata(file).map_err(at(file))?.len();
        Ok(Size { inputs: inputs + 1, bytes: bytes + more })
    })
}

/// The files of a directory, by name.
fn files(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    let entries = fs::read_dir(directory).map_err(at(directory))?;
    let mut files: Vec<PathBuf> =
        entries.map(|entry| Ok(entry.map_err(at(directory))?.path())).collect::<Result<_, Failure>>()?;
    files.sort();
    Ok(files)
}

fn at(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    move |error| format!("{}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of the tests' own, which is gone at the end.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("pagewalk-xtask-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn with(name: &str, files: &[(&str, &str)]) -> Self {
            let scratch = Self::new(name);
            for (file, content) in files {
                fs::write(scratch.0.join(file), content).unwrap();
            }
            scratch
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn seeds_stay_and_found_inputs_are_replaced() {
        let (old, new, same) = ("a".repeat(40), "b".repeat(40), "c".repeat(40));
        let corpus = Scratch::with("corpus", &[("seed", "one"), (&old, "two")]);
        let minimal = Scratch::with("minimal", &[(&new, "three"), (&same, "one")]);
        replace(&corpus.0, &minimal.0).unwrap();
        let names: Vec<_> = files(&corpus.0).unwrap().iter().map(|file| file.file_name().unwrap().to_owned()).collect();
        assert_eq!(names, [new.as_str(), "seed"]);
        assert_eq!(size(&corpus.0).unwrap().bytes, 8);
    }
}
