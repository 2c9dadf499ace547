//! The terms of a report, with their meanings from `docs/glossary.md`: the book and the reports have one source.

use super::document::{Block, DataTable, Document, Explained, Heading, RunBlock};
use serde::Serialize;

const GLOSSARY: &str = include_str!("../../../../docs/glossary.md");

/// A row of the glossary.
#[derive(Serialize, Debug)]
pub(super) struct Term {
    /// The words that the row explains, without markup.
    pub(super) term: String,
    pub(super) meaning: String,
    /// Its anchor in the page.
    id: String,
    /// The term and its synonyms, in the form of [`name`].
    names: Vec<String>,
}

/// All rows of the glossary's tables, in their order.
pub(super) fn terms() -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    for mut term in GLOSSARY.lines().filter_map(term) {
        // Two words with the same letters.
        if terms.iter().any(|other| other.id == term.id) {
            term.id = format!("{}-{}", term.id, terms.len());
        }
        terms.push(term);
    }
    terms
}

/// Gives each heading of a column the meaning of its term, if the glossary has the term.
pub(super) fn explain(document: &mut Document, terms: &[Term]) {
    for block in document.sections.iter_mut().flat_map(|section| &mut section.blocks) {
        let table = match block {
            Block::Charts(group) | Block::Figure { group, .. } => &mut group.table,
            Block::Table(table) | Block::Folded { table, .. } => table,
            Block::Run(RunBlock { group, tables, .. }) => {
                tables.iter_mut().for_each(|table| explain_table(table, terms));
                &mut group.table
            }
            Block::Verdicts { .. } | Block::Explorer { .. } => continue,
        };
        explain_table(table, terms);
    }
}

fn explain_table(table: &mut DataTable, terms: &[Term]) {
    for Heading { text, term, .. } in &mut table.headings {
        let sought = name(text);
        let found = terms.iter().find(|term| term.names.contains(&sought));
        *term = found.map(|term| Explained { id: term.id.clone(), meaning: term.meaning.clone() });
    }
}

/// The term of a line of Markdown, if the line is a row of four cells and not the head of a table.
fn term(line: &str) -> Option<Term> {
    let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
    let &[words, meaning, synonyms, _code] = cells.as_slice() else { return None };
    if words == "term" || words.starts_with("---") {
        return None;
    }
    let names: Vec<String> =
        words.split(", ").chain(synonyms.split([',', ';'])).map(name).filter(|name| !name.is_empty()).collect();
    Some(Term { term: plain(words), meaning: plain(meaning), id: anchor(names.first()?), names })
}

/// A term as it is compared: without remarks in parentheses, markup, case and the `s` of a plural.
fn name(words: &str) -> String {
    let words = words.split(" (").next().unwrap_or_default();
    let lower = plain(words).trim().to_lowercase();
    lower.strip_suffix('s').map(str::to_owned).unwrap_or(lower)
}

/// The anchor of a name: its letters and digits.
fn anchor(name: &str) -> String {
    let letters = name.chars().map(|character| if character.is_ascii_alphanumeric() { character } else { '-' });
    format!("term-{}", letters.collect::<String>().trim_matches('-'))
}

/// A text without the markup of Markdown: the words of a link stay.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        plain.push_str(before);
        match link.split_once("](").and_then(|(words, target)| Some((words, target.split_once(')')?.1))) {
            Some((words, after)) => {
                plain.push_str(words);
                rest = after;
            }
            None => {
                plain.push('[');
                rest = link;
            }
        }
    }
    plain.push_str(rest);
    plain.replace(['`', '*'], "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_terms_without_markup() {
        let row = "| hit, walk | See [the *core*](core.md#a) and `x`. | answers; lookups (x86) | `mmu/src` |";
        let Term { term, meaning, id, names } = term(row).unwrap();
        assert_eq!(id, "term-hit");
        assert_eq!((term.as_str(), meaning.as_str()), ("hit, walk", "See the core and x."));
        assert_eq!(names, ["hit", "walk", "answer", "lookup"]);
    }

    #[test]
    fn other_lines_are_no_terms() {
        for line in
            ["| term | meaning | also called | code |", "|---|---|---|---|", "| [Part](#part) | words |", "text"]
        {
            assert!(term(line).is_none(), "{line}");
        }
    }

    #[test]
    fn each_term_has_an_anchor_of_its_own() {
        let terms = terms();
        let anchors: std::collections::BTreeSet<&str> = terms.iter().map(|term| term.id.as_str()).collect();
        assert_eq!(anchors.len(), terms.len());
        assert!(anchors.contains("term-gva") && anchors.contains("term-walk"), "{anchors:?}");
    }

    #[test]
    fn the_main_columns_of_a_comparison_are_explained() {
        let columns = [
            "#M instructions",
            "#L2 misses / 1000",
            "#walks",
            "#references / walk",
            "#most of one",
            "#exits",
            "#over native",
            "#over free translation",
            "workload",
            "scheme",
        ];
        let mut table = DataTable::new("", &columns);
        explain_table(&mut table, &terms());
        for Heading { text, term, .. } in table.headings {
            assert!(term.is_some(), "{text}");
        }
    }
}
