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

fn byte(memory: &HostMemory, offset: u64) -> u8 {
    memory.read(HOST_BASE.wrapping_add(offset)).unwrap()
}

#[test]
fn all_of_memory_reads_as_the_image_and_writes_stay_out_of_it() {
    let image = image();
    for _ in 0..2 {
        let memory = HostMemory::new(4 * CHUNK, HostPages::Huge).unwrap();
        image.place(&memory, 0, HOST_BASE, 4 * CHUNK, &mut PageSet::default()).unwrap();
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
    image.place(&memory, 5 * PAGE, HOST_BASE, PAGE, &mut placed).unwrap();
    assert_eq!(byte(&memory, 0), 5);
    // The chunk around it, later: that page has lost what it had.
    image.place(&memory, 0, HOST_BASE.wrapping_add(CHUNK), CHUNK, &mut placed).unwrap();
    assert_eq!([4, 5, 6].map(|page| byte(&memory, CHUNK + page * PAGE)), [4, 0, 6]);
    image.place(&memory, 0, HOST_BASE.wrapping_add(2 * CHUNK), CHUNK, &mut placed).unwrap();
    assert_eq!(byte(&memory, 2 * CHUNK + 6 * PAGE), 0, "all were placed");
    image.copy_page(&memory, 6 * PAGE, HOST_BASE.wrapping_add(2 * CHUNK)).unwrap();
    assert_eq!(byte(&memory, 2 * CHUNK), 6);
    image.copy_page(&memory, CHUNK, HOST_BASE.wrapping_add(2 * CHUNK + PAGE)).unwrap();
    assert_eq!(byte(&memory, 2 * CHUNK + PAGE), 0);
}

#[test]
fn frames_that_were_mapped_from_a_file_are_zero_when_they_are_handed_out_again() {
    let (image, memory) = (image(), HostMemory::new(2 * CHUNK, HostPages::Base).unwrap());
    let mut frames = FrameAllocator::new(&memory);
    let frame = frames.allocate(&memory, PageSize::Size2M).unwrap();
    image.place(&memory, 0, frame.start(), CHUNK, &mut PageSet::default()).unwrap();
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
