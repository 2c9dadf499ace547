//! What `sweep` makes of its lines in the end: a page, and a table for data frames.

use super::columns;
use crate::cli::SweepArgs;
use crate::commands::outputs::{open_output, unwritten, write_page};
use crate::error::Failure;
use crate::html;
use crate::output::Output;
use crate::sandbox::Needs;
use std::path::Path;

/// The files that are made of all lines.
pub(super) struct Products {
    html: Option<Output>,
    columns: Option<Output>,
}

impl Products {
    /// Opens those that the user requested, before the work for them begins.
    pub(super) fn open(arguments: &SweepArgs) -> Result<Self, Failure> {
        let SweepArgs { html, columns, output, .. } = arguments;
        let all = [("--output", output), ("--html", html), ("--columns", columns)];
        let named = || all.iter().filter_map(|(option, path)| Some((option, path.as_deref()?)));
        for (number, (option, path)) in named().enumerate() {
            if let Some((other, _)) = named().skip(number + 1).find(|(_, other)| *other == path) {
                return Err(Failure::Usage(format!("{}: {option} and {other} are one file", path.display())));
            }
        }
        Ok(Self { html: open_output(html.as_deref())?, columns: open_output(columns.as_deref())? })
    }

    /// Whether there are any.
    pub(super) const fn any(&self) -> bool {
        self.html.is_some() || self.columns.is_some()
    }

    /// With what they need of the host.
    pub(super) fn needs(&self, needs: Needs) -> Needs {
        needs.output(self.html.as_ref()).output(self.columns.as_ref())
    }

    /// Whether they can be made of lines that are there already, in the file at `path`.
    ///
    /// # Errors
    /// [`Failure::Usage`], naming the file and the line.
    pub(super) fn check(&self, lines: &str, path: &Path) -> Result<(), Failure> {
        let named = |failure: Failure| Failure::Usage(format!("{}: {failure}", path.display()));
        if self.html.is_some() {
            html::sweep(lines).map_err(named)?;
        }
        if self.columns.is_some() {
            columns::csv(lines).map_err(named)?;
        }
        Ok(())
    }

    /// Writes them.
    pub(super) fn write(self, lines: &str) -> Result<(), Failure> {
        // All is made before anything is written.
        let page = self.html.map(|output| html::sweep(lines).map(|page| (output, page))).transpose()?;
        let table = self.columns.map(|output| columns::csv(lines).map(|table| (output, table))).transpose()?;
        if let Some((output, page)) = page {
            write_page(output, &page)?;
        }
        if let Some((output, table)) = table {
            let name = output.name().to_owned();
            output.write(&table).map_err(|error| unwritten(&name, &error))?;
        }
        Ok(())
    }
}
