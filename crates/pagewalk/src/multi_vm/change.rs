//! `[[change]]` in the file of `pagewalk run`: what changes at a time of the run.

use super::allocation::AllocationKey;
use machine::HostChange;
use machine::registry::{Scope, SectionName};
use serde::Deserialize;

/// A change of an allocation, with `guest` and `allocation`, or of reserved memory, with `free` and perhaps `group`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChangeKeys {
    pub(super) at_us: u64,
    guest: Option<String>,
    allocation: Option<AllocationKey>,
    free: Option<String>,
    group: Option<u32>,
}

impl ChangeKeys {
    /// The change; `guests` are the names of the host's.
    ///
    /// # Errors
    /// What is wrong with which key.
    pub(super) fn change(&self, guests: &[String]) -> Result<HostChange, String> {
        let wrong = |problem: &str| Err(format!("change: {problem}"));
        match self {
            Self { free: Some(_), guest: Some(_), .. } => wrong("guest: a change with `free` has none"),
            Self { free: Some(_), allocation: Some(_), .. } => wrong("allocation: a change with `free` has none"),
            Self { free: Some(name), group, .. } => match SectionName::new(name, Scope::of(*group)) {
                Ok(name) => Ok(HostChange::Free(name)),
                Err(error) => wrong(&format!("free: {error}")),
            },
            Self { group: Some(_), .. } => wrong("group: only a change with `free` has one"),
            Self { guest: Some(name), allocation: Some(allocation), .. } => {
                match guests.iter().position(|guest| guest == name) {
                    Some(guest) => Ok(HostChange::Allocation { guest, allocation: allocation.allocation() }),
                    None => wrong(&format!("there is no guest `{name}`")),
                }
            }
            Self { guest: Some(_), allocation: None, .. } => wrong("allocation: a change with `guest` needs it"),
            Self { guest: None, allocation: Some(_), .. } => wrong("guest: a change with `allocation` needs it"),
            Self { guest: None, allocation: None, .. } => wrong("it needs `guest` and `allocation`, or `free`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::sched::Allocation;

    fn change(keys: &str) -> Result<HostChange, String> {
        let keys: ChangeKeys = toml::from_str(&format!("at_us = 1\n{keys}")).expect("the keys are known");
        keys.change(&["a".to_owned(), "b".to_owned()])
    }

    #[test]
    fn a_change_is_of_an_allocation_or_of_reserved_memory() {
        let allocation = HostChange::Allocation { guest: 1, allocation: Allocation::Shared };
        assert_eq!(change("guest = 'b'\nallocation = 'shared'"), Ok(allocation));
        for (keys, scope) in [("free = 'cache'", Scope::System), ("free = 'cache'\ngroup = 7", Scope::Group(7))] {
            assert_eq!(change(keys), Ok(HostChange::Free(SectionName::new("cache", scope).unwrap())));
        }
    }

    #[test]
    fn anything_else_is_refused_with_the_key() {
        for (keys, key) in [
            ("free = 'cache'\nguest = 'a'", "guest: "),
            ("free = 'cache'\nallocation = 'shared'", "allocation: "),
            ("free = 'a cache'", "free: "),
            ("group = 7", "group: "),
            ("guest = 'a'\nallocation = 'shared'\ngroup = 7", "group: "),
            ("guest = 'c'\nallocation = 'shared'", "there is no guest `c`"),
            ("guest = 'a'", "allocation: "),
            ("allocation = 'shared'", "guest: "),
            ("", "it needs `guest` and `allocation`, or `free`"),
        ] {
            let problem = change(keys).unwrap_err();
            assert!(problem.starts_with(&format!("change: {key}")) && !problem.contains('\n'), "{keys}: {problem}");
        }
    }
}
