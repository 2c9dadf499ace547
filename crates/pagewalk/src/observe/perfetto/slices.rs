//! The slices of one track. On a track of Perfetto a slice ends before, or within, the one that it began in.

use super::packets::{Label, Packets, Track};

/// A slice, in nanoseconds.
#[derive(Clone, Debug)]
pub(super) struct Slice {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) label: Label,
}

/// Adds the slices of a track. Where two of them overlap by less than one of them, as the roundings of their times may, the inner one ends with the outer.
pub(super) fn add(packets: &mut Packets, track: Track, mut slices: Vec<Slice>) {
    slices.sort_by_key(|slice| (slice.from, std::cmp::Reverse(slice.to)));
    let mut open: Vec<u64> = Vec::new();
    for slice in &slices {
        while let Some(end) = open.pop_if(|end| *end <= slice.from) {
            packets.end(track, end);
        }
        packets.begin(track, slice.from, &slice.label);
        open.push(open.last().map_or(slice.to, |outer| slice.to.min(*outer)).max(slice.from));
    }
    while let Some(end) = open.pop() {
        packets.end(track, end);
    }
}
