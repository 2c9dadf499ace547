//! How much memory guests need, and how much of the host's.

use config::Config;
use hypervisor::Vm;

/// The least memory of a guest that boots Linux.
pub const LEAST_LINUX_MEMORY: u64 = 96 << 20;

/// The least memory of any guest.
pub const LEAST_MEMORY: u64 = 8 << 20;

/// Host memory, in bytes, that is enough for a guest as `config` has it, tables included.
#[must_use]
pub fn guest_host_bytes(config: &Config) -> u64 {
    let tables = config.shadow().map_or(0, |shadow| shadow.config.host_bytes(config.memory.0));
    // Each faulty frame takes the place of another, and may cut a piece in two.
    let faulty = (u64::from(config.faulty.count) + config.faulty.addresses.len() as u64) * 2 * 4096;
    // What a balloon takes out of a fixed memory stays with the guest, and what is added for it comes on top.
    let added = if config.segment.hot_add { config.balloon.target.map_or(0, |target| target.0) } else { 0 };
    [tables, faulty, added].into_iter().fold(Vm::host_bytes(config.memory.0, config.backing()), u64::saturating_add)
}
