//! The guests that the command boots. `linux` is Debian's kernel and programs, fetched into a cache; here is how they get
//! there, and how a root file system is made of them.

mod apt;
mod cache;
mod command_line;
mod cpio;
mod debian;
mod error;
mod fetch;
mod images;
mod initramfs;
mod kept;
mod kernel_file;
mod linux;
mod manifest;
mod module_files;
mod modules;
mod package;
mod sets;
mod shares;
mod slim;
mod static_program;
mod tool;

pub use apt::{KERNEL_SUITES, SUITE, Source};
pub use cache::Cache;
pub use command_line::kernel_command_line;
pub use debian::{DebianImage, DebianTask, ImageRequest, Opened, debian_initramfs, open_packages};
pub use error::GuestError;
pub use fetch::{FetchRequest, Fetched, KernelRequest, fetch};
pub use images::{COMPUTE, HEADER, SERVERS_VOS, SHELL_VOS, TIMESHARING_VOS, VALIDATION_VOS, VOS, VosKernel, WORKLOADS};
pub use initramfs::{GuestFile, GuestNetwork, Initramfs, Memory, Region, Task, TaskPlace};
pub use kept::{TASK_BYTES, task_archive};
pub use kernel_file::{drivers_outside, release_of};
pub use linux::{LinuxGuest, ModuleSource};
pub use manifest::{Entry, ListedPath, Listing, Manifest, PackageId, SetEntry};
pub use modules::GuestDevice;
pub use sets::{BASE, LIBRARIES, PACKAGE_SETS, PackageSet, package_set};
pub use shares::{CopyOut, GuestShares, Mount};

/// The sets that `cache` holds; none if nothing was fetched.
///
/// # Errors
/// [`GuestError::Io`] if the cache cannot be read.
pub fn fetched_sets(cache: &Cache) -> Result<Vec<SetEntry>, GuestError> {
    Ok(Manifest::read(cache)?.map_or_else(Vec::new, |manifest| manifest.sets))
}
