//! Provisional.
use crate::{clock::Clock, machine::*, world::*};
use types::*;
pub fn native(elf: &[u8], bootargs: &str, bytes: u64, harts: usize) -> Machine {
    let host = memory::Host::new(bytes, memory::HostPages::Huge).unwrap();
    let model = crate::host_model::HostModel::load("sandybridge-2012").unwrap();
    let clock: Clock = model.clock();
    let config = crate::config::Config::default();
    // load ELF
    let u64at = |o: usize| u64::from_le_bytes(elf[o..o + 8].try_into().unwrap());
    let u16at = |o: usize| u16::from_le_bytes(elf[o..o + 2].try_into().unwrap());
    let mut entry = 0x8020_0000;
    if &elf[..4] == b"\x7fELF" {
        entry = u64at(24);
        let phoff = u64at(32) as usize;
        for i in 0..u16at(56) as usize {
            let p = phoff + i * 56;
            if elf[p] == 1 {
                let (off, paddr, filesz) = (u64at(p + 8) as usize, u64at(p + 24), u64at(p + 32) as usize);
                host.memory.write_slice(Hpa(paddr), &elf[off..off + filesz]).unwrap();
            }
        }
    } else {
        host.memory.write_slice(Hpa(entry), elf).unwrap();
    }
    let isa = config.isa();
    let initrd = std::env::var("INITRD").ok().map(|p| std::fs::read(p).unwrap());
    let range = initrd.map(|data| {
        let at = (0x8000_0000 + bytes - (4 << 20) - data.len() as u64) & !0xfff;
        host.memory.write_slice(Hpa(at), &data).unwrap();
        Gpa(at)..Gpa(at + data.len() as u64)
    });
    let tree = devices::device_tree(&devices::TreeDescription {
        harts: harts as u32, isa: &isa.string(), paging: PagingMode::Sv39, ram_bytes: bytes,
        bootargs, initrd: range, seed: 1, virtio_slots: 0,
    }).unwrap();
    let at = 0x8000_0000 + bytes - (2 << 20);
    host.memory.write_slice(Hpa(at), &tree).unwrap();
    let mmu_config = config.mmu(&model);
    let costs = monitor::CostTable { l2_tlb_hit: Cycles(7), table_reference: Cycles(20) };
    let mut m = Machine::new(World::new(host, costs, clock), isa, PagingMode::Sv39, Pace { engine: config.engine(), quantum: Cycles(10_000), timeout_seconds: None });
    let platform = devices::Platform::new(devices::PlatformConfig { harts, input: devices::ConsoleInput::Uart, virtio: vec![] }).unwrap();
    let procs = (0..harts).map(|_| Processor::new(mmu::Mmu::new(&mmu_config).unwrap())).collect();
    m.add_guest(Guest { vm: monitor::Vm { bytes }, platform }, procs, entry, at);
    m
}
