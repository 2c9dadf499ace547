//! The schemes that Pagewalk comes with, a file each.

use crate::facts::Facts;
use crate::scheme::SchemeRef;

/// Declares the files and lists their schemes.
macro_rules! schemes {
    ($($file:ident::$scheme:ident,)*) => {
        $(mod $file;)*

        /// The list, in the order of help texts and tables.
        pub const ALL: &[SchemeRef] = &[$(&$file::$scheme),*];
    };
}

schemes! {
    native::Native,
    nested::Nested,
    shadow::Shadow,
    agile::Agile,
    flat::Flat,
    flat_hw::FlatHw,
    reserved::Reserved,
    native_segment::NativeSegment,
    vmm_direct::VmmDirect,
    guest_direct::GuestDirect,
    dual_direct::DualDirect,
}

/// What others are compared with.
pub const NATIVE: SchemeRef = &native::Native;
/// What most schemes with a hypervisor say of themselves: the facts of `nested`, to begin one's own with.
pub const PAGED: Facts = nested::FACTS;
/// Two-dimensional paging.
pub const NESTED: SchemeRef = &nested::Nested;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Segments;
    use crate::registry;
    use crate::services::ServiceName::{Ballooning, GuestSwapping, HypervisorSwapping, PageSharing};
    use hypervisor::Backing;
    use types::SecondStageMode;

    /// Slides 22 and 44 of Gandhi et al. 2014, as they are; and Sha et al. 2022, section 3.
    #[test]
    fn the_papers_tables_are_the_programs() {
        let row = |name: &str| {
            let scheme = registry::find(name).unwrap();
            let facts = scheme.facts();
            let limited = |service| facts.services.refusal(service).is_some();
            let services = [PageSharing, Ballooning, GuestSwapping, HypervisorSwapping].map(limited);
            (facts.dimensions, scheme.worst_case(4, 4).references, services)
        };
        assert_eq!(row("nested"), (2, 24, [false; 4]));
        assert_eq!(row("vmm-direct"), (1, 4, [true, true, false, true]));
        assert_eq!(row("dual-direct"), (0, 0, [true; 4]));
        assert_eq!(row("guest-direct"), (1, 4, [false, false, true, false]));
        assert_eq!(row("native").1, 4);
        assert_eq!(row("flat").1, 9);
    }

    #[test]
    fn what_a_segment_changes_is_where_it_is() {
        let memory = crate::conformance::memory(SecondStageMode::Sv39x4);
        for scheme in ALL {
            let Facts { name, segments, services, .. } = scheme.facts();
            assert_eq!(services.refusal(GuestSwapping).is_some(), segments.has_guest(), "{name}");
            let fixed = match scheme.backing(&memory) {
                Backing::Reserved | Backing::Direct { .. } => true,
                Backing::Native | Backing::Table { .. } => false,
            };
            assert_eq!(services.refusal(HypervisorSwapping).is_some(), fixed, "{name}");
        }
        assert!(ALL.iter().any(|scheme| scheme.facts().segments == Segments::Both));
    }
}
