//! Debian's archive through the system's own apt: its mirror, its proxies, its keys.
//!
//! Everything that apt keeps is private (index, status, downloads), so nothing of the system changes and no privilege is
//! needed. Signatures are always checked: insecure repositories stay forbidden whatever the system allows.

use super::GuestError;
use super::cache::make_directory;
use super::manifest::PackageId;
use super::sets::STAND_INS;
use super::tool::{APT_GET, telling_line};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

/// The Debian suite of the Linux guest.
pub const SUITE: &str = "trixie";

/// The suites that further kernels are looked for in, in this order.
pub const KERNEL_SUITES: [&str; 3] = [SUITE, "trixie-backports", "sid"];

/// Where Debian's `debian-archive-keyring` package keeps the archive's keys, newest place first.
const KEYRINGS: [&str; 2] =
    ["/usr/share/keyrings/debian-archive-keyring.pgp", "/usr/share/keyrings/debian-archive-keyring.gpg"];

/// Where packages come from, and whom to trust.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// The mirror's address; `None` for that of the system's apt configuration.
    pub mirror: Option<String>,
    /// The keyring that signs the suite; `None` for that of the system.
    pub keyring: Option<PathBuf>,
}

/// A package's archive, as apt resolved it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Archive {
    pub(crate) package: PackageId,
    /// Its name in the download directory.
    pub(crate) file_name: String,
    /// Its length in bytes.
    pub(crate) size: u64,
}

/// A private apt state.
#[derive(Debug)]
pub(crate) struct Apt {
    suite: String,
    /// The line of `sources.list` up to the name of the suite.
    archive: String,
    sources: PathBuf,
    lists: PathBuf,
    config: PathBuf,
    status: PathBuf,
    archives: PathBuf,
    no_archives: PathBuf,
    /// What counts as installed.
    stand_ins: &'static [&'static str],
}

impl Apt {
    /// Writes the state's configuration for `suite` into `directory`, which may hold one already.
    pub(crate) fn prepare(directory: &Path, source: &Source, suite: &str) -> Result<Self, GuestError> {
        let mirror = match &source.mirror {
            Some(mirror) => mirror.clone(),
            None => system_mirror()?,
        };
        let keyring =
            source.keyring.clone().or_else(|| KEYRINGS.map(PathBuf::from).into_iter().find(|path| path.exists()));
        if let Some(keyring) = &keyring {
            fs::metadata(keyring).map_err(GuestError::at(keyring))?;
        }
        let signed_by = match &keyring {
            Some(keyring) => format!(" signed-by={}", config_text(keyring, char::is_whitespace)?),
            None => String::new(),
        };
        let apt = Self {
            suite: suite.to_owned(),
            archive: format!("deb [arch=riscv64 target=Packages{signed_by}] {mirror}"),
            sources: directory.join("sources.list"),
            lists: directory.join("lists"),
            config: directory.join("apt.conf"),
            status: directory.join("status"),
            archives: directory.join("archives"),
            no_archives: directory.join("no-archives"),
            stand_ins: STAND_INS,
        };
        make_directory(&apt.archives.join("partial"))?;
        make_directory(&apt.no_archives.join("partial"))?;
        make_directory(&apt.lists.join("partial"))?;
        let root = config_text(directory, |c| c == '"')?;
        write(&apt.config, &configuration(root))?;
        Ok(apt)
    }

    /// The same for a whole system: nothing counts as installed.
    pub(crate) fn whole(self) -> Self {
        Self { stand_ins: &[], ..self }
    }

    /// Brings the suite's index, its signature checked.
    ///
    /// An archive has a suite under its codename and under its status. While a mirror synchronises, the index under one name may not match the
    /// signed release there, and that under the other may.
    pub(crate) fn update(&self) -> Result<(), GuestError> {
        let Err(error) = self.update_as(&self.suite)? else { return Ok(()) };
        for name in other_names(&self.suite) {
            let updated = self.update_as(&name).is_ok_and(|update| update.is_ok());
            if updated && self.has_codename()? {
                return Ok(());
            }
        }
        Err(error)
    }

    /// Brings the index of the suite called `name`. The inner error is that of a mirror whose files contradict each other.
    fn update_as(&self, name: &str) -> Result<Result<(), GuestError>, GuestError> {
        write(&self.sources, &format!("{} {name} main\n", self.archive))?;
        let output = APT_GET.output(self.command().args(["-o", "APT::Update::Error-Mode=any", "update"]))?;
        if output.status.success() {
            return Ok(Ok(()));
        }
        let error = update_failed(&self.suite, &output);
        if is_inconsistent(&output) { Ok(Err(error)) } else { Err(error) }
    }

    /// Whether the release that was brought is the suite's: a status passes on to the next release.
    fn has_codename(&self) -> Result<bool, GuestError> {
        let line = format!("Codename: {}", self.suite);
        for entry in fs::read_dir(&self.lists).map_err(GuestError::at(&self.lists))? {
            let path = entry.map_err(GuestError::at(&self.lists))?.path();
            if path.to_string_lossy().ends_with("InRelease") {
                let text = fs::read_to_string(&path).map_err(GuestError::at(&path))?;
                return Ok(text.lines().any(|found| found == line));
            }
        }
        Ok(false)
    }

