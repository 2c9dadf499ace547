//! `disk.*`: the disks of guests.

use keys::{key, settings};

settings! {
    /// `disk.*`.
    #[derive(Copy, Eq)]
    pub struct DiskKeys {
        pub latency_us: u64 = 0 => key(
            "disks: microseconds of guest time from a request to its interrupt, up to a second; 0 has a request done before \
             the guest goes on"
        ).number(0, 1_000_000),
    }
}
