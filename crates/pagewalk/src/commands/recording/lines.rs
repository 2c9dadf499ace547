//! Results as lines of JSON, in the order of the systems, whatever ends first. A file that has some of them already is completed.

use super::products::Products;
use crate::error::Failure;
use crate::input::read;
use crate::output::print;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where lines go.
pub(super) struct Lines {
    file: Option<(PathBuf, File)>,
    /// All lines, for what is made of them in the end, if something is.
    kept: Option<String>,
    /// Lines that are there already: workload, scheme and settings.
    have: HashSet<String>,
    /// Number of the line that comes next.
    next: usize,
    /// Lines that wait for those before them.
    waiting: BTreeMap<usize, Option<String>>,
}

/// What tells one line from the others.
fn identity(line: &Value) -> String {
    format!("{} {} {}", line["recording"], line["scheme"], line["settings"])
}

impl Lines {
    /// Lines on standard output, or in a file. What is behind the file's last whole line is cut off: it was not written to its end.
    /// Lines that are there already have to be such that the `products` can be made of them.
    pub(super) fn open(path: Option<&Path>, products: &Products) -> Result<Self, Failure> {
        let kept = products.any().then(String::new);
        let mut lines = Self { file: None, kept, have: HashSet::new(), next: 0, waiting: BTreeMap::new() };
        let Some(path) = path else { return Ok(lines) };
        let failed = |error: std::io::Error| Failure::Run(format!("{}: {error}", path.display()));
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.is_file() {
            let content = read(path)?;
            let whole = content.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
            for line in content[..whole].split(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
                let line: Value = serde_json::from_slice(line).map_err(|_| {
                    Failure::Usage(format!("{}: it has other lines than those of a sweep", path.display()))
                })?;
                lines.have.insert(identity(&line));
            }
            if let Some(kept) = &mut lines.kept {
                *kept = String::from_utf8_lossy(&content[..whole]).into_owned();
                products.check(kept, path)?;
            }
            file.set_len(whole as u64).map_err(failed)?;
        }
        lines.file = Some((path.to_owned(), file));
        Ok(lines)
    }

    /// Whether a line is there already.
    pub(super) fn has(&self, line: &Value) -> bool {
        self.have.contains(&identity(line))
    }

    /// Writes the lines that wait for others, which do not come: a file has them when the sweep goes on.
    pub(super) fn give_up(&mut self) -> Result<(), Failure> {
        let waiting = std::mem::take(&mut self.waiting);
        if self.file.is_none() {
            return Ok(());
        }
        waiting.into_values().flatten().try_for_each(|line| self.write(&line))
    }

    /// All lines, those that were there before among them.
    pub(super) fn kept(self) -> String {
        self.kept.unwrap_or_default()
    }

    fn write(&mut self, line: &str) -> Result<(), Failure> {
        if let Some(kept) = &mut self.kept {
            kept.push_str(line);
        }
        match &mut self.file {
            Some((path, file)) => {
                file.write_all(line.as_bytes()).map_err(|error| Failure::Run(format!("{}: {error}", path.display())))
            }
            None => Ok(print(line)?),
        }
    }

    /// Line number `number` is this, or is not needed. It is written once all before it are.
    pub(super) fn put(&mut self, number: usize, line: Option<&Value>) -> Result<(), Failure> {
        self.waiting.insert(number, line.map(|line| format!("{line}\n")));
        while let Some(line) = self.waiting.remove(&self.next) {
            self.next += 1;
            let Some(line) = line else { continue };
            self.write(&line)?;
        }
        Ok(())
    }
}
