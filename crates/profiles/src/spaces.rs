//! The address spaces of a profile, with names that differ: of their processes where those are known, or else of the workload or the kernel.

use super::names::Names;
use super::programs::{WORKLOADS, file_name};
use machine::{Profile, Space, SpaceProcess};
use std::collections::HashMap;
use types::Privilege;

/// The most bytes of a process's name: `TASK_COMM_LEN` of Linux, less the zero byte.
const NAME_BYTES: usize = 15;

/// An address space, with its name.
#[derive(Clone, Debug)]
pub struct NamedSpace {
    /// `None` for those that the profile had no room to keep apart.
    pub space: Option<Space>,
    /// Its name.
    pub name: String,
    /// The number of its process, if it is known.
    pub pid: Option<u32>,
}

/// The address spaces in the order of their first event, with names that differ.
pub(crate) fn spaces(work: &str, profile: &Profile, names: &Names) -> (Vec<NamedSpace>, HashMap<Option<Space>, usize>) {
    let (mut spaces, mut numbers): (Vec<(Option<Space>, Privilege)>, HashMap<_, usize>) = <_>::default();
    for row in &profile.rows {
        let number = *numbers.entry(row.site.space).or_insert(spaces.len());
        if number == spaces.len() {
            spaces.push((row.site.space, Privilege::Supervisor));
        }
        if row.site.privilege == Privilege::User {
            spaces[number].1 = Privilege::User;
        }
    }
    let processes: HashMap<Space, &SpaceProcess> = profile.processes.iter().map(|of| (of.space, of)).collect();
    let workloads = file_name(WORKLOADS);
    let workloads = &workloads[..workloads.len().min(NAME_BYTES)];
    let process = |space: Option<Space>| space.and_then(|space| processes.get(&space).copied());
    let plain = |&(space, privilege): &(Option<Space>, Privilege)| match (space, process(space), privilege) {
        (None, ..) => "[other address spaces]".to_owned(),
        (_, Some(found), _) if names.of_workload() && found.name == workloads => work.to_owned(),
        (_, Some(found), _) => found.name.clone(),
        (_, None, Privilege::User) => work.to_owned(),
        (_, None, Privilege::Supervisor) => names.kernel_name().to_owned(),
    };
    let with_pid = |of: &(Option<Space>, Privilege)| match process(of.0) {
        Some(found) => format!("{} (pid {})", plain(of), found.pid),
        None => plain(of),
    };
    let full = |of: &(Option<Space>, Privilege)| match of.0 {
        Some(Space { root, asid, mode }) if mode.levels() > 0 => {
            format!("{} (asid {}, root {:#x})", with_pid(of), asid.0, root.0)
        }
        Some(_) => format!("{} (no translation)", plain(of)),
        None => plain(of),
    };
    // The shortest that no other space has.
    let shorter: [Vec<String>; 2] = [spaces.iter().map(plain).collect(), spaces.iter().map(with_pid).collect()];
    let counts = shorter.each_ref().map(|names| {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        names.iter().for_each(|name| *counts.entry(name).or_default() += 1);
        counts
    });
    let named = spaces.iter().enumerate().map(|(number, of)| {
        let unique = (0..shorter.len()).map(|length| (length, &shorter[length][number]));
        let unique = { unique }.find(|(length, name)| counts[*length][name.as_str()] == 1);
        let name = unique.map_or_else(|| full(of), |(_, name)| name.clone());
        NamedSpace { space: of.0, name, pid: process(of.0).map(|process| process.pid) }
    });
    (named.collect(), numbers)
}
