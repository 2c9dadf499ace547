//! Values of arguments that are more than a word.

use clap::{Args, ValueEnum};
use config::units::ByteSize;
use machine::{Share, TAG_BYTES};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::str::FromStr;
use types::Gpa;

/// A whole number from `FROM` to `TO`, both of them among it.
///
/// # Errors
/// The text, and the range.
pub(super) fn number<T: TryFrom<u64>, const FROM: u64, const TO: u64>(text: &str) -> Result<T, String> {
    let number = text.parse().ok().filter(|number| (FROM..=TO).contains(number));
    number.and_then(|number| T::try_from(number).ok()).ok_or_else(|| match (FROM, TO) {
        (_, u64::MAX) => format!("`{text}` is not a number of at least {FROM}"),
        _ => format!("`{text}` is not a number from {FROM} to {TO}"),
    })
}

/// `KEY=VALUE`: one key of the configuration and its value, not yet interpreted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Dotted key, such as `mmu.walk_caches`.
    pub key: String,
    /// The value's text.
    pub value: String,
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('=') {
            Some((key, value)) if !key.trim().is_empty() => {
                Ok(Self { key: key.trim().to_owned(), value: value.trim().to_owned() })
            }
            _ => Err(format!("`{text}` is not KEY=VALUE")),
        }
    }
}

/// `NAME[:SIZE]`: a workload and its size, whose meaning is the workload's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkloadSpec {
    /// The workload's name.
    pub name: String,
    /// Its size, if one was given.
    pub size: Option<String>,
}

impl FromStr for WorkloadSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (name, size) = text.split_once(':').map_or((text, None), |(name, size)| (name, Some(size)));
        if name.is_empty() || size.is_some_and(str::is_empty) {
            return Err(format!("`{text}` is not NAME[:SIZE]"));
        }
        Ok(Self { name: name.to_owned(), size: size.map(str::to_owned) })
    }
}

/// `[NAME: ]COMMAND`: a command for the guest's shell, and what a report calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSpec {
    /// The name, or else the command itself.
    pub name: String,
    /// The command.
    pub command: String,
}

impl FromStr for CommandSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // No program's name ends in a colon, and the shell's own `:` has nothing before it.
        let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_.+".contains(c));
        let (name, command) = match text.split_once(": ") {
            Some((name, command)) if is_name(name) => (name, command.trim()),
            _ => (text, text),
        };
        if command.trim().is_empty() {
            return Err(format!("`{text}` is not [NAME: ]COMMAND"));
        }
        Ok(Self { name: name.to_owned(), command: command.to_owned() })
    }
}

/// `HOST[:GUEST]`: a file of the host and where the guest finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSpec {
    /// Path on the host.
    pub host: PathBuf,
    /// Path in the guest.
    pub guest: String,
}

impl FromStr for FileSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (host, guest) = text.split_once(':').map_or((text, None), |(host, guest)| (host, Some(guest)));
        let host = PathBuf::from(host);
        let name = host.file_name().and_then(OsStr::to_str);
        let guest = match (guest, name) {
            (Some(guest), Some(name)) if guest.ends_with('/') => format!("{guest}{name}"),
            (Some(guest), _) if !guest.is_empty() => guest.to_owned(),
            (None, Some(name)) => format!("/{name}"),
            _ => return Err(format!("`{text}` is not HOST[:GUEST]")),
        };
        Ok(Self { host, guest })
    }
}

/// What is at the other end of a network card's cable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NetKind {
    /// A network of the guest's own, from which the host's sockets lead out.
    User,
    /// Nothing: every frame is lost.
    None,
    /// The other guests of a run.
    #[value(skip)]
    Switch,
}

/// `FILE[,write]`: a disk's image, and whether the guest's writes reach it; or `blank:SIZE`, a disk of zeroes for this run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskSpec {
    /// The image, or the text of a blank disk.
    pub path: PathBuf,
    /// Whether writes go to the image; otherwise they end with the run.
    pub write: bool,
    /// Bytes of a blank disk.
    pub blank: Option<u64>,
}