    /// The archives that installing `packages` beside the stand-ins takes, in apt's order.
    pub(crate) fn resolve(&self, set: &str, packages: &[&str]) -> Result<Vec<Archive>, GuestError> {
        write(&self.status, &status(self.stand_ins, packages))?;
        // apt leaves out of its list what the download directory has already; an empty one makes the list complete.
        let mut empty = OsString::from("Dir::Cache::Archives=");
        empty.push(&self.no_archives);
        let mut query = self.command();
        query.arg("-o").arg(empty).args(["--print-uris", "install", "--"]).args(packages);
        let output = APT_GET.output(&mut query)?;
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr);
            let unknown = ["Unable to locate package", "has no installation candidate"]
                .iter()
                .any(|known| complaint.contains(known));
            return Err(if unknown { GuestError::UnknownSet(set.to_owned()) } else { APT_GET.failed(&output) });
        }
        Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(parse_archive).collect())
    }

    /// Downloads `archives`, which [`Apt::resolve`] named for `packages`, taking up what is there already; `progress` is told
    /// how many of their bytes are there, a few times a second.
    pub(crate) fn download(
        &self,
        packages: &[&str],
        archives: &[Archive],
        mut progress: impl FnMut(u64),
    ) -> Result<(), GuestError> {
        write(&self.status, &status(self.stand_ins, packages))?;
        let mut command = self.command();
        command.args(["--download-only", "install", "--"]).args(packages);
        let child = APT_GET.start(&mut command)?;
        let output = std::thread::scope(|scope| {
            let finished = scope.spawn(|| child.wait_with_output());
            while !finished.is_finished() {
                progress(archives.iter().map(|archive| self.downloaded(archive)).sum());
                std::thread::sleep(Duration::from_millis(100));
            }
            finished.join().expect("waiting for a child does not panic")
        })
        .map_err(|error| GuestError::Tool { program: APT_GET.program, reason: error.to_string() })?;
        if output.status.success() { Ok(()) } else { Err(APT_GET.failed(&output)) }
    }

    /// Where `archive` lies once it is downloaded.
    pub(crate) fn path(&self, archive: &Archive) -> PathBuf {
        self.archives.join(&archive.file_name)
    }

    /// Bytes of `archive` that are there.
    fn downloaded(&self, archive: &Archive) -> u64 {
        let places = [self.path(archive), self.archives.join("partial").join(&archive.file_name)];
        places.iter().find_map(|path| fs::metadata(path).ok()).map_or(0, |file| file.len())
    }

    fn command(&self) -> Command {
        let mut command = APT_GET.command();
        command.arg("-c").arg(&self.config).args(["-q", "-y"]);
        command
    }
}

/// The address of the main Debian archive in the system's apt configuration.
pub(crate) fn system_mirror() -> Result<String, GuestError> {
    let mut query = APT_GET.command();
    query.args(["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian", "Label: Debian"]);
    let text = APT_GET.run(&mut query)?;
    String::from_utf8_lossy(&text).lines().find(|line| !line.is_empty()).map(str::to_owned).ok_or(GuestError::NoMirror)
}

/// `path` as text for apt's configuration, which cannot hold characters that `forbidden` names.
fn config_text(path: &Path, forbidden: fn(char) -> bool) -> Result<&str, GuestError> {
    path.to_str().filter(|text| !text.contains(forbidden)).ok_or_else(|| GuestError::Tool {
        program: APT_GET.program,
        reason: format!("{}: apt takes no path with such characters", path.display()),
    })
}

/// The private configuration. It is read after the system's, so what it does not name (proxies, timeouts) stays.
fn configuration(root: &str) -> String {
    format!(
        r#"APT::Architecture "riscv64";
#clear APT::Architectures;
APT::Architectures {{ "riscv64"; }};
APT::Default-Release "";
APT::Install-Recommends "false";
APT::Install-Suggests "false";
APT::Sandbox::User "root";
APT::Get::AllowUnauthenticated "false";
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Install-Pkgs;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
Acquire::AllowInsecureRepositories "false";
Acquire::AllowWeakRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
Acquire::Languages "none";
Dir::Etc::SourceList "{root}/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "{root}";
Dir::State::Lists "{root}/lists";
Dir::State::status "{root}/status";
Dir::State::extended_states "{root}/extended_states";
Dir::Cache "{root}";
Dir::Cache::Archives "{root}/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Log "{root}";
"#
    )
}

/// dpkg's status of a machine on which only `stand_ins` are installed, but for what is `wanted` itself.
fn status(stand_ins: &[&str], wanted: &[&str]) -> String {
    stand_ins.iter().filter(|name| !wanted.contains(name)).fold(String::new(), |mut text, name| {
        write!(
            text,
            "Package: {name}\nStatus: install ok installed\nVersion: 99:0\nArchitecture: riscv64\nMulti-Arch: allowed\n\
             Maintainer: Pagewalk\nDescription: stand-in\n\n"
        )
        .expect("a string takes all");
        text
    })
}

