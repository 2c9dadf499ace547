//! What `sweep` makes of its lines in the end: a page.

use crate::commands::outputs::{open_output, write_page};
use crate::error::Failure;
use crate::html;
use crate::output::Output;
use crate::sandbox::Needs;
use std::path::Path;

/// The files that are made of all lines.
pub(super) struct Products {
    html: Option<Output>,
}

impl Products {
    /// Opens those that the user requested, before the work for them begins.
    pub(super) fn open(html: Option<&Path>) -> Result<Self, Failure> {
        Ok(Self { html: open_output(html)? })
    }

    /// Whether there are any.
    pub(super) const fn any(&self) -> bool {
        self.html.is_some()
    }

    /// With what they need of the host.
    pub(super) fn needs(&self, needs: Needs) -> Needs {
        needs.output(self.html.as_ref())
    }

    /// Whether they can be made of lines that are there already, in the file at `path`.
    ///
    /// # Errors
    /// [`Failure::Usage`], naming the file and the line.
    pub(super) fn check(&self, lines: &str, path: &Path) -> Result<(), Failure> {
        if self.html.is_some() {
            html::sweep(lines).map_err(|failure| Failure::Usage(format!("{}: {failure}", path.display())))?;
        }
        Ok(())
    }

    /// Writes them.
    pub(super) fn write(self, lines: &str) -> Result<(), Failure> {
        let page = self.html.map(|output| html::sweep(lines).map(|page| (output, page))).transpose()?;
        page.map_or(Ok(()), |(output, page)| write_page(output, &page))
    }
}
