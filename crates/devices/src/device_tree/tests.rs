//! Reads the tree back with a reader of its own (Devicetree Specification 0.4, chapter 5).

use super::*;
use std::collections::BTreeMap;

/// Properties by the path of their node and their name, as `/cpus/cpu@0:reg`.
type Tree = BTreeMap<String, Vec<u8>>;

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn text(bytes: &[u8], at: usize) -> &str {
    let length = bytes[at..].iter().position(|&byte| byte == 0).unwrap();
    std::str::from_utf8(&bytes[at..at + length]).unwrap()
}

fn parse(blob: &[u8]) -> Tree {
    assert_eq!(word(blob, 0), 0xd00d_feed);
    assert_eq!(word(blob, 4) as usize, blob.len());
    let (mut at, strings) = (word(blob, 8) as usize, word(blob, 12) as usize);
    let mut path: Vec<String> = Vec::new();
    let mut tree = Tree::new();
    loop {
        let token = word(blob, at);
        at += 4;
        match token {
            1 => {
                let name = text(blob, at);
                path.push(name.to_owned());
                at = (at + name.len() + 1).next_multiple_of(4);
            }
            2 => {
                path.pop().unwrap();
            }
            3 => {
                let (length, name) = (word(blob, at) as usize, word(blob, at + 4) as usize);
                let key = format!("{}:{}", path.join("/"), text(blob, strings + name));
                assert_eq!(tree.insert(key, blob[at + 8..at + 8 + length].to_vec()), None);
                at = (at + 8 + length).next_multiple_of(4);
            }
            4 => {}
            9 => return tree,
            _ => panic!("token {token}"),
        }
    }
}

fn machine() -> TreeDescription<'static> {
    TreeDescription {
        harts: 3,
        plic: PlicContexts::Supervisor,
        isa: "rv64imafdc_zicsr_zifencei_sstc",
        paging: PagingMode::Sv48,
        ram_bytes: 0x1_4000_0000,
        bootargs: "console=ttyS0 quiet",
        initrd: Some(Gpa(0x8800_0000)..Gpa(0x8812_3456)),
        seed: 42,
        virtio_slots: 2,
        sections: &[],
        primary_region: Some(Gpa(0x1_c000_0000)..Gpa(0x2_0000_0000)),
    }
}

fn tree() -> Tree {
    parse(&device_tree(&machine()).unwrap())
}

fn words(cells: &[u32]) -> Vec<u8> {
    cells.iter().flat_map(|cell| cell.to_be_bytes()).collect()
}

#[test]
fn harts() {
    let tree = tree();
    assert_eq!(tree["/cpus:timebase-frequency"], words(&[10_000_000]));
    for hart in 0..3_u32 {
        let cpu = |property: &str| &tree[&format!("/cpus/cpu@{hart}:{property}")];
        assert_eq!(*cpu("reg"), words(&[hart]));
        assert_eq!(cpu("device_type"), b"cpu\0");
        assert_eq!(cpu("compatible"), b"riscv\0");
        assert_eq!(cpu("status"), b"okay\0");
        assert_eq!(cpu("riscv,isa"), b"rv64imafdc_zicsr_zifencei_sstc\0");
        assert_eq!(cpu("riscv,isa-base"), b"rv64i\0");
        assert_eq!(cpu("riscv,isa-extensions"), b"i\0m\0a\0f\0d\0c\0zicsr\0zifencei\0sstc\0");
        assert_eq!(cpu("mmu-type"), b"riscv,sv48\0");
    }
    assert!(!tree.contains_key("/cpus/cpu@3:reg"));
}

#[test]
fn memory_and_chosen() {
    let tree = tree();
    assert_eq!(tree["/memory@80000000:device_type"], b"memory\0");
    assert_eq!(tree["/memory@80000000:reg"], words(&[0, 0x8000_0000, 1, 0x4000_0000]));
    assert_eq!(tree["/chosen:bootargs"], b"console=ttyS0 quiet\0");
    assert_eq!(tree["/chosen:linux,initrd-start"], words(&[0, 0x8800_0000]));
    assert_eq!(tree["/chosen:linux,initrd-end"], words(&[0, 0x8812_3456]));
    assert_eq!(tree["/chosen:stdout-path"], b"/soc/serial@10000000\0");
    assert_eq!(tree["/aliases:serial0"], tree["/chosen:stdout-path"]);
    assert_eq!(tree["/chosen:rng-seed"].len(), 32);
}

#[test]
fn the_seed_decides_the_seed() {
    let seed = |seed| parse(&device_tree(&TreeDescription { seed, ..machine() }).unwrap())["/chosen:rng-seed"].clone();
    assert_eq!(seed(1), seed(1));
    assert_ne!(seed(1), seed(2));
}

