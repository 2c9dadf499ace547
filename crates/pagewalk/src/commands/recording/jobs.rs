//! What is done at once in a sweep: one replay, or one pass for many systems.

use super::replay::{Recording, Replayed};
use crate::error::Failure;
use crate::interrupt;
use crate::progress::remark;
use crate::systems::Configured;
use config::Config;
use families::{Counts, Pass};
use machine::Statistics;
use mmu::{MmuConfig, TlbArray};
use serde_json::Value;
use std::sync::Arc;
use types::Gpa;

/// The fewest systems of a pass. It takes as long as two replays, one of which is made to check it.
const FEWEST: usize = 3;
/// The most, so that memory is bounded and an interruption loses little.
const MOST: usize = 256;

/// Something to do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Job {
    /// Replay on this system.
    Replay(usize),
    /// Count for these in one pass.
    Pass(Vec<usize>),
}

/// Systems that differ in their TLBs alone.
struct Family {
    /// What they have in common.
    config: Config,
    mmu: MmuConfig,
    /// Members by their first level. A pass makes each L1 once, and an L2 for each L1 that it is behind: so it costs least if few L1 are in it.
    members: Vec<(FirstLevel, Vec<usize>)>,
}

/// An L1D and an L1I.
type FirstLevel = (Vec<TlbArray>, Vec<TlbArray>);

/// Lines, by the number of the system.
type Numbered = Vec<(usize, Value)>;

/// What a pass has to go by: the MMU of a native machine, if a pass can count for it.
fn mmu(on: &Configured) -> Option<MmuConfig> {
    on.is_native().then(|| on.config.mmu(&on.host).ok()).flatten().filter(families::takes)
}

impl Family {
    /// Of a system alone.
    fn of(number: usize, on: &Configured) -> Option<Self> {
        let mmu = mmu(on)?;
        let level = (mmu.l1d.clone(), mmu.l1i.clone());
        Some(Self { config: on.config.clone(), mmu, members: vec![(level, vec![number])] })
    }

    /// Takes the members of another one in.
    fn join(&mut self, other: Self) {
        for (level, numbers) in other.members {
            match self.members.iter_mut().find(|(own, _)| *own == level) {
                Some((_, members)) => members.extend(numbers),
                None => self.members.push((level, numbers)),
            }
        }
    }

    /// Its members, those of one first level side by side.
    fn members(self) -> Vec<usize> {
        self.members.into_iter().flat_map(|(_, numbers)| numbers).collect()
    }

    /// Whether another one is of machines that differ in their TLBs alone.
    fn takes(&self, other: &Self) -> bool {
        let config = Config { mmu: self.config.mmu.clone(), ..other.config.clone() };
        let MmuConfig { l1d, l1i, l2, walk_caches, nested_tlb, .. } = self.mmu.clone();
        let mmu = MmuConfig { l1d, l1i, l2, walk_caches, nested_tlb, ..other.mmu.clone() };
        config == self.config && mmu == self.mmu
    }
}

/// How to do `systems`, those numbered `wanted`, with so many threads.
pub(super) fn jobs(systems: &[Arc<Configured>], wanted: &[usize], threads: usize) -> Vec<Job> {
    let mut families: Vec<Family> = Vec::new();
    let mut jobs = Vec::new();
    for &number in wanted {
        let Some(own) = Family::of(number, &systems[number]) else {
            jobs.push(Job::Replay(number));
            continue;
        };
        match families.iter_mut().find(|family| family.takes(&own)) {
            Some(family) => family.join(own),
            None => families.push(own),
        }
    }
    for family in families {
        let members = family.members();
        let passes = members.len().div_ceil(MOST).max(threads).min(members.len() / FEWEST);
        if passes == 0 {
            jobs.extend(members.into_iter().map(Job::Replay));
            continue;
        }
        // Equal parts, so that none has too few.
        let end = |pass: usize| members.len() * pass / passes;
        jobs.extend((0..passes).map(|pass| Job::Pass(members[end(pass)..end(pass + 1)].to_vec())));
    }
    jobs.sort_by_key(Job::first);
    jobs
}

impl Job {
    /// The least number of its systems.
    fn first(&self) -> usize {
        match self {
            Self::Replay(number) => *number,
            Self::Pass(numbers) => numbers.iter().copied().min().unwrap_or_default(),
        }
    }

    /// What it is about, for people.
    pub(super) fn name(&self, systems: &[Arc<Configured>]) -> String {
        match self {
            Self::Replay(number) => systems[*number].system.to_string(),
            Self::Pass(numbers) => format!("{} systems", numbers.len()),
        }
    }

