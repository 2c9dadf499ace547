use super::*;
use crate::HostPages;
use proptest::prelude::*;

fn host(bytes: u64) -> (HostMemory, FrameAllocator) {
    let memory = HostMemory::new(bytes, HostPages::Base).unwrap();
    let frames = FrameAllocator::new(&memory);
    (memory, frames)
}

fn range(offset: u64, bytes: u64) -> FrameRange {
    FrameRange::new(HOST_BASE.wrapping_add(offset), bytes).unwrap()
}

#[test]
fn the_lowest_fit_wins_and_gaps_are_filled() {
    let (memory, mut frames) = host(8 << 20);
    assert_eq!(frames.allocate(&memory, PageSize::Size4K), Ok(range(0, FRAME)));
    assert_eq!(frames.allocate(&memory, PageSize::Size2M), Ok(range(2 << 20, 2 << 20)));
    assert_eq!(frames.allocate(&memory, PageSize::Size4K), Ok(range(FRAME, FRAME)), "the gap below");
    assert_eq!(frames.allocate_contiguous(&memory, 16384, PageSize::Size64K), Ok(range(65536, 16384)));
    assert_eq!(frames.owned_bytes(), (2 << 20) + 2 * FRAME + 16384);
}

#[test]
fn gigabyte_frames_are_aligned_to_the_address_not_to_the_base() {
    let (memory, mut frames) = host(3 << 30);
    frames.allocate(&memory, PageSize::Size4K).unwrap();
    let big = frames.allocate(&memory, PageSize::Size1G).unwrap();
    assert_eq!(big.start(), Hpa(0xc000_0000));
    assert!(frames.allocate(&memory, PageSize::Size1G).is_ok());
    let error = frames.allocate(&memory, PageSize::Size1G).unwrap_err();
    assert_eq!(
        error,
        OutOfFrames { bytes: 1 << 30, alignment: PageSize::Size1G, free: (1 << 30) - FRAME, total: 3 << 30 }
    );
    assert!(error.to_string().contains("1G"), "{error}");
}

#[test]
fn absurd_sizes_are_refused() {
    let (memory, mut frames) = host(1 << 20);
    assert!(frames.allocate(&memory, PageSize::Size256T).is_err());
    assert!(frames.allocate_contiguous(&memory, u64::MAX, PageSize::Size4K).is_err());
    assert_eq!(FrameRange::new(Hpa(0x8000_0001), FRAME), None);
    assert_eq!(FrameRange::new(Hpa(0x8000_0000), 1), None);
    assert_eq!(FrameRange::new(Hpa(!0xfff), 2 * FRAME), None);
}

#[test]
fn a_frame_is_owned_once_and_freed_once() {
    let (memory, mut frames) = host(1 << 20);
    let mine = range(8192, 8192);
    frames.reserve(&memory, mine).unwrap();
    assert_eq!(frames.reserve(&memory, range(4096, 8192)), Err(FrameError::Owned(range(4096, 8192))));
    assert_eq!(frames.free(range(0, 16384)), Err(FrameError::Free(range(0, 16384))));
    frames.free(mine).unwrap();
    assert_eq!(frames.free(mine), Err(FrameError::Free(mine)));
    let outside = range(0, 2 << 20);
    assert_eq!(frames.free(outside), Err(FrameError::Outside(outside)));
    assert_eq!(frames.reserve(&memory, outside), Err(FrameError::Outside(outside)));
    assert_eq!(frames.free_bytes(), 1 << 20);
}

#[test]
fn a_frame_that_had_an_owner_is_zero_again() {
    let (memory, mut frames) = host(1 << 20);
    let first = frames.allocate_contiguous(&memory, 4 * FRAME, PageSize::Size4K).unwrap();
    memory.write_slice(first.start(), &[0xff; 4 * FRAME as usize]).unwrap();
    frames.free(first).unwrap();
    // A stale TLB entry could write here still: what counts is what the next owner gets.
    memory.write(first.start(), 7_u64).unwrap();
    let next = frames.allocate_contiguous(&memory, 6 * FRAME, PageSize::Size4K).unwrap();
    let mut bytes = [1; 6 * FRAME as usize];
    memory.read_slice(next.start(), &mut bytes).unwrap();
    assert_eq!(next.start(), first.start());
    assert!(bytes.iter().all(|&byte| byte == 0));
}

