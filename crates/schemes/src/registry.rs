//! The schemes that there are: those of this crate, and those that a program adds before anything else.

use crate::builtin;
use crate::facts::Facts;
use crate::scheme::SchemeRef;
use std::sync::OnceLock;

static ALL: OnceLock<Vec<SchemeRef>> = OnceLock::new();

/// Why schemes cannot be added.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RegistryError {
    /// Names have been looked up already.
    #[error("a scheme cannot be added after schemes have been used")]
    InUse,
    /// Two schemes have a name in common.
    #[error("two schemes have the name `{0}`")]
    Twice(&'static str),
}

/// Adds schemes beside those of this crate: the first thing that a program does.
///
/// # Errors
/// [`RegistryError`]: nothing was added.
pub fn add(schemes: &[SchemeRef]) -> Result<(), RegistryError> {
    let all: Vec<SchemeRef> = builtin::ALL.iter().chain(schemes).copied().collect();
    let mut names: Vec<&str> = all.iter().flat_map(|scheme| names_of(*scheme)).collect();
    names.sort_unstable();
    if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(RegistryError::Twice(pair[0]));
    }
    ALL.set(all).map_err(|_| RegistryError::InUse)
}

/// Every scheme, in the order of lists.
#[must_use]
pub fn all() -> &'static [SchemeRef] {
    ALL.get_or_init(|| builtin::ALL.to_vec())
}

/// The name of every scheme.
pub fn names() -> impl Iterator<Item = &'static str> + Clone {
    all().iter().map(|scheme| scheme.facts().name)
}

/// The scheme of that name, or alias.
#[must_use]
pub fn find(name: &str) -> Option<SchemeRef> {
    all().iter().copied().find(|scheme| names_of(*scheme).any(|known| known == name))
}

/// The table of schemes that docs/configuration.md has.
#[must_use]
pub fn markdown_table() -> String {
    let rows = all().iter().map(|scheme| {
        let Facts { name, aliases, summary, page, .. } = scheme.facts();
        let names: Vec<String> = core::iter::once(name).chain(*aliases).map(|name| format!("`{name}`")).collect();
        let link = page.map_or_else(String::new, |page| format!(" ([{page}]({page}))"));
        format!("| {} | {summary}{link} |\n", names.join(", "))
    });
    ["| scheme | after a TLB miss |\n|---|---|\n".to_owned()].into_iter().chain(rows).collect()
}

fn names_of(scheme: SchemeRef) -> impl Iterator<Item = &'static str> {
    let facts = scheme.facts();
    core::iter::once(facts.name).chain(facts.aliases.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_aliases_are_unique_and_lead_to_their_scheme() {
        let mut seen = Vec::new();
        for scheme in all() {
            for name in names_of(*scheme) {
                assert!(!seen.contains(&name), "{name}");
                seen.push(name);
                assert_eq!(find(name).unwrap().facts().name, scheme.facts().name);
            }
        }
        assert!(find("nest").is_none());
    }

    #[test]
    fn the_documentation_has_the_table_of_schemes() {
        let text = include_str!("../../../docs/configuration.md");
        let table = markdown_table();
        assert!(text.contains(&table), "docs/configuration.md has to have this table:\n{table}");
    }

    #[test]
    fn schemes_are_added_once_and_under_new_names() {
        assert_eq!(add(&[builtin::NESTED]), Err(RegistryError::Twice("2d")));
        assert!(!all().is_empty());
        assert_eq!(add(&[]), Err(RegistryError::InUse));
    }
}
