//! What happens to an MMU, drawn at random.

use super::builder::{A, D, G, N, R, U, V, W, X};
use mmu::Fence;
use testing::Random;
use types::{Access, Asid, PageSize, PagingMode, Privilege, Width};

/// An address, to be made in the context in which it is used.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Table index at each level, the last level first.
    pub indices: [u16; 5],
    /// Byte in the 4K page.
    pub offset: u16,
    /// Neither canonical nor within any width.
    pub wild: Option<u64>,
}

/// What is done.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// A load, store or fetch by the instruction `pc`, which remembers the entry that it hit last.
    Access { pc: u8, place: Place, access: Access, width: Width },
    /// The instruction `pc` again, elsewhere in the page.
    Again { pc: u8, double_word: u16, access: Access },
    /// Prediction goes wrong: an instruction remembers the entry of another.
    Mispredict { pc: u8, other: u8 },
    /// The operating system maps a page in the current tables, and does not fence.
    MapGuest { place: Place, size: PageSize, target: Place, flags: u64 },
    /// The hypervisor maps a page.
    MapHost { place: Place, size: PageSize, flags: u64 },
    /// Any entry of any table becomes anything.
    EditGuest { table: u16, entry: u16, pte: u64 },
    /// Any entry of any table of the second stage becomes anything.
    EditHost { table: u16, entry: u16, pte: u64 },
    /// The hypervisor maps a table of the guest with these flags, by a leaf at this level, aligned or not.
    BreakTable { table: u16, level: u32, flags: u64 },
    /// `satp` and `sstatus` are written, and perhaps another virtual machine entered.
    Context { vm: u8, mode: PagingMode, root: u8, asid: Asid, privilege: Privilege, sum: bool, mxr: bool },
    /// Privilege, SUM or MXR alone change.
    Status { privilege: Privilege, sum: bool, mxr: bool },
    /// The segment registers are loaded.
    Segments { guest: Option<SegmentOp>, hypervisor: Option<SegmentOp> },
    /// A fence.
    Fence(FenceOp),
    /// The hypervisor uses one of its own pages, in the L1 of this kind of access or in the L2.
    HostPage { page: u16, l1: Option<Access> },
}

/// A segment, its addresses to be made.
#[derive(Clone, Copy, Debug)]
pub struct SegmentOp {
    pub place: Place,
    pub pages: u64,
    /// Where it leads; the hypervisor's mostly leads to the virtual machine's own memory.
    pub target: Option<Place>,
    /// Pages that escape, from the base on.
    pub escaping: [Option<u64>; 3],
    /// log2 of the filter's bits and of its hash functions.
    pub filter: (u32, u32),
}

/// A fence, its addresses to be made.
#[derive(Clone, Copy, Debug)]
pub enum FenceOp {
    Vma { place: Option<Place>, asid: Option<Asid> },
    Vvma { vm: u8, place: Option<Place>, asid: Option<Asid> },
    Gvma { vm: Option<u8>, place: Option<Place> },
}

/// Host virtual machines of the harness.
pub const VMS: u8 = 12;
/// Table pages of each, in each dimension.
pub const TABLES: u16 = 3000;
/// Instructions that remember an entry.
pub const PCS: u8 = 24;

const ASIDS: [Asid; 4] = [Asid(0), Asid(1), Asid(2), Asid(0xffff)];
/// Modes of the four roots, when they are not walked in another.
const MODES: [PagingMode; 4] = [PagingMode::Sv48, PagingMode::Sv39, PagingMode::Sv57, PagingMode::Sv39];
const ANY_MODE: [PagingMode; 4] = [PagingMode::Bare, PagingMode::Sv39, PagingMode::Sv48, PagingMode::Sv57];
const WIDTHS: [Width; 4] = [Width::Byte, Width::Half, Width::Word, Width::Double];

impl Place {
    pub fn random(rng: &mut Random) -> Self {
        // Few, so that pages come again.
        let upper = |rng: &mut Random| if rng.one_in(10) { rng.pick(&[1, 1, 2, 2, 255, 256, 511]) } else { 0 };
        let last = if rng.one_in(60) { rng.below(512) } else { rng.below(24) };
        let offset = match rng.below(4) {
            0 => rng.below(4096),
            1 => 0xff8 + rng.below(8),
            _ => rng.below(512) * 8,
        };
        let indices = [last as u16, upper(rng), upper(rng), upper(rng), upper(rng)];
        let wild = rng.one_in(200).then(|| rng.bits() >> rng.below(40));
        Self { indices, offset: offset as u16, wild }
    }

    /// The address of the lower `bits`.
    pub fn address(&self, bits: u32) -> u64 {
        if let Some(wild) = self.wild {
            return wild;
        }
        let number = self.indices.iter().rev().fold(0, |number, &index| number << 9 | u64::from(index));
        (number << 12 | u64::from(self.offset)) & (u64::MAX >> (64 - bits))
    }
}

fn access(rng: &mut Random) -> Access {
    rng.pick(&[Access::Read, Access::Read, Access::Write, Access::Execute])
}

fn privilege(rng: &mut Random) -> Privilege {
    rng.pick(&[Privilege::User, Privilege::Supervisor])
}

/// Flags of a leaf, mostly of use.
fn flags(rng: &mut Random) -> u64 {
    let mut flags = match rng.below(8) {
        0 => R,
        1 => X,
        2 => R | W,
        3 => R | X,
        _ => R | W | X,
    };
    for (bit, odds) in [(U, 2), (G, 5), (A, 2), (D, 3)] {
        if rng.one_in(odds) {
            flags |= bit;
        }
    }
    flags
}

