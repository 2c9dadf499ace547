//! Arguments of `guest`, and where guests are kept.

use super::format::FormatArgs;
use super::sandbox::SandboxArgs;
use clap::{Args, Subcommand, ValueEnum};
use config::units::ByteSize;
use std::path::PathBuf;

/// Which cache of guests is used.
#[derive(Args, Clone, Debug, Default)]
pub struct CacheArgs {
    /// Directory of fetched guests [default: ~/.cache/pagewalk]
    #[arg(long = "cache", value_name = "DIR", env = "PAGEWALK_CACHE")]
    pub directory: Option<PathBuf>,
}

/// `pagewalk guest`.
#[derive(Debug, Subcommand)]
pub enum GuestCommand {
    /// Fetch Debian's riscv64 kernel and programs with this system's apt
    Fetch(FetchArgs),
    /// Make the image of a whole Debian, with systemd and apt, for `boot --guest debian` (docs/debian.md)
    Image(ImageArgs),
    /// List package sets, and what of them is in the cache
    List(ListArgs),
    /// Print pagewalk.h, which marks the region of interest in your own C and C++ programs
    Header,
}

/// `pagewalk guest list`.
#[derive(Args, Clone, Debug)]
pub struct ListArgs {
    /// Format of tables.
    #[command(flatten)]
    pub format: FormatArgs,
    /// Which cache.
    #[command(flatten)]
    pub cache: CacheArgs,
}

/// `pagewalk guest fetch`.
#[derive(Args, Clone, Debug)]
pub struct FetchArgs {
    /// Package sets (see `guest list`) or Debian packages to bring beside the default ones
    #[arg(value_name = "SET")]
    pub sets: Vec<String>,
    /// Bring only these sets; `base` is all that `boot --guest linux` needs
    #[arg(long, value_name = "SET", value_delimiter = ',', conflicts_with = "sets")]
    pub only: Vec<String>,
    /// Bring this kernel with its modules too, by its release as `uname -r` prints it: 7.2.13+deb14-riscv64
    #[arg(long, value_name = "RELEASE")]
    pub kernel: Option<String>,
    /// The Debian suite that has the kernel [default: the first of trixie, trixie-backports and sid]
    #[arg(long, value_name = "SUITE", requires = "kernel")]
    pub suite: Option<String>,
    /// Look for newer versions of what is there
    #[arg(long)]
    pub renew: bool,
    /// Where packages come from.
    #[command(flatten)]
    pub archive: ArchiveArgs,
    /// Which cache.
    #[command(flatten)]
    pub cache: CacheArgs,
}

/// The archive that packages come from.
#[derive(Args, Clone, Debug)]
pub struct ArchiveArgs {
    /// Address of a Debian archive [default: that of this system's apt configuration]
    #[arg(long, value_name = "URL")]
    pub mirror: Option<String>,
    /// Keyring that signs the archive [default: that of debian-archive-keyring]
    #[arg(long, value_name = "FILE")]
    pub keyring: Option<PathBuf>,
}

/// Which distribution an image is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Distribution {
    /// Debian trixie.
    Debian,
}

/// `pagewalk guest image`.
#[derive(Args, Clone, Debug)]
pub struct ImageArgs {
    /// The distribution
    #[arg(value_name = "DISTRIBUTION")]
    pub distribution: Distribution,
    /// Packages to put in beside those that every image has
    #[arg(long, value_name = "PACKAGE", value_delimiter = ',')]
    pub packages: Vec<String>,
    /// Size of the disk; it takes no more of the host than is in it
    #[arg(long, value_name = "SIZE", default_value = "4G")]
    pub size: ByteSize,
    /// Look for newer versions of the packages
    #[arg(long)]
    pub renew: bool,
    /// Where packages come from.
    #[command(flatten)]
    pub archive: ArchiveArgs,
    /// Sandbox.
    #[command(flatten)]
    pub sandbox: SandboxArgs,
    /// Which cache.
    #[command(flatten)]
    pub cache: CacheArgs,
}
