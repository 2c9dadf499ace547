//! `pagewalk calibrate` in a process without huge pages. The flag is inherited, so this test has a process of its own.

mod common;

use common::{command, ended, unwrapped};
use rustix::thread::disable_transparent_huge_pages;
use std::fs;

#[test]
fn what_huge_pages_would_show_is_left_to_the_base_by_name() {
    disable_transparent_huge_pages(true).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let model = directory.path().join("mine.toml");
    let model = model.to_str().unwrap();
    let said = ended(&mut command(["calibrate", "--quick", "-o", model])).succeeded().stdout;
    let reason = "transparent huge pages are off for this process (PR_SET_THP_DISABLE)";
    assert!(unwrapped(&said).contains(&format!("No huge pages: {reason}.")), "{said}");
    let text = fs::read_to_string(model).unwrap();
    assert!(text.contains(&format!("# TLB for 2M, level 1, entries: {reason}")), "{text}");
    let printed = ended(&mut command(["hosts", model])).succeeded().stdout;
    // Sandy Bridge to Skylake: 32 entries, 4 ways.
    assert!(
        printed.contains("ways = 4, sizes = [\"2M\"]") || printed.contains("sets = 8, sizes = [\"2M\"], ways = 4"),
        "{printed}"
    );
}
