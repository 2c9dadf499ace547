//! A tarball for users without Rust: the program, its licence, manual pages, completions and the documentation, with a checksum. The same commit,
//! built by the same compiler in any directory, gives the same bytes.

mod archive;
mod build;

use crate::failure::Failure;
use crate::process::{in_search_path, output_of, root, run, target};
use archive::{File, Files};
use build::Built;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Where completions of each shell are looked for.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/pagewalk"),
    ("fish", "share/fish/vendor_completions.d/pagewalk.fish"),
    ("zsh", "share/zsh/site-functions/_pagewalk"),
];

/// Makes the tarball and its checksum in `target/dist`.
pub(crate) fn make() -> Result<(), Failure> {
    pack(&build::build()?, &target().join("dist"))
}

/// Makes them in `directory`, of a program that is built.
fn pack(built: &Built, directory: &Path) -> Result<(), Failure> {
    fs::create_dir_all(directory).map_err(|error| unwritten(directory, &error))?;
    let mut files = Files::new();
    files.insert("bin/pagewalk".to_owned(), File { executable: true, content: read(&built.program)? });
    for name in ["CHANGELOG.md", "LICENSE", "README.md"] {
        files.insert(name.to_owned(), plain(read(&root().join(name))?));
    }
    add_completions(&mut files, &built.program)?;
    add_pages(&mut files, &built.program, &directory.join("man"))?;
    add_tree(&mut files, "docs", &root().join("docs"))?;
    add_book(&mut files, &directory.join("book"))?;
    let name = format!("pagewalk-{}-{}", env!("CARGO_PKG_VERSION"), built.target);
    let bytes = archive::archive(&files, &name, build::epoch()?).map_err(|error| format!("{name}.tar.gz: {error}"))?;
    let path = directory.join(format!("{name}.tar.gz"));
    write(&path, &bytes)?;
    let line = format!("{}  {name}.tar.gz\n", hexadecimal(&Sha256::digest(&bytes)));
    write(&directory.join(format!("{name}.tar.gz.sha256")), line.as_bytes())?;
    print!("{}: {} files, {} bytes\n{line}", path.display(), files.len(), bytes.len());
    Ok(())
}

fn add_completions(files: &mut Files, program: &Path) -> Result<(), Failure> {
    for (shell, path) in COMPLETIONS {
        let script = output_of(Command::new(program).args(["completions", shell]), "pagewalk completions")?;
        files.insert(path.to_owned(), plain(script.into_bytes()));
    }
    Ok(())
}

fn add_pages(files: &mut Files, program: &Path, directory: &Path) -> Result<(), Failure> {
    renew(directory)?;
    run(Command::new(program).args(["man", "--output"]).arg(directory))?;
    add_tree(files, "share/man/man1", directory)
}

/// The documentation as pages of HTML, where mdbook is installed.
fn add_book(files: &mut Files, directory: &Path) -> Result<(), Failure> {
    if in_search_path("mdbook").is_none() {
        println!("mdbook is not installed: the documentation is in docs/ alone, as text");
        return Ok(());
    }
    renew(directory)?;
    run(Command::new("mdbook").args(["build", "--dest-dir"]).arg(directory).current_dir(root()))?;
    add_tree(files, "book", directory)
}

/// Adds all files below `directory`, as below `to`.
fn add_tree(files: &mut Files, to: &str, directory: &Path) -> Result<(), Failure> {
    let unread = |error: &std::io::Error| format!("{}: {error}", directory.display());
    for entry in fs::read_dir(directory).map_err(|error| unread(&error))? {
        let path = entry.map_err(|error| unread(&error))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or_else(|| format!("{}: the name is not UTF-8", path.display()))?;
        let to = format!("{to}/{name}");
        if path.is_dir() {
            add_tree(files, &to, &path)?;
        } else {
            files.insert(to, plain(read(&path)?));
        }
    }
    Ok(())
}

fn plain(content: Vec<u8>) -> File {
    File { executable: false, content }
}

/// An empty directory.
fn renew(directory: &Path) -> Result<(), Failure> {
    if directory.exists() {
        fs::remove_dir_all(directory).map_err(|error| unwritten(directory, &error))?;
    }
    fs::create_dir_all(directory).map_err(|error| unwritten(directory, &error))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a file, which appears when it is whole.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let mut part = path.as_os_str().to_owned();
    part.push(".part");
    fs::write(&part, bytes).and_then(|()| fs::rename(&part, path)).map_err(|error| unwritten(path, &error))
}

fn unwritten(path: &Path, error: &std::io::Error) -> Failure {
    format!("{}: {error}", path.display())
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_added_with_all_below_it() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("a/b")).unwrap();
        fs::write(directory.path().join("a/b/deep"), "1").unwrap();
        fs::write(directory.path().join("flat"), "2").unwrap();
        let mut files = Files::new();
        add_tree(&mut files, "docs", directory.path()).unwrap();
        let names: Vec<&str> = files.keys().map(String::as_str).collect();
        assert_eq!(names, ["docs/a/b/deep", "docs/flat"]);
        assert!(add_tree(&mut files, "docs", &directory.path().join("none")).unwrap_err().contains("none"));
    }

    #[test]
    fn a_checksum_is_as_sha256sum_prints_it() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hexadecimal(&Sha256::digest(b"abc")), abc);
    }
}
