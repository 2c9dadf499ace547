use super::*;
use proptest::prelude::*;

const PAGE: u64 = PageSize::Size4K.bytes();

fn memory(pages: u64) -> HostMemory {
    HostMemory::new(pages * PAGE, HostPages::Base).unwrap()
}

#[test]
fn starts_as_zeroes_and_keeps_what_is_written() {
    let memory = memory(2);
    assert_eq!(memory.read::<u64>(HOST_BASE), Ok(0));
    memory.write(HOST_BASE.wrapping_add(3), 0x0123_4567_89ab_cdef_u64).unwrap();
    assert_eq!(memory.read::<u8>(HOST_BASE.wrapping_add(3)), Ok(0xef), "little-endian");
    assert_eq!(memory.read::<u16>(HOST_BASE.wrapping_add(4)), Ok(0xabcd));
    assert_eq!(memory.read::<u32>(HOST_BASE.wrapping_add(7)), Ok(0x0123_4567));
}

#[test]
fn sizes_that_are_none_are_refused() {
    for bytes in [0, 1, 4095, u64::MAX, u64::MAX - 4095, 1 << 63] {
        assert_eq!(HostMemory::new(bytes, HostPages::Base).unwrap_err(), MapError::Size(bytes), "{bytes}");
    }
}

#[test]
fn lies_on_a_huge_page_boundary() {
    for pages in [1, 512, 1000] {
        let memory = memory(pages);
        assert_eq!(memory.pointer(HOST_BASE).unwrap().as_ptr() as u64 % ALIGNMENT, 0);
    }
}

#[test]
fn the_edges_are_checked() {
    let memory = memory(1);
    let last = HOST_BASE.wrapping_add(PAGE - 1);
    assert!(memory.read::<u8>(last).is_ok());
    assert!(memory.pointer(last).is_some());
    assert_eq!(memory.read::<u16>(last), Err(OutsideMemory { at: last, bytes: 2 }));
    for outside in [Hpa(0), Hpa(HOST_BASE.0 - 1), memory.end(), Hpa(u64::MAX)] {
        assert!(memory.pointer(outside).is_none(), "{outside}");
        assert!(memory.write(outside, 1_u8).is_err());
        assert!(memory.zero(outside, 1).is_err());
        assert!(memory.volatile_slice(outside, 1).is_err());
    }
    assert!(memory.read_slice(HOST_BASE, &mut [0; 4097]).is_err());
    assert!(memory.zero(HOST_BASE, u64::MAX).is_err());
    assert!(memory.write_slice(memory.end(), &[]).is_ok(), "nothing, at the end");
}

#[test]
fn zero_clears_only_its_range() {
    const ALL: usize = 3 << 20;
    let memory = memory(ALL as u64 / PAGE);
    let (from, discarded) = (HOST_BASE.wrapping_add(PAGE), 2 << 20);
    for (at, bytes) in [(from, discarded), (from.wrapping_add(1), discarded), (from, 32 * PAGE), (from, 100)] {
        memory.write_slice(HOST_BASE, &vec![0xff; ALL]).unwrap();
        memory.zero(at, bytes).unwrap();
        let mut all = vec![0; ALL];
        memory.read_slice(HOST_BASE, &mut all).unwrap();
        let (start, end) = ((at.0 - HOST_BASE.0) as usize, (at.0 - HOST_BASE.0 + bytes) as usize);
        assert!(all[start..end].iter().all(|&byte| byte == 0));
        assert!(all[..start].iter().chain(&all[end..]).all(|&byte| byte == 0xff));
    }
}

/// Bytes of this process that are resident, from `/proc`.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * PAGE
}

#[test]
fn untouched_memory_costs_nothing() {
    let before = resident();
    let memory = HostMemory::new(64 << 30, HostPages::Base).unwrap();
    for gigabyte in 0..64 {
        memory.write(HOST_BASE.wrapping_add(gigabyte << 30), 1_u8).unwrap();
    }
    // Other tests run in this process, so the bound is loose; without NORESERVE the mapping would fail outright.
    assert!(resident() - before < 64 << 20);
}

proptest! {
    #[test]
    fn slices_and_scalars_see_the_same_bytes(offset in 0_u64..PAGE - 8, value: u64) {
        let memory = memory(1);
        let at = HOST_BASE.wrapping_add(offset);
        memory.write(at, value).unwrap();
        let mut bytes = [0; 8];
        memory.read_slice(at, &mut bytes).unwrap();
        prop_assert_eq!(bytes, value.to_le_bytes());
        memory.volatile_slice(at, 8).unwrap().copy_from(&[0xaa_u8; 8]);
        prop_assert_eq!(memory.read::<u64>(at), Ok(0xaaaa_aaaa_aaaa_aaaa));
    }
}
