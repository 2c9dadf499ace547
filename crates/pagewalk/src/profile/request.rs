//! The profile that a user has requested.

use super::format::{Container, format_of_name};
use crate::cli::{FileSpec, ProfileArgs, ProfileFormat};
use crate::error::Failure;
use crate::guest::{SERVERS_VOS, SHELL_VOS, TIMESHARING_VOS, VALIDATION_VOS, VOS, VosKernel};
use crate::output::Output;
use crate::runs::image::{GuestKind, Prepared, Work};
use crate::runs::start::{self, Start};
use machine::ProfileDetail;
use profiles::{Attribution, Names, OwnGuests, Program, firefox, folded, gzip, text};
use serde_json::Value;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The symbols of Pagewalk's own guests.
const OWN_GUESTS: OwnGuests = OwnGuests {
    vos: &[
        symbols_of(VOS),
        symbols_of(VALIDATION_VOS),
        symbols_of(SHELL_VOS),
        symbols_of(TIMESHARING_VOS),
        symbols_of(SERVERS_VOS),
    ],
    workloads: VOS.program_symbols,
};

const fn symbols_of(kernel: VosKernel) -> (&'static [u8], &'static str, &'static str) {
    (kernel.image, kernel.symbols, kernel.program_symbols)
}

/// A file that a profile is written to.
#[derive(Debug)]
pub(crate) struct ProfileOutput {
    output: Output,
    format: ProfileFormat,
    detail: ProfileDetail,
    container: Container,
}

impl ProfileOutput {
    /// Opens the file, if the user has requested one, before the work for it begins.
    ///
    /// # Errors
    /// [`Failure::Usage`] where neither its name nor the user says its format, [`Failure::Run`] where it cannot be written.
    pub(crate) fn open(arguments: &ProfileArgs) -> Result<Option<Self>, Failure> {
        let Some(path) = &arguments.profile else { return Ok(None) };
        let Some(format) = arguments.profile_format.or_else(|| format_of_name(path)) else {
            return Err(Failure::Usage(format!(
                "--profile {}: the name says no format; --profile-format json, folded or firefox does",
                path.display()
            )));
        };
        let output = Output::open(path).map_err(|error| unwritten(path, &error))?;
        let detail = if arguments.profile_stacks { ProfileDetail::Callers } else { ProfileDetail::Instructions };
        Ok(Some(Self { output, format, detail, container: Container::of_name(path) }))
    }

    /// What the profile has to tell apart.
    pub(crate) const fn detail(&self) -> ProfileDetail {
        self.detail
    }

    /// The file.
    pub(crate) const fn output(&self) -> &Output {
        &self.output
    }

    /// Writes the profiles of the command's runs.
    ///
    /// # Errors
    /// [`Failure::Run`], naming the file.
    pub(crate) fn write(self, profiles: &[Attribution]) -> Result<(), Failure> {
        let path = self.output.name().to_owned();
        let content = match self.format {
            ProfileFormat::Json => text(profiles).map(String::into_bytes).map_err(io::Error::from),
            ProfileFormat::Folded => Ok(folded(profiles).into_bytes()),
            ProfileFormat::Firefox => firefox(profiles).map_err(io::Error::from),
        };
        let content = content.map(|content| match self.container {
            Container::Plain => content,
            Container::Gzip => gzip(&content),
        });
        content.and_then(|content| self.output.write(&content)).map_err(|error| unwritten(&path, &error))
    }
}

/// The profiles of the command's runs as the report's page has them.
///
/// # Errors
/// [`Failure::Run`], as of the JSON.
pub(crate) fn for_page(profiles: &[Attribution]) -> Result<Value, Failure> {
    profiles::value(profiles).map_err(|error| Failure::Run(error.to_string()))
}

fn unwritten(path: &Path, error: &io::Error) -> Failure {
    Failure::Run(format!("{}: {error}", path.display()))
}

/// What a guest's names are made of. Files are read at once, because a sandbox keeps them out of reach later.
#[derive(Clone, Debug)]
pub(crate) struct NameSources {
    kernel_name: String,
    kernel: Arc<[u8]>,
    programs: Vec<Program>,
    /// The root file system, as the kernel unpacks it.
    archive: Arc<[u8]>,
}

impl NameSources {
    /// Those of a guest that has `files`. One that cannot be read has been refused before, where it is put into the guest.
    pub(crate) fn of_boot(prepared: &Prepared, files: &[FileSpec]) -> Self {
        let kind = prepared.kind();
        let programs = match (kind, prepared.work()) {
            (GuestKind::Linux | GuestKind::Debian, Work::Workload { .. }) => vec![Program::Workloads],
            (GuestKind::Linux | GuestKind::Debian, Work::Console | Work::Shell(_) | Work::Command(_)) => {
                files.iter().filter_map(|file| std::fs::read(&file.host).ok()).map(Program::File).collect()
            }
            (GuestKind::Vos | GuestKind::File(_), _) => Vec::new(),
        };
        Self { kernel_name: kind.name(), kernel: prepared.kernel(), programs, archive: prepared.initrd() }
    }

    /// Those of a guest that starts so.
    pub(crate) fn of(start: &Start, files: &[FileSpec]) -> Self {
        match start {
            Start::Boot(prepared) => Self::of_boot(prepared, files),
            Start::Snapshot(snapshot) => {
                let kind = start::kind(snapshot);
                let kernel: &[u8] = if kind == GuestKind::Vos { VOS.image } else { &[] };
                Self { kernel_name: kind.name(), kernel: kernel.into(), programs: Vec::new(), archive: Arc::default() }
            }
        }
    }

    /// The names.
    pub(crate) fn names(&self) -> Names {
        Names::of(&OWN_GUESTS, &self.kernel_name, &self.kernel, &self.programs, self.archive.clone())
    }
}
