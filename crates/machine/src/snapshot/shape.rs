//! What a machine has to be like to go on with a snapshot, because the guest has looked at it already; and what the snapshot is about.

use crate::assembly::image::VirtioKind;
use config::units::{ByteSize, PageSizeName};
use config::{AdName, Config, ConfigError, GuestPaging, IsaKeys, PlicContextsName, SbiKeys};
use devices::BlockConfig;
use serde::{Deserialize, Serialize};

/// What a host must provide for a snapshot: harts, memory, devices.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Shape {
    /// Architecture of the harts.
    pub(super) architecture: String,
    /// `harts`.
    pub(super) harts: u32,
    /// `memory`.
    pub(super) memory: ByteSize,
    /// `paging.guest`.
    pub(super) paging: GuestPaging,
    /// `isa.*`.
    pub(super) isa: IsaKeys,
    /// `mmu.ad`.
    pub(super) ad: AdName,
    /// `plic.contexts`; a snapshot without it was taken before there was a choice.
    #[serde(default)]
    pub(super) plic: PlicContextsName,
    /// `sbi.*`; the defaults in a snapshot that was taken before there were such keys.
    #[serde(default)]
    pub(super) sbi: SbiKeys,
    /// Virtio devices, by slot.
    devices: Vec<DeviceName>,
}

/// A virtio device that a snapshot can hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum DeviceName {
    Console,
    Net,
    Rng,
    Balloon,
    /// What it holds is in a file that is given when the guest goes on.
    Disk,
}

impl DeviceName {
    /// The name of a device; `None` of a shared directory.
    const fn of(kind: &VirtioKind) -> Option<Self> {
        match kind {
            VirtioKind::Console => Some(Self::Console),
            VirtioKind::Net => Some(Self::Net),
            VirtioKind::Rng => Some(Self::Rng),
            VirtioKind::Balloon => Some(Self::Balloon),
            VirtioKind::Block(_) => Some(Self::Disk),
            VirtioKind::Share(_) => None,
        }
    }

    /// The device, a disk being the next of `disks`; `None` if there is none left.
    fn kind(self, disks: &mut impl Iterator<Item = BlockConfig>) -> Option<VirtioKind> {
        Some(match self {
            Self::Console => VirtioKind::Console,
            Self::Net => VirtioKind::Net,
            Self::Rng => VirtioKind::Rng,
            Self::Balloon => VirtioKind::Balloon,
            Self::Disk => VirtioKind::Block(disks.next()?),
        })
    }
}

/// The only architecture that there is.
pub(super) const ARCHITECTURE: &str = "riscv64";

/// What a snapshot is about, in the words of the command that made it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct About {
    /// The guest, such as `linux`.
    pub guest: String,
    /// What it does.
    pub work: String,
    /// Whether that is a command whose end ends the run.
    pub command: bool,
    /// The kernel's command line.
    pub command_line: String,
    /// The page size that the guest was told to use, if it was.
    pub page: Option<PageSizeName>,
    /// The scheme that it ran under.
    pub scheme: String,
}

impl Shape {
    /// That of a machine with this configuration and these devices; `None` where one of them is a shared directory.
    pub(super) fn new(config: &Config, devices: &[VirtioKind]) -> Option<Self> {
        Some(Self {
            architecture: ARCHITECTURE.to_owned(),
            harts: config.harts,
            memory: config.memory,
            paging: config.paging.guest,
            isa: config.isa,
            ad: config.mmu.ad,
            plic: config.plic.contexts,
            sbi: config.sbi,
            devices: devices.iter().map(DeviceName::of).collect::<Option<_>>()?,
        })
    }

    /// Virtio devices, by slot; the disks are `disks`, in their order. `None` if those are too few or too many.
    #[must_use]
    pub fn devices(&self, disks: &[BlockConfig]) -> Option<Vec<VirtioKind>> {
        let mut disks = disks.iter().cloned();
        let devices = self.devices.iter().map(|name| name.kind(&mut disks)).collect::<Option<_>>()?;
        disks.next().is_none().then_some(devices)
    }

    /// How many of the devices are disks.
    #[must_use]
    pub fn disks(&self) -> usize {
        self.devices.iter().filter(|name| **name == DeviceName::Disk).count()
    }

    /// The keys that the snapshot gives, unless the user does, with their values.
    #[must_use]
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let IsaKeys { c, f, d, zicntr, zihintpause, zawrs, sstc, svnapot } = self.isa;
        let ad = match self.ad {
            AdName::Hardware => "hardware",
            AdName::Fault => "fault",
            AdName::Switchable => "switchable",
        };
        let switches = [
            ("isa.c", c),
            ("isa.f", f),
            ("isa.d", d),
            ("isa.zicntr", zicntr),
            ("isa.zihintpause", zihintpause),
            ("isa.zawrs", zawrs),
            ("isa.sstc", sstc),
            ("isa.svnapot", svnapot),
        ];
        let keys = [
            ("harts", self.harts.to_string()),
            ("memory", format!("'{}'", self.memory)),
            ("paging.guest", self.paging.name().to_owned()),
            ("mmu.ad", ad.to_owned()),
            ("plic.contexts", self.plic.name().to_owned()),
        ];
        keys.into_iter()
            .chain(switches.into_iter().chain(self.sbi.settings()).map(|(key, on)| (key, on.to_string())))
            .collect()
    }

    /// Whether a machine with this configuration can go on with it; `region` is the length of the guest's primary region, if it has one.
    pub(super) fn check(&self, about: &About, region: Option<u64>, config: &Config) -> Result<(), ConfigError> {
        let range = |key: &'static str, problem: String| Err(ConfigError::range(key, problem));
        let differs = |there: String, here: String| format!("the snapshot's guest has {there}, and not {here}");
        if self.harts != config.harts {
            return range("harts", differs(self.harts.to_string(), config.harts.to_string()));
        }
        if self.memory != config.memory {
            return range("memory", differs(self.memory.to_string(), config.memory.to_string()));
        }
        if self.paging != config.paging.guest {
            return range("paging.guest", differs(self.paging.name().into(), config.paging.guest.name().into()));
        }
        if self.isa != config.isa {
            return range("isa", "the snapshot's guest was told of other extensions".to_owned());
        }
        if self.ad != config.mmu.ad {
            return range("mmu.ad", "the snapshot's guest was told otherwise who sets A and D bits".to_owned());
        }
        if self.plic != config.plic.contexts {
            let (there, here) = (self.plic.name(), config.plic.contexts.name());
            return range("plic.contexts", format!("the snapshot's guest was told of `{there}`, and not of `{here}`"));
        }
        if self.sbi != config.sbi {
            return range("sbi", "the snapshot's guest was told of other extensions".to_owned());
        }
        let scheme = config.scheme;
        if let Some(PageSizeName(page)) = about.page.filter(|page| page.0 != scheme.guest_page()) {
            let problem = format!("{scheme}: the snapshot's guest maps pages of {page}, as its command line says");
            return range("scheme", problem);
        }
        let asked = config.segment.region.map(|region| region.0);
        if asked.is_some() && asked != region {
            let there = region.map_or("none".to_owned(), |region| ByteSize(region).to_string());
            return range(
                "segment.region",
                differs(there, asked.map_or(String::new(), |asked| ByteSize(asked).to_string())),
            );
        }
        if region.is_none() && (scheme.facts().segments.has_guest() || config.segment.hot_add) {
            let problem = format!(
                "{scheme}: the snapshot's guest has no primary region; one that is taken with --set segment.region=SIZE has"
            );
            return range("scheme", problem);
        }
        Ok(())
    }
}
