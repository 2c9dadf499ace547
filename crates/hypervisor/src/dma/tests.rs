use super::*;
use crate::testing::{NoProcessors, supply};
use crate::vm::{Backing, LeafStatus, Vm};
use devices::map::RAM_BASE;
use memory::{Host, HostPages};
use proptest::prelude::*;
use types::{PageSize, SecondStageMode, Vmid};

const RAM: u64 = 6 << 20;

fn machine(backing: Backing) -> (Host, Vm) {
    let mut host = Host::new(Vm::host_bytes(RAM, backing), HostPages::Base).unwrap();
    let vm = Vm::new(&mut host, Vmid(1), RAM, backing).unwrap();
    (host, vm)
}

fn backings() -> [Backing; 3] {
    let nested = |page| Backing::nested(SecondStageMode::Sv39x4, page, LeafStatus::Preset);
    [Backing::Native, nested(PageSize::Size4K), nested(PageSize::Size2M)]
}

fn ram(offset: u64) -> Gpa {
    RAM_BASE.wrapping_add(offset)
}

#[test]
fn ranges_outside_ram_are_refused_before_anything_is_written() {
    for backing in backings() {
        let (mut host, mut vm) = machine(backing);
        let owned = host.frames.owned_bytes();
        let dma = Dma::new(supply(&mut host, &mut vm, None, NoProcessors), 0);
        assert_eq!(dma.write(ram(RAM - 8), &[1; 16]), Err(DmaError::NotRam(ram(RAM - 8))));
        assert_eq!(dma.read(Gpa(0), &mut [0; 1]), Err(DmaError::NotRam(Gpa(0))));
        assert!(!dma.contains(ram(0), u64::MAX) && !dma.contains(Gpa(u64::MAX), 2));
        assert!(dma.contains(ram(0), RAM) && dma.contains(Gpa(0), 0));
        assert!(dma.slice(ram(RAM), 1, DmaAccess::Read).is_err());
        assert_eq!(dma.finish(), DmaOutcome::default());
        assert_eq!(host.frames.owned_bytes(), owned);
    }
}

#[test]
fn writes_are_noted_and_reads_are_not() {
    let (mut host, mut vm) = machine(backings()[1]);
    // Pages filled out of order, so that neighbours in the guest are none in the host.
    for offset in [0x1000, 0] {
        Dma::new(supply(&mut host, &mut vm, None, NoProcessors), 0).write(ram(offset), &[0]).unwrap();
    }
    let dma = Dma::new(supply(&mut host, &mut vm, None, NoProcessors), 0);
    dma.read(ram(0), &mut [0; 0x2000]).unwrap();
    dma.write(ram(0xffe), &[7; 4]).unwrap();
    dma.write(ram(0x1002), &[7; 4]).unwrap();
    let written = dma.finish().written;
    let frame = |offset| vm.touch(&host.memory, ram(offset), Access::Read).unwrap().start;
    let [low, high] = [0xffe, 0x1000].map(frame).map(|hpa| host.memory.pointer(hpa).unwrap().as_ptr() as usize);
    assert_eq!(written, [(low, 2), (high, 6)]);
    assert_ne!(low + 2, high);
}

#[test]
fn an_exhausted_host_is_named() {
    let mut host = Host::new(8 * 4096, HostPages::Base).unwrap();
    let mut vm = Vm::new(&mut host, Vmid(1), RAM, backings()[1]).unwrap();
    let dma = Dma::new(supply(&mut host, &mut vm, None, NoProcessors), 0);
    assert_eq!(dma.write(ram(0), &[1; 0x4000]), Err(DmaError::NoFrame(ram(0x2000))));
}

proptest! {
    #[test]
    fn copies_arrive(
        backing in prop::sample::select(backings().to_vec()),
        writes in prop::collection::vec((0..RAM, prop::collection::vec(any::<u8>(), 0..9000)), 1..12),
    ) {
        let (mut host, mut vm) = machine(backing);
        let mut model = vec![0; RAM as usize];
        let dma = Dma::new(supply(&mut host, &mut vm, None, NoProcessors), 0);
        for (offset, bytes) in &writes {
            let fits = offset + bytes.len() as u64 <= RAM;
            prop_assert_eq!(dma.write(ram(*offset), bytes).is_ok(), fits || bytes.is_empty());
            if fits {
                model[*offset as usize..][..bytes.len()].copy_from_slice(bytes);
            }
        }
        let mut all = vec![1; RAM as usize];
        dma.read(ram(0), &mut all).unwrap();
        prop_assert!(all == model);
    }
}
