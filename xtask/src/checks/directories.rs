//! How many source files a directory holds: a newcomer reads the list. Programs of `tests/` and `bin/` are exempt, as each file is one of its own.

use crate::failure::Failure;
use crate::process::root;
use std::path::{Path, PathBuf};

/// The most files of a directory.
const MOST_FILES: usize = 20;

/// Directories whose files are programs, by their names.
const PROGRAMS: [&str; 2] = ["bin", "tests"];

/// No directory of the workspace's sources has too many files.
pub(crate) fn check() -> Result<(), Failure> {
    let mut crowded = Vec::new();
    for top in ["crates", "examples", "fuzz", "xtask"] {
        find_crowded(&root().join(top), &mut crowded)?;
    }
    for (directory, files) in &crowded {
        println!("{}: {files} files, of at most {MOST_FILES}", directory.display());
    }
    if crowded.is_empty() { Ok(()) } else { Err(format!("{} directories have too many files", crowded.len())) }
}

/// Adds to `crowded` what directories at and below `directory` have too many files, with how many.
fn find_crowded(directory: &Path, crowded: &mut Vec<(PathBuf, usize)>) -> Result<(), Failure> {
    let failed = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut files = 0;
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            find_crowded(&path, crowded)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files += 1;
        }
    }
    if files > MOST_FILES && !PROGRAMS.iter().any(|name| directory.ends_with(name)) {
        crowded.push((directory.to_owned(), files));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_file_too_many_is_found_but_among_programs() {
        let top = tempfile::tempdir().unwrap();
        for (directory, files) in [("full", MOST_FILES), ("full/crowded", MOST_FILES + 1), ("tests", MOST_FILES + 1)] {
            let directory = top.path().join(directory);
            std::fs::create_dir_all(&directory).unwrap();
            std::fs::write(directory.join("text.md"), "").unwrap();
            for number in 0..files {
                std::fs::write(directory.join(format!("{number}.rs")), "").unwrap();
            }
        }
        let mut crowded = Vec::new();
        find_crowded(top.path(), &mut crowded).unwrap();
        assert_eq!(crowded, [(top.path().join("full/crowded"), MOST_FILES + 1)]);
    }
}
