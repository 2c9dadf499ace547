//! What a reader has to know of single runs: those that failed, and what is odd about others.

use super::measured::Run;
use crate::html::document::{Block, DataTable, Section};

/// Each failed run with why, and each note. `None` if there is nothing to say.
pub(super) fn section(runs: &[Run]) -> Option<Section> {
    let mut table = DataTable::new("Remarks by run", &["workload", "scheme", "remark"]);
    let mut any = false;
    for run in runs {
        let failed = run.failed.iter().map(|why| format!("failed: {why}"));
        for remark in failed.chain(run.notes.iter().cloned()) {
            any = true;
            table.row([run.workload.clone(), run.system(), remark]);
        }
    }
    any.then(|| Section {
        id: "remarks".into(),
        title: "Remarks on runs".to_owned(),
        intro: vec!["A failed run has no figures here: it is in no chart and in no mean.".to_owned()],
        blocks: vec![Block::Table(table)],
    })
}
