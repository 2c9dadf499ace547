use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Three levels of bits, the last word of each not full.
const FRAMES: u64 = 64 * 64 * 3 + 64 * 5 + 9;
const BASE: u64 = 0x80000;

/// The same as a sorted map of runs: first frame to the one after the last.
#[derive(Debug)]
struct Runs(BTreeMap<u64, u64>);

impl Runs {
    fn fit(&self, least: u64, frames: u64, alignment: PageSize) -> Option<u64> {
        let step = alignment.bytes() / PageSize::Size4K.bytes();
        let fits = |(&start, &end): (&u64, &u64)| {
            let first = start.max(least).next_multiple_of(step);
            (first.checked_add(frames)? <= end).then_some(first)
        };
        let around = self.0.range(..=least).next_back().and_then(fits);
        around.or_else(|| self.0.range(least + 1..).find_map(fits))
    }

    /// The run that holds all of these frames.
    fn around(&self, first: u64, frames: u64) -> Option<Range<u64>> {
        let run = self.0.range(..=first).next_back().map(|(&start, &end)| start..end);
        run.filter(|run| first + frames <= run.end)
    }

    fn any_free(&self, first: u64, frames: u64) -> bool {
        self.0.range(..first + frames).next_back().is_some_and(|(_, &end)| end > first)
    }

    fn take(&mut self, first: u64, frames: u64) {
        let run = self.around(first, frames).unwrap();
        self.0.remove(&run.start);
        for rest in [run.start..first, first + frames..run.end] {
            if !rest.is_empty() {
                self.0.insert(rest.start, rest.end);
            }
        }
    }

    fn give(&mut self, mut first: u64, frames: u64) {
        let mut end = first + frames;
        if let Some((&start, &below)) = self.0.range(..first).next_back()
            && below == first
        {
            first = start;
        }
        if let Some(above) = self.0.remove(&end) {
            end = above;
        }
        self.0.insert(first, end);
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Frames that follow one another, from some frame on.
    Fit { least: u64, frames: u64, alignment: PageSize },
    /// Single frames from places that this seed gives, as many.
    Scatter { seed: u64, frames: u64 },
    /// These frames, whatever they are.
    Exactly { first: u64, frames: u64 },
    /// Those of these frames that are not free.
    Give { first: u64, frames: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let alignment = prop_oneof![
        4 => Just(PageSize::Size4K),
        2 => Just(PageSize::Size64K),
        2 => Just(PageSize::Size2M),
        1 => Just(PageSize::Size1G),
        1 => Just(PageSize::Size256T)
    ];
    let length = || prop_oneof![4 => Just(1_u64), 4 => 1_u64..200, 2 => Just(512_u64), 1 => 1..FRAMES + 2];
    prop_oneof![
        4 => (0..FRAMES + 2, length(), alignment).prop_map(|(least, frames, alignment)| Step::Fit { least, frames, alignment }),
        2 => (any::<u64>(), 1..FRAMES / 2).prop_map(|(seed, frames)| Step::Scatter { seed, frames }),
        2 => (0..FRAMES, length()).prop_map(|(first, frames)| Step::Exactly { first, frames }),
        4 => (0..FRAMES, length()).prop_map(|(first, frames)| Step::Give { first, frames }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn agrees_with_a_map_of_runs(steps in prop::collection::vec(step(), 1..40)) {
        let (mut bits, mut runs) = (FreeFrames::new(BASE, FRAMES), Runs(BTreeMap::from([(BASE, BASE + FRAMES)])));
        for step in steps {
            match step {
                Step::Fit { least, frames, alignment } => {
                    let fit = bits.fit(BASE + least, frames, alignment);
                    prop_assert_eq!(fit, runs.fit(BASE + least, frames, alignment));
                    if let Some(first) = fit {
                        bits.take(first, frames);
                        runs.take(first, frames);
                    }
                }
                Step::Scatter { seed, frames } => {
                    let mut random = types::SplitMix64::new(seed);
                    for _ in 0..frames {
                        let least = BASE + random.draw() % FRAMES;
                        let fit = bits.fit(least, 1, PageSize::Size4K);
                        prop_assert_eq!(fit, runs.fit(least, 1, PageSize::Size4K));
                        if let Some(first) = fit {
                            bits.take(first, 1);
                            runs.take(first, 1);
                        }
                    }
                }
                Step::Exactly { first, frames } => {
                    let (first, frames) = (BASE + first, frames.min(FRAMES - first));
                    prop_assert_eq!(bits.all_free(first, frames), runs.around(first, frames).is_some());
                    prop_assert_eq!(bits.any_free(first, frames), runs.any_free(first, frames));
                    if bits.all_free(first, frames) {
                        bits.take(first, frames);
                        runs.take(first, frames);
                    }
                }
                Step::Give { first, frames } => {
                    for frame in BASE + first..BASE + (first + frames).min(FRAMES) {
                        if !bits.any_free(frame, 1) {
                            bits.give(frame, 1);
                            runs.give(frame, 1);
                        }
                    }
                }
            }
            prop_assert_eq!(bits.count(), runs.0.iter().map(|(start, end)| end - start).sum::<u64>());
        }
        prop_assert!(bits.runs().eq(runs.0.iter().map(|(&start, &end)| start..end)));
    }
}

#[test]
fn frames_up_to_the_last_are_found_whatever_the_levels() {
    for frames in [1, 63, 64, 65, 4095, 4096, 4097, 64 * 64 * 64, 64 * 64 * 64 + 1] {
        let mut free = FreeFrames::new(BASE, frames);
        assert!(free.runs().eq(std::iter::once(BASE..BASE + frames)), "{frames}");
        assert_eq!(free.fit(BASE + frames - 1, 1, PageSize::Size4K), Some(BASE + frames - 1));
        assert_eq!(free.fit(BASE + frames, 1, PageSize::Size4K), None);
        assert_eq!(free.fit(BASE, frames + 1, PageSize::Size4K), None);
        free.take(BASE, frames);
        assert_eq!((free.count(), free.fit(BASE, 1, PageSize::Size4K), free.runs().next()), (0, None, None));
        free.give(BASE + frames - 1, 1);
        assert_eq!(free.fit(BASE, 1, PageSize::Size4K), Some(BASE + frames - 1), "{frames}");
    }
}
