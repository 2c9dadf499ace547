use super::flat::tests::image;
use super::*;
use crate::LEAST_LINUX_MEMORY;
use devices::DmaMemory;
use hypervisor::{Backing, FlushTlbs, FrameReclaim, LeafStatus, Vm};
use memory::FrameRange;
use memory::{Host, HostPages};
use mmu::Fence;
use types::{SecondStageMode, Vmid};

const MEBIBYTE: u64 = 1 << 20;

fn ram(bytes: u64) -> Range<Gpa> {
    Gpa(0x8000_0000)..Gpa(0x8000_0000 + bytes)
}

/// No processor runs while a guest is loaded.
struct NoProcessors;

impl FlushTlbs for NoProcessors {
    fn fence(&mut self, _: &Fence) {}

    fn forget_code(&mut self, _: FrameRange) {}
}

fn supply<'h>(host: &'h mut Host, vm: &'h mut Vm) -> FrameReclaim<'h, NoProcessors> {
    let Host { memory, frames } = host;
    FrameReclaim { memory, frames, vms: std::slice::from_mut(vm), pager: None, processors: NoProcessors }
}

fn files<'f>(kernel: &'f [u8], initrd: Option<&'f [u8]>) -> BootFiles<'f> {
    BootFiles { kernel_name: "some/Image", kernel, load_address: None, initrd, least_memory: 0 }
}

#[test]
fn everything_is_apart_and_at_the_top() {
    let kernel = image(0x1000, 0x20_0000, 0x5000);
    let initrd = vec![7; 0x2345];
    let plan = Plan::new(files(&kernel, Some(&initrd)), ram(16 * MEBIBYTE)).unwrap();
    let start = Gpa(0x8100_0000 - 0x3000);
    assert_eq!(plan.entry(), Gpa(0x8020_0000));
    assert_eq!(plan.initrd(), Some(start..start.wrapping_add(0x2345)));
    assert_eq!(plan.tree(0x1001), Ok(Gpa(start.0 - 0x2000)));
    let bare = Plan::new(files(&kernel, None), ram(16 * MEBIBYTE)).unwrap();
    assert_eq!((bare.initrd(), bare.tree(1)), (None, Ok(Gpa(0x8100_0000 - 0x1000))));
}

#[test]
fn what_does_not_fit_is_named() {
    let kernel = image(0x1000, 0x20_0000, MEBIBYTE);
    let initrd = vec![0; 2 * MEBIBYTE as usize];
    let error = Plan::new(files(&kernel, Some(&initrd)), ram(4 * MEBIBYTE)).unwrap_err().to_string();
    for part in ["some/Image", "the initrd", "4.0 MiB", "3.0 MiB", "2.0 MiB"] {
        assert!(error.contains(part), "{part}: {error}");
    }
    let plan = Plan::new(files(&kernel, Some(&initrd)), ram(5 * MEBIBYTE)).unwrap();
    assert!(matches!(plan.tree(1), Err(LoadError::NoRoom { what: "the device tree", .. })));
    assert!(plan.tree(u64::MAX).is_err());
}

#[test]
fn too_little_memory_for_linux_is_said_first() {
    let kernel = image(0x1000, 0x20_0000, MEBIBYTE);
    let linux = BootFiles { least_memory: LEAST_LINUX_MEMORY, ..files(&kernel, None) };
    let error = Plan::new(linux, ram(95 * MEBIBYTE)).unwrap_err().to_string();
    assert_eq!(error, "some/Image: needs 96 MiB of memory, and the guest has 95.0 MiB");
    assert!(Plan::new(linux, ram(96 * MEBIBYTE)).is_ok());
}

