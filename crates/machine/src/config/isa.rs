//! `isa.*`: extensions of the harts.

use keys::{key, settings};

settings! {
    /// `isa.*`: extensions over RV64IMA with Zicsr and Zifencei. What is on is advertised to the guest.
    #[derive(Copy, Eq)]
    #[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
    pub struct IsaKeys {
        pub c: bool = hart::Isa::default().c => key("extensions; what is off traps as illegal and is not advertised"),
        pub f: bool = hart::Isa::default().f => key("the extension F").with("c"),
        pub d: bool = hart::Isa::default().d => key("the extension D").with("c"),
        pub zicntr: bool = hart::Isa::default().zicntr => key("the extension Zicntr").with("c"),
        pub zihintpause: bool = hart::Isa::default().zihintpause => key("the extension Zihintpause").with("c"),
        pub zawrs: bool = hart::Isa::default().zawrs => key("the same; a wait on a reservation ends at once"),
        pub sstc: bool = hart::Isa::default().sstc => key("the extension Sstc").with("c"),
        pub svnapot: bool = hart::Isa::default().svnapot => key("the extension Svnapot").with("c"),
    }
}
