//! What a recording is of, in the JSON of its description. The kernel and the root file system are attached.

use config::Config;
use config::units::PageSizeName;
use machine::Image;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use types::Gpa;

/// What a recording is of.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct About {
    /// The version of Pagewalk that recorded it.
    version: String,
    /// The guest, as `--guest` names it.
    pub(super) guest: String,
    /// The workload, or the command.
    pub(super) work: String,
    /// Size of the guest's pages.
    pub(super) page: PageSizeName,
    /// The configuration in full, as TOML.
    pub(super) config: String,
    kernel_name: String,
    load_address: Option<u64>,
    command_line: String,
    least_memory: u64,
    /// What replaces the operating system, if it is of a trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) imported: Option<Origin>,
}

/// Where a recording comes from that is of a trace, and what replaces the operating system.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Origin {
    /// The format of the trace.
    pub(super) format: String,
    /// The policy for the sizes of pages.
    pub(super) pages: String,
    /// The policy for frames.
    pub(super) frames: String,
}

impl About {
    /// Of a run of `image` under `config`, whose text is `toml`.
    pub(super) fn new(guest: String, work: String, (config, toml): (&Config, String), image: &Image) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            guest,
            work,
            page: PageSizeName(config.scheme.guest_page()),
            config: toml,
            kernel_name: image.kernel_name.clone(),
            load_address: image.load_address.map(|at| at.0),
            command_line: image.command_line.clone(),
            least_memory: image.least_memory,
            imported: None,
        }
    }

    /// The same, of a trace.
    pub(super) fn imported(self, origin: Origin) -> Self {
        Self { imported: Some(origin), ..self }
    }

    /// The image that was recorded, with its files: the kernel, and the root file system if there is one. `None` if they are not these.
    pub(super) fn image(&self, files: &[Vec<u8>]) -> Option<Image> {
        let (kernel, initrd) = match files {
            [kernel] => (kernel, None),
            [kernel, initrd] => (kernel, Some(initrd)),
            _ => return None,
        };
        Some(Image {
            kernel: Arc::from(&kernel[..]),
            kernel_name: self.kernel_name.clone(),
            load_address: self.load_address.map(Gpa),
            initrd: initrd.map(|initrd| Arc::from(&initrd[..])),
            command_line: self.command_line.clone(),
            least_memory: self.least_memory,
            devices: Vec::new(),
        })
    }
}
