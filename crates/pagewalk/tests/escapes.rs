//! Escape sequences of a guest, or of a file: Pagewalk's own messages show them, and no terminal obeys them.

mod common;
mod kernel;

use common::{Scratch, run};
use kernel::Kernel;

/// What changes a terminal's title, its colours and its screen; as a terminal of 8 bits and as one of UTF-8 take it.
const HOSTILE: &str = "\x1b]0;title\x07\x1b[2J\x1b[31mred\u{9b}7m";

#[track_caller]
fn harmless(text: &str) {
    let control = |c: char| c.is_control() && c != '\n' && c != '\t';
    assert!(!text.contains(control), "{text:?}");
}

#[test]
fn escape_sequences_of_a_guest_do_not_reach_the_terminal_in_messages() {
    let scratch = Scratch::new();
    let kernel = scratch.write("kernel", Kernel::default().print(HOSTILE).end(1).elf());
    let failed = run(["compare", "--guest", &kernel, "--scheme", "native"]).failed(1, &["red", "\\u{1b}]0;title"]);
    harmless(&failed.stderr);
    harmless(&failed.stdout);
    // The console is the guest's own.
    let booted = run(["boot", "--guest", &kernel]);
    assert!(booted.stdout.contains(HOSTILE), "{booted:#?}");
}

#[test]
fn a_long_line_of_a_guest_is_quoted_in_part() {
    let scratch = Scratch::new();
    let kernel = scratch.write("kernel", Kernel::default().print(&"x".repeat(5000)).end(1).elf());
    let failed = run(["compare", "--guest", &kernel, "--scheme", "native"]).failed(1, &["xxx…"]);
    assert!(failed.stderr.len() < 1000);
}

#[test]
fn escape_sequences_of_names_do_not_reach_the_terminal() {
    let scratch = Scratch::new();
    let name = format!("no{HOSTILE}such");
    for arguments in [
        &["boot", "--guest", &scratch.text(&name)][..],
        &["compare", "--config", &scratch.text(&name)],
        &["compare", "--scheme", &name],
        &["compare", "--workload", &name],
        &["boot", "--set", &format!("{name}=1")],
        &[&name],
    ] {
        let ended = run(arguments);
        assert_ne!(ended.code, Some(0));
        harmless(&ended.stderr);
        harmless(&ended.stdout);
    }
}

#[test]
fn escape_sequences_of_a_report_do_not_reach_the_terminal_or_the_page() {
    let scratch = Scratch::new();
    let json = scratch.text("report.json");
    run(["compare", "--workload", "hello", "--scheme", "native,nested,flat", "--json", &json]).succeeded();
    let mut report: serde_json::Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    for run in report["runs"].as_array_mut().unwrap() {
        run["workload"] = format!("{HOSTILE}<script>alert(1)</script>").into();
    }
    let hostile = scratch.write("hostile.json", report.to_string());
    let advice = scratch.text("advice.json");
    let advised = run(["advise", &hostile, "--json", &advice]);
    assert!(advised.stdout.contains("red"), "{advised:#?}");
    harmless(&advised.stdout);
    harmless(&advised.stderr);
    harmless(&std::fs::read_to_string(&advice).unwrap());
    let page = scratch.text("page.html");
    let made = run(["report", &hostile, "--html", &page]);
    harmless(&made.stderr);
    if made.code == Some(0) {
        let page = std::fs::read_to_string(&page).unwrap();
        assert!(!page.contains("<script>alert"), "texts are escaped in pages");
    }
}
