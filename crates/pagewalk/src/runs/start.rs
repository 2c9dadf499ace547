//! Where a guest's run starts: at its kernel's first instruction, or at the instant of a snapshot.

use crate::cli::{BootArgs, LinuxArgs};
use crate::error::Failure;
use crate::output::Output;
use crate::runs::image::{GuestKind, Prepared};
use crate::setup::{builder_with_sections, built, machine_flags};
use crate::shared_memory::SharedMemory;
use crate::systems::{Configured, named};
use config::Config;
use config::system::System;
use config::units::PageSizeName;
use config::warmup::Warmup;
use machine::snapshot::{About, CaptureError, Snapshot};
use machine::{BlockConfig, Machine, VirtioKind};
use schemes::PagedScheme;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use types::PageSize;

/// What the user may expect of a guest's end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Promise {
    /// It tells the status of the work that it was given: where it goes off without one, the work has not been done.
    Status,
    /// It may go off when it likes.
    Nothing,
}

/// How a guest's run starts.
pub(crate) enum Start {
    /// A kernel boots.
    Boot(Box<Prepared>),
    /// A guest goes on.
    Snapshot(Arc<Snapshot>),
}

impl Start {
    /// Whether a machine with this configuration can be made, as far as that is known before.
    ///
    /// # Errors
    /// [`Failure`].
    pub(crate) fn check(&self, on: &Configured, shared: &SharedMemory) -> Result<(), Failure> {
        match self {
            Self::Boot(prepared) => {
                if let Some(state) = prepared.state(&on.config)? {
                    let cold = |error| {
                        Failure::Usage(format!("{} ({})", named(&on.system, &error), prepared.kind().how_to_boot()))
                    };
                    return state.snapshot.check(&on.config).map_err(cold);
                }
                let plan = shared.plan(&on.config, prepared.image(&on.config)?);
                plan.map(drop).map_err(|failure| Failure::Usage(named(&on.system, &failure.line())))
            }
            Self::Snapshot(_) if shared.has_sections() => {
                Err(Failure::Usage("--restore: the snapshot's guest has no sections".to_owned()))
            }
            Self::Snapshot(snapshot) => {
                snapshot.check(&on.config).map_err(|error| Failure::Usage(named(&on.system, &error)))
            }
        }
    }

    /// A machine with this configuration, ready to run.
    ///
    /// # Errors
    /// [`Failure`].
    pub(crate) fn machine(&self, on: &Configured, shared: &SharedMemory) -> Result<Machine, Failure> {
        let made = match self {
            Self::Boot(prepared) => match prepared.state(&on.config)? {
                Some(state) => {
                    Machine::restore(&on.config, &state.snapshot, &disks_of(prepared.devices(), state.disk.as_deref()))
                }
                None => {
                    let config = booting(&on.config, prepared, shared);
                    let plan = shared.plan(&config, prepared.image(&config)?)?;
                    Machine::assemble_host(&config, &plan)
                }
            },
            Self::Snapshot(snapshot) => Machine::restore(&on.config, snapshot, &[]),
        };
        made.map_err(|error| {
            let text = named(&on.system, &error);
            if error.is_usage() { Failure::Usage(text) } else { Failure::Run(text) }
        })
    }

    /// A guest that can go on from a state of its first boot does so from here on, under each of these systems.
    ///
    /// # Errors
    /// [`Failure`], if it has to boot for that and does not come up.
    pub(crate) fn boot_once(&mut self, systems: &[Arc<Configured>]) -> Result<(), Failure> {
        match self {
            Self::Boot(prepared) => prepared.boot_once(systems.iter().map(|on| &on.config)),
            Self::Snapshot(_) => Ok(()),
        }
    }

    /// What the guest's past has left: it goes on from a snapshot, or from a state of its own.
    ///
    /// # Errors
    /// [`Failure`].
    pub(crate) fn past(&self, on: &Configured) -> Result<Option<Arc<Snapshot>>, Failure> {
        Ok(match self {
            Self::Boot(prepared) => prepared.state(&on.config)?.map(|state| state.snapshot),
            Self::Snapshot(snapshot) => Some(snapshot.clone()),
        })
    }