/// Any PTE at all, mostly nearly right.
fn any_pte(rng: &mut Random) -> u64 {
    let mut pte = match rng.below(6) {
        0 => 0,
        1 => rng.bits(),
        2 => V,
        _ => V | flags(rng),
    };
    pte |= rng.below(1 << 10) << rng.pick(&[10, 19, 28, 37]);
    if rng.one_in(12) {
        pte |= 1 << (54 + rng.below(10));
    }
    if rng.one_in(8) {
        pte |= N | rng.pick(&[0x8, 0x8, 0x8, 0x4, 0x20, 0x100]) << 10;
    }
    pte
}

fn segment(rng: &mut Random, elsewhere: u64) -> Option<SegmentOp> {
    if rng.one_in(3) {
        return None;
    }
    let pages = 1 << rng.below(12);
    Some(SegmentOp {
        place: Place::random(rng),
        pages: if rng.one_in(2) { pages } else { 1 << 18 | rng.below(512) },
        target: rng.one_in(elsewhere).then(|| Place::random(rng)),
        escaping: [0; 3].map(|_| rng.one_in(3).then(|| rng.below(24))),
        filter: (6 + rng.below(4) as u32, rng.below(4) as u32),
    })
}

fn fence(rng: &mut Random) -> FenceOp {
    let place = (!rng.one_in(3)).then(|| Place::random(rng));
    let asid = rng.one_in(2).then(|| rng.pick(&ASIDS));
    let vm = rng.below(u64::from(VMS)) as u8;
    match rng.below(8) {
        0 => FenceOp::Vvma { vm, place, asid },
        1 => FenceOp::Gvma { vm: (!rng.one_in(4)).then_some(vm), place },
        _ => FenceOp::Vma { place, asid },
    }
}

impl Op {
    pub fn random(rng: &mut Random) -> Self {
        let size = |rng: &mut Random| {
            use PageSize::*;
            rng.pick(&[
                Size4K, Size4K, Size4K, Size64K, Size64K, Size32K, Size256K, Size2M, Size2M, Size1G, Size512G, Size256T,
            ])
        };
        // Tables that are given out first are in use most.
        let table = |rng: &mut Random| {
            let among = if rng.one_in(2) { 16 } else { 256 };
            rng.below(among) as u16
        };
        let entry = |rng: &mut Random| rng.pick(&[0, 0, 1, 2, 3, 5, 255, 256, 511]);
        let pc = |rng: &mut Random| rng.below(u64::from(PCS)) as u8;
        match rng.below(1000) {
            0..3 => Self::MapGuest {
                place: Place::random(rng),
                size: size(rng),
                target: Place::random(rng),
                flags: flags(rng),
            },
            3..5 => Self::MapHost { place: Place::random(rng), size: size(rng), flags: flags(rng) | U },
            5..10 => Self::EditGuest { table: table(rng), entry: entry(rng), pte: any_pte(rng) },
            10..14 => Self::EditHost { table: table(rng), entry: entry(rng), pte: any_pte(rng) },
            14..18 => {
                let root = rng.pick(&[0, 0, 0, 0, 1, 1, 2, 3]);
                let usual = !rng.one_in(12);
                Self::Context {
                    vm: rng.pick(&[0, 1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 6, 6, 7, 8, 9, 9, 10, 10, 11, 11]),
                    mode: if usual { MODES[usize::from(root)] } else { rng.pick(&ANY_MODE) },
                    root,
                    asid: if usual { ASIDS[usize::from(root)] } else { rng.pick(&ASIDS) },
                    privilege: privilege(rng),
                    sum: rng.one_in(2),
                    mxr: rng.one_in(4),
                }
            }
            18..36 => Self::Status { privilege: privilege(rng), sum: rng.one_in(2), mxr: rng.one_in(8) },
            36..44 => Self::Fence(fence(rng)),
            44..46 => Self::Segments { guest: segment(rng, 1), hypervisor: segment(rng, 4) },
            46..60 => Self::Mispredict { pc: pc(rng), other: pc(rng) },
            60..63 => {
                Self::BreakTable { table: rng.below(8) as u16, level: rng.below(2) as u32, flags: rng.below(256) }
            }
            63..70 => {
                let l1 = rng.pick(&[None, Some(Access::Read), Some(Access::Write), Some(Access::Execute)]);
                Self::HostPage { page: rng.below(24) as u16, l1 }
            }
            70..500 => Self::Again { pc: pc(rng), double_word: rng.below(512) as u16, access: access(rng) },
            _ => {
                let place = Place::random(rng);
                // An instruction mostly stays with its page.
                let pc = if rng.one_in(4) { pc(rng) } else { (place.indices[0] % u16::from(PCS)) as u8 };
                Self::Access { pc, place, access: access(rng), width: rng.pick(&WIDTHS) }
            }
        }
    }
}

impl FenceOp {
    /// The fence, its addresses made by `gva` and `gpa`, and virtual machines named by `vmid`.
    pub fn make(
        self,
        gva: impl Fn(Place) -> types::Gva,
        gpa: impl Fn(Place) -> types::Gpa,
        vmid: impl Fn(u8) -> types::Vmid,
    ) -> Fence {
        match self {
            Self::Vma { place, asid } => Fence::Vma { gva: place.map(gva), asid },
            Self::Vvma { vm, place, asid } => Fence::Vvma { vmid: vmid(vm), gva: place.map(gva), asid },
            Self::Gvma { vm, place } => Fence::Gvma { gpa: place.map(gpa), vmid: vm.map(vmid) },
        }
    }
}
