//! The flattened device tree of a guest, in the shape of QEMU's `virt` machine (Devicetree Specification 0.4; the bindings are
//! those of Linux 6.12, `Documentation/devicetree/bindings`).

use crate::map::{self, VIRTIO_SLOTS, Window};
use crate::plic::{self, PlicContexts};
use core::ops::Range;
use types::SplitMix64;
use types::{Gpa, PagingMode};
use vm_fdt::FdtWriter;

/// Ticks per second of the guest's `time`.
const TIMEBASE_FREQUENCY: u32 = 10_000_000;

/// The clock of QEMU's UART; only the baud rate depends on it, which has no effect here.
const UART_CLOCK: u32 = 3_686_400;

const PLIC_PHANDLE: u32 = 1;

/// The phandle of hart `hart`'s own interrupt controller.
fn hart_phandle(hart: u32) -> u32 {
    PLIC_PHANDLE + 1 + hart
}

/// A machine to describe.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeDescription<'a> {
    /// Harts, with IDs 0 to `harts` − 1; at least 1.
    pub harts: u32,
    /// The PLIC's contexts of each hart.
    pub plic: PlicContexts,
    /// The ISA of every hart, as `rv64imafdc_zicsr_zifencei`: lower case, multi-letter extensions after underscores.
    pub isa: &'a str,
    /// The largest first-stage paging mode; smaller ones are implied.
    pub paging: PagingMode,
    /// Bytes of RAM, from [`map::RAM_BASE`] on.
    pub ram_bytes: u64,
    /// The kernel's command line.
    pub bootargs: &'a str,
    /// Where the initial RAM file system lies, if there is one.
    pub initrd: Option<Range<Gpa>>,
    /// What the kernel's random numbers start from: the same seed gives the same `rng-seed`.
    pub seed: u64,
    /// Virtio slots in use: 0 to `virtio_slots` − 1.
    pub virtio_slots: usize,
    /// The primary region, outside of RAM, if there is one.
    pub primary_region: Option<Range<Gpa>>,
    /// Memory that is shared with other guests.
    pub sections: &'a [TreeSection<'a>],
}

/// A section of memory outside RAM.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeSection<'a> {
    /// Its name.
    pub name: &'a str,
    /// Where it is.
    pub memory: Range<Gpa>,
    /// Whether the guest may write to it.
    pub writable: bool,
}

