//! Names of reservations and of the sections that use them.

use core::fmt;

/// Whose a name is. The same name in two scopes names two things.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Scope {
    /// Every VM's.
    #[default]
    System,
    /// That of the VMs of one group.
    Group(u32),
}

impl Scope {
    /// That of a group, or every VM's.
    #[must_use]
    pub const fn of(group: Option<u32>) -> Self {
        match group {
            Some(group) => Self::Group(group),
            None => Self::System,
        }
    }

    /// The group; `None` for every VM's.
    #[must_use]
    pub const fn group(self) -> Option<u32> {
        match self {
            Self::System => None,
            Self::Group(group) => Some(group),
        }
    }
}

/// The name of a section, and so of the reservation that is meant for it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SectionName {
    text: String,
    scope: Scope,
}

/// Why a text names no section.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not a valid name: a name has 1 to {longest} letters, digits, `_`, `-`, `.` or `$`", longest = SectionName::LONGEST)]
pub struct BadName(pub String);

impl SectionName {
    /// Characters of the longest name, as in OpenVMS.
    pub const LONGEST: usize = 43;

    /// The name `text` in `scope`.
    ///
    /// # Errors
    /// [`BadName`].
    pub fn new(text: &str, scope: Scope) -> Result<Self, BadName> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '$');
        if text.is_empty() || text.len() > Self::LONGEST || !text.chars().all(allowed) {
            return Err(BadName(text.to_owned()));
        }
        Ok(Self { text: text.to_owned(), scope })
    }

    /// The name without its scope.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its scope.
    #[must_use]
    pub const fn scope(&self) -> Scope {
        self.scope
    }
}

impl fmt::Display for SectionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scope {
            Scope::System => f.write_str(&self.text),
            Scope::Group(group) => write!(f, "{} of group {group}", self.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_word_without_surprises() {
        for good in ["cache", "A-1_b.$", &"x".repeat(43)] {
            assert_eq!(SectionName::new(good, Scope::System).unwrap().to_string(), good);
        }
        for bad in ["", "a b", "a\"b", "a\nb", "ä", "a/b", &"x".repeat(44)] {
            assert_eq!(SectionName::new(bad, Scope::System), Err(BadName(bad.to_owned())));
        }
    }

    #[test]
    fn scopes_keep_equal_names_apart() {
        let name = |scope| SectionName::new("cache", scope).unwrap();
        assert_ne!(name(Scope::System), name(Scope::Group(1)));
        assert_ne!(name(Scope::Group(2)), name(Scope::Group(1)));
        assert_eq!(name(Scope::Group(2)).to_string(), "cache of group 2");
        for group in [None, Some(0), Some(2)] {
            assert_eq!(Scope::of(group).group(), group);
        }
    }
}
