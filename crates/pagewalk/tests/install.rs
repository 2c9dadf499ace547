//! What an installation needs beside the program: completions and manual pages.

mod common;

use common::{Scratch, run};
use std::fs;
use std::process::Command;

#[test]
fn each_shell_has_completions_with_every_command() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = run(["completions", shell]).succeeded().stdout;
        for word in ["compare", "calibrate", "--scheme", "fetch"] {
            assert!(script.contains(word) || shell == "fish" && script.contains(&word[2..]), "{shell}: {word}");
        }
    }
    run(["completions", "tcsh"]).failed(2, &["tcsh", "bash"]);
}

/// Bash itself completes with the script.
#[test]
fn bash_completes_a_command_and_an_option() {
    let scratch = Scratch::new();
    let script = scratch.write("pagewalk.bash", run(["completions", "bash"]).succeeded().stdout);
    let completed = |words: &str, at: usize| {
        let program = format!(
            "source {script}; COMP_WORDS=({words}); COMP_CWORD={at}; _pagewalk pagewalk \"${{COMP_WORDS[{at}]}}\"; printf '%s\\n' \"${{COMPREPLY[@]}}\""
        );
        let output = Command::new("bash").args(["-c", &program]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(completed("pagewalk compl", 1), "completions\n");
    assert_eq!(completed("pagewalk compare --nat", 2), "--native\n");
}

#[test]
fn each_command_has_a_manual_page() {
    let scratch = Scratch::new();
    let directory = scratch.text("man1");
    fs::create_dir(&directory).unwrap();
    run(["man", "--output", &directory]).succeeded();
    let names: Vec<String> =
        ["pagewalk", "pagewalk-compare", "pagewalk-guest-fetch"].map(|name| format!("{name}.1")).into();
    for name in &names {
        let page = fs::read_to_string(format!("{directory}/{name}")).unwrap();
        assert!(page.contains(".SH NAME") && page.contains(".SH SYNOPSIS"), "{name}: {page}");
    }
    let one = run(["man", "compare"]).succeeded().stdout;
    assert_eq!(one, fs::read_to_string(format!("{directory}/pagewalk-compare.1")).unwrap());
    assert!(one.contains("\\-\\-scheme"), "{one}");
    run(["man", "comparr"]).failed(2, &["comparr", "compare"]);
    run(["man", "--output", &scratch.text("missing")]).failed(1, &["missing"]);
}
