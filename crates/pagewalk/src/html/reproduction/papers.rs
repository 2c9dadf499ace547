//! The page of several papers: what became of the claims of each, and a section for each paper.

use super::paper::{Reproduction, commands, findings, hosts, scale, walks};
use super::{claims, figures};
use crate::error::Failure;
use crate::html::document::{Block, Charts, DataTable, Document, Section};
use crate::html::figures::counted;
use crate::html::page::page;
use crate::html::{host, walks as explorer};
use serde::Deserialize;
use serde_json::Value;

/// What `reproduce all` writes, as far as the report reads it.
#[derive(Deserialize)]
pub(super) struct Papers {
    papers: Vec<Reproduction>,
}

/// The page.
///
/// # Errors
/// [`Failure::Usage`]: there is no paper in it.
pub(super) fn page_of(report: &Papers) -> Result<String, Failure> {
    let Papers { papers } = report;
    let Some(first) = papers.first() else {
        return Err(Failure::Usage("JSON of reproduce, but without a paper".to_owned()));
    };
    let claims: Vec<_> = papers.iter().flat_map(|paper| &paper.claims).collect();
    let mut sections = vec![summary(papers)];
    sections.extend(papers.iter().map(section));
    let recorded = papers.iter().flat_map(|paper| walks(&paper.measurements)).collect();
    sections.extend(explorer::section(explorer::limited(recorded)));
    let models = hosts(papers.iter().flat_map(|paper| &paper.measurements));
    sections.push(host::section(&models, &Value::Null));
    Ok(page(Document {
        command: "reproduce all".to_owned(),
        title: format!("The evaluations of {}", counted(papers.len(), "paper")),
        lede: format!(
            "Each claim has the paper's number, a band around it, our number with its 95 % interval, a verdict, and what a controlled experiment shows. {}",
            scale(first.full)
        ),
        findings: findings(&claims),
        sections,
    }))
}

/// How many claims of each paper came out how.
fn summary(papers: &[Reproduction]) -> Section {
    let mut table = DataTable::new("Claims by paper", &["paper", "title", "#claims", "#hold", "#refuted", "#open"]);
    for paper in papers {
        let count = |verdict: &str| paper.claims.iter().filter(|claim| claim.verdict == verdict).count();
        let numbers =
            [paper.claims.len(), count("holds"), count("refuted"), count("open")].map(|count| count.to_string());
        let cells = [paper.paper.clone(), paper.title.clone()].into_iter().chain(numbers);
        table.linked_row(cells, Some(format!("#{}", paper.paper)));
    }
    Section {
        id: "papers".into(),
        title: "The papers".to_owned(),
        intro: vec![claims::INTRODUCTION.to_owned()],
        blocks: vec![Block::Table(table)],
    }
}

/// A paper: its claims, its figures, and behind a summary what was measured.
fn section(paper: &Reproduction) -> Section {
    let mut blocks = claims::section(&paper.claims).blocks;
    blocks.extend(figures::section(&paper.figures).into_iter().flat_map(|section| section.blocks));
    let measured = commands(&paper.measurements).blocks.into_iter().filter_map(|block| match block {
        Block::Table(table) => Some(Block::Folded { summary: "What was measured".to_owned(), table }),
        _ => None,
    });
    blocks.extend(measured);
    // Two papers may have tables of one name, which a screen reader could not tell apart.
    for block in &mut blocks {
        if let Block::Figure { group: Charts { table, .. }, .. } | Block::Folded { table, .. } = block {
            table.caption = format!("{}: {}", paper.paper, table.caption);
        }
    }
    let note = paper.note.clone().filter(|note| !note.is_empty());
    let intro = [Some(format!("{}.", paper.citation)), note];
    Section {
        id: paper.paper.clone().into(),
        title: paper.title.clone(),
        intro: intro.into_iter().flatten().collect(),
        blocks,
    }
}
