//! Accesses to registers of devices, in any order.

use crate::device_guest::DeviceGuest;
use testing::Random;

/// Runs the target.
///
/// # Panics
/// If a device does what no guest may make it do.
pub fn run(input: &[u8]) {
    let mut random = Random::of_input(input);
    let mut guest = DeviceGuest::new(&mut random);
    while random.has_input() {
        guest.step(&mut random);
    }
    guest.finish();
}