#[test]
fn files_that_are_no_kernel_are_told_apart() {
    let at = |offset: usize, magic: &[u8]| {
        let mut file = vec![0; 0x400];
        file[offset..offset + magic.len()].copy_from_slice(magic);
        Plan::new(files(&file, None), ram(MEBIBYTE)).unwrap_err().to_string()
    };
    for (file, says) in [
        (at(0x202, b"HdrS"), "x86"),
        (at(0x38, b"ARM\x64"), "64-bit ARM"),
        (at(0, &[0x1f, 0x8b]), "gzip"),
        (at(0, &[0x28, 0xb5, 0x2f, 0xfd]), "zstd"),
        (at(0, b"#!/bin/sh"), "neither"),
    ] {
        assert!(file.starts_with("some/Image: ") && file.contains(says), "{file}");
    }
    let empty = Plan::new(files(&[], None), ram(MEBIBYTE)).unwrap_err();
    assert_eq!(empty.to_string(), "some/Image: the file is empty");
}

#[test]
fn what_is_planned_is_what_is_written() {
    for page in [PageSize::Size4K, PageSize::Size2M] {
        let bytes = 16 * MEBIBYTE;
        let backing = Backing::nested(SecondStageMode::Sv39x4, page, LeafStatus::Preset);
        let mut host = Host::new(Vm::host_bytes(bytes, backing), HostPages::Base).unwrap();
        let mut vm = Vm::new(&mut host, Vmid(1), bytes, backing).unwrap();
        let mut kernel = image(0x3000, 0x20_0000, 0x5000);
        kernel[0x2fff] = 9;
        let (initrd, tree) = (vec![7; 0x2345], [1, 2, 3]);
        let plan = Plan::new(files(&kernel, Some(&initrd)), vm.ram()).unwrap();
        let tree_at = plan.tree(3).unwrap();
        let mut dma = Dma::new(supply(&mut host, &mut vm), 0);
        plan.write(&mut dma, tree_at, &tree).unwrap();
        let read = |at: Gpa, length: usize| {
            let mut bytes = vec![0xee; length];
            dma.read(at, &mut bytes).unwrap();
            bytes
        };
        assert_eq!(read(plan.entry(), 0x3000), kernel);
        assert!(read(plan.entry().wrapping_add(0x3000), 0x2000).iter().all(|&byte| byte == 0), "the BSS");
        assert_eq!(read(plan.initrd().unwrap().start, 0x2345), initrd);
        assert_eq!(read(tree_at, 3), tree);
        assert!(dma.contains(tree_at, 3));
    }
}

#[test]
fn a_host_without_frames_fails_the_load() {
    let backing = Backing::nested(SecondStageMode::Sv39x4, PageSize::Size4K, LeafStatus::Preset);
    let mut host = Host::new(0x8000, HostPages::Base).unwrap();
    let mut vm = Vm::new(&mut host, Vmid(1), 16 * MEBIBYTE, backing).unwrap();
    let kernel = image(0x9000, 0x20_0000, 0x9000);
    let plan = Plan::new(files(&kernel, None), vm.ram()).unwrap();
    let tree_at = plan.tree(1).unwrap();
    let result = plan.write(&mut Dma::new(supply(&mut host, &mut vm), 0), tree_at, &[0]);
    assert_eq!(result, Err(GuestMemoryError::NoFrame(Gpa(0x8020_2000))));
}

/// Regression: U-Boot 2025.01 overwrote its own data behind a device tree without room, and stopped with a load access fault before it
/// started Linux.
#[test]
fn a_boot_loader_has_room_in_its_device_tree() {
    let ram = ram(16 * MEBIBYTE);
    let raw = BootFiles { load_address: Some(ram.start), ..files(&[0x13; 64], None) };
    let raw = Plan::new(raw, ram.clone()).unwrap();
    for (bytes, whole) in [(2000, 4096), (3072, 4096), (3073, 8192), (4096, 8192)] {
        assert_eq!(bytes + raw.tree_room(bytes), whole);
    }
    let elf = include_bytes!("../../../../guests/vos/vos.elf");
    let elf = Plan::new(files(elf, None), ram.clone()).unwrap();
    for (bytes, whole) in [(2000, 4096), (4095, 4096), (4096, 4096)] {
        assert_eq!(bytes + elf.tree_room(bytes), whole);
    }
    let image = image(0x1000, 0x20_0000, 0x5000);
    assert_eq!(Plan::new(files(&image, None), ram).unwrap().tree_room(2000), 0);
}
