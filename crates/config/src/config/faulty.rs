//! `faulty.*`: hard faults of the host's memory. A native machine has no hypervisor that could do without the frames, and its memory is sound.

use keys::{key, settings};

settings! {
    /// `faulty.*`.
    #[derive(Eq)]
    pub struct FaultyKeys {
        // More than 65536 are not what a filter of any size is for.
        pub count: u32 = 0 => key(
            "so many pages of the host's memory have hard faults, anywhere in it as `seed` says, up to 65536; native \
             machines have sound memory"
        ).number(0, 65_536).virtual_only(),
        pub addresses: Vec<u64> = Vec::new() => key(
            "pages that have some, by a host physical address in each: `[0xc0001000, …]`"
        ).virtual_only(),
        pub at: u64 = 0 => key(
            "from when on, in seconds of guest time; 0 is from before the guests' memory is allocated"
        ).unit("seconds").virtual_only(),
    }
}

impl FaultyKeys {
    /// Whether there is any.
    #[must_use]
    pub const fn any(&self) -> bool {
        self.count > 0 || !self.addresses.is_empty()
    }
}