    /// Files that are opened for each machine, beside those of its devices.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        match self {
            Self::Boot(prepared) => prepared.files(),
            Self::Snapshot(_) => Vec::new(),
        }
    }

    /// Devices that are made for each machine. Those of a snapshot have no files.
    pub(crate) fn devices(&self) -> &[VirtioKind] {
        match self {
            Self::Boot(prepared) => prepared.devices(),
            Self::Snapshot(_) => &[],
        }
    }

    /// Linux's policy for transparent huge pages, as the kernel's command line says it last; `None` of another guest.
    pub(crate) fn huge_pages(&self, config: &Config) -> Option<String> {
        let line = match self {
            Self::Boot(prepared) if prepared.kind().runs_commands() => prepared.linux_parameters(config),
            Self::Boot(_) => return None,
            Self::Snapshot(snapshot) => snapshot.about().command_line.clone(),
        };
        line.split_whitespace().rev().find_map(|word| word.strip_prefix("transparent_hugepage=")).map(str::to_owned)
    }

    /// What the user may expect of the guest's end.
    pub(crate) fn promise(&self) -> Promise {
        let told = match self {
            Self::Boot(prepared) => prepared.kind().reports_status(),
            Self::Snapshot(snapshot) => kind(snapshot).reports_status(),
        };
        if told { Promise::Status } else { Promise::Nothing }
    }

    /// What a snapshot of the guest is about.
    ///
    /// # Errors
    /// [`Failure`].
    pub(crate) fn about(&self, config: &Config) -> Result<About, Failure> {
        match self {
            Self::Boot(prepared) => Ok(prepared.about(config, &prepared.image(config)?)),
            Self::Snapshot(snapshot) => Ok(About { scheme: config.scheme.to_string(), ..snapshot.about().clone() }),
        }
    }

    /// Writes the snapshot that `machine`, which started so, has taken to `output`.
    ///
    /// # Errors
    /// [`Failure::Run`], naming the file; nothing is left of it.
    pub(crate) fn save(
        &self,
        output: Output,
        machine: &mut Machine,
        config: &Config,
        about: &About,
    ) -> Result<(), Failure> {
        let devices = match self {
            Self::Boot(prepared) => prepared.image(config)?.devices,
            // One with disks was not gone on with.
            Self::Snapshot(snapshot) => snapshot.shape().devices(&[]).unwrap_or_default(),
        };
        let path = output.name().to_owned();
        let written = output.write_with(|file| {
            machine.write_snapshot(file, config, &devices, about).map_err(|error| match error {
                CaptureError::Io(error) => error,
                other => std::io::Error::other(other),
            })
        });
        written.map_err(|error| Failure::Run(format!("{}: {error}", path.display())))
    }
}

/// The configuration of a guest that boots. What is shared is known only once a configuration is read, whose default was that a Debian guest goes on.
fn booting(config: &Config, prepared: &Prepared, shared: &SharedMemory) -> Config {
    let mut config = config.clone();
    if *prepared.kind() == GuestKind::Debian && !shared.is_empty() && config.warmup == Warmup::Snapshot {
        config.warmup = Warmup::None;
    }
    config
}

/// The disks among `devices`, the first with what it held at `root`, if that is given.
fn disks_of(devices: &[VirtioKind], root: Option<&Path>) -> Vec<BlockConfig> {
    let disks = devices.iter().filter_map(|device| match device {
        VirtioKind::Block(disk) => Some(disk.clone()),
        _ => None,
    });
    let mut disks: Vec<BlockConfig> = disks.collect();
    if let (Some(first), Some(root)) = (disks.first_mut(), root) {
        first.path = root.to_owned();
    }
    disks
}

/// Reads a snapshot.
///
/// # Errors
/// [`Failure::Usage`], naming the file and what is wrong with it.
pub(crate) fn open(path: &Path) -> Result<Arc<Snapshot>, Failure> {
    Snapshot::open(path).map(Arc::new).map_err(|error| Failure::Usage(error.to_string()))
}

/// The guest that a snapshot is of.
pub(crate) fn kind(snapshot: &Snapshot) -> GuestKind {
    GuestKind::parse(&snapshot.about().guest)
}

/// What a configuration begins with: `otherwise`, or of a machine that goes on with a snapshot what its guest has seen of the machine, which need not be
/// said again. Its TLBs and tables are as warm as when the snapshot was taken.
pub(crate) fn defaults(snapshot: Option<&Snapshot>, otherwise: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
    match snapshot {
        Some(snapshot) => {
            let mut settings = snapshot.shape().settings();
            settings.push(("warmup", Warmup::Snapshot.to_string()));
            settings
        }
        None => otherwise.iter().map(|&(key, value)| (key, value.to_owned())).collect(),
    }
}

