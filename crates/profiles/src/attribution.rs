//! A profile with names.

use super::names::{Names, NamesOfRun, Side};
use super::spaces::{NamedSpace, spaces};
use super::stacks::{StackId, Stacks};
use machine::{Counters, NamedRange, Profile, ProfileDetail, Rates, Row, Site, SpaceMapping, Touched};
use serde_json::Value;
use std::collections::HashMap;
use types::{Access, Privilege};

/// Which run a profile is of.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The guest.
    pub guest: String,
    /// What it does.
    pub work: String,
    /// The scheme, as the user wrote it.
    pub system: String,
    /// The settings of the system's own.
    pub settings: Value,
}

/// What was charged to an instruction for a page, with names.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The number of the address space.
    pub space: usize,
    /// The number of the function's name.
    pub symbol: usize,
    /// How far behind the function's beginning the instruction is.
    pub offset: u64,
    /// Its address.
    pub pc: Option<u64>,
    /// The number of the line of source code, where it is known.
    pub line: Option<usize>,
    /// Who called the function, if that is known.
    pub(crate) callers: Option<StackId>,
    /// What it was about.
    pub touched: Touched,
    /// The number of the object's name.
    pub object: usize,
    /// What was charged.
    pub counters: Counters,
}

/// Names, each with a number.
#[derive(Clone, Debug, Default)]
pub struct Numbered {
    names: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Numbered {
    fn number(&mut self, name: String) -> usize {
        if let Some(&number) = self.numbers.get(&name) {
            return number;
        }
        self.names.push(name.clone());
        self.numbers.insert(name, self.names.len() - 1);
        self.names.len() - 1
    }

    /// The name with a number.
    #[must_use]
    pub fn name(&self, number: usize) -> &str {
        &self.names[number]
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// The profile of a run, with names.
#[derive(Clone, Debug)]
pub struct Attribution {
    /// Which run it is of.
    pub about: About,
    /// Its address spaces.
    pub spaces: Vec<NamedSpace>,
    /// Names of functions.
    pub symbols: Numbered,
    /// Names of data.
    pub objects: Numbered,
    /// Lines of source code.
    pub lines: Numbered,
    pub(crate) stacks: Stacks,
    pub(crate) detail: ProfileDetail,
    /// Everything that was charged.
    pub entries: Vec<Entry>,
    /// What the spaces have mapped, each with the number of its space.
    pub(crate) mappings: Vec<(usize, SpaceMapping)>,
    /// What the run counted.
    pub totals: Counters,
    /// The time that counters amount to.
    pub rates: Rates,
}

impl Attribution {
    /// The profile of `about` with the names of its guest.
    #[must_use]
    pub fn new(about: About, profile: &Profile, names: &Names) -> Self {
        let (spaces, numbers) = spaces(&about.work, profile, names);
        let names = &names.of_run(profile);
        let [mut symbols, mut objects, mut lines] = [(); 3].map(|()| Numbered::default());
        let stacks = Stacks::new(profile.callers.iter().map(|caller| {
            let (symbol, _) = function(&caller.site, names);
            (symbols.number(symbol), caller.caller)
        }));
        // An instruction has a row for each page, and a page one for each instruction.
        let (mut codes, mut data) = (HashMap::new(), HashMap::new());
        let entries = profile.rows.iter().map(|row| {
            let site = row.site;
            let code = codes.entry((site.space, site.pc, side(site.privilege))).or_insert_with(|| {
                let (symbol, offset) = function(&site, names);
                let line = site.pc.and_then(|pc| names.line(site.space, pc.0, side(site.privilege)));
                (symbols.number(symbol), offset, line.map(|line| lines.number(line)))
            });
            let &mut (symbol, offset, line) = code;
            let object = data
                .entry((site.space, row.touched))
                .or_insert_with(|| objects.number(object(row, &profile.ranges, names)));
            Entry {
                space: numbers[&site.space],
                symbol,
                offset,
                pc: site.pc.map(|pc| pc.0),
                line,
                callers: row.caller.map(|caller| stacks.of_caller(caller)),
                touched: row.touched,
                object: *object,
                counters: row.counters,
            }
        });
        let entries = entries.collect();
        let mappings =
            profile.mappings.iter().filter_map(|found| Some((*numbers.get(&Some(found.space))?, found.clone())));
        let mappings = mappings.collect();
        let Profile { totals, rates, detail, .. } = *profile;
        Self { about, spaces, symbols, objects, lines, stacks, detail, entries, mappings, totals, rates }
    }

    /// The functions of a stack, the outermost first, and the one that they have called.
    pub(crate) fn functions(&self, callers: Option<StackId>, symbol: usize) -> impl Iterator<Item = &str> {
        self.stacks.symbols(callers).into_iter().chain([symbol]).map(|symbol| self.symbols.name(symbol))
    }

    /// What sorts the parts of a profile, and what a stack weighs: ticks of translation and of the hypervisor.
    #[must_use]
    pub fn weight(&self, counters: &Counters) -> i64 {
        self.rates.translation(counters) + self.rates.hypervisor(counters)
    }
}

/// The function of an instruction, and how far behind its beginning it is.
fn function(site: &Site, names: &NamesOfRun<'_>) -> (String, u64) {
    let other = || ("[other instructions]".to_owned(), 0);
    site.pc.map_or_else(other, |pc| names.function(site.space, pc.0, side(site.privilege)))
}

/// The side of an address space that has a privilege's code.
const fn side(privilege: Privilege) -> Side {
    match privilege {
        Privilege::User => Side::User,
        Privilege::Supervisor => Side::Kernel,
    }
}

/// What an access was to.
fn object(row: &Row, ranges: &[NamedRange], names: &NamesOfRun<'_>) -> String {
    const PAGE: u64 = 4096;
    match row.touched {
        Touched::Nothing => "[no access]".to_owned(),
        Touched::Others => "[other pages]".to_owned(),
        Touched::Page(_, Access::Execute) => "[code]".to_owned(),
        Touched::Page(page, Access::Read | Access::Write) => {
            let end = page.0.saturating_add(PAGE);
            let overlap = |range: &&NamedRange| {
                let (first, behind) = (range.start.0, range.start.0.saturating_add(range.bytes));
                behind.min(end).saturating_sub(first.max(page.0))
            };
            let here = ranges.iter().filter(|range| Some(range.space) == row.site.space && overlap(range) > 0);
            // Of equals the one that was named last.
            here.max_by_key(overlap).map_or_else(|| names.object(row.site.space, page.0), |range| range.name.clone())
        }
    }
}
