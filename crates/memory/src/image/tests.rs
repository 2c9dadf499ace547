use super::*;
use crate::{FrameAllocator, HOST_BASE, HostPages};
use std::io::Write;

const CHUNK: u64 = MemoryImage::CHUNK;

/// An image of three chunks and a page, of which chunk 0 and the last are in the file, behind a page of something else.
fn image() -> MemoryImage {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&[9; PAGE as usize]).unwrap();
    for page in 0..CHUNK / PAGE {
        file.write_all(&[page as u8; PAGE as usize]).unwrap();
    }
    file.write_all(&[77; PAGE as usize]).unwrap();
    MemoryImage::new(file, PAGE, 3 * CHUNK + PAGE, vec![0, 3]).unwrap()
}

fn run(offset: u64, frame: Hpa, bytes: u64) -> ImageRun {
    ImageRun { offset, frame, bytes }
}

fn byte(memory: &HostMemory, offset: u64) -> u8 {
    memory.read(HOST_BASE.wrapping_add(offset)).unwrap()
}

#[test]
fn all_of_memory_reads_as_the_image_and_writes_stay_out_of_it() {
    let image = image();
    for _ in 0..2 {
        let memory = HostMemory::new(4 * CHUNK, HostPages::Huge).unwrap();
        image.place(&memory, run(0, HOST_BASE, 4 * CHUNK), &mut PageSet::default()).unwrap();
        assert_eq!([0, PAGE, 511 * PAGE].map(|at| byte(&memory, at)), [0, 1, 255]);
        assert_eq!([CHUNK, 3 * CHUNK - 1, 3 * CHUNK, 3 * CHUNK + PAGE - 1].map(|at| byte(&memory, at)), [0, 0, 77, 77]);
        assert_eq!(byte(&memory, 3 * CHUNK + PAGE), 0);
        memory.write(HOST_BASE.wrapping_add(PAGE), 200_u8).unwrap();
        memory.write(HOST_BASE.wrapping_add(3 * CHUNK), 200_u8).unwrap();
        assert_eq!([PAGE, PAGE + 1, 3 * CHUNK].map(|at| byte(&memory, at)), [200, 1, 200]);
    }
}

#[test]
fn a_page_has_its_contents_once() {
    let (image, memory) = (image(), HostMemory::new(4 * CHUNK, HostPages::Base).unwrap());
    let mut placed = PageSet::default();
    image.place(&memory, run(5 * PAGE, HOST_BASE, PAGE), &mut placed).unwrap();
    assert_eq!(byte(&memory, 0), 5);
    // The chunk around it, later: that page has lost what it had.
    image.place(&memory, run(0, HOST_BASE.wrapping_add(CHUNK), CHUNK), &mut placed).unwrap();
    assert_eq!([4, 5, 6].map(|page| byte(&memory, CHUNK + page * PAGE)), [4, 0, 6]);
    image.place(&memory, run(0, HOST_BASE.wrapping_add(2 * CHUNK), CHUNK), &mut placed).unwrap();
    assert_eq!(byte(&memory, 2 * CHUNK + 6 * PAGE), 0, "all were placed");
    image.copy_page(&memory, 6 * PAGE, HOST_BASE.wrapping_add(2 * CHUNK)).unwrap();
    assert_eq!(byte(&memory, 2 * CHUNK), 6);
    image.copy_page(&memory, CHUNK, HOST_BASE.wrapping_add(2 * CHUNK + PAGE)).unwrap();
    assert_eq!(byte(&memory, 2 * CHUNK + PAGE), 0);
}

#[test]
fn pages_of_zeroes_are_known_and_not_read() {
    let mut used = PageSet::default();
    used.insert(6 * PAGE, 7 * PAGE);
    let image = image().with_used_pages(used);
    assert_eq!(image.used_pages().unwrap().iter().collect::<Vec<_>>(), [6 * PAGE]);
    let memory = HostMemory::new(4 * CHUNK, HostPages::Base).unwrap();
    image.place(&memory, run(5 * PAGE, HOST_BASE, 2 * PAGE), &mut PageSet::default()).unwrap();
    // The file has something else in page 5 than was said.
    assert_eq!([0, PAGE].map(|at| byte(&memory, at)), [0, 6]);
}