/// Why a tree cannot be written.
#[derive(PartialEq, Debug, thiserror::Error)]
pub enum TreeError {
    /// The ISA is not `rv64i` or `rv64e`, single letters, and names after underscores.
    #[error("`{0}` is not an ISA string like rv64imafdc_zicsr_zifencei")]
    Isa(String),
    /// No hart, or more than the PLIC serves.
    #[error("{0} harts: a guest has at least one, and at most as many as the PLIC has contexts for (1024)")]
    Harts(u32),
    /// More virtio slots than there are.
    #[error("{0} virtio devices: there are 8 slots")]
    Slots(usize),
    /// The command line holds a NUL, which would end it.
    #[error("the kernel's command line contains a NUL byte")]
    Bootargs,
    /// The writer refused.
    #[error("device tree: {0}")]
    Writer(#[from] vm_fdt::Error),
}

/// Writes the tree of `machine`.
///
/// # Errors
/// [`TreeError`]: the description contradicts itself or cannot be expressed.
pub fn device_tree(machine: &TreeDescription<'_>) -> Result<Vec<u8>, TreeError> {
    if !(1..=plic::MAX_CONTEXTS).contains(&machine.plic.count(machine.harts as usize)) {
        return Err(TreeError::Harts(machine.harts));
    }
    if machine.virtio_slots > VIRTIO_SLOTS {
        return Err(TreeError::Slots(machine.virtio_slots));
    }
    if machine.bootargs.contains('\0') {
        return Err(TreeError::Bootargs);
    }
    let isa = Isa::parse(machine.isa)?;

    let mut tree = FdtWriter::new()?;
    let root = tree.begin_node("")?;
    tree.property_u32("#address-cells", 2)?;
    tree.property_u32("#size-cells", 2)?;
    tree.property_string("compatible", "riscv-virtio")?;
    tree.property_string("model", "pagewalk")?;
    aliases(&mut tree)?;
    chosen(&mut tree, machine)?;
    memory(&mut tree, machine)?;
    cpus(&mut tree, machine, &isa)?;
    soc(&mut tree, machine)?;
    sections(&mut tree, machine.sections)?;
    tree.end_node(root)?;
    Ok(tree.finish()?)
}

/// Gives `tree` `bytes` more bytes, which nothing uses yet: who edits it in place makes its blocks longer by them (Devicetree Specification
/// 0.4, section 5.2, `totalsize`).
pub fn leave_room(tree: &mut Vec<u8>, bytes: usize) {
    const TOTAL_SIZE: core::ops::Range<usize> = 4..8;
    tree.resize(tree.len() + bytes, 0);
    let total = tree.len() as u32;
    tree[TOTAL_SIZE].copy_from_slice(&total.to_be_bytes());
}

/// An ISA string taken apart for the `riscv,isa-base` and `riscv,isa-extensions` properties (binding `riscv/extensions.yaml`).
struct Isa {
    base: String,
    extensions: Vec<String>,
}

impl Isa {
    fn parse(text: &str) -> Result<Self, TreeError> {
        let invalid = || TreeError::Isa(text.to_owned());
        let mut parts = text.split('_');
        let letters = parts.next().and_then(|first| first.strip_prefix("rv64")).ok_or_else(invalid)?;
        let base = letters.chars().next().filter(|base| matches!(base, 'i' | 'e')).ok_or_else(invalid)?;
        let names: Vec<String> = parts.map(str::to_owned).collect();
        let is_name = |name: &String| {
            name.len() > 1 && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
        };
        if !letters.bytes().all(|byte| byte.is_ascii_lowercase()) || !names.iter().all(is_name) {
            return Err(invalid());
        }
        let extensions = letters.chars().map(String::from).chain(names).collect();
        Ok(Self { base: format!("rv64{base}"), extensions })
    }
}

fn uart_path() -> String {
    format!("/soc/{}", uart_node())
}

fn uart_node() -> String {
    format!("serial@{:x}", map::UART.base.0)
}

fn aliases(tree: &mut FdtWriter) -> Result<(), TreeError> {
    let node = tree.begin_node("aliases")?;
    tree.property_string("serial0", &uart_path())?;
    tree.end_node(node)?;
    Ok(())
}

fn chosen(tree: &mut FdtWriter, machine: &TreeDescription<'_>) -> Result<(), TreeError> {
    let node = tree.begin_node("chosen")?;
    tree.property_string("bootargs", machine.bootargs)?;
    tree.property_string("stdout-path", &uart_path())?;
    if let Some(initrd) = &machine.initrd {
        tree.property_u64("linux,initrd-start", initrd.start.0)?;
        tree.property_u64("linux,initrd-end", initrd.end.0)?;
    }
    let mut seed = [0; 32];
    SplitMix64::new(machine.seed).fill(&mut seed);
    tree.property("rng-seed", &seed)?;
    tree.end_node(node)?;
    Ok(())
}

fn memory(tree: &mut FdtWriter, machine: &TreeDescription<'_>) -> Result<(), TreeError> {
    let node = tree.begin_node(&format!("memory@{:x}", map::RAM_BASE.0))?;
    tree.property_string("device_type", "memory")?;
    tree.property_array_u64("reg", &[map::RAM_BASE.0, machine.ram_bytes])?;
    tree.end_node(node)?;
    Ok(())
}

fn cpus(tree: &mut FdtWriter, machine: &TreeDescription<'_>, isa: &Isa) -> Result<(), TreeError> {
    let node = tree.begin_node("cpus")?;
    tree.property_u32("#address-cells", 1)?;
    tree.property_u32("#size-cells", 0)?;
    tree.property_u32("timebase-frequency", TIMEBASE_FREQUENCY)?;
    for hart in 0..machine.harts {
        cpu(tree, machine, isa, hart)?;
    }
    tree.end_node(node)?;
    Ok(())
}

fn cpu(tree: &mut FdtWriter, machine: &TreeDescription<'_>, isa: &Isa, hart: u32) -> Result<(), TreeError> {
    let node = tree.begin_node(&format!("cpu@{hart:x}"))?;
    tree.property_string("device_type", "cpu")?;
    tree.property_u32("reg", hart)?;
    tree.property_string("status", "okay")?;
    tree.property_string("compatible", "riscv")?;
    tree.property_string("riscv,isa", machine.isa)?;
    tree.property_string("riscv,isa-base", &isa.base)?;
    tree.property_string_list("riscv,isa-extensions", isa.extensions.clone())?;
    tree.property_string(
        "mmu-type",
        match machine.paging {
            PagingMode::Bare => "riscv,none",
            PagingMode::Sv39 => "riscv,sv39",
            PagingMode::Sv48 => "riscv,sv48",
            PagingMode::Sv57 => "riscv,sv57",
        },
    )?;
    let controller = tree.begin_node("interrupt-controller")?;
    tree.property_u32("#interrupt-cells", 1)?;
    tree.property_null("interrupt-controller")?;
    tree.property_string("compatible", "riscv,cpu-intc")?;
    tree.property_phandle(hart_phandle(hart))?;
    tree.end_node(controller)?;
    tree.end_node(node)?;
    Ok(())
}

fn soc(tree: &mut FdtWriter, machine: &TreeDescription<'_>) -> Result<(), TreeError> {
    let node = tree.begin_node("soc")?;
    tree.property_u32("#address-cells", 2)?;
    tree.property_u32("#size-cells", 2)?;
    tree.property_string("compatible", "simple-bus")?;
    tree.property_null("ranges")?;
    plic_node(tree, machine.harts, machine.plic)?;
    serial_node(tree)?;
    for slot in 0..machine.virtio_slots {
        virtio_node(tree, slot)?;
    }
    if let Some(memory) = &machine.primary_region {
        primary_region_node(tree, memory)?;
    }
    tree.end_node(node)?;
    Ok(())
}

fn window(tree: &mut FdtWriter, window: Window) -> Result<(), TreeError> {
    Ok(tree.property_array_u64("reg", &[window.base.0, window.bytes])?)
}

fn interrupt(tree: &mut FdtWriter, source: u32) -> Result<(), TreeError> {
    tree.property_u32("interrupts", source)?;
    Ok(tree.property_u32("interrupt-parent", PLIC_PHANDLE)?)
}

/// Binding `interrupt-controller/sifive,plic-1.0.0.yaml`: the nth entry of `interrupts-extended` is context n.
fn plic_node(tree: &mut FdtWriter, harts: u32, contexts: PlicContexts) -> Result<(), TreeError> {
    let node = tree.begin_node(&format!("plic@{:x}", map::PLIC.base.0))?;
    tree.property_string_list("compatible", vec!["sifive,plic-1.0.0".into(), "riscv,plic0".into()])?;
    window(tree, map::PLIC)?;
    tree.property_u32("#address-cells", 0)?;
    tree.property_u32("#interrupt-cells", 1)?;
    tree.property_null("interrupt-controller")?;
    let of_hart = |hart| contexts.interrupts().iter().flat_map(move |&number| [hart_phandle(hart), number]);
    let interrupts: Vec<u32> = (0..harts).flat_map(of_hart).collect();
    tree.property_array_u32("interrupts-extended", &interrupts)?;
    tree.property_u32("riscv,ndev", plic::SOURCES - 1)?;
    tree.property_phandle(PLIC_PHANDLE)?;
    tree.end_node(node)?;
    Ok(())
}

fn serial_node(tree: &mut FdtWriter) -> Result<(), TreeError> {
    let node = tree.begin_node(&uart_node())?;
    tree.property_string("compatible", "ns16550a")?;
    window(tree, map::UART)?;
    tree.property_u32("clock-frequency", UART_CLOCK)?;
    interrupt(tree, map::UART_SOURCE)?;
    tree.end_node(node)?;
    Ok(())
}

fn virtio_node(tree: &mut FdtWriter, slot: usize) -> Result<(), TreeError> {
    let place = map::virtio_slot(slot);
    let node = tree.begin_node(&format!("virtio_mmio@{:x}", place.base.0))?;
    tree.property_string("compatible", "virtio,mmio")?;
    window(tree, place)?;
    interrupt(tree, map::virtio_source(slot))?;
    tree.end_node(node)?;
    Ok(())
}

/// `/sections/section-0` and so on: a binding of our own. Nodes are numbered because a section's name may be none of a node.
fn sections(tree: &mut FdtWriter, sections: &[TreeSection<'_>]) -> Result<(), TreeError> {
    if sections.is_empty() {
        return Ok(());
    }
    let node = tree.begin_node("sections")?;
    tree.property_u32("#address-cells", 2)?;
    tree.property_u32("#size-cells", 2)?;
    tree.property_null("ranges")?;
    for (number, section) in sections.iter().enumerate() {
        let node = tree.begin_node(&format!("section-{number}"))?;
        tree.property_string("compatible", "pagewalk,section")?;
        tree.property_string("label", section.name)?;
        tree.property_array_u64("reg", &[section.memory.start.0, section.memory.end.0 - section.memory.start.0])?;
        if !section.writable {
            tree.property_null("read-only")?;
        }
        tree.end_node(node)?;
    }
    tree.end_node(node)?;
    Ok(())
}

/// Registers first, then the memory.
fn primary_region_node(tree: &mut FdtWriter, memory: &Range<Gpa>) -> Result<(), TreeError> {
    let registers = map::PRIMARY_REGION;
    let node = tree.begin_node(&format!("primary-region@{:x}", registers.base.0))?;
    tree.property_string("compatible", "pagewalk,primary-region")?;
    let bytes = memory.end.0 - memory.start.0;
    tree.property_array_u64("reg", &[registers.base.0, registers.bytes, memory.start.0, bytes])?;
    tree.end_node(node)?;
    Ok(())
}

#[cfg(test)]
mod tests;