impl FromStr for DiskSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if let Some(size) = text.strip_prefix("blank:") {
            let size: ByteSize = size.parse().map_err(|error| format!("`{text}`: {error}"))?;
            return Ok(Self { path: text.into(), write: false, blank: Some(size.0) });
        }
        let (path, write) = match text.rsplit_once(',') {
            Some((path, "write")) => (path, true),
            _ => (text, false),
        };
        if path.is_empty() {
            return Err(format!("`{text}` is neither FILE[,write] nor blank:SIZE"));
        }
        Ok(Self { path: path.into(), write, blank: None })
    }
}

/// `HOSTDIR[:TAG][,write]`: a directory of the host, what it is called in the guest, and whether the guest may change it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareSpec {
    /// The directory.
    pub host: PathBuf,
    /// Its name in the guest; otherwise its own.
    pub tag: Option<String>,
    /// Whether the guest may change it.
    pub write: bool,
}

impl FromStr for ShareSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (rest, write) = text.strip_suffix(",write").map_or((text, false), |rest| (rest, true));
        let (host, tag) = rest.split_once(':').map_or((rest, None), |(host, tag)| (host, Some(tag)));
        if host.is_empty() {
            return Err(format!("`{text}` is not HOSTDIR[:TAG][,write]"));
        }
        if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
            let rule = format!("at most {TAG_BYTES} letters, digits, `.`, `_` and `-`");
            return Err(format!("`{text}`: `{tag}` cannot be the name of a directory in /mnt: {rule}"));
        }
        Ok(Self { host: host.into(), tag: tag.map(str::to_owned), write })
    }
}

/// What is in front of the tags of directories that copies go to.
pub(crate) const COPY_TAG: &str = "pagewalk-out-";

/// Whether a guest can mount a directory by that name: at most 36 letters, digits, `.`, `_` and `-`, of which the first is a letter or a digit.
pub(crate) fn is_tag(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    begins && name.len() <= TAG_BYTES && name.bytes().all(known) && !name.starts_with(COPY_TAG)
}

/// `GUEST:HOST`: a file or directory of the guest, and where it goes on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopySpec {
    /// Path in the guest.
    pub guest: String,
    /// Path on the host; a directory that is there gets the copy under its own name.
    pub host: PathBuf,
}

impl FromStr for CopySpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some((guest, host)) if !guest.is_empty() && !host.is_empty() => {
                Ok(Self { guest: guest.to_owned(), host: host.into() })
            }
            _ => Err(format!("`{text}` is not GUEST:HOST")),
        }
    }
}

/// A copy that a guest makes at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copying {
    /// The path in the guest.
    pub path: String,
    /// The directory that it is copied into.
    pub to: Share,
    /// Its name there.
    pub number: usize,
}

/// Reads `0x80200000` or `2149580800`: a guest physical address.
///
/// # Errors
/// One line that quotes the text.
pub(crate) fn address(text: &str) -> Result<Gpa, String> {
    let number = match text.strip_prefix("0x") {
        // `from_str_radix` would take a sign.
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => u64::from_str_radix(digits, 16).ok(),
        Some(_) => None,
        None => text.parse().ok(),
    };
    number.map(Gpa).ok_or_else(|| format!("`{text}` is not an address such as 0x80200000"))
}

/// The name of a reservation.
#[derive(Args, Clone, Debug)]
pub struct NameArgs {
    /// Name of the reservation, which is that of the section it is for
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The section is that of one group of VMs, and not the whole system's
    #[arg(long, value_name = "N", value_parser = number::<u32, 0, { u32::MAX as u64 }>)]
    pub group: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_hexadecimal_or_decimal() {
        assert_eq!(address("0x80200000"), Ok(Gpa(0x8020_0000)));
        assert_eq!(address("0xFFFFFFFFFFFFFFFC"), Ok(Gpa(0xffff_ffff_ffff_fffc)));
        assert_eq!(address("4096"), Ok(Gpa(4096)));
        for wrong in ["", "0x", "80200000h", "0x+1", "-4", "0x10000000000000000", "2M"] {
            assert!(address(wrong).unwrap_err().contains(&format!("`{wrong}`")), "{wrong}");
        }
    }

