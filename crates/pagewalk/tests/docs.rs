//! The documentation hangs together: links lead somewhere, and the book has every chapter.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// README, CONTRIBUTING, CHANGELOG and all of docs.
fn documents() -> Vec<PathBuf> {
    let markdown = |directory: PathBuf| {
        let files = fs::read_dir(directory).unwrap().map(|file| file.unwrap().path());
        files.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect::<Vec<_>>()
    };
    [markdown(root()), markdown(root().join("docs"))].concat()
}

/// What links of `text` lead to, without what is elsewhere or in the same document. Code has no links.
fn links(text: &str) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).collect();
    let targets =
        prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target.to_owned());
    targets.filter(|target| !target.contains("://") && !target.starts_with('#') && !target.contains(' ')).collect()
}

#[test]
fn every_link_leads_to_a_file() {
    for document in documents() {
        let text = fs::read_to_string(&document).unwrap();
        for link in links(&text) {
            let file = link.split('#').next().unwrap();
            let target = document.parent().unwrap().join(file);
            assert!(target.exists(), "{}: {link}", document.display());
        }
    }
}

#[test]
fn the_book_has_every_chapter_once() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let listed = links(&summary);
    for document in documents().iter().filter(|path| path.parent().unwrap().ends_with("docs")) {
        let name = document.file_name().unwrap().to_str().unwrap();
        let count = listed.iter().filter(|link| *link == name).count();
        assert_eq!(count, usize::from(name != "SUMMARY.md"), "{name}");
    }
}

#[test]
fn every_command_is_in_the_readme() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let help = std::process::Command::new(env!("CARGO_BIN_EXE_pagewalk")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let commands =
        help.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1).take_while(|line| !line.is_empty());
    // What goes on from the line before is indented further.
    let lines = commands.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    let names: Vec<&str> = lines.filter_map(|line| line.split(' ').next()).filter(|&name| name != "help").collect();
    assert!(names.len() > 5, "{help}");
    for name in names {
        assert!(readme.contains(&format!("pagewalk {name}")) || readme.contains(&format!("-- {name}")), "{name}");
    }
}
