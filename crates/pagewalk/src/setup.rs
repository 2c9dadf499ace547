//! The configuration of a run, from a file, `--set` and the flags that have names of their own.

use crate::cli::{ConfigArgs, MachineArgs};
use crate::error::Failure;
use machine::config::{Config, ConfigBuilder};
use std::fs;

/// Puts together what all systems of a command share: `defaults` first, then the file, then the settings in their order, then the flags.
///
/// # Errors
/// [`Failure::Usage`], naming the file or setting and the key.
pub(crate) fn builder(
    defaults: &[(&str, &str)],
    config: &ConfigArgs,
    flags: &[(&str, String)],
) -> Result<ConfigBuilder, Failure> {
    let usage = |error: machine::config::ConfigError| Failure::Usage(error.to_string());
    let mut builder = ConfigBuilder::default();
    for (key, value) in defaults {
        builder = builder.set(key, value).map_err(usage)?;
    }
    if let Some(path) = &config.config {
        let name = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|error| Failure::Usage(format!("{name}: {error}")))?;
        builder = builder.file(&name, &text).map_err(usage)?;
    }
    for setting in &config.settings {
        builder = builder.set(&setting.key, &setting.value).map_err(usage)?;
    }
    for (key, value) in flags {
        builder = builder.set(key, value).map_err(usage)?;
    }
    Ok(builder)
}

/// The configuration of a command that runs one system, or none; see [`builder`].
///
/// # Errors
/// As [`builder`], and for a value out of its range.
pub(crate) fn configuration(
    defaults: &[(&str, &str)],
    config: &ConfigArgs,
    flags: &[(&str, String)],
) -> Result<Config, Failure> {
    built(&builder(defaults, config, flags)?)
}

/// What all systems of a command share, in full.
///
/// # Errors
/// [`Failure::Usage`], naming the key whose value is out of its range.
pub(crate) fn built(builder: &ConfigBuilder) -> Result<Config, Failure> {
    builder.clone().build().map_err(|error| Failure::Usage(error.to_string()))
}

/// The keys that the machine's own flags stand for.
pub(crate) fn machine_flags(machine: &MachineArgs) -> Vec<(&'static str, String)> {
    [
        ("harts", machine.harts.map(|harts| harts.to_string())),
        ("memory", machine.memory.map(|memory| format!("\"{memory}\""))),
        ("timeout", machine.timeout.map(|seconds| seconds.to_string())),
        ("shadow.check", machine.check.then(|| "true".to_owned())),
    ]
    .into_iter()
    .filter_map(|(key, value)| value.map(|value| (key, value)))
    .collect()
}
