//! The processed profile of the Firefox Profiler: a process for each run, a thread for each of its address spaces, and in each stack the function and
//! the object that it used. A sample has the weight of all that was charged to its stack.

use super::attribution::Attribution;
use fxprof_processed_profile::{
    CategoryColor, CategoryHandle, CategoryPairHandle, CpuDelta, Frame, FrameFlags, FrameInfo, Profile,
    ReferenceTimestamp, SamplingInterval, Timestamp, WeightType,
};

/// The profile as JSON.
///
/// # Errors
/// As of the JSON.
pub fn firefox(profiles: &[Attribution]) -> serde_json::Result<Vec<u8>> {
    // A simulation has no date, and its samples no times but their order.
    let mut whole = Profile::new(
        "Pagewalk",
        ReferenceTimestamp::from_millis_since_unix_epoch(0.0),
        SamplingInterval::from_millis(1),
    );
    let data: CategoryPairHandle = whole.add_category("Data", CategoryColor::Orange).into();
    let at = |sample: usize| Timestamp::from_millis_since_reference(sample as f64);
    for (number, profile) in profiles.iter().enumerate() {
        let pid = number as u32 + 1;
        let process = whole.add_process(&format!("{} under {}", profile.about.work, profile.about.system), pid, at(0));
        let sums = profile.sums(|entry| (entry.space, entry.callers, entry.symbol, entry.object));
        for (index, space) in profile.spaces.iter().enumerate() {
            let thread = whole.add_thread(process, pid * 10_000 + index as u32, at(0), index == 0);
            whole.set_thread_name(thread, &space.name);
            whole.set_thread_samples_weight_type(thread, WeightType::Samples);
            let own = sums.iter().filter(|((of, ..), _)| *of == index);
            for (sample, ((_, callers, symbol, object), counters)) in own.enumerate() {
                let functions = profile.functions(*callers, *symbol).map(|name| (name, CategoryHandle::OTHER.into()));
                let frames = functions.chain([(profile.objects.name(*object), data)]);
                let frames = frames.map(|(name, category_pair)| FrameInfo {
                    frame: Frame::Label(whole.intern_string(name)),
                    category_pair,
                    flags: FrameFlags::empty(),
                });
                let frames: Vec<FrameInfo> = frames.collect();
                let stack = whole.intern_stack_frames(thread, frames.into_iter());
                let mut left = profile.weight(counters);
                // What does not fit a weight of the format goes into further samples.
                while left != 0 {
                    let weight = left.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
                    whole.add_sample(thread, at(sample), stack, CpuDelta::ZERO, weight);
                    left -= i64::from(weight);
                }
            }
        }
    }
    serde_json::to_vec(&whole)
}
