//! A document as HTML, by the templates in `assets/report`.
//!
//! Texts of guests and users are hostile. In HTML the template engine escapes them all; the data that the scripts read is JSON in which no
//! character is left that could end its element; and the page's policy lets no script run but those written here, whose nonce depends on
//! everything else in the page.

use super::document::{Block, Document, Walk};
use super::glossary;
use minijinja::{AutoEscape, Environment, Value as Safe, context};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

const PAGE: &str = include_str!("../../assets/report/page.html");
const BLOCKS: &str = include_str!("../../assets/report/blocks.html");
const EXPLORER: &str = include_str!("../../assets/report/explorer.html");
const STYLE: &str = include_str!("../../assets/report/style.css");

/// Scripts in the order in which they run.
const SCRIPTS: [&str; 12] = [
    include_str!("../../assets/report/base.js"),
    include_str!("../../assets/report/charts.js"),
    include_str!("../../assets/report/flame.js"),
    include_str!("../../assets/report/brush.js"),
    include_str!("../../assets/report/tables.js"),
    include_str!("../../assets/report/explorer/fields.js"),
    include_str!("../../assets/report/explorer/model.js"),
    include_str!("../../assets/report/explorer/nodes.js"),
    include_str!("../../assets/report/explorer/tree.js"),
    include_str!("../../assets/report/explorer/panel.js"),
    include_str!("../../assets/report/explorer/explorer.js"),
    include_str!("../../assets/report/print.js"),
];

/// The shapes that mark the points of curves, by their numbers, as paths of SVG around the point.
const SHAPES: [&str; 8] = [
    "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0z",
    "M-3.6-3.6h7.2v7.2h-7.2z",
    "M0-4.6L4.6 3.6h-9.2z",
    "M0-5L5 0L0 5L-5 0z",
    "M-1.6-4.6h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3z",
    "M0 4.6L4.6-3.6h-9.2z",
    "M-4.6 0L3.6-4.6v9.2z",
    "M4.6 0L-3.6-4.6v9.2z",
];

/// The page of a document.
pub(super) fn page(mut document: Document) -> String {
    let terms = glossary::terms();
    glossary::explain(&mut document, &terms);
    let document = &document;
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| AutoEscape::Html);
    environment.add_template("page.html", PAGE).expect("the template is correct");
    environment.add_template("blocks.html", BLOCKS).expect("the template is correct");
    environment.add_template("explorer.html", EXPLORER).expect("the template is correct");
    let data = inert(&data(document));
    let content = serde_json::to_string(document).expect("a document has a JSON form");
    let nonce = nonce(&[&data, &content, STYLE, PAGE, BLOCKS]);
    let page = environment.get_template("page.html").expect("it was added").render(context! {
        document,
        version => env!("CARGO_PKG_VERSION"),
        nonce,
        terms,
        data => Safe::from_safe_string(data),
        style => Safe::from_safe_string(STYLE.to_owned()),
        scripts => SCRIPTS.map(|script| Safe::from_safe_string(script.to_owned())),
        shapes => SHAPES,
    });
    page.expect("the template needs what it is given")
}

/// What the scripts read: walks.
fn data(document: &Document) -> Value {
    let mut walks: Vec<&Walk> = Vec::new();
    for block in document.sections.iter().flat_map(|section| &section.blocks) {
        if let Block::Explorer { walks: some } = block {
            walks.extend(some);
        }
    }
    json!({ "walks": walks })
}

/// JSON that is safe inside an element of a page, whatever its texts hold.
fn inert(value: &Value) -> String {
    let mut text = String::new();
    for character in value.to_string().chars() {
        match character {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                write!(text, "\\u{:04x}", u32::from(character)).expect("a string takes any text");
            }
            other => text.push(other),
        }
    }
    text
}

/// A number that the author of a part of the page cannot predict, and yet the same for the same page.
fn nonce(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    parts.iter().for_each(|part| hash.update(part.as_bytes()));
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_gets_out_of_the_data() {
        let value = json!({ "a": "</script><script>alert(1)</script>\u{2028}&amp;<!--" });
        let text = inert(&value);
        assert!(!text.contains(['<', '>', '&', '\u{2028}']), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn scripts_end_where_the_page_ends_them() {
        for script in SCRIPTS {
            assert!(!script.contains("</script") && !script.contains("<!--"));
        }
        assert!(!STYLE.contains("</style"));
    }

    #[test]
    fn the_nonce_depends_on_everything() {
        assert_eq!(nonce(&["a", "b"]), nonce(&["a", "b"]));
        assert_ne!(nonce(&["a", "b"]), nonce(&["a", "c"]));
    }
}
