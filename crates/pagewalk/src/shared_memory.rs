//! Sections and reserved memory of the commands that run one guest at a time, `boot` and `compare`: the registry is honoured as in `run`, and a configuration
//! file may have the keys that `run` has for sections (docs/sections.md).

use crate::error::Failure;
use crate::multi_vm::sections::{self, SectionKeys, SharingKeys, WindowKeys};
use crate::progress::note;
use config::Config;
use config::toml_problem::plain;
use config::units::{ByteSize, PageSizeName};
use machine::registry::{Registry, RegistryFile, default_path};
use machine::sections::{SectionPlan, SectionStore};
use machine::{HostPlan, Image, Machine};
use serde::Deserialize;
use std::path::PathBuf;

/// The keys of a configuration file that are of sections, and not of the machine.
const KEYS: [&str; 5] = ["section", "sections", "group", "quota", "granularity"];

/// What they are in a file for one guest.
#[derive(Deserialize, Default, Debug)]
#[serde(default, deny_unknown_fields)]
struct FileKeys {
    section: Vec<SectionKeys>,
    /// What the guest maps; all of them where this is left out.
    sections: Option<Vec<WindowKeys>>,
    group: Option<u32>,
    quota: Option<ByteSize>,
    granularity: Option<PageSizeName>,
}

/// The sections of one guest, and what is reserved on its host.
#[derive(Default, Debug)]
pub(crate) struct SharedMemory {
    registry: Registry,
    plans: Vec<SectionPlan>,
    windows: Vec<WindowKeys>,
    keys: FileKeys,
}

/// The registry at `path`, or at its default place.
///
/// # Errors
/// [`Failure::Usage`], naming the file with line and key.
pub(crate) fn registry(path: Option<&PathBuf>) -> Result<Registry, Failure> {
    let file = path.cloned().or_else(default_path).map(RegistryFile::new);
    Ok(file.map(|file| file.read()).transpose()?.unwrap_or_default())
}

/// Says which reservations did not fit: the run goes on without them.
pub(crate) fn warn_of_refusals(machine: &Machine) {
    for refused in machine.reserved_memory().iter().flat_map(|reserved| &reserved.refused) {
        note(&format!("reserved memory: {refused}"));
    }
}

/// Takes the keys of sections out of a configuration file's text: what is left of it, and those. `None` where there are none, or the text
/// cannot be read: the next reader of the file reports why.
pub(crate) fn split(text: &str) -> Option<(toml::Table, toml::Table)> {
    let mut table = text.parse::<toml::Table>().ok()?;
    let own: toml::Table = KEYS.into_iter().filter_map(|key| Some((key.to_owned(), table.remove(key)?))).collect();
    (!own.is_empty()).then_some((table, own))
}

impl SharedMemory {
    /// The registry, and the keys of sections of the file `name`.
    ///
    /// # Errors
    /// [`Failure::Usage`], naming the file and the key.
    pub(crate) fn new(registry: Registry, name: &str, table: toml::Table) -> Result<Self, Failure> {
        let wrong = |problem: String| Failure::Usage(format!("{name}: {problem}"));
        let keys: FileKeys = table.try_into().map_err(|error: toml::de::Error| wrong(plain(error.message())))?;
        let windows = keys.sections.clone().unwrap_or_else(|| keys.section.iter().map(WindowKeys::of).collect());
        let plans = sections::host(&keys.section, &windows.iter().collect::<Vec<_>>()).map_err(wrong)?;
        Ok(Self { registry, plans, windows, keys })
    }

    /// Whether there is nothing of either.
    pub(crate) fn is_empty(&self) -> bool {
        self.registry.is_empty() && self.plans.is_empty()
    }

    /// Whether there are any sections.
    pub(crate) fn has_sections(&self) -> bool {
        !self.plans.is_empty()
    }

    /// The sections.
    pub(crate) fn sections(&self) -> &[SectionPlan] {
        &self.plans
    }

    /// A section whose file the guest may write to, if there is any: two machines at once would both do that.
    pub(crate) fn written(&self) -> Option<&SectionPlan> {
        self.plans.iter().find(|plan| matches!(plan.store, SectionStore::File { writable: true, .. }))
    }

    /// A host with one guest.
    ///
    /// # Errors
    /// [`Failure::Usage`], naming the section and the key.
    pub(crate) fn plan(&self, config: &Config, image: Image) -> Result<HostPlan, Failure> {
        let keys = SharingKeys { sections: &self.windows, group: self.keys.group, quota: self.keys.quota };
        let mut plan = HostPlan::dedicated(config, &[image]);
        plan.registry = self.registry.clone();
        plan.granularity = self.keys.granularity.map(|size| size.0);
        plan.sections.clone_from(&self.plans);
        plan.guests[0].sections = sections::guest(&self.plans, config, config.memory, &keys).map_err(Failure::Usage)?;
        Ok(plan)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<SharedMemory, Failure> {
        SharedMemory::new(Registry::default(), "c.toml", split(text).map_or_else(toml::Table::new, |(_, own)| own))
    }

    #[test]
    fn keys_of_sections_are_taken_out_of_a_file() {
        let (rest, own) =
            split("memory = '64M'\n[[section]]\nname = 'a'\nsize = '2M'\n[mmu]\nnested_tlb = 'off'\n").unwrap();
        assert_eq!(rest.keys().collect::<Vec<_>>(), ["memory", "mmu"]);
        assert_eq!(own.keys().collect::<Vec<_>>(), ["section"]);
        for text in ["memory = '64M' # as it is\n", "memory = \n"] {
            assert_eq!(split(text), None);
        }
    }

    #[test]
    fn a_guest_has_all_sections_unless_it_says_which() {
        let two = "[[section]]\nname = 'a'\nsize = '2M'\n[[section]]\nname = 'b'\nsize = '4M'\n";
        assert_eq!(read(two).unwrap().windows.len(), 2);
        assert_eq!(read(&format!("sections = [{{ name = 'b', access = 'ro' }}]\n{two}")).unwrap().windows.len(), 1);
        assert!(read("").unwrap().is_empty());
    }

    #[test]
    fn what_is_wrong_is_named_with_file_and_key() {
        for (text, word) in [
            ("[[section]]\nname = 'a'\nsize = '2M'\ncolour = 1", "colour"),
            ("[[section]]\nname = 'a'", "size"),
            ("[[section]]\nname = 'a'\nsize = 4097", "multiple of 4K"),
            ("quota = 'much'", "much"),
        ] {
            let failure = read(text).unwrap_err();
            assert!(matches!(&failure, Failure::Usage(line) if !line.contains('\n')), "{failure}");
            assert!(failure.to_string().contains("c.toml") && failure.to_string().contains(word), "{text}: {failure}");
        }
    }
}
