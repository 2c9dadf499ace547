//! The registry as text: TOML, version 1.
//!
//! ```toml
//! version = 1
//!
//! [[reservation]]
//! name = "cache"        # the section's
//! group = 5             # only for sections of that group; left out: system-wide
//! size = "7680M"        # or a number of bytes
//! alloc = true          # contiguous pages are set aside; false: fluid pages are promised
//! zeroed = true         # they are cleared when the host starts; only with alloc
//! page_tables = true    # page tables are shared, and memory for them is part of it
//! freed = true          # nothing is set aside any more; left out: it is
//! ```
//! Reading is by hand and not by serde, so that whatever is wrong is named with its line and key.

use super::name::{Scope, SectionName};
use super::reservation::{Preallocation, Reservation};
use super::set::{Change, Registry};
use core::fmt::Write;
use core::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};
use types::{SizeText, parse_size};

/// The version that is written, and the only one that is read.
pub const VERSION: i64 = 1;

/// Why a text is no registry.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}{}: {problem}", self.key.as_ref().map_or(String::new(), |key| format!(", key `{key}`")))]
pub struct Damaged {
    /// Where, from 1 on.
    pub line: usize,
    /// The key at fault, or the one on that line; `None` where there is none.
    pub key: Option<String>,
    /// What is wrong.
    pub problem: String,
}

/// The text of `registry`.
#[must_use]
pub fn write(registry: &Registry) -> String {
    let mut text = format!("# Pagewalk's reserved memory registry: see `pagewalk reserve`.\nversion = {VERSION}\n");
    for entry in registry.iter() {
        let (alloc, zeroed) = match entry.preallocation {
            Preallocation::Fluid => (false, false),
            Preallocation::Alloc { zeroed } => (true, zeroed),
        };
        // Names have no character that TOML would want escaped.
        let _ = write!(text, "\n[[reservation]]\nname = \"{}\"\n", entry.name.text());
        if let Scope::Group(group) = entry.name.scope() {
            let _ = writeln!(text, "group = {group}");
        }
        let _ = writeln!(text, "size = \"{}\"\nalloc = {alloc}", SizeText(entry.bytes()));
        if alloc {
            let _ = writeln!(text, "zeroed = {zeroed}");
        }
        let _ = writeln!(text, "page_tables = {}", entry.page_tables);
        if entry.freed {
            let _ = writeln!(text, "freed = true");
        }
    }
    text
}

/// The registry that `text` describes.
///
/// # Errors
/// [`Damaged`].
pub fn read(text: &str) -> Result<Registry, Damaged> {
    let document = Document { text };
    let table = DeTable::parse(text).map_err(|error| document.syntax(&error))?;
    let start = 0..0;
    let top = Fields { document, table: table.get_ref(), span: start };
    top.only(&["version", "reservation"])?;
    let version = top.integer("version")?;
    if version.value != VERSION {
        let problem = format!("version {} cannot be read, only {VERSION}", version.value);
        return Err(document.damaged(&version.span, "version", problem));
    }
    let mut registry = Registry::default();
    for fields in top.tables("reservation")? {
        let reservation = reservation(&fields)?;
        let name = reservation.name.clone();
        if registry.add(reservation).is_err() {
            let span = fields.text("name")?.span;
            return Err(document.damaged(&span, "name", format!("{name} is there twice")));
        }
    }
    Ok(registry)
}

fn reservation(fields: &Fields<'_>) -> Result<Reservation, Damaged> {
    fields.only(&["name", "group", "size", "alloc", "zeroed", "page_tables", "freed"])?;
    let scope = match fields.optional("group", Fields::integer)? {
        None => Scope::System,
        Some(group) => Scope::Group(
            u32::try_from(group.value)
                .map_err(|_| fields.document.damaged(&group.span, "group", format!("{} is no group", group.value)))?,
        ),
    };
    let name = fields.text("name")?;
    let name = SectionName::new(name.value, scope)
        .map_err(|error| fields.document.damaged(&name.span, "name", error.to_string()))?;
    let size = fields.size("size")?;
    let mut reservation = Reservation::new(name.clone(), size.value)
        .map_err(|error| fields.document.damaged(&size.span, "size", error.to_string()))?;
    let zeroed = fields.optional("zeroed", Fields::boolean)?;
    let change = Change {
        bytes: None,
        alloc: Some(fields.boolean("alloc")?.value),
        zeroed: zeroed.as_ref().map(|zeroed| zeroed.value),
        page_tables: Some(fields.boolean("page_tables")?.value),
        freed: fields.optional("freed", Fields::boolean)?.map(|freed| freed.value),
    };
    change.apply(&mut reservation).map_err(|error| {
        let span = zeroed.map_or(fields.span.clone(), |zeroed| zeroed.span);
        fields.document.damaged(&span, "zeroed", error.to_string())
    })?;
    Ok(reservation)
}

