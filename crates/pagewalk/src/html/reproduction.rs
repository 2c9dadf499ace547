//! The report of `reproduce`: a paper's claims with a verdict on each, its figures with ours beside them, and what was measured; or several papers.

mod claims;
mod figures;
mod paper;
mod papers;

use super::read::read;
use crate::error::Failure;
use serde_json::Value;

/// The page of one paper, or of several.
///
/// # Errors
/// [`Failure::Usage`]: it is not what `reproduce` writes.
pub(crate) fn of_reproduction(report: &Value) -> Result<String, Failure> {
    if report.get("papers").is_some() { papers::page_of(&read(report)?) } else { Ok(paper::page_of(&read(report)?)) }
}
