use super::*;
use crate::HostPages;

fn map(frames: u64) -> CodeMap {
    CodeMap::new(&HostMemory::new(frames * FRAME, HostPages::Base).unwrap())
}

fn at(offset: u64) -> Hpa {
    HOST_BASE.wrapping_add(offset)
}

#[test]
fn a_write_queues_each_marked_frame_once() {
    let map = map(8);
    for frame in [1, 2, 5] {
        map.mark(at(frame * FRAME + 0x123));
    }
    map.written(at(0), FRAME);
    assert!(!map.has_written(), "frame 0 holds no code");
    map.written(at(2 * FRAME - 1), 2);
    map.written(at(FRAME), 1);
    assert_eq!(map.take_written(), [at(FRAME), at(2 * FRAME)]);
    assert!(map.take_written().is_empty());
    assert!(map.is_marked(at(FRAME)), "until its translations are dropped");
    map.unmark(at(FRAME));
    assert!(!map.is_marked(at(FRAME)));
    map.written(at(FRAME), 1);
    assert!(!map.has_written());
}

#[test]
fn marking_again_does_not_lose_the_queue() {
    let map = map(2);
    map.mark(at(0));
    map.written(at(0), 1);
    map.mark(at(0));
    map.written(at(0), 1);
    assert_eq!(map.take_written(), [at(0)]);
}

#[test]
fn addresses_outside_memory_are_ignored() {
    let map = map(2);
    map.mark(at(FRAME));
    for outside in [Hpa(0), at(2 * FRAME), Hpa(u64::MAX)] {
        map.mark(outside);
        map.unmark(outside);
        assert!(!map.is_marked(outside));
    }
    map.written(Hpa(0), 0x8000_0000);
    map.written(at(0), 0);
    map.written(at(FRAME + 1), 0);
    assert!(!map.has_written());
    map.written(Hpa(0), u64::MAX);
    assert_eq!(map.take_written(), [at(FRAME)]);
}

#[test]
fn the_hit_path_finds_the_byte() {
    let map = map(4);
    map.mark(at(3 * FRAME));
    let offset = map.byte(at(3 * FRAME)).unwrap().as_ptr() as usize - map.base_pointer() as usize;
    assert_eq!(offset, 3);
}
