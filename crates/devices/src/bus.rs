//! Why an access to a device's register cannot be made.

use types::{Gpa, Width};

/// The guest takes an access fault for each of these.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BusError {
    /// No device, or no register of one, is at the address.
    #[error("no device at {0}")]
    NoDevice(Gpa),
    /// The register cannot be accessed with that width.
    #[error("the register at {0} has no access {1:?} wide")]
    Width(Gpa, Width),
    /// The address is no multiple of the width.
    #[error("the access at {0}, {1:?} wide, is misaligned")]
    Misaligned(Gpa, Width),
}
