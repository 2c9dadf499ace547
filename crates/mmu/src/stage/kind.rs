//! The kinds of second stage: for each variant of [`SecondStage`] a type, which makes the stage that a walk goes through.

use super::agile::{AgileStage, ShadowRoot};
use super::constant::ConstantStage;
use super::flat::FlatTable;
use super::format::{FormatHardware, OtherTables, Registers, TableFormat};
use super::host::Host;
use super::nested_tlb::NestedTlb;
use super::reserved::ReservedStage;
use super::second_stage::SecondStage;
use super::tabled::{Memory, TabledStage};
use crate::config::{AdPolicy, Groups};
use crate::geometry::Geometry;
use crate::refill::{RefillRoutine, RefillSteps};
use crate::space::{Space, Spaces};
use crate::walk::{GuestAddress, HostDimension, Map, Tree};
use crate::walk_cache::WalkCache;
use types::{Gpa, Hpa, SecondStageMode, Vmid};

/// What the processor has for walks of the second stage, and the rules that it walks by.
pub(crate) struct SecondStageHardware<'a> {
    pub(crate) vmid: Vmid,
    pub(crate) cache: &'a mut WalkCache,
    pub(crate) tlb: Option<&'a mut NestedTlb>,
    pub(crate) ad: AdPolicy,
    pub(crate) groups: Groups,
    pub(crate) format: Option<&'a mut FormatHardware>,
}

impl<'a> SecondStageHardware<'a> {
    /// Nested tables of that shape.
    #[inline(always)]
    pub(super) fn tree(self, geometry: Geometry, root: Hpa) -> TabledStage<'a, HostDimension, Tree, Host> {
        let Self { vmid, cache, tlb, ad, groups, format: _ } = self;
        let spaces = Spaces::of_guest_physical(vmid);
        let tree = Tree { geometry, root: root.0 & ((1 << 56) - (1 << 14)), spaces, ad, groups };
        TabledStage::new(tree, Host, Memory { space: spaces.local, cache, tlb })
    }
}

/// A second stage of one kind, as the hypervisor has chosen it.
pub(crate) trait StageKind {
    /// The stage during one walk.
    type Stage<'a>: Map<In: GuestAddress, Out = Hpa>;

    /// Where the first stage begins, at an address that the stage translates: mostly at the guest's root.
    #[inline(always)]
    fn root(&self, guest_root: u64) -> u64 {
        guest_root
    }

    /// Levels of its tables. A processor may have a `format` of a scheme's own.
    fn levels(&self, format: Option<&dyn TableFormat>) -> u32;

    /// Makes the stage.
    fn stage(self, hardware: SecondStageHardware<'_>) -> Self::Stage<'_>;

    /// Whether the fast path is for it: tables without a nested TLB would mostly be left at their first entry.
    fn has_fast_path(tlb: Option<&NestedTlb>) -> bool;

    /// What a refill routine takes for its steps.
    fn refill_steps(routine: &RefillRoutine, format: Option<&dyn TableFormat>) -> RefillSteps;
}

/// Does something with a second stage whose kind is known.
pub(crate) trait StageVisitor {
    type Output;

    fn visit<K: StageKind>(self, kind: K) -> Self::Output;
}

impl SecondStage {
    /// Where variants become types.
    #[inline(always)]
    pub(crate) fn visit<V: StageVisitor>(self, visitor: V) -> V::Output {
        match self {
            Self::Constant { ram, offset } => visitor.visit(ConstantStage { ram, offset }),
            Self::Nested { mode, root } => visitor.visit(NestedTables { mode, root }),
            Self::Flat { table, first, entries } => visitor.visit(FlatEntries { table, first, entries }),
            Self::Agile { mode, root, shadow } => visitor.visit(AgileTables { mode, root, shadow }),
            Self::Reserved { ram, offset } => visitor.visit(ReservedStage(ConstantStage { ram, offset })),
            Self::Other(registers) => visitor.visit(OtherFormat(registers)),
        }
    }
}

impl StageKind for ConstantStage {
    type Stage<'a> = Self;

    fn levels(&self, _: Option<&dyn TableFormat>) -> u32 {
        0
    }

    #[inline(always)]
    fn stage(self, _: SecondStageHardware<'_>) -> Self {
        self
    }

    #[inline(always)]
    fn has_fast_path(_: Option<&NestedTlb>) -> bool {
        true
    }

    /// A native guest's addresses are the host's.
    fn refill_steps(_: &RefillRoutine, _: Option<&dyn TableFormat>) -> RefillSteps {
        RefillSteps { lookup: 0, level: 0 }
    }
}

impl StageKind for ReservedStage {
    type Stage<'a> = Self;

    fn levels(&self, _: Option<&dyn TableFormat>) -> u32 {
        0
    }

    #[inline(always)]
    fn stage(self, _: SecondStageHardware<'_>) -> Self {
        self
    }

