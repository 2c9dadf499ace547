//! What a run needs of its host once guests run, detected before it begins; see docs/sandbox.md.

use crate::cleanup::TemporaryPath;
use crate::cli::SandboxMode;
use crate::control::Server;
use crate::error::Failure;
use crate::interrupt;
use crate::output::{Output, warn};
use crate::runs::network::Opened;
use config::Config;
use config::host_model::HostModel;
use machine::sections::{SectionPlan, SectionStore};
use machine::{CODE_BYTES, ImageMode, Share, ShareAccess, VirtioKind, reserve_code};
use process::sandbox::{CodeRange, Missing};
use process::{Access, Datagrams, Sandbox};
use std::path::{Path, PathBuf};

/// What a command needs of the host while its guests run.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    /// Machines that are there at once.
    machines: usize,
    paths: Vec<(PathBuf, Access)>,
    /// Whether machines make temporary files in the system's directory for them.
    temporaries: bool,
    /// Sockets on which clients connect.
    listeners: Vec<u32>,
    network: Option<Datagrams>,
}

/// The sandbox that the process is in until its end.
#[derive(Debug)]
pub(crate) struct Entered {
    /// The directory of temporary files.
    _temporaries: Option<TemporaryPath>,
}

impl Needs {
    /// Those of a run of this many machines at once, at the most.
    pub(crate) fn of_machines(machines: usize) -> Self {
        Self { machines, ..Self::default() }
    }

    /// Also gives `output` its name at the end.
    pub(crate) fn output(mut self, output: Option<&Output>) -> Self {
        let directory = output.and_then(Output::directory);
        self.paths.extend(directory.map(|directory| (directory.to_owned(), Access::Rename)));
        self
    }

    /// Also keeps files in a directory, and finds them there.
    pub(crate) fn directory(mut self, path: Option<&Path>) -> Self {
        self.paths.extend(path.map(|path| (path.to_owned(), Access::Directory)));
        self
    }

    /// Also opens a file for reading.
    pub(crate) fn reads(mut self, path: &Path) -> Self {
        self.paths.push((path.to_owned(), Access::Read));
        self
    }

    /// Also makes machines with this configuration.
    pub(crate) fn configuration(mut self, config: &Config) -> Self {
        // Each machine reads its host model.
        self.paths.extend(HostModel::files(&config.host).map(|file| (file, Access::Read)));
        if config.host_memory.is_some() {
            match &config.swap.directory {
                Some(directory) => self.paths.push((directory.clone(), Access::Directory)),
                None => self.temporaries = true,
            }
        }
        self
    }

    /// Also makes guests with these devices.
    pub(crate) fn devices(mut self, devices: &[VirtioKind]) -> Self {
        for device in devices {
            let disk = match device {
                VirtioKind::Block(disk) => disk,
                VirtioKind::Share(share) => {
                    self.share(share);
                    continue;
                }
                VirtioKind::Console | VirtioKind::Net | VirtioKind::Rng | VirtioKind::Balloon => continue,
            };
            match &disk.mode {
                ImageMode::WriteThrough => self.paths.push((disk.path.clone(), Access::ReadWrite)),
                ImageMode::ReadOnly => self.paths.push((disk.path.clone(), Access::Read)),
                ImageMode::Overlay => {
                    self.paths.push((disk.path.clone(), Access::Read));
                    self.temporaries = true;
                }
                ImageMode::Blank(_) | ImageMode::Filled { .. } => self.temporaries = true,
            }
        }
        self
    }

    /// Also serves the directories among the devices of a guest that is made already.
    pub(crate) fn shares(mut self, devices: &[VirtioKind]) -> Self {
        for device in devices {
            if let VirtioKind::Share(share) = device {
                self.share(share);
            }
        }
        self
    }

    fn share(&mut self, share: &Share) {
        let access = match share.root.access() {
            ShareAccess::Read => Access::ShareRead,
            ShareAccess::Write => Access::ShareWrite,
        };
        self.paths.push((share.root.path().to_owned(), access));
    }

    /// Also has these accesses.
    pub(crate) fn paths(mut self, paths: Vec<(PathBuf, Access)>) -> Self {
        self.paths.extend(paths);
        self
    }

    /// Also makes these sections.
    pub(crate) fn sections(mut self, sections: &[SectionPlan]) -> Self {
        for section in sections {
            match &section.store {
                SectionStore::Resident => {}
                SectionStore::File { path, writable } => {
                    let access = if *writable { Access::ReadWrite } else { Access::Read };
                    self.paths.push((path.clone(), access));
                }
                SectionStore::Unnamed => self.temporaries = true,
            }
        }
        self
    }

    /// Also is controlled through a socket.
    pub(crate) fn control(mut self, server: Option<&Server>) -> Self {
        if let Some(listener) = server.map(Server::listener) {
            self.paths.push((listener.directory().to_owned(), Access::RemoveFile));
            self.listeners.push(listener.number());
        }
        self
    }

    /// Also reaches the network for a guest.
    pub(crate) fn network(mut self, opened: Option<&Opened>) -> Self {
        if let Some(opened) = opened {
            let (listeners, datagrams) = opened.needs();
            self.listeners.extend(listeners);
            self.network.get_or_insert_default().anywhere.extend(datagrams.anywhere);
        }
        self
    }

    /// Gives up everything else, for good. The process has no thread but this one and that which waits for signals.
    ///
    /// # Errors
    /// [`Failure::Run`], naming what the host refused.
    pub(crate) fn enter(mut self, mode: SandboxMode) -> Result<Entered, Failure> {
        if mode == SandboxMode::Off {
            return Ok(Entered { _temporaries: None });
        }
        let failed = |error: &dyn std::fmt::Display| Failure::Run(format!("sandbox: {error}"));
        let temporaries =
            if self.temporaries { Some(self.private_directory().map_err(|error| failed(&error))?) } else { None };
        let addresses =
            reserve_code(self.machines).map_err(|error| failed(&format!("memory for compiled code: {error}")))?;
        let sandbox = Sandbox {
            code: Some(CodeRange { addresses, longest: CODE_BYTES }),
            paths: self.paths,
            listeners: self.listeners,
            network: self.network,
        };
        let missing =
            interrupt::alone(|| sandbox.enter()).map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
        for part in missing {
            warn(match part {
                Missing::Landlock => "sandbox: this kernel has no Landlock: files are not restricted",
                Missing::Seccomp => "sandbox: this kernel has no seccomp filters: system calls are not restricted",
            });
        }
        Ok(Entered { _temporaries: temporaries })
    }

    /// Makes a directory of the process's own for temporary files, so that not all of the system's has to be open to it.
    fn private_directory(&mut self) -> std::io::Result<TemporaryPath> {
        let system = std::env::temp_dir();
        let own = tempfile::Builder::new().prefix("pagewalk-").tempdir_in(&system)?.keep();
        let registered = TemporaryPath::remove_later(own.clone());
        tempfile::env::override_temp_dir(&own).map_err(|_| std::io::Error::from(std::io::ErrorKind::AlreadyExists))?;
        self.paths.push((own, Access::Directory));
        self.paths.push((system, Access::RemoveDirectory));
        Ok(registered)
    }
}
