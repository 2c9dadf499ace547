//! Where a guest's run starts: at its kernel's first instruction, or at the instant of a snapshot.

use crate::error::Failure;
use crate::image::{GuestKind, Prepared};
use crate::output::write_file;
use crate::setup::builder;
use crate::systems::{Configured, named};
use machine::Machine;
use machine::config::{Config, ConfigBuilder};
use machine::snapshot::{About, CaptureError, Snapshot};
use machine::system::System;
use machine::units::PageSizeName;
use std::path::Path;
use std::sync::Arc;
use types::PageSize;

/// See the module.
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
    pub(crate) fn check(&self, on: &Configured) -> Result<(), Failure> {
        match self {
            Self::Boot(prepared) => prepared.image(&on.config).map(drop),
            Self::Snapshot(snapshot) => {
                snapshot.check(&on.config).map_err(|error| Failure::Usage(named(&on.system, &error)))
            }
        }
    }

    /// A machine with this configuration, ready to run.
    ///
    /// # Errors
    /// [`Failure`].
    pub(crate) fn machine(&self, on: &Configured) -> Result<Machine, Failure> {
        let made = match self {
            Self::Boot(prepared) => Machine::assemble(&on.config, &prepared.image(&on.config)?),
            Self::Snapshot(snapshot) => Machine::restore(&on.config, snapshot),
        };
        made.map_err(|error| {
            let text = named(&on.system, &error);
            if error.is_usage() { Failure::Usage(text) } else { Failure::Run(text) }
        })
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

    /// Writes the snapshot that `machine`, which started so, has taken to `path`.
    ///
    /// # Errors
    /// [`Failure::Run`], naming the file; nothing is left of it.
    pub(crate) fn save(
        &self,
        path: &Path,
        machine: &mut Machine,
        config: &Config,
        about: &About,
    ) -> Result<(), Failure> {
        let devices = match self {
            Self::Boot(prepared) => prepared.image(config)?.devices,
            Self::Snapshot(snapshot) => snapshot.shape().devices(),
        };
        let written = write_file(path, |file| {
            machine.write_snapshot(file, config, &devices, about).map_err(|error| match error {
                CaptureError::Io(error) => error,
                other => std::io::Error::other(other),
            })
        });
        written.map_err(|error| Failure::Run(format!("{}: {error}", path.display())))
    }
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

/// As [`builder`], for a machine that goes on with a snapshot: what the guest has seen of its machine need not be said again.
///
/// # Errors
/// As [`builder`].
pub(crate) fn builder_for(
    snapshot: &Snapshot,
    config: &crate::cli::ConfigArgs,
    flags: &[(&str, String)],
) -> Result<ConfigBuilder, Failure> {
    let settings = snapshot.shape().settings();
    let defaults: Vec<(&str, &str)> = settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
    builder(&defaults, config, flags)
}

/// The page size that a snapshot's guest was told to use; 4K if it was told nothing.
pub(crate) fn page(snapshot: &Snapshot) -> PageSize {
    snapshot.about().page.map_or(PageSize::Size4K, |PageSizeName(page)| page)
}

/// The native machine that the guest of a snapshot needs least for.
pub(crate) fn native(snapshot: &Snapshot) -> System {
    format!("native:{}", page(snapshot))
        .parse()
        .expect("a native scheme has pages of any size that a guest is told to use")
}
