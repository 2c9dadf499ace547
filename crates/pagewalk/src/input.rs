//! Files that a user names for Pagewalk to read: what is wrong with one is said with what it is, and what was wanted.

use crate::error::Failure;
use machine::file_kind;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// What `report` makes a page of.
pub(crate) const REPORT: &str =
    "the JSON of compare, run, vlm, reproduce, calibrate or validate, or the lines of sweep";

/// Reads a file of TOML, as a text.
///
/// # Errors
/// [`Failure::Usage`], naming the file: it cannot be read, or is something else.
pub(crate) fn toml(path: &Path) -> Result<String, Failure> {
    let bytes = read(path)?;
    let kind = file_kind::describe(&bytes);
    // What is some other text may be TOML with a mistake in its first line, which its reader points to.
    match String::from_utf8(bytes) {
        Ok(text) if ["TOML", "a text file", "an empty file"].contains(&kind.as_str()) => Ok(text),
        _ => Err(Failure::Usage(format!("{}: {kind}, not TOML", path.display()))),
    }
}

/// Reads a file of JSON, which is to be `wanted`.
///
/// # Errors
/// [`Failure::Usage`], naming the file: it cannot be read, or is something else.
pub(crate) fn json(path: &Path, wanted: &str) -> Result<Value, Failure> {
    json_of(path, &read(path)?, wanted)
}

/// The JSON of a file that has these `bytes`, which is to be `wanted`.
///
/// # Errors
/// [`Failure::Usage`], naming the file: it is something else.
pub(crate) fn json_of(path: &Path, bytes: &[u8], wanted: &str) -> Result<Value, Failure> {
    serde_json::from_slice(bytes).map_err(|error| {
        let problem = match file_kind::describe(bytes).as_str() {
            "JSON" => format!("damaged JSON: {error}"),
            other => format!("{other}, not {wanted}"),
        };
        Failure::Usage(format!("{}: {problem}", path.display()))
    })
}

/// Reads a file.
///
/// # Errors
/// [`Failure::Usage`], naming the file.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))
}