/// `defaults` with borrowed values, as [`builder`](crate::setup::builder) takes them.
pub(crate) fn borrowed<'s>(defaults: &'s [(&'static str, String)]) -> Vec<(&'static str, &'s str)> {
    defaults.iter().map(|(key, value)| (*key, value.as_str())).collect()
}

/// The page size that the configuration of a snapshot's guest sets; 4K if it sets none.
pub(crate) fn page(snapshot: &Snapshot) -> PageSize {
    snapshot.about().page.map_or(PageSize::Size4K, |PageSizeName(page)| page)
}

/// The native machine that the guest of a snapshot needs least for.
pub(crate) fn native(snapshot: &Snapshot) -> System {
    format!("native:{}", page(snapshot))
        .parse()
        .expect("a native scheme has pages of any size that a guest is told to use")
}

/// What the configuration of workloads of `vos` begins with: it takes pages of 1G from a whole free gigabyte.
pub(crate) const VOS_WORKLOADS: &[(&str, &str)] = &[("memory", "'4G'")];

/// The system of a guest that `boot` describes, whose configuration begins with `defaults`, and what it shares.
///
/// # Errors
/// [`Failure`], naming the file or setting and the key.
pub(crate) fn configured(
    arguments: &BootArgs,
    snapshot: Option<&Snapshot>,
    defaults: &[(&'static str, &str)],
) -> Result<(Arc<Configured>, SharedMemory), Failure> {
    let flags = machine_flags(&arguments.machine);
    let registry = arguments.reserved.reserved_memory.as_ref();
    let defaults = self::defaults(snapshot, defaults);
    let (builder, shared) = builder_with_sections(&borrowed(&defaults), &arguments.machine.config, &flags, registry)?;
    let config = built(&builder)?;
    let system = arguments.scheme.clone().unwrap_or_else(|| match snapshot {
        Some(snapshot) if config.scheme == PagedScheme::default() => native(snapshot),
        _ => config.scheme.into(),
    });
    Ok((Arc::new(Configured::new(&builder, system)?), shared))
}

/// Whether a guest goes on from the state of a boot that is kept, as far as the options say.
pub(crate) fn goes_on(guest: &str, arguments: &LinuxArgs) -> bool {
    match GuestKind::parse(guest) {
        GuestKind::Debian => !arguments.boots_again(),
        GuestKind::Linux => arguments.warm,
        GuestKind::Vos | GuestKind::File(_) => false,
    }
}

/// Refuses `--warm` of a guest that has to boot: it shares memory, or one of these systems has a segment of it.
///
/// # Errors
/// [`Failure::Usage`].
pub(crate) fn check_warm(
    arguments: &LinuxArgs,
    shared: &SharedMemory,
    systems: &[Arc<Configured>],
) -> Result<(), Failure> {
    if !arguments.warm {
        return Ok(());
    }
    if !shared.is_empty() {
        return Err(Failure::Usage("--warm: a guest with sections or reserved memory has to boot".to_owned()));
    }
    match with_region(systems) {
        Some(on) => {
            Err(Failure::Usage(named(&on.system, &"a guest with a primary region has to boot; without --warm it does")))
        }
        None => Ok(()),
    }
}

/// Whether a guest that boots could go on from the state of a boot that is kept.
pub(crate) fn could_be_warm(arguments: &LinuxArgs, shared: &SharedMemory, systems: &[Arc<Configured>]) -> bool {
    !arguments.warm && arguments.allows_warm() && shared.is_empty() && with_region(systems).is_none()
}

/// The first of these systems whose guest has a primary region, which it takes at its boot.
fn with_region(systems: &[Arc<Configured>]) -> Option<&Arc<Configured>> {
    systems.iter().find(|on| on.has_guest_segment() || on.config.segment.region.is_some())
}

/// What the configuration of a guest begins with: one that goes on does so as warm as it was.
pub(crate) const fn of_guest(goes_on: bool) -> &'static [(&'static str, &'static str)] {
    if goes_on { &[("warmup", "snapshot")] } else { &[] }
}