/// The text, to say where things are.
#[derive(Clone, Copy)]
struct Document<'t> {
    text: &'t str,
}

impl Document<'_> {
    fn damaged(self, span: &Range<usize>, key: &str, problem: String) -> Damaged {
        Damaged { line: self.line(span.start), key: Some(key.to_owned()), problem }
    }

    fn line(self, at: usize) -> usize {
        self.text.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1
    }

    /// What TOML itself does not allow: the key is the text before the `=` of the line.
    fn syntax(self, error: &toml::de::Error) -> Damaged {
        let line = self.line(error.span().map_or(self.text.len(), |span| span.start));
        let content = self.text.lines().nth(line - 1).unwrap_or("");
        let key = content.split('=').next().map(str::trim).filter(|key| !key.is_empty());
        Damaged { line, key: key.map(str::to_owned), problem: error.message().to_owned() }
    }
}

/// A value and where it is in the text.
struct Value<T> {
    value: T,
    span: Range<usize>,
}

/// The keys of one table.
struct Fields<'t> {
    document: Document<'t>,
    table: &'t DeTable<'t>,
    /// Where it begins.
    span: Range<usize>,
}

impl<'t> Fields<'t> {
    /// Refuses keys other than these.
    fn only(&self, known: &[&str]) -> Result<(), Damaged> {
        match self.table.keys().find(|key| !known.contains(&key.get_ref().as_ref())) {
            None => Ok(()),
            Some(key) => {
                let problem = format!("unknown ({})", known.join(", "));
                Err(self.document.damaged(&key.span(), key.get_ref(), problem))
            }
        }
    }

    fn get(&self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.table.iter().find(|(name, _)| name.get_ref() == key).map(|(_, value)| value)
    }

    /// The value of `key` as `read` takes it.
    fn required<T>(
        &self,
        key: &str,
        wanted: &str,
        read: impl Fn(&'t DeValue<'t>) -> Option<T>,
    ) -> Result<Value<T>, Damaged> {
        let Some(found) = self.get(key) else {
            return Err(self.document.damaged(&self.span, key, "missing".to_owned()));
        };
        let span = found.span();
        match read(found.get_ref()) {
            Some(value) => Ok(Value { value, span }),
            None => {
                let written = self.document.text.get(span.clone()).unwrap_or_default();
                let written = written.lines().next().unwrap_or_default();
                Err(self.document.damaged(&span, key, format!("`{written}` is not {wanted}")))
            }
        }
    }

    /// The value of a key that may be absent.
    fn optional<T>(
        &self,
        key: &str,
        read: impl FnOnce(&Self, &str) -> Result<Value<T>, Damaged>,
    ) -> Result<Option<Value<T>>, Damaged> {
        if self.get(key).is_some() { read(self, key).map(Some) } else { Ok(None) }
    }

    fn integer(&self, key: &str) -> Result<Value<i64>, Damaged> {
        self.required(key, "a whole number", integer)
    }

    fn boolean(&self, key: &str) -> Result<Value<bool>, Damaged> {
        self.required(key, "true or false", DeValue::as_bool)
    }

    fn text(&self, key: &str) -> Result<Value<&'t str>, Damaged> {
        self.required(key, "a text", DeValue::as_str)
    }

    fn size(&self, key: &str) -> Result<Value<u64>, Damaged> {
        self.required(key, "a size such as 4096, \"256M\" or \"2G\"", |value| match value.as_str() {
            Some(text) => parse_size(text),
            None => integer(value).and_then(|bytes| u64::try_from(bytes).ok()),
        })
    }

    /// The tables of the array `key`; none where it is absent.
    fn tables(&self, key: &str) -> Result<Vec<Fields<'t>>, Damaged> {
        let Some(found) = self.get(key) else { return Ok(Vec::new()) };
        let wrong = |span: &Range<usize>| {
            let problem = "must be written as `[[reservation]]`".to_owned();
            self.document.damaged(span, key, problem)
        };
        let array = found.get_ref().as_array().ok_or_else(|| wrong(&found.span()))?;
        array
            .iter()
            .map(|item| {
                let table = item.get_ref().as_table().ok_or_else(|| wrong(&item.span()))?;
                Ok(Fields { document: self.document, table, span: item.span() })
            })
            .collect()
    }
}

fn integer(value: &DeValue<'_>) -> Option<i64> {
    let integer = value.as_integer()?;
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

#[cfg(test)]
mod tests;
