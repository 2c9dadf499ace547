//! What is to be known of a key beside its name, type and default.

use crate::range::Range;

/// Whose results a key can change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Affects {
    /// Those of every machine.
    EveryMachine,
    /// Those of machines with a hypervisor. A native machine has the default.
    VirtualMachines,
    /// No result; only how fast results come.
    NoResults,
}

/// Facts of a key. They are put together by [`key`] and the functions that follow it:
/// `key("the most tables").number(1, 1024).virtual_only()`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct KeyFacts {
    /// What it means, and what values it takes, in Markdown.
    pub about: &'static str,
    /// The default in Markdown, where it is no value.
    pub default: Option<&'static str>,
    /// Values that it takes, if its type alone does not say.
    pub range: Option<Range>,
    /// Of what it is a number.
    pub unit: Option<&'static str>,
    /// What it takes in words, if neither type nor range say.
    takes: Option<&'static str>,
    /// The key of the same group whose row in the reference tells of this one, too.
    pub row: Option<&'static str>,
    /// Whose results it can change.
    pub affects: Affects,
}

/// A key that means `about`.
#[must_use]
pub const fn key(about: &'static str) -> KeyFacts {
    KeyFacts { about, default: None, range: None, unit: None, takes: None, row: None, affects: Affects::EveryMachine }
}

impl KeyFacts {
    /// Without a value it does `what`.
    #[must_use]
    pub const fn without(mut self, what: &'static str) -> Self {
        self.default = Some(what);
        self
    }

    /// A number from `least` to `most`.
    #[must_use]
    pub const fn number(mut self, least: u64, most: u64) -> Self {
        self.range = Some(Range::Number { least, most });
        self
    }

    /// A size that is a multiple of 4K, from `least` to `most` bytes.
    #[must_use]
    pub const fn pages(mut self, least: u64, most: u64) -> Self {
        self.range = Some(Range::Pages { least, most });
        self
    }

    /// A number of `unit`.
    #[must_use]
    pub const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = Some(unit);
        self
    }

    /// It takes `what`.
    #[must_use]
    pub const fn taking(mut self, what: &'static str) -> Self {
        self.takes = Some(what);
        self
    }

    /// The row of `key` in the reference tells of it.
    #[must_use]
    pub const fn with(mut self, key: &'static str) -> Self {
        self.row = Some(key);
        self
    }

    /// A native machine has no use for it.
    #[must_use]
    pub const fn virtual_only(mut self) -> Self {
        self.affects = Affects::VirtualMachines;
        self
    }

    /// Every value gives the same results.
    #[must_use]
    pub const fn speed_only(mut self) -> Self {
        self.affects = Affects::NoResults;
        self
    }

    /// Whether a native machine's results depend on it.
    #[must_use]
    pub const fn affects_native(&self) -> bool {
        match self.affects {
            Affects::EveryMachine => true,
            Affects::VirtualMachines | Affects::NoResults => false,
        }
    }

    /// Whether it takes a size.
    #[must_use]
    pub const fn is_size(&self) -> bool {
        matches!(self.range, Some(Range::Pages { .. }))
    }

    /// What it takes, where that says more than the type of its value.
    #[must_use]
    pub fn takes(&self) -> Option<String> {
        match (self.takes, self.range, self.unit) {
            (Some(takes), _, _) => Some(takes.to_owned()),
            (None, Some(range), unit) => Some(range.takes(unit)),
            (None, None, Some(unit)) => Some(format!("a whole number of {unit}")),
            (None, None, None) => None,
        }
    }
}
