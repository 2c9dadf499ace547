//! Directories of the host for a guest, opened before the process gives up the right to.

use crate::cli::{LinuxArgs, ShareSpec, is_tag};
use crate::error::Failure;
use crate::guest::{CopyOut, GuestShares, Mount};
use machine::{Share, ShareAccess, ShareRoot, VirtioKind};
use std::path::Path;

/// The devices that give the guest its directories, in order.
///
/// # Errors
/// [`Failure::Usage`], naming the directory.
pub(crate) fn devices(arguments: &LinuxArgs) -> Result<Vec<VirtioKind>, Failure> {
    let open = |spec: &ShareSpec| {
        let root = ShareRoot::open(&spec.host, access(spec));
        let root = root.map_err(|error| Failure::Usage(format!("--share: {error}")))?;
        Ok(Share { tag: tag(spec)?, root })
    };
    let mut shares: Vec<Share> = arguments.shares.iter().map(open).collect::<Result<_, Failure>>()?;
    for (index, share) in shares.iter().enumerate() {
        if shares[..index].iter().any(|other| other.tag == share.tag) {
            let problem = format!("--share: two directories are called {}; DIR:NAME gives one another name", share.tag);
            return Err(Failure::Usage(problem));
        }
    }
    for copying in &arguments.copying {
        if !shares.contains(&copying.to) {
            shares.push(copying.to.clone());
        }
    }
    Ok(shares.into_iter().map(VirtioKind::Share).collect())
}

/// What the guest does with its directories.
///
/// # Errors
/// As [`devices`].
pub(crate) fn in_guest(arguments: &LinuxArgs) -> Result<GuestShares, Failure> {
    let mount = |spec: &ShareSpec| Ok(Mount { tag: tag(spec)?, access: access(spec) });
    let copies = arguments.copying.iter().map(|copying| CopyOut {
        path: copying.path.clone(),
        tag: copying.to.tag.clone(),
        number: copying.number,
    });
    Ok(GuestShares {
        mounts: arguments.shares.iter().map(mount).collect::<Result<_, Failure>>()?,
        copies: copies.collect(),
    })
}

const fn access(spec: &ShareSpec) -> ShareAccess {
    if spec.write { ShareAccess::Write } else { ShareAccess::Read }
}

/// The name of a directory: as given, or its own.
fn tag(spec: &ShareSpec) -> Result<String, Failure> {
    if let Some(tag) = &spec.tag {
        return Ok(tag.clone());
    }
    let shown = spec.host.display();
    let path = spec.host.canonicalize().map_err(|error| Failure::Usage(format!("--share: {shown}: {error}")))?;
    let name = path.file_name().and_then(|name| name.to_str()).filter(|name| is_tag(name));
    let unnamed =
        || format!("--share: {shown}: its name cannot be that of a directory in /mnt; {shown}:NAME gives one");
    name.map(str::to_owned).ok_or_else(|| Failure::Usage(unnamed()))
}

/// The first directory among `devices` that a guest may change.
pub(crate) fn written(devices: &[VirtioKind]) -> Option<&Path> {
    devices.iter().find_map(|device| match device {
        VirtioKind::Share(share) if share.root.access() == ShareAccess::Write => Some(share.root.path()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_has_its_own_name_unless_told() {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        std::fs::create_dir(&data).unwrap();
        let spec = |tag: Option<&str>| ShareSpec { host: data.join("."), tag: tag.map(str::to_owned), write: false };
        assert_eq!(tag(&spec(None)).unwrap(), "data");
        assert_eq!(tag(&spec(Some("other"))).unwrap(), "other");
        let twice = LinuxArgs { shares: vec![spec(None), spec(None)], ..LinuxArgs::default() };
        assert!(devices(&twice).unwrap_err().to_string().contains("two directories are called data"));
        let named = LinuxArgs { shares: vec![spec(None), spec(Some("b"))], ..LinuxArgs::default() };
        assert_eq!(devices(&named).unwrap().len(), 2);
        assert_eq!(written(&devices(&named).unwrap()), None);
    }
}
