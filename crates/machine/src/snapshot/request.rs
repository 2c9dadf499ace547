//! When a snapshot is to be taken, and what comes of it.

use super::state::State;
use crate::parts::address_spaces::AddressSpace;
use core::fmt;
use core::str::FromStr;
use std::io;

/// When a snapshot is taken. The run ends there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SnapshotAt {
    /// When the guest marks the beginning of a region of interest for the nth time, from 1 on.
    Region(u64),
    /// When its harts have retired so many instructions together, or up to a block more.
    Instructions(u64),
    /// At this many milliseconds of its time, or up to a turn later.
    Milliseconds(u64),
    /// When the guest marks that it is ready: it has booted, and looks next at what it is to do.
    Ready,
}

/// Who keeps what the guest's disks hold when its state is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiskContents {
    /// It is lost, so a guest with a disk has no snapshots.
    Lost,
    /// The caller, who gives the same disks with the same contents when the guest goes on.
    KeptByCaller,
}

impl Default for SnapshotAt {
    fn default() -> Self {
        Self::Region(1)
    }
}

impl FromStr for SnapshotAt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("`{text}` is not `ready`, `region:N`, a time such as `2s` or `1500ms`, or a number of instructions")
        };
        let number = |digits: &str| digits.parse::<u64>().ok().filter(|&number| number > 0).ok_or_else(wrong);
        if text == "ready" {
            return Ok(Self::Ready);
        }
        if let Some(digits) = text.strip_prefix("region:") {
            return number(digits).map(Self::Region);
        }
        if let Some(digits) = text.strip_suffix("ms") {
            return number(digits).map(Self::Milliseconds);
        }
        match text.strip_suffix('s') {
            Some(digits) => Ok(Self::Milliseconds(number(digits)?.checked_mul(1000).ok_or_else(wrong)?)),
            None => number(text).map(Self::Instructions),
        }
    }
}

impl fmt::Display for SnapshotAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Region(1) => f.write_str("the beginning of a region of interest"),
            Self::Region(count) => write!(f, "the beginning of region of interest number {count}"),
            Self::Instructions(count) => write!(f, "{count} instructions"),
            Self::Ready => f.write_str("the guest's mark that it is ready"),
            Self::Milliseconds(count) => write!(f, "{count} ms of guest time"),
        }
    }
}

/// Why there is no snapshot.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The guest has something that a snapshot does not hold.
    #[error("a guest with {0} has no snapshots")]
    Unsupported(&'static str),
    /// The run was not started with a file for it.
    #[error("the run was started without a file for a snapshot")]
    NotRequested,
    /// The run ended before.
    #[error("the guest ended before its snapshot was taken")]
    NotTaken,
    /// The guest's memory cannot be read.
    #[error("the guest's memory at {0:#x} cannot be read")]
    Memory(u64),
    /// The file takes no more.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What a machine knows of the snapshot that it is to take.
#[derive(Default)]
pub(crate) struct Capture {
    pub(super) at: Option<SnapshotAt>,
    pub(super) taken: Option<State>,
    /// The address spaces that the guest was in before the machine was made: it went on with a snapshot.
    pub(super) spaces_before: Vec<AddressSpace>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_read_as_they_are_written() {
        for (text, at) in [
            ("5000", SnapshotAt::Instructions(5000)),
            ("region:2", SnapshotAt::Region(2)),
            ("2s", SnapshotAt::Milliseconds(2000)),
            ("1500ms", SnapshotAt::Milliseconds(1500)),
            ("ready", SnapshotAt::Ready),
        ] {
            assert_eq!(text.parse(), Ok(at));
        }
        for bad in ["", "0", "region:0", "0s", "s", "ms", "1.5s", "-1", "99999999999999999s", "soon"] {
            assert!(bad.parse::<SnapshotAt>().unwrap_err().contains(&format!("`{bad}`")));
        }
    }
}