#[derive(Clone, Debug)]
enum Step {
    Allocate { bytes: u64, alignment: PageSize },
    Reserve { first: u64, frames: u64 },
    Free { index: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let alignment = prop_oneof![Just(PageSize::Size4K), Just(PageSize::Size64K), Just(PageSize::Size2M)];
    prop_oneof![
        3 => (1_u64..300_000, alignment).prop_map(|(bytes, alignment)| Step::Allocate { bytes, alignment }),
        1 => (0_u64..2048, 1_u64..40).prop_map(|(first, frames)| Step::Reserve { first, frames }),
        3 => any::<usize>().prop_map(|index| Step::Free { index }),
    ]
}

proptest! {
    /// Against a plain array of flags: nothing is handed out twice, what is handed out is aligned, zeroed and the lowest fit, and
    /// a refusal means that there really is no room.
    #[test]
    fn agrees_with_an_array_of_flags(steps in prop::collection::vec(step(), 1..60)) {
        const FRAMES: usize = 2048;
        let (memory, mut frames) = host(FRAMES as u64 * FRAME);
        let mut owned_by_model = vec![false; FRAMES];
        let mut owned = Vec::new();
        for step in steps {
            match step {
                Step::Allocate { bytes, alignment } => {
                    let (count, step) = (bytes.div_ceil(FRAME) as usize, (alignment.bytes() / FRAME) as usize);
                    let fit = (0..FRAMES)
                        .step_by(step)
                        .find(|&at| at + count <= FRAMES && !owned_by_model[at..at + count].contains(&true));
                    let got = frames.allocate_contiguous(&memory, bytes, alignment).ok();
                    prop_assert_eq!(got, fit.map(|at| range(at as u64 * FRAME, count as u64 * FRAME)));
                    owned.extend(got);
                }
                Step::Reserve { first, frames: count } => {
                    let (at, end) = (first as usize, (first + count) as usize);
                    let wanted = range(first * FRAME, count * FRAME);
                    let free = end <= FRAMES && !owned_by_model[at..end].contains(&true);
                    prop_assert_eq!(frames.reserve(&memory, wanted).is_ok(), free);
                    owned.extend(free.then_some(wanted));
                }
                Step::Free { index } if !owned.is_empty() => {
                    let gone = owned.swap_remove(index % owned.len());
                    prop_assert_eq!(frames.free(gone), Ok(()));
                    prop_assert!(frames.free(gone).is_err());
                }
                Step::Free { .. } => {}
            }
            owned_by_model.fill(false);
            for range in &owned {
                let at = ((range.start().0 - HOST_BASE.0) / FRAME) as usize;
                owned_by_model[at..at + (range.bytes() / FRAME) as usize].fill(true);
            }
            if let Some(range) = owned.last() {
                prop_assert_eq!(memory.read::<u64>(range.start()), Ok(0));
                memory.write(range.start(), u64::MAX).unwrap();
                memory.write(Hpa(range.end().0 - 8), u64::MAX).unwrap();
                // Cleared again so that the check above holds for a range that stays last.
                memory.write(range.start(), 0_u64).unwrap();
            }
            let model = owned_by_model.iter().filter(|&&owned| owned).count() as u64;
            prop_assert_eq!(frames.owned_bytes(), model * FRAME);
        }
    }
}

#[test]
fn a_faulty_frame_is_handed_out_only_to_callers_that_expect_it() {
    let (memory, mut frames) = host(1 << 20);
    let bad = |number: u64| HOST_BASE.wrapping_add(number * FRAME);
    assert_eq!(frames.mark_faulty(bad(1).wrapping_add(7)), Ok(false));
    assert_eq!(frames.mark_faulty(bad(1)), Ok(false), "twice is once");
    assert_eq!(frames.free_bytes(), (1 << 20) - FRAME);
    assert_eq!(frames.allocate_contiguous(&memory, 2 * FRAME, PageSize::Size4K), Ok(range(2 * FRAME, 2 * FRAME)));
    // One that has an owner stays with it, and is gone when it comes back.
    assert_eq!(frames.mark_faulty(bad(3)), Ok(true));
    assert_eq!(frames.free(range(2 * FRAME, 2 * FRAME)), Ok(()));
    assert_eq!(frames.free(range(2 * FRAME, 2 * FRAME)), Err(FrameError::Free(range(2 * FRAME, 2 * FRAME))));
    assert_eq!(frames.free_bytes(), (1 << 20) - 2 * FRAME);
    let mine = range(2 * FRAME, 2 * FRAME);
    assert_eq!(frames.reserve(&memory, mine), Err(FrameError::Faulty(mine, bad(3))));
    assert_eq!(frames.faulty_frames().collect::<Vec<_>>(), [bad(1), bad(3)]);
    assert!(frames.mark_faulty(Hpa(0)).is_err());
}

#[test]
fn a_caller_that_takes_frames_with_faults_is_told_which() {
    let (memory, mut frames) = host(1 << 20);
    let bad = |number: u64| HOST_BASE.wrapping_add(number * FRAME);
    memory.write(bad(9), 0x5a_u64).unwrap();
    for number in [9, 30] {
        frames.mark_faulty(bad(number)).unwrap();
    }
    assert!(frames.allocate_contiguous(&memory, 1 << 20, PageSize::Size4K).is_err());
    let taken = frames.allocate_with_faults(&memory, HOST_BASE, 16 * FRAME, PageSize::Size4K).unwrap();
    assert_eq!(taken, (range(0, 16 * FRAME), vec![bad(9)]));
    assert_eq!(memory.read(bad(9)), Ok(0x5a_u64), "it was not changed");
    assert_eq!(frames.free_bytes(), (1 << 20) - 17 * FRAME);
    assert!(frames.allocate_with_faults(&memory, HOST_BASE, 1 << 20, PageSize::Size4K).is_err());
    assert_eq!(frames.free_bytes(), (1 << 20) - 17 * FRAME, "a refusal changes nothing");
    frames.free(range(0, 16 * FRAME)).unwrap();
    assert_eq!(frames.free_bytes(), (1 << 20) - 2 * FRAME);
    assert_eq!(frames.owned_bytes(), 2 * FRAME, "not owned, but lost");
}

/// Frames of a random placement: each once, aligned, the same for the same seed, and to the last one.
#[test]
fn random_placement_hands_out_every_frame_once() {
    const FRAMES: u64 = 2048;
    let taken = |seed: u64| -> Vec<u64> {
        let memory = HostMemory::new(FRAMES << 12, HostPages::Base).unwrap();
        let mut frames = FrameAllocator::new(&memory);
        frames.place(Placement::Random(seed));
        let large = frames.allocate_placed(&memory, PageSize::Size2M).unwrap();
        assert_eq!(large.start().0 % PageSize::Size2M.bytes(), 0);
        let mut taken: Vec<u64> = vec![large.start().number()];
        while let Ok(frame) = frames.allocate_placed(&memory, PageSize::Size4K) {
            assert!(!(large.start()..large.end()).contains(&frame.start()), "owned already");
            taken.push(frame.start().number());
        }
        assert_eq!(frames.free_bytes(), 0);
        taken
    };
    let (mut one, other) = (taken(1), taken(2));
    assert_eq!(one, taken(1));
    assert_ne!(one, other);
    let neighbours = one.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count();
    assert!(neighbours < one.len() / 2, "{neighbours} of {} frames follow the one before", one.len());
    one.sort_unstable();
    one.dedup();
    assert_eq!(one.len() as u64, FRAMES - 512 + 1);
}