#[test]
fn pages_that_go_to_frames_of_any_order_are_the_same_as_each_alone() {
    let mut used = PageSet::default();
    for page in [0..40, 41..300, 511..512].into_iter().chain(std::iter::once(3 * CHUNK / PAGE..3 * CHUNK / PAGE + 1)) {
        used.insert(page.start * PAGE, page.end * PAGE);
    }
    // Backwards by four, with every other page of the second half left out, and the last chunk at the end.
    let pages = (0..512).filter(|page| page < &256 || page % 2 == 0).chain([1536]);
    let frame = |page: u64| HOST_BASE.wrapping_add((page ^ 3) * PAGE);
    let runs: Vec<_> = pages.map(|page| run(page * PAGE, frame(page), PAGE)).collect();
    for image in [image(), image().with_used_pages(used)] {
        let [one, all] = [(); 2].map(|()| HostMemory::new(4 * CHUNK, HostPages::Base).unwrap());
        let [mut placed_one, mut placed_all] = [(); 2].map(|()| PageSet::default());
        for &run in &runs {
            image.place(&one, run, &mut placed_one).unwrap();
        }
        image.place_all(&all, &runs, &mut placed_all).unwrap();
        assert_eq!(placed_one, placed_all);
        for at in (0..4 * CHUNK).step_by(PAGE as usize / 2) {
            assert_eq!(byte(&one, at), byte(&all, at), "{at:#x}");
        }
        assert_eq!([4, 7, 258].map(|page| byte(&all, (page ^ 3) * PAGE)), [4, 7, 2]);
    }
}

#[test]
fn a_file_that_has_become_shorter_is_an_error() {
    let mut used = PageSet::default();
    used.insert(0, CHUNK);
    let image = image().with_used_pages(used);
    image.file.set_len(10 * PAGE).unwrap();
    let memory = HostMemory::new(4 * CHUNK, HostPages::Base).unwrap();
    let runs = [run(20 * PAGE, HOST_BASE, PAGE), run(21 * PAGE, HOST_BASE.wrapping_add(CHUNK), PAGE)];
    assert!(image.place_all(&memory, &runs, &mut PageSet::default()).is_err());
    assert!(image.place(&memory, runs[0], &mut PageSet::default()).is_err());
}

#[test]
fn a_byte_anywhere_makes_a_page_other_than_zero() {
    for length in [0, 1, 63, 64, 65, 4096] {
        let mut page = vec![0; length];
        assert!(is_zero_page(&page), "{length}");
        for at in 0..length {
            page[at] = 1;
            assert!(!is_zero_page(&page), "{at} of {length}");
            page[at] = 0;
        }
    }
}

#[test]
fn frames_that_were_mapped_from_a_file_are_zero_when_they_are_handed_out_again() {
    let (image, memory) = (image(), HostMemory::new(2 * CHUNK, HostPages::Base).unwrap());
    let mut frames = FrameAllocator::new(&memory);
    let frame = frames.allocate(&memory, PageSize::Size2M).unwrap();
    image.place(&memory, run(0, frame.start(), CHUNK), &mut PageSet::default()).unwrap();
    assert_eq!(byte(&memory, PAGE), 1);
    frames.free(frame).unwrap();
    assert_eq!(frames.allocate(&memory, PageSize::Size2M), Ok(frame));
    assert_eq!([0, 1, 511].map(|page| byte(&memory, page * PAGE)), [0, 0, 0]);
}

#[test]
fn chunks_that_cannot_be_are_refused() {
    let new = |start, bytes, chunks| MemoryImage::new(tempfile::tempfile().unwrap(), start, bytes, chunks);
    assert!(new(0, CHUNK, vec![0]).is_some());
    assert!(new(1, CHUNK, vec![0]).is_none());
    assert!(new(0, CHUNK + 1, vec![0]).is_none());
    for chunks in [vec![1], vec![0, 0], vec![u32::MAX]] {
        assert!(new(0, CHUNK, chunks).is_none());
    }
}
