//! A file of `pagewalk run`, an experiment of `pagewalk reproduce`, or a report in JSON for `pagewalk report`: the first byte says which.

use pagewalk::readers;

/// Runs the target.
///
/// # Panics
/// If a page of HTML has a part of the document that is not escaped.
pub fn run(input: &[u8]) {
    let Some((&kind, content)) = input.split_first() else { return };
    let Ok(text) = std::str::from_utf8(content) else { return };
    let failure = match kind {
        b'r' if names_a_file(text) => return,
        b'r' => readers::multi_vm(text).err(),
        b'e' => readers::experiment(text).err(),
        _ => match readers::report(text) {
            Ok(page) => {
                assert!(!page.contains("<fuzz"), "a text of the report is not escaped");
                None
            }
            Err(failure) => Some(failure),
        },
    };
    if let Some(failure) = failure {
        let _line = failure.line();
    }
}

/// Whether the document may name files of the host, which a fuzzer has no business to read.
fn names_a_file(text: &str) -> bool {
    text.contains('/') || text.contains("linux")
}
