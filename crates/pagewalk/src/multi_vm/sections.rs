//! Sections in the file of `pagewalk run`: those of the host, and where each is in a guest.

use config::Config;
use config::units::ByteSize;
use machine::registry::{Scope, SectionName};
use machine::sections::{GuestSection, GuestSections, SectionAccess, SectionPlan, SectionStore, Wish, place};
use serde::Deserialize;
use std::path::PathBuf;
use types::Gpa;

/// `[[section]]`.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct SectionKeys {
    name: String,
    group: Option<u32>,
    size: ByteSize,
    #[serde(default)]
    kind: Kind,
    path: Option<PathBuf>,
    #[serde(default)]
    permanent: bool,
}

/// `kind`.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    Resident,
    Pageable,
}

/// An entry of a guest's `sections`.
#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(crate) struct WindowKeys {
    name: String,
    /// Of a group's section, where a system-wide one has the same name.
    group: Option<u32>,
    at: Option<u64>,
    #[serde(default)]
    access: AccessKey,
}

/// `access`.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "lowercase")]
enum AccessKey {
    #[default]
    Rw,
    Ro,
}

/// What a guest's keys say of sections.
pub(crate) struct SharingKeys<'k> {
    pub(crate) sections: &'k [WindowKeys],
    pub(crate) group: Option<u32>,
    pub(crate) quota: Option<ByteSize>,
}

impl WindowKeys {
    /// All of a section, to be written to, wherever there is room.
    pub(crate) fn of(section: &SectionKeys) -> Self {
        Self { name: section.name.clone(), group: section.group, at: None, access: AccessKey::Rw }
    }
}

/// The sections of a host. A file is opened for writing if any guest may write to the section.
///
/// # Errors
/// What is wrong with which key.
pub(crate) fn host(keys: &[SectionKeys], windows: &[&WindowKeys]) -> Result<Vec<SectionPlan>, String> {
    let mut plans: Vec<SectionPlan> = Vec::new();
    for SectionKeys { name, group, size, kind, path, permanent } in keys {
        let name = SectionName::new(name, Scope::of(*group)).map_err(|error| format!("section: name: {error}"))?;
        let wrong = |problem: &str| Err(format!("section `{name}`: {problem}"));
        if plans.iter().any(|plan| plan.name == name) {
            return wrong("name: two sections have it");
        }
        if !size.0.is_multiple_of(4096) || size.0 >= 1 << 48 {
            return wrong("size: a multiple of 4K below 2^48");
        }
        let writes = |window: &&WindowKeys| window.name == name.text() && window.access == AccessKey::Rw;
        let store = match (kind, path) {
            (Kind::Resident, None) => SectionStore::Resident,
            (Kind::Pageable, Some(path)) => {
                SectionStore::File { path: path.clone(), writable: windows.iter().any(writes) }
            }
            (Kind::Resident, Some(_)) => return wrong("path: only a section of kind pageable has one"),
            (Kind::Pageable, None) => SectionStore::Unnamed,
        };
        plans.push(SectionPlan { name, bytes: size.0, store, permanent: *permanent });
    }
    Ok(plans)
}

/// What a guest with so much memory has of the host's sections.
///
/// # Errors
/// What is wrong with which key.
pub(crate) fn guest(
    plans: &[SectionPlan],
    config: &Config,
    memory: ByteSize,
    keys: &SharingKeys<'_>,
) -> Result<GuestSections, String> {
    if let Some(why) = config.section_obstacle().filter(|_| !keys.sections.is_empty()) {
        return Err(format!("sections: scheme {} maps none: {why}", config.scheme.name()));
    }
    let mut windows: Vec<(&SectionPlan, &WindowKeys)> = Vec::new();
    for window in keys.sections {
        let plan = find(plans, window, keys.group)?;
        if windows.iter().any(|(other, _)| other.name.text() == plan.name.text()) {
            return Err(format!("sections: {} comes twice", plan.name.text()));
        }
        windows.push((plan, window));
    }
    let wishes: Vec<_> = windows
        .iter()
        .map(|(plan, window)| Wish { name: &plan.name, bytes: plan.bytes, at: window.at.map(Gpa) })
        .collect();
    let places = place(memory.0, config.section_bits(), &wishes).map_err(|error| format!("sections: {error}"))?;
    let windows = windows.iter().zip(places).map(|((plan, window), at)| GuestSection {
        name: plan.name.clone(),
        bytes: plan.bytes,
        at,
        access: match window.access {
            AccessKey::Rw => SectionAccess::ReadWrite,
            AccessKey::Ro => SectionAccess::ReadOnly,
        },
    });
    Ok(GuestSections { group: keys.group, quota: keys.quota, windows: windows.collect() })
}

/// The section that an entry names: by default its group's, if there is one, and else the system's.
fn find<'p>(plans: &'p [SectionPlan], window: &WindowKeys, group: Option<u32>) -> Result<&'p SectionPlan, String> {
    let of = |scope| plans.iter().find(|plan| plan.name.text() == window.name && plan.name.scope() == scope);
    if let Some(other) = window.group
        && Some(other) != group
    {
        return Err(format!("sections: {} of group {other} is not for a guest of another group", window.name));
    }
    let own = group.and_then(|group| of(Scope::Group(group)));
    let plan = own.or_else(|| of(Scope::System).filter(|_| window.group.is_none()));
    plan.ok_or_else(|| {
        let names: Vec<_> = plans.iter().map(|plan| plan.name.to_string()).collect();
        let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        format!("sections: there is no section {} for it (there is {there})", window.name)
    })
}
