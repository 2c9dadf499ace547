use super::*;
use crate::FaultyFrame;
use crate::testing::{Processor, supply};
use crate::vm::Vm;
use crate::vm::{Backing, FilterSize};
use devices::map::RAM_BASE;
use memory::{HOST_BASE, HostPages};
use mmu::{MmuConfig, Segments};
use types::{Access, SecondStageMode, Vmid};

const RAM: u64 = 4 << 20;
const BACKING: Backing =
    Backing::Direct { mode: SecondStageMode::Sv39x4, filter: FilterSize { bits: Some(256), hashes: 4 } };

fn machine(faulty: &[u64]) -> (Host, Vm, Processor) {
    let mut host = Host::new(Vm::host_bytes(RAM, BACKING), HostPages::Base).unwrap();
    for &at in faulty {
        host.frames.mark_faulty(HOST_BASE.wrapping_add(at)).unwrap();
    }
    let vm = Vm::new(&mut host, Vmid(3), RAM, BACKING).unwrap();
    let mut processor = Processor::new(&MmuConfig::default(), vm.vmid());
    load(&vm, &mut processor);
    (host, vm, processor)
}

fn load(vm: &Vm, processor: &mut Processor) {
    let hypervisor = vm.hypervisor_segment().unwrap().clone();
    processor.mmu.set_segments(&Segments { hypervisor, ..Segments::default() });
}

fn ram(offset: u64) -> Gpa {
    RAM_BASE.wrapping_add(offset)
}

#[test]
fn memory_in_the_segment_never_faults_and_what_lies_behind_it_does() {
    let (mut host, mut vm, mut processor) = machine(&[]);
    let start = vm.segment_place(RAM_BASE).unwrap();
    for offset in [0, 4096, RAM - 1] {
        let (found, faults) = processor.access(&mut host, &mut vm, ram(offset), Access::Write);
        assert_eq!((found, faults), (Some(start.wrapping_add(offset)), 0));
    }
    assert_eq!(processor.mmu.statistics().refs(), 0);
    assert_eq!(processor.access(&mut host, &mut vm, ram(RAM), Access::Read).0, None);
    // Memory that is added is paged.
    vm.grow(8192).unwrap();
    let (found, faults) = processor.access(&mut host, &mut vm, ram(RAM), Access::Write);
    assert!(found.is_some_and(|found| found < start || found >= start.wrapping_add(RAM)), "{found:?}");
    assert_eq!((faults, vm.is_ram(ram(RAM + 8191), 1), vm.is_ram(ram(RAM + 8192), 1)), (1, true, false));
}

#[test]
fn a_segment_is_made_over_faulty_frames_and_leads_to_none() {
    let at = 2 << 20;
    let (mut host, mut vm, mut processor) = machine(&[at + 4096, at + 40960]);
    let faulty: Vec<Hpa> = host.frames.faulty_frames().collect();
    assert_eq!((vm.segment_place(RAM_BASE), vm.replaced_pages()), (Some(HOST_BASE.wrapping_add(at)), 2));
    for offset in (0..RAM).step_by(4096) {
        let (found, _) = processor.access(&mut host, &mut vm, ram(offset), Access::Write);
        let found = found.unwrap();
        assert!(!faulty.contains(&found), "{found}");
        assert_eq!(vm.segment_place(ram(offset)), Some(found));
    }
    assert!(processor.mmu.statistics().escape_hits > 0);
}

#[test]
fn a_page_that_fails_is_the_same_elsewhere_for_guest_and_devices() {
    let (mut host, mut vm, mut processor) = machine(&[]);
    for offset in [0, 8192, 12288] {
        let (before, _) = processor.access(&mut host, &mut vm, ram(offset), Access::Write);
        let before = before.unwrap();
        host.memory.write(before, 0x1234_5678_u64 + offset).unwrap();
        assert_eq!(supply(&mut host, &mut vm, None, &mut processor).mark_faulty(before), Ok(FaultyFrame::Replaced));
        load(&vm, &mut processor);
        let (after, _) = processor.access(&mut host, &mut vm, ram(offset), Access::Read);
        assert_ne!(after, Some(before));
        assert_eq!(host.memory.read(after.unwrap()), Ok(0x1234_5678_u64 + offset));
        let piece = supply(&mut host, &mut vm, None, &mut processor).fill(0, ram(offset), Access::Read);
        assert_eq!(piece.unwrap().map(|piece| (Some(piece.start), piece.bytes)), Some((after, 4096)));
        // And the frame that took its place.
        let again = supply(&mut host, &mut vm, None, &mut processor).mark_faulty(after.unwrap());
        load(&vm, &mut processor);
        let (third, _) = processor.access(&mut host, &mut vm, ram(offset), Access::Read);
        assert_eq!(again, Ok(FaultyFrame::Replaced));
        assert!(third != after && third != Some(before));
        assert_eq!(host.memory.read(third.unwrap()), Ok(0x1234_5678_u64 + offset));
    }
}

#[test]
fn a_host_that_is_too_small_in_one_piece_makes_no_segment() {
    let mut host = Host::new(RAM + (1 << 20), HostPages::Base).unwrap();
    let free = host.frames.free_bytes();
    let error = Vm::new(&mut host, Vmid(3), RAM, BACKING).unwrap_err();
    assert!(matches!(error, VmError::Segment(_)) && error.to_string().contains("contiguous in host memory"), "{error}");
    assert_eq!(host.frames.free_bytes(), free);
}
