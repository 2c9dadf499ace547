//! What the processes of a Linux guest have mapped, as far as it was charged: learned when a page is charged that no known mapping has.
//!
//! The access has been made, so what is mapped there now is what it was to.

use super::site::Space;
use introspection::{KernelArea, KernelMemory, Linux, Mapping, Process, kernel_areas};
use std::collections::{BTreeMap, HashMap};
use types::Gva;

/// Where the user's half of every address space ends, by the smallest one's upper half.
const USER_END: u64 = 0xff00_0000_0000_0000;
/// The most mappings that are kept, and the most address spaces.
const MOST_MAPPINGS: usize = 1 << 14;
const MOST_SPACES: usize = 1 << 12;
/// How many times a space is looked at in which no process is found. A search looks at every process.
const MOST_SEARCHES: u32 = 64;
/// Words of the guest's memory that are read in a run: some seconds of the host's. A guest may have lists and trees as long as it likes.
const MOST_WORDS: u64 = 1 << 26;

/// The process that an address space is of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpaceProcess {
    /// The address space.
    pub space: Space,
    /// Its number in the guest.
    pub pid: u32,
    /// Its name when something was charged to a new page of it for the last time.
    pub name: String,
}

/// What an address space has mapped, as it was when it was charged first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SpaceMapping {
    /// The address space.
    pub space: Space,
    /// What is mapped where.
    pub mapping: Mapping,
}

/// What is known of a guest's processes.
#[derive(Debug, Default)]
pub(crate) struct Mappings {
    kernel: Kernel,
    areas: Vec<KernelArea>,
    spaces: HashMap<Space, Known>,
    /// The spaces in the order in which they were found.
    order: Vec<Space>,
    /// Mappings that were kept.
    count: usize,
    /// Words that were read.
    words: u64,
}

/// The guest's kernel.
#[derive(Debug, Default)]
enum Kernel {
    /// It was not looked for.
    #[default]
    Unknown,
    /// It says nothing of itself.
    Foreign,
    /// It describes itself.
    Linux(Box<Linux>),
}

/// What is known of an address space.
#[derive(Debug, Default)]
struct Known {
    process: Option<Process>,
    searches: u32,
    /// By the first byte.
    mappings: BTreeMap<u64, Mapping>,
}

impl Known {
    fn covers(&self, at: u64) -> bool {
        let below = self.mappings.range(..=at).next_back();
        below.is_some_and(|(_, mapping)| at < mapping.end.0)
    }

    /// Keeps a mapping in the place of what it covers the beginning of.
    fn keep(&mut self, mapping: Mapping) {
        let hidden: Vec<u64> = self.mappings.range(mapping.start.0..mapping.end.0).map(|(&start, _)| start).collect();
        for start in hidden {
            self.mappings.remove(&start);
        }
        self.mappings.insert(mapping.start.0, mapping);
    }
}

impl Mappings {
    /// Whether a user's page of a space has no known mapping, and may have one.
    pub(crate) fn lacks(&self, space: Space, at: Gva) -> bool {
        if at.0 >= USER_END || space.mode.levels() == 0 || matches!(self.kernel, Kernel::Foreign) {
            return false;
        }
        if self.count >= MOST_MAPPINGS || self.words >= MOST_WORDS {
            return false;
        }
        match self.spaces.get(&space) {
            Some(known) => known.searches < MOST_SEARCHES && !known.covers(at.0),
            None => self.spaces.len() < MOST_SPACES,
        }
    }

    /// So many words were read.
    pub(crate) fn spend(&mut self, words: u64) {
        self.words += words;
    }

    /// Looks what a space has mapped at an address. `kernel` looks for the guest's kernel.
    pub(crate) fn learn(
        &mut self,
        memory: &impl KernelMemory,
        kernel: impl FnOnce() -> Option<Linux>,
        space: Space,
        at: Gva,
    ) {
        if matches!(self.kernel, Kernel::Unknown) {
            self.kernel = kernel().map_or(Kernel::Foreign, |linux| Kernel::Linux(Box::new(linux)));
        }
        let Kernel::Linux(linux) = &self.kernel else { return };
        if self.areas.is_empty() {
            self.areas = kernel_areas(linux, memory, space.mode).unwrap_or_default();
        }
        let known = self.spaces.entry(space).or_insert_with(|| {
            self.order.push(space);
            Known::default()
        });
        let Some(process) = linux.process(memory, space.root, known.process.as_ref()) else {
            known.searches += 1;
            return;
        };
        if let Some(mapping) = linux.mapping(memory, &process, at) {
            known.keep(mapping);
            self.count += 1;
        }
        known.process = Some(process);
    }

    /// The processes, in the order in which they were found.
    pub(crate) fn processes(&self) -> Vec<SpaceProcess> {
        let named = self.order.iter().filter_map(|&space| {
            let process = self.spaces[&space].process.as_ref()?;
            Some(SpaceProcess { space, pid: process.pid, name: process.name.clone() })
        });
        named.collect()
    }

    /// The mappings, by space in the same order, and by address.
    pub(crate) fn mappings(&self) -> Vec<SpaceMapping> {
        let of = |&space| {
            let mappings = self.spaces[&space].mappings.values();
            mappings.map(move |mapping| SpaceMapping { space, mapping: mapping.clone() })
        };
        self.order.iter().flat_map(of).collect()
    }

    /// The parts of the kernel's half.
    pub(crate) fn areas(&self) -> &[KernelArea] {
        &self.areas
    }
}
