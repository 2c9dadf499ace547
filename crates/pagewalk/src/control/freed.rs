//! A reservation that was freed on a running host, as replies and reports have it.

use machine::registry::{Freed, Scope, SectionName};
use machine::sections::FreedFigures;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What freeing a reservation gave back, in pages of 4 KiB with those of page tables. The keys are documented in docs/control.md.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FreedReservation {
    name: String,
    group: Option<u32>,
    /// Simulated time in cycles.
    at: u64,
    free_list_pages: u64,
    returned_pages: u64,
    kept_pages: u64,
    fluid_pages: u64,
}

/// The name of the section `text` of a group, or of the whole system.
///
/// # Errors
/// What is wrong with it, in words.
pub(crate) fn section_name(text: &str, group: Option<u32>) -> Result<SectionName, String> {
    SectionName::new(text, Scope::of(group)).map_err(|error| error.to_string())
}

impl From<&FreedFigures> for FreedReservation {
    fn from(figures: &FreedFigures) -> Self {
        let Freed { free_list_pages, returned_pages, kept_pages, fluid_pages } = figures.freed;
        Self {
            name: figures.name.text().to_owned(),
            group: figures.name.scope().group(),
            at: figures.at.0,
            free_list_pages,
            returned_pages,
            kept_pages,
            fluid_pages,
        }
    }
}

impl fmt::Display for FreedReservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if let Some(group) = self.group {
            write!(f, " of group {group}")?;
        }
        let Self { free_list_pages, returned_pages, kept_pages, fluid_pages, .. } = self;
        write!(
            f,
            ": {free_list_pages} pages to the free list, {returned_pages} to the fluid page count, which is now {fluid_pages}"
        )?;
        if *kept_pages > 0 {
            write!(f, "; {kept_pages} more follow when the section ends")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Cycles;

    #[test]
    fn a_line_says_what_was_given_back_and_what_follows() {
        let freed = Freed { free_list_pages: 5, returned_pages: 7, kept_pages: 0, fluid_pages: 90 };
        let figures = |group, kept_pages| FreedFigures {
            name: section_name("cache", group).unwrap(),
            at: Cycles(3),
            freed: Freed { kept_pages, ..freed },
        };
        let line = |group, kept_pages| FreedReservation::from(&figures(group, kept_pages)).to_string();
        let all = "5 pages to the free list, 7 to the fluid page count, which is now 90";
        assert_eq!(line(None, 0), format!("cache: {all}"));
        assert_eq!(line(Some(2), 4), format!("cache of group 2: {all}; 4 more follow when the section ends"));
    }

    #[test]
    fn a_reply_is_read_as_it_was_written() {
        let text =
            r#"{"name":"c","group":null,"at":9,"free_list_pages":1,"returned_pages":2,"kept_pages":3,"fluid_pages":4}"#;
        let read: FreedReservation = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