/// Reads a line of `apt-get --print-uris`: `'URI' FILE SIZE HASH`; `None` for apt's other lines.
fn parse_archive(line: &str) -> Option<Archive> {
    let mut fields = line.strip_prefix('\'')?.split(' ').skip(1);
    let file_name = fields.next()?;
    let size = fields.next()?.parse().ok()?;
    let mut parts = file_name.strip_suffix(".deb")?.split('_');
    let (name, version) = (parts.next()?, parts.next()?);
    let package = PackageId { name: name.to_owned(), version: version.replace("%3a", ":") };
    Some(Archive { package, file_name: file_name.to_owned(), size })
}

/// The names by status that a suite may have beside its codename.
fn other_names(suite: &str) -> impl Iterator<Item = String> {
    let end = suite.find('-').map_or("", |at| &suite[at..]).to_owned();
    ["stable", "oldstable"].into_iter().map(move |status| format!("{status}{end}"))
}

/// Whether a mirror has an index that is not the one that its signed release names.
fn is_inconsistent(output: &Output) -> bool {
    let text = String::from_utf8_lossy(&output.stderr);
    ["File has unexpected size", "Hash Sum mismatch"].iter().any(|mark| text.contains(mark))
}

fn update_failed(suite: &str, output: &Output) -> GuestError {
    let text = String::from_utf8_lossy(&output.stderr);
    let signature = text.lines().find(|line| {
        ["NO_PUBKEY", "GPG error", "OpenPGP signature", "is not signed", "Missing key", "EXPKEYSIG"]
            .iter()
            .any(|mark| line.contains(mark))
    });
    match signature {
        Some(line) => {
            GuestError::Signature { suite: suite.to_owned(), reason: telling_line(line).unwrap_or(line).to_owned() }
        }
        None => APT_GET.failed(output),
    }
}

fn write(path: &Path, text: &str) -> Result<(), GuestError> {
    fs::write(path, text).map_err(GuestError::at(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn archives_are_read_from_apts_list() {
        let line =
            "'http://mirror.example/pool/z/zlib1g_1.3%2b1_riscv64.deb' zlib1g_1%3a1.3+1_riscv64.deb 85664 MD5Sum:a5a0";
        assert_eq!(
            parse_archive(line),
            Some(Archive {
                package: PackageId { name: "zlib1g".to_owned(), version: "1:1.3+1".to_owned() },
                file_name: "zlib1g_1%3a1.3+1_riscv64.deb".to_owned(),
                size: 85664,
            })
        );
        assert_eq!(parse_archive("Reading package lists..."), None);
        assert_eq!(parse_archive("'http://mirror.example/x' x.tar 12"), None);
    }

    #[test]
    fn a_missing_key_is_told_from_a_missing_network() {
        let failed = |stderr: &str| {
            let status = std::process::ExitStatus::from_raw(100 << 8);
            update_failed(SUITE, &Output { status, stdout: Vec::new(), stderr: stderr.into() })
        };
        let key = failed("W: GPG error: http://mirror.example trixie InRelease: NO_PUBKEY 1234\nE: not signed\n");
        assert!(matches!(&key, GuestError::Signature { suite, .. } if suite == SUITE), "{key}");
        let network = failed("E: Failed to fetch http://mirror.example/InRelease  Could not resolve\n");
        assert!(matches!(network, GuestError::Tool { program: "apt-get", .. }), "{network}");
    }

    #[test]
    fn a_mirror_in_the_middle_of_a_synchronisation_is_known() {
        let stderr = "E: Failed to fetch http://mirror.example/Packages.xz  File has unexpected size (1 != 2). Mirror sync in progress?\n";
        let output = |stderr: &str| Output {
            status: std::process::ExitStatus::from_raw(100 << 8),
            stdout: Vec::new(),
            stderr: stderr.into(),
        };
        assert!(is_inconsistent(&output(stderr)));
        assert!(!is_inconsistent(&output("E: Failed to fetch http://mirror.example/InRelease  Could not resolve\n")));
        assert_eq!(other_names("trixie-backports").next().unwrap(), "stable-backports");
        assert_eq!(other_names("trixie").collect::<Vec<_>>(), ["stable", "oldstable"]);
    }

    #[test]
    fn a_stand_in_is_brought_when_it_is_asked_for() {
        assert!(status(STAND_INS, &["gcc"]).contains("Package: perl-base\n"));
        let without = status(STAND_INS, &["perl-base"]);
        assert!(!without.contains("Package: perl-base\n") && without.contains("Package: perl\n"), "{without}");
    }

    #[test]
    fn paths_that_apt_cannot_hold_are_refused() {
        assert!(config_text(Path::new("/a b"), |c| c == '"').is_ok());
        assert!(config_text(Path::new("/a b"), char::is_whitespace).is_err());
    }
}
