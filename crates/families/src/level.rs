//! One level of many systems: what each of its distinct configurations misses.

use crate::stack::Stacks;
use mmu::TlbArray;
use types::PageSize;

/// A page, as the arrays of a level know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Used<'p> {
    pub(crate) gva: u64,
    /// The size of its translation.
    pub(crate) size: PageSize,
    /// Its identifier, and those of its pieces around the address, by size.
    pub(crate) pages: &'p [u32; SIZES],
}

/// Sizes of pages.
pub(crate) const SIZES: usize = PageSize::ALL.len();

/// Stacks that pages of a size are used in.
#[derive(Clone, Debug)]
struct Place {
    stacks: usize,
    /// The size at which they keep pages.
    kept: PageSize,
    /// The configurations that have these sets, from the fewest ways on.
    of: Vec<Ways>,
}

#[derive(Clone, Copy, Debug)]
struct Ways {
    ways: usize,
    configuration: usize,
}

/// What tells the stacks of an array from others: the sizes of all arrays of the level, which array it is, and its sets.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Key {
    sizes: Vec<Vec<PageSize>>,
    array: usize,
    sets: u32,
}

/// A level, in all of its configurations.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    stacks: Vec<(Key, Stacks)>,
    /// By the size of a translation.
    places: [Vec<Place>; SIZES],
    /// Configurations that keep no pages of a size.
    never: [Vec<usize>; SIZES],
    /// Misses of each configuration.
    pub(crate) misses: Vec<u64>,
}

/// Where arrays keep a page of `size`: the array, and the size there.
pub(crate) fn home(arrays: &[TlbArray], size: PageSize) -> Option<(usize, PageSize)> {
    let kept = PageSize::ALL.into_iter().rev().filter(|&kept| kept <= size);
    let mut homes = kept.filter_map(|kept| {
        let array = arrays.iter().position(|array| array.sizes.contains(&kept))?;
        Some((array, kept))
    });
    homes.next()
}

impl Level {
    /// Of these configurations, which are distinct.
    pub(crate) fn new(configurations: &[&[TlbArray]]) -> Self {
        let mut keys: Vec<(Key, u32)> = Vec::new();
        let mut places: [Vec<Place>; SIZES] = Default::default();
        let mut never: [Vec<usize>; SIZES] = Default::default();
        for (configuration, &arrays) in configurations.iter().enumerate() {
            for size in PageSize::ALL {
                let Some((array, kept)) = home(arrays, size) else {
                    never[size as usize].push(configuration);
                    continue;
                };
                let sizes = arrays.iter().map(|array| sorted(&array.sizes)).collect();
                let TlbArray { sets, ways, .. } = arrays[array];
                let key = Key { sizes, array, sets };
                let stacks = keys.iter().position(|(other, _)| *other == key).unwrap_or_else(|| {
                    keys.push((key, 0));
                    keys.len() - 1
                });
                keys[stacks].1 = keys[stacks].1.max(ways);
                let places = &mut places[size as usize];
                let place = places.iter().position(|place| place.stacks == stacks).unwrap_or_else(|| {
                    places.push(Place { stacks, kept, of: Vec::new() });
                    places.len() - 1
                });
                places[place].of.push(Ways { ways: ways as usize, configuration });
            }
        }
        for place in places.iter_mut().flatten() {
            place.of.sort_by_key(|of| of.ways);
        }
        let stacks = keys.into_iter().map(|(key, ways)| (key.sets, ways, key));
        let stacks = stacks.map(|(sets, ways, key)| (key, Stacks::new(sets, ways))).collect();
        Self { stacks, places, never, misses: vec![0; configurations.len()] }
    }

    /// A page is used, and kept by those that do not have it. Calls `missed` for each configuration that misses: all of them, if none of them
    /// permits the access.
    #[inline(always)]
    pub(crate) fn used(&mut self, used: Used<'_>, refused: bool, mut missed: impl FnMut(usize)) {
        let Self { stacks, places, never, misses } = self;
        for place in &places[used.size as usize] {
            let number = used.gva >> place.kept.shift();
            let found = stacks[place.stacks].1.used(number, used.pages[place.kept as usize]);
            let found = if refused { usize::MAX } else { found };
            for &Ways { ways, configuration } in &place.of {
                if ways > found {
                    break;
                }
                misses[configuration] += 1;
                missed(configuration);
            }
        }
        for &configuration in &never[used.size as usize] {
            misses[configuration] += 1;
            missed(configuration);
        }
    }

    /// An access that faults: no entry permits it, and nothing is kept.
    pub(crate) fn refused(&mut self) {
        self.misses.iter_mut().for_each(|misses| *misses += 1);
    }

    /// Removes a page of a size.
    pub(crate) fn remove(&mut self, gva: u64, size: PageSize, page: u32) {
        for (key, stacks) in &mut self.stacks {
            if key.sizes[key.array].contains(&size) {
                stacks.remove(gva >> size.shift(), page);
            }
        }
    }

    /// Removes the pages that `drops` names.
    pub(crate) fn remove_where(&mut self, drops: impl Fn(u32) -> bool) {
        self.stacks.iter_mut().for_each(|(_, stacks)| stacks.remove_where(&drops));
    }
}

fn sorted(sizes: &[PageSize]) -> Vec<PageSize> {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    sizes
}
