//! What a report consists of, before it is HTML. Texts are plain: nothing in them is markup.

use serde::Serialize;
use serde_json::Value;
use std::borrow::Cow;

/// A report.
#[derive(Serialize, Debug, Default)]
pub(super) struct Document {
    /// The command that measured.
    pub(super) command: String,
    pub(super) title: String,
    /// What was measured, in a sentence or two.
    pub(super) lede: String,
    /// The main results, each a number and what it is of.
    pub(super) findings: Vec<Finding>,
    pub(super) sections: Vec<Section>,
}

/// A result in one number.
#[derive(Serialize, Debug)]
pub(super) struct Finding {
    pub(super) number: String,
    pub(super) text: String,
}

/// A section with a heading.
#[derive(Serialize, Debug)]
pub(super) struct Section {
    /// Its anchor.
    pub(super) id: Cow<'static, str>,
    pub(super) title: String,
    /// Paragraphs before the rest.
    pub(super) intro: Vec<String>,
    pub(super) blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Serialize, Debug)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Block {
    /// Charts with the table of their numbers.
    Charts(Charts),
    /// Charts with a heading and notes of their own.
    Figure {
        /// Below the heading.
        notes: Vec<String>,
        #[serde(flatten)]
        group: Charts,
    },
    /// Claims with verdicts.
    Verdicts { verdicts: Vec<Verdict> },
    /// A table that is always open.
    Table(DataTable),
    /// The walk explorer; there is one at most.
    Explorer {
        /// What it explores.
        #[serde(skip)]
        walks: Vec<Walk>,
    },
    /// A table behind a summary.
    Folded { summary: String, table: DataTable },
    /// What was recorded of a run.
    Run(RunBlock),
}

/// What was recorded of a run, behind a summary.
#[derive(Serialize, Debug)]
pub(super) struct RunBlock {
    pub(super) summary: String,
    /// Whether it is there before a reader asks for it.
    pub(super) open: bool,
    /// Below the summary.
    pub(super) notes: Vec<String>,
    pub(super) group: Charts,
    /// Tables below the charts.
    pub(super) tables: Vec<DataTable>,
}

/// Charts of one kind, side by side where there is room.
#[derive(Serialize, Debug)]
pub(super) struct Charts {
    pub(super) caption: String,
    /// What colours mean, where the marks do not say it themselves.
    pub(super) legend: Vec<Key>,
    pub(super) charts: Vec<Chart>,
    /// The numbers of the charts, as a table.
    pub(super) table: DataTable,
}

/// A colour of a legend.
#[derive(Serialize, Debug)]
pub(super) struct Key {
    /// Classes of the style sheet; see [`super::palette`].
    pub(super) class: String,
    /// The anchor of the shape that marks it, if it is of a curve.
    pub(super) shape: Option<String>,
    pub(super) name: String,
}

/// A chart.
#[derive(Serialize, Debug)]
pub(super) struct Chart {
    /// What it is of: its heading.
    pub(super) title: String,
    /// The picture, from [`super::charts`].
    pub(super) svg: String,
}

/// A claim and what became of it.
#[derive(Serialize, Debug)]
pub(super) struct Verdict {
    pub(super) claim: String,
    pub(super) verdict: String,
    /// How the style sheet calls the verdict.
    pub(super) class: &'static str,
    pub(super) source: String,
    pub(super) rule: String,
    pub(super) evidence: String,
    pub(super) cause: String,
    pub(super) explanation: String,
}

/// A walk to explore.
#[derive(Serialize, Debug)]
pub(super) struct Walk {
    pub(super) workload: String,
    pub(super) system: String,
    /// Which of several of that run it is, in a word and in full.
    pub(super) kind: String,
    pub(super) label: String,
    /// What the tables of the first dimension are called, and those of the second.
    pub(super) guest_table: &'static str,
    pub(super) host_table: &'static str,
    /// Whether there is no second dimension.
    pub(super) native: bool,
    /// As `recorded_walk` of docs/json-keys.md.
    pub(super) walk: Value,
}

/// A table of texts.
#[derive(Serialize, Debug, Default)]
pub(super) struct DataTable {
    pub(super) caption: String,
    pub(super) headings: Vec<Heading>,
    pub(super) rows: Vec<Vec<String>>,
    /// Where the first cell of a row leads on this page, as far as it does.
    pub(super) links: Vec<Option<String>>,
}

/// The head of a column.
#[derive(Serialize, Debug)]
pub(super) struct Heading {
    pub(super) text: String,
    /// Whether the column holds numbers, which are aligned to the right.
    pub(super) numeric: bool,
    /// The column's term, if the glossary has it; [`super::glossary`] fills it.
    pub(super) term: Option<Explained>,
}

/// A term that the page's glossary explains.
#[derive(Serialize, Debug)]
pub(super) struct Explained {
    /// Its anchor.
    pub(super) id: String,
    pub(super) meaning: String,
}

impl DataTable {
    /// A table without rows. A heading that begins with `#` is of numbers.
    pub(super) fn new(caption: &str, headings: &[&str]) -> Self {
        let heading = |text: &&str| match text.strip_prefix('#') {
            Some(text) => Heading { text: text.to_owned(), numeric: true, term: None },
            None => Heading { text: (*text).to_owned(), numeric: false, term: None },
        };
        Self { caption: caption.to_owned(), headings: headings.iter().map(heading).collect(), ..Self::default() }
    }

    /// Adds a row whose first cell leads to `link`.
    pub(super) fn linked_row(&mut self, cells: impl IntoIterator<Item = String>, link: Option<String>) {
        self.links.resize(self.rows.len(), None);
        self.links.push(link);
        self.row(cells);
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}
