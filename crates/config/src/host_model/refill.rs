//! What a refill routine costs.

use keys::{key, model};
use mmu::RefillRoutine;
use schemes::RefillName;

model! {
    /// How the TLBs are refilled, and by how many instructions where a routine does it.
    #[derive(Copy)]
    pub struct RefillModel {
        pub by: RefillName => key("who refills the TLBs, where neither scheme nor `mmu.refill` say: `hardware` or `software`"),
        pub begin: u32 => key("instructions of the refill routine before its first step").unit("instructions"),
        pub guest_level: u32 => key("instructions of the refill routine for each entry of the guest's tables").unit("instructions"),
        pub nested_lookup: u32 => key("instructions of the refill routine for each address that nested tables translate, beside their entries")
            .unit("instructions").virtual_only(),
        pub nested_level: u32 => key("instructions of the refill routine for each entry of the nested tables").unit("instructions").virtual_only(),
        pub flat_lookup: u32 => key("instructions of the refill routine for each address that the flat table translates, its entry included")
            .unit("instructions").virtual_only(),
        pub reserved_lookup: u32 => key("instructions of the refill routine for each address that reserved memory translates")
            .unit("instructions").virtual_only(),
        pub update: u32 => key("instructions of the refill routine for each A or D bit that is set").unit("instructions"),
        pub fill: u32 => key("instructions of the refill routine to put the translation together and write it to the TLB").unit("instructions"),
    }
}

impl RefillModel {
    /// As the MMU takes it.
    #[must_use]
    pub const fn routine(&self) -> RefillRoutine {
        let Self { by: _, begin, guest_level, nested_lookup, nested_level, flat_lookup, reserved_lookup, update, fill } =
            *self;
        RefillRoutine { begin, guest_level, nested_lookup, nested_level, flat_lookup, reserved_lookup, update, fill }
    }
}
