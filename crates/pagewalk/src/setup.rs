//! The configuration of a run, from a file, `--set` and the flags that have names of their own.

use crate::cli::{ConfigArgs, MachineArgs};
use crate::error::Failure;
use crate::input;
use crate::shared_memory::{self, SharedMemory};
use config::{Config, ConfigBuilder};
use std::path::PathBuf;

/// Puts together what all systems of a command share: `defaults` first, then the file, then the settings in their order, then the flags.
///
/// # Errors
/// [`Failure::Usage`], naming the file or setting and the key.
pub(crate) fn builder(
    defaults: &[(&str, &str)],
    config: &ConfigArgs,
    flags: &[(&str, String)],
) -> Result<ConfigBuilder, Failure> {
    Ok(read(defaults, config, flags, Sections::Refused)?.0)
}

/// The configuration of a command whose guest may have sections. They come from the file, and the registry is at `registry` or at its default place.
///
/// # Errors
/// As [`builder`], and naming what is wrong with sections or registry.
pub(crate) fn builder_with_sections(
    defaults: &[(&str, &str)],
    config: &ConfigArgs,
    flags: &[(&str, String)],
    registry: Option<&PathBuf>,
) -> Result<(ConfigBuilder, SharedMemory), Failure> {
    let (builder, table) = read(defaults, config, flags, Sections::Taken)?;
    let name = config.config.as_ref().map_or_else(String::new, |path| path.display().to_string());
    Ok((builder, SharedMemory::new(shared_memory::registry(registry)?, &name, table)?))
}

/// What becomes of the keys of sections in a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sections {
    Refused,
    Taken,
}

fn read(
    defaults: &[(&str, &str)],
    config: &ConfigArgs,
    flags: &[(&str, String)],
    sections: Sections,
) -> Result<(ConfigBuilder, toml::Table), Failure> {
    let usage = |error: config::ConfigError| Failure::Usage(error.to_string());
    let (mut builder, mut table) = (ConfigBuilder::default(), toml::Table::new());
    for (key, value) in defaults {
        builder = builder.set(key, value).map_err(usage)?;
    }
    if let Some(path) = &config.config {
        let name = path.display().to_string();
        let text = input::toml(path)?;
        let own = match sections {
            Sections::Taken => shared_memory::split(&text),
            Sections::Refused => None,
        };
        builder = match own {
            Some((rest, own)) => {
                table = own;
                builder.table(&name, rest)
            }
            None => builder.file(&name, &text),
        }
        .map_err(usage)?;
    }
    for setting in &config.settings {
        builder = builder.set(&setting.key, &setting.value).map_err(usage)?;
    }
    if let Some(fidelity) = &config.fidelity {
        builder = builder.set("fidelity", fidelity).map_err(usage)?;
    }
    for (key, value) in flags {
        builder = builder.set(key, value).map_err(usage)?;
    }
    Ok((builder, table))
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

/// The keys that the machine's own flags set.
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
