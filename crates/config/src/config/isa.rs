//! `isa.*`: extensions of the harts.

use keys::{key, settings};

settings! {
    /// `isa.*`: extensions over RV64IMA with Zicsr and Zifencei. What is on is advertised to the guest.
    #[derive(Copy, Eq)]
    #[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
    pub struct IsaKeys {
        pub c: bool = true => key("extensions; what is off traps as illegal and is not advertised"),
        pub f: bool = true => key("the extension F").with("c"),
        pub d: bool = true => key("the extension D").with("c"),
        pub zicntr: bool = true => key("the extension Zicntr").with("c"),
        pub zihintpause: bool = true => key("the extension Zihintpause").with("c"),
        pub zawrs: bool = false => key("the same; a wait on a reservation ends at once"),
        pub sstc: bool = true => key("the extension Sstc").with("c"),
        pub svnapot: bool = true => key("the extension Svnapot").with("c"),
    }
}