    #[test]
    fn settings_need_a_key() {
        let parsed = "mmu.l2 = 128x12".parse();
        assert_eq!(parsed, Ok(Setting { key: "mmu.l2".to_owned(), value: "128x12".to_owned() }));
        assert!("=1".parse::<Setting>().is_err() && "key".parse::<Setting>().is_err());
    }

    #[test]
    fn commands_may_have_names() {
        let parts = |text: &str| text.parse::<CommandSpec>().map(|spec| (spec.name, spec.command));
        let whole = |text: &str| Ok((text.to_owned(), text.to_owned()));
        assert_eq!(parts("gcc: gcc -c a.c"), Ok(("gcc".to_owned(), "gcc -c a.c".to_owned())));
        for unnamed in ["uname -a", "echo a: b", ": nothing", "a=b: c", "PATH=/a:/b ls"] {
            assert_eq!(parts(unnamed), whole(unnamed));
        }
        assert!("gcc:  ".parse::<CommandSpec>().is_err() && " ".parse::<CommandSpec>().is_err());
    }

    #[test]
    fn files_land_at_the_root_unless_told() {
        let guest = |text: &str| text.parse::<FileSpec>().map(|file| file.guest);
        assert_eq!(guest("dir/prog"), Ok("/prog".to_owned()));
        assert_eq!(guest("dir/prog:/bin/p"), Ok("/bin/p".to_owned()));
        assert_eq!(guest("dir/prog:/bin/"), Ok("/bin/prog".to_owned()));
        assert!(guest("prog:").is_err() && guest("").is_err() && guest("/").is_err());
    }

    #[test]
    fn disks_are_kept_unless_told() {
        let disk = |text: &str| text.parse::<DiskSpec>().map(|disk| (disk.path, disk.write));
        assert_eq!(disk("a,b.img"), Ok(("a,b.img".into(), false)));
        assert_eq!(disk("a.img,write"), Ok(("a.img".into(), true)));
        assert!(disk(",write").is_err());
        assert_eq!("blank:4M".parse::<DiskSpec>().map(|disk| (disk.blank, disk.write)), Ok((Some(4 << 20), false)));
        assert!(disk("blank:").is_err() && disk("blank:much").is_err());
    }

    #[test]
    fn directories_are_read_unless_told() {
        let share = |text: &str| text.parse::<ShareSpec>().map(|share| (share.host, share.tag, share.write));
        assert_eq!(share("data"), Ok(("data".into(), None, false)));
        assert_eq!(share("/srv/a:b"), Ok(("/srv/a".into(), Some("b".to_owned()), false)));
        assert_eq!(share("a,b:c,write"), Ok(("a,b".into(), Some("c".to_owned()), true)));
        assert_eq!(share(".,write"), Ok((".".into(), None, true)));
        for wrong in ["", ":a", ",write", "a:", "a:b c", "a:..", "a:b:c", "a:pagewalk-out-0"] {
            assert!(share(wrong).unwrap_err().contains(&format!("`{wrong}`")), "{wrong}");
        }
    }

    #[test]
    fn a_tag_is_a_name_in_mnt() {
        for good in ["a", "data", "v1.2_x-y", &"n".repeat(36)] {
            assert!(is_tag(good), "{good}");
        }
        for wrong in ["", ".", "..", ".hidden", "-o", "a b", "a/b", "ä", "a'b", &"n".repeat(37), "pagewalk-out-0"] {
            assert!(!is_tag(wrong), "{wrong}");
        }
    }

    #[test]
    fn copies_have_two_ends() {
        let copy = |text: &str| text.parse::<CopySpec>().map(|copy| (copy.guest, copy.host));
        assert_eq!(copy("/a:b/c"), Ok(("/a".to_owned(), "b/c".into())));
        assert!(copy("/a").is_err() && copy(":b").is_err() && copy("/a:").is_err());
    }

    #[test]
    fn workloads_may_have_sizes() {
        let sized = WorkloadSpec { name: "gups".to_owned(), size: Some("256M".to_owned()) };
        assert_eq!("gups:256M".parse(), Ok(sized));
        assert!(":1".parse::<WorkloadSpec>().is_err() && "gups:".parse::<WorkloadSpec>().is_err());
    }
}
