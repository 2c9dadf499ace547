//! The Debian guest: a root file system on a disk, with systemd and apt.
//!
//! The host resolves, downloads and opens the packages. A Linux guest puts them onto a disk and configures them (`build.sh`). So nothing is installed on the
//! host, root is not needed there, and each script runs on the processor that it is for.

mod image;
mod initramfs;
mod packages;
mod task;

pub use image::{DebianImage, ImageRequest};
pub use initramfs::debian_initramfs;
pub use packages::{Opened, open_packages};
pub use task::DebianTask;