    /// Does it: lines, by the number of the system, and how many of them a pass has counted.
    pub(super) fn run(
        &self,
        recording: &Recording<'_>,
        systems: &[Arc<Configured>],
        inexact: bool,
    ) -> Result<(Numbered, usize), Failure> {
        let numbers = match self {
            Self::Replay(number) => std::slice::from_ref(number),
            Self::Pass(numbers) => numbers,
        };
        let mut lines = if let Self::Pass(numbers) = self { pass(recording, systems, numbers)? } else { Vec::new() };
        let counted = lines.len();
        for &number in numbers {
            if lines.iter().all(|(done, _)| *done != number) {
                lines.push((number, recording.replayed_line(&systems[number], inexact)?));
            }
        }
        Ok((lines, counted))
    }
}

/// The lines of the systems that one pass can count for. The first of them is replayed as well, and has to be the same.
fn pass(recording: &Recording<'_>, systems: &[Arc<Configured>], numbers: &[usize]) -> Result<Numbered, Failure> {
    let mmus: Vec<MmuConfig> = numbers.iter().filter_map(|&number| mmu(&systems[number])).collect();
    let config = &systems[numbers[0]].config;
    let ram = Gpa(machine::HOST_BASE.0);
    let ram = ram..ram.wrapping_add(config.memory.0);
    let mut reader = recording.open()?;
    let passed =
        Pass::new(&mmus, ram, config.warmup.instructions()).run(&mut reader, || interrupt::requested().is_none());
    if let Some(signal) = interrupt::requested() {
        return Err(Failure::Interrupted(signal));
    }
    let counts = match passed {
        Ok(counts) => counts,
        // What is wrong with a recording shows in the replays.
        Err(obstacle) => {
            remark(&format!("{}: {obstacle}: each system is replayed by itself", recording.path.display()));
            return Ok(Vec::new());
        }
    };
    let counted: Vec<(usize, Counts)> =
        numbers.iter().zip(counts).filter_map(|(&number, counts)| Some((number, counts?))).collect();
    let Some(&(first, own)) = counted.first() else { return Ok(Vec::new()) };
    let Replayed { machine, outcome, rivals } = recording.replay(&systems[first])?;
    let measured = machine.measured();
    if own.statistics(&measured.mmu) != measured.mmu || rivals > 0 {
        remark("one pass counts otherwise than a replay: replays follow");
        return Ok(Vec::new());
    }
    let lines = counted.into_iter().map(|(number, counts)| {
        let mmu = counts.statistics(&measured.mmu);
        let mut statistics = Statistics { mmu, ..measured.clone() };
        statistics.time.translation = machine.translation_time(&mmu);
        (number, recording.line(&systems[number], (outcome.clone(), statistics), true))
    });
    Ok(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::systems::configured;
    use config::ConfigBuilder;
    use config::system::SystemList;

    fn of(systems: &[String], threads: usize) -> Vec<Job> {
        let SystemList(systems) = systems.join(",").parse().unwrap();
        let systems = configured(&ConfigBuilder::default(), systems, &[]).unwrap();
        jobs(&systems, &(0..systems.len()).collect::<Vec<_>>(), threads)
    }

    /// Systems, each by the sets of its L1 and the ways of its L2. Equal ones would be one.
    fn named(pairs: impl IntoIterator<Item = (u32, u32)>) -> Vec<String> {
        let array = |sets, ways| format!(r#"[{{ sizes = ["4K", "2M", "1G"], sets = {sets}, ways = {ways} }}]"#);
        pairs.into_iter().map(|(l1, l2)| format!("native/mmu.l1d={}/mmu.l2={}", array(l1, 4), array(64, l2))).collect()
    }

    #[test]
    fn systems_of_one_l1_are_side_by_side_in_a_pass_whatever_their_order() {
        let l1_last = (0..3).flat_map(|l1| (1..5).map(move |l2| (1 << l1, l2)));
        assert_eq!(of(&named(l1_last), 1), [Job::Pass((0..12).collect())]);
        let l1_first = (1..5).flat_map(|l2| (0..3).map(move |l1| (1 << l1, l2)));
        let by_l1 = [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11];
        assert_eq!(of(&named(l1_first.clone()), 1), [Job::Pass(by_l1.to_vec())]);
        let halves = [Job::Pass(by_l1[..6].to_vec()), Job::Pass(by_l1[6..].to_vec())];
        assert_eq!(of(&named(l1_first), 2), halves);
    }

    #[test]
    fn no_pass_has_too_few_systems_or_too_many() {
        let sizes = |systems: u32, threads| {
            let jobs = of(&named((0..systems).map(|number| (1 << (number / 64), 1 + number % 64))), threads);
            let size = |job: &Job| match job {
                Job::Replay(_) => 1,
                Job::Pass(numbers) => numbers.len(),
            };
            jobs.iter().map(size).collect::<Vec<_>>()
        };
        assert_eq!([sizes(2, 2), sizes(4, 2)], [vec![1, 1], vec![4]]);
        assert_eq!([sizes(7, 2), sizes(7, 9)], [vec![3, 4], vec![3, 4]]);
        assert_eq!(sizes(257, 1), [128, 129]);
    }
}