#[test]
fn devices_and_their_interrupts() {
    let tree = tree();
    let plic = "/soc/plic@c000000";
    let phandle = &tree[&format!("{plic}:phandle")];
    assert_eq!(tree["/soc:ranges"], []);
    assert_eq!(tree["/soc:compatible"], b"simple-bus\0");
    assert_eq!(tree[&format!("{plic}:reg")], words(&[0, 0x0c00_0000, 0, 0x60_0000]));
    assert_eq!(tree[&format!("{plic}:riscv,ndev")], words(&[63]));
    assert_eq!(tree[&format!("{plic}:interrupt-controller")], []);
    let contexts: Vec<u8> = (0..3)
        .flat_map(|hart| {
            [tree[&format!("/cpus/cpu@{hart}/interrupt-controller:phandle")].clone(), words(&[9])].concat()
        })
        .collect();
    assert_eq!(tree[&format!("{plic}:interrupts-extended")], contexts);
    for (node, base, bytes, source, compatible) in [
        ("serial@10000000", 0x1000_0000, 0x100, 10, "ns16550a\0"),
        ("virtio_mmio@10001000", 0x1000_1000, 0x1000, 1, "virtio,mmio\0"),
        ("virtio_mmio@10002000", 0x1000_2000, 0x1000, 2, "virtio,mmio\0"),
    ] {
        let property = |name: &str| &tree[&format!("/soc/{node}:{name}")];
        assert_eq!(*property("reg"), words(&[0, base, 0, bytes]));
        assert_eq!(*property("interrupts"), words(&[source]));
        assert_eq!(property("interrupt-parent"), phandle);
        assert_eq!(property("compatible"), compatible.as_bytes());
    }
    assert!(!tree.contains_key("/soc/virtio_mmio@10003000:reg"));
}

/// As OpenSBI leaves QEMU's tree behind: M-mode's contexts have no interrupt for S-mode.
#[test]
fn plic_contexts_of_both_modes_are_named() {
    let tree = parse(&device_tree(&TreeDescription { plic: PlicContexts::MachineAndSupervisor, ..machine() }).unwrap());
    let contexts: Vec<u8> = (0..3)
        .flat_map(|hart| {
            let phandle = tree[&format!("/cpus/cpu@{hart}/interrupt-controller:phandle")].clone();
            [phandle.clone(), words(&[0xffff_ffff]), phandle, words(&[9])].concat()
        })
        .collect();
    assert_eq!(tree["/soc/plic@c000000:interrupts-extended"], contexts);
}

#[test]
fn phandles_are_unique() {
    let tree = tree();
    let handles: Vec<_> =
        tree.iter().filter(|(key, _)| key.ends_with(":phandle")).map(|(_, value)| value.clone()).collect();
    let unique: std::collections::BTreeSet<_> = handles.iter().cloned().collect();
    assert_eq!((handles.len(), unique.len()), (4, 4));
}

#[test]
fn without_an_initrd_there_is_no_such_property() {
    let tree = parse(&device_tree(&TreeDescription { initrd: None, ..machine() }).unwrap());
    assert!(!tree.keys().any(|key| key.contains("initrd")));
}

#[test]
fn sections_are_numbered_and_named() {
    let section = |name, start, writable| TreeSection { name, memory: Gpa(start)..Gpa(start + 0x20_0000), writable };
    let sections = [section("cache", 0x2_0000_0000, true), section("a$b", 0x2_4000_0000, false)];
    let tree = parse(&device_tree(&TreeDescription { sections: &sections, ..machine() }).unwrap());
    assert_eq!(tree["/sections/section-0:reg"], words(&[2, 0, 0, 0x20_0000]));
    assert_eq!(tree["/sections/section-0:label"], b"cache\0");
    assert_eq!(tree["/sections/section-1:label"], b"a$b\0");
    assert_eq!(tree["/sections/section-1:compatible"], b"pagewalk,section\0");
    assert!(tree.contains_key("/sections/section-1:read-only"));
    assert!(!tree.contains_key("/sections/section-0:read-only"));
    assert!(!self::tree().keys().any(|key| key.starts_with("/sections")));
}

#[test]
fn what_cannot_be_described_is_refused() {
    let error = |machine| device_tree(&machine).unwrap_err();
    assert_eq!(error(TreeDescription { harts: 0, ..machine() }), TreeError::Harts(0));
    assert_eq!(error(TreeDescription { harts: 1025, ..machine() }), TreeError::Harts(1025));
    let both = TreeDescription { harts: 513, plic: PlicContexts::MachineAndSupervisor, ..machine() };
    assert_eq!(error(both), TreeError::Harts(513));
    assert_eq!(error(TreeDescription { virtio_slots: 9, ..machine() }), TreeError::Slots(9));
    assert_eq!(error(TreeDescription { bootargs: "a\0b", ..machine() }), TreeError::Bootargs);
    for isa in
        ["", "rv32imac", "rv64", "rv64m", "rv64IMAC", "rv64i__zicsr", "rv64i_", "rv64i_z", "rv64i zicsr", "rv64i\0"]
    {
        assert_eq!(error(TreeDescription { isa, ..machine() }), TreeError::Isa(isa.into()), "{isa:?}");
    }
}

#[test]
fn a_tree_with_room_is_the_same_tree_in_a_larger_blob() {
    let packed = device_tree(&machine()).unwrap();
    let mut roomy = packed.clone();
    leave_room(&mut roomy, 1000);
    assert_eq!(roomy.len(), packed.len() + 1000);
    assert_eq!(parse(&roomy), parse(&packed));
}
