//! What answers a guest behind a device: the user network, and the server of a shared directory.

pub mod files;
pub mod packets;