    #[inline(always)]
    fn has_fast_path(_: Option<&NestedTlb>) -> bool {
        true
    }

    fn refill_steps(routine: &RefillRoutine, _: Option<&dyn TableFormat>) -> RefillSteps {
        RefillSteps { lookup: routine.reserved_lookup, level: 0 }
    }
}

/// `SecondStage::Nested`.
pub(crate) struct NestedTables {
    mode: SecondStageMode,
    root: Hpa,
}

impl StageKind for NestedTables {
    type Stage<'a> = TabledStage<'a, HostDimension, Tree, Host>;

    fn levels(&self, _: Option<&dyn TableFormat>) -> u32 {
        self.mode.levels()
    }

    #[inline(always)]
    fn stage(self, hardware: SecondStageHardware<'_>) -> Self::Stage<'_> {
        hardware.tree(Geometry::of_second_stage(self.mode), self.root)
    }

    #[inline(always)]
    fn has_fast_path(tlb: Option<&NestedTlb>) -> bool {
        tlb.is_some()
    }

    fn refill_steps(routine: &RefillRoutine, _: Option<&dyn TableFormat>) -> RefillSteps {
        RefillSteps { lookup: routine.nested_lookup, level: routine.nested_level }
    }
}

/// `SecondStage::Flat`.
pub(crate) struct FlatEntries {
    table: Hpa,
    first: Gpa,
    entries: u64,
}

impl StageKind for FlatEntries {
    type Stage<'a> = TabledStage<'a, HostDimension, FlatTable, Host>;

    fn levels(&self, _: Option<&dyn TableFormat>) -> u32 {
        1
    }

    #[inline(always)]
    fn stage(self, hardware: SecondStageHardware<'_>) -> Self::Stage<'_> {
        let SecondStageHardware { vmid, cache, tlb, ad, groups: _, format: _ } = hardware;
        let Self { table, first, entries } = self;
        let memory = Memory { space: Space::bare(vmid), cache, tlb };
        TabledStage::new(FlatTable { table, first, entries, ad }, Host, memory)
    }

    #[inline(always)]
    fn has_fast_path(tlb: Option<&NestedTlb>) -> bool {
        tlb.is_some()
    }

    fn refill_steps(routine: &RefillRoutine, _: Option<&dyn TableFormat>) -> RefillSteps {
        RefillSteps { lookup: routine.flat_lookup, level: 0 }
    }
}

/// `SecondStage::Other`.
pub(crate) struct OtherFormat(Registers);

impl StageKind for OtherFormat {
    type Stage<'a> = TabledStage<'a, HostDimension, OtherTables<'a>, Host>;

    fn levels(&self, format: Option<&dyn TableFormat>) -> u32 {
        format.map_or(0, |format| format.levels(&self.0))
    }

    #[inline(always)]
    fn stage(self, hardware: SecondStageHardware<'_>) -> Self::Stage<'_> {
        let SecondStageHardware { vmid, cache, tlb, ad, groups: _, format } = hardware;
        let memory = Memory { space: Space::bare(vmid), cache, tlb };
        TabledStage::new(OtherTables { hardware: format, registers: self.0, vmid, ad }, Host, memory)
    }

    /// Which entries a format reads is its own to decide.
    #[inline(always)]
    fn has_fast_path(_: Option<&NestedTlb>) -> bool {
        false
    }

    fn refill_steps(routine: &RefillRoutine, format: Option<&dyn TableFormat>) -> RefillSteps {
        format.map_or(RefillSteps { lookup: 0, level: 0 }, |format| format.refill_steps(routine))
    }
}

/// `SecondStage::Agile`.
pub(crate) struct AgileTables {
    pub(super) mode: SecondStageMode,
    pub(super) root: Hpa,
    pub(super) shadow: ShadowRoot,
}

impl StageKind for AgileTables {
    type Stage<'a> = AgileStage<'a>;

    #[inline(always)]
    fn root(&self, guest_root: u64) -> u64 {
        self.shadow.start(guest_root).0
    }

    fn levels(&self, _: Option<&dyn TableFormat>) -> u32 {
        self.mode.levels()
    }

    #[inline(always)]
    fn stage(self, hardware: SecondStageHardware<'_>) -> AgileStage<'_> {
        let Self { mode, root, shadow: _ } = self;
        AgileStage { nested: hardware.tree(Geometry::of_second_stage(mode), root) }
    }

    #[inline(always)]
    fn has_fast_path(tlb: Option<&NestedTlb>) -> bool {
        tlb.is_some()
    }

    /// Agile paging is walked by hardware: a routine would have to look up only a part of the addresses.
    fn refill_steps(routine: &RefillRoutine, _: Option<&dyn TableFormat>) -> RefillSteps {
        RefillSteps { lookup: 0, level: routine.nested_level }
    }
}
