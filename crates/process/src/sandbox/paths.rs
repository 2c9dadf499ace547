//! Files, by Landlock (landlock(7)): everything is refused but what is done beneath the stated paths.

use super::error::SandboxError;
use super::needs::{Access, Datagrams};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetStatus, Scope, make_bitflags,
};
use std::path::{Path, PathBuf};

/// The newest version of Landlock that this was tested with. An older kernel refuses less: what it knows.
const VERSION: ABI = ABI::V6;

/// Restricts the calling thread, and those that it starts. Returns whether the kernel has Landlock.
///
/// Of a run that reaches the network, connections are not restricted: guests name the ports.
pub(super) fn restrict(paths: &[(PathBuf, Access)], network: Option<&Datagrams>) -> Result<bool, SandboxError> {
    let failed = |error: landlock::RulesetError| SandboxError::Landlock(error.to_string());
    let ports = if network.is_some() { AccessNet::BindTcp.into() } else { AccessNet::from_all(VERSION) };
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(VERSION))
        .and_then(|rules| rules.handle_access(ports))
        .and_then(|rules| rules.scope(Scope::from_all(VERSION)))
        .and_then(Ruleset::create)
        .map_err(failed)?;
    // What is not there needs no rule: to open it fails as without a sandbox, with the caller's message.
    for (path, access) in paths.iter().filter(|(path, _)| path.exists()) {
        rules = rules.add_rule(rule(path, *access)?).map_err(failed)?;
    }
    let status = rules.restrict_self().map_err(failed)?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

fn rule(path: &Path, access: Access) -> Result<PathBeneath<PathFd>, SandboxError> {
    let wrong = |cause: String| SandboxError::Path { path: path.to_owned(), cause };
    let directory = path.metadata().map_err(|error| wrong(error.to_string()))?.is_dir();
    let rights = if directory { rights(access) } else { rights(access) & AccessFs::from_file(VERSION) };
    Ok(PathBeneath::new(PathFd::new(path).map_err(|error| wrong(error.to_string()))?, rights))
}

fn rights(access: Access) -> BitFlags<AccessFs> {
    match access {
        Access::Read => make_bitflags!(AccessFs::{ReadFile}),
        Access::ReadWrite => make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate}),
        Access::Directory => {
            make_bitflags!(AccessFs::{ReadFile | ReadDir | WriteFile | Truncate | MakeReg | RemoveFile})
        }
        Access::Rename => make_bitflags!(AccessFs::{MakeReg | RemoveFile}),
        Access::RemoveDirectory => make_bitflags!(AccessFs::{RemoveDir}),
        Access::RemoveFile => make_bitflags!(AccessFs::{RemoveFile}),
        Access::ShareRead => make_bitflags!(AccessFs::{ReadFile | ReadDir}),
        // Neither devices nor pipes nor sockets.
        Access::ShareWrite => make_bitflags!(AccessFs::{
            ReadFile | ReadDir | WriteFile | Truncate | MakeReg | MakeDir | MakeSym | RemoveFile | RemoveDir | Refer
        }),
        Access::MoveUp => make_bitflags!(AccessFs::{MakeReg | MakeDir | RemoveFile | RemoveDir | Refer}),
    }
}
