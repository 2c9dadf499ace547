//! `pagewalk guest`: fetches the Linux guest, lists what is fetched, and prints the header for programs that run in a guest.

use crate::cli::{ArchiveArgs, Distribution, FetchArgs, GuestCommand, ImageArgs, ListArgs};
use crate::error::Failure;
use crate::guest::{
    self, BASE, Cache, FetchRequest, Fetched, GuestError, ImageRequest, KernelRequest, LinuxGuest, PACKAGE_SETS,
    SetEntry, Source,
};
use crate::output::{Printer, print};
use crate::progress::Progress;
use crate::runs::debian::build::{self, Made, Order};
use crate::text::table::Table;
use std::process::ExitCode;

/// Runs the command.
///
/// # Errors
/// The guest cannot be fetched or listed, or standard output cannot be written.
pub(super) fn run(command: &GuestCommand) -> Result<ExitCode, Failure> {
    match command {
        GuestCommand::Fetch(arguments) => fetch(arguments),
        GuestCommand::Image(arguments) => image(arguments),
        GuestCommand::List(arguments) => list(arguments),
        GuestCommand::Header => header(),
    }
}

fn fetch(arguments: &FetchArgs) -> Result<ExitCode, Failure> {
    let cache = Cache::locate(arguments.cache.directory.as_deref())?;
    let default = || PACKAGE_SETS.iter().filter(|set| set.fetched_by_default).map(|set| set.name.to_owned());
    let sets = if arguments.only.is_empty() {
        default().chain(arguments.sets.iter().cloned()).collect()
    } else {
        arguments.only.clone()
    };
    let source = source(&arguments.archive);
    let kernel = arguments.kernel.clone().map(|release| KernelRequest { release, suite: arguments.suite.clone() });
    let request = FetchRequest { sets, kernel, renew: arguments.renew, source };
    let fetched = guest::fetch(&cache, &request, &mut Progress::new())?;
    let state = match fetched {
        Fetched::Renewed => "fetched",
        Fetched::AlreadyThere => "already there",
    };
    let fetched = guest::fetched_sets(&cache)?;
    let sets: Vec<_> = fetched.iter().map(|set| set.name.as_str()).collect();
    let place = cache.linux();
    // Sets can be there before the kernel that runs them.
    let what = match LinuxGuest::open(cache.clone()).and_then(|linux| linux.release().map(str::to_owned)) {
        Ok(release) => format!("Linux {release}"),
        Err(GuestError::NotFetched { .. }) => "programs, and no kernel yet,".to_owned(),
        Err(error) => return Err(error.into()),
    };
    print(&format!("{what} {state} in {}: {}\n", place.display(), sets.join(", ")))?;
    Ok(ExitCode::SUCCESS)
}

fn source(archive: &ArchiveArgs) -> Source {
    Source { mirror: archive.mirror.clone(), keyring: archive.keyring.clone() }
}

fn image(arguments: &ImageArgs) -> Result<ExitCode, Failure> {
    let Distribution::Debian = arguments.distribution;
    let cache = Cache::locate(arguments.cache.directory.as_deref())?;
    let mut packages = arguments.packages.clone();
    packages.sort();
    packages.dedup();
    let request = ImageRequest { packages, size: arguments.size.0 };
    let source = source(&arguments.archive);
    let order = Order { request, source, renew: arguments.renew, sandbox: arguments.sandbox.sandbox };
    let (image, made) = build::image(&cache, &order)?;
    let state = match made {
        Made::Now => "made",
        Made::AlreadyThere => "already there",
    };
    let (count, path) = (image.packages.len(), image.path(&cache));
    print(&format!("Debian with {count} packages {state}: {}\n", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn list(arguments: &ListArgs) -> Result<ExitCode, Failure> {
    let cache = Cache::locate(arguments.cache.directory.as_deref())?;
    let mut printer = Printer::alone(arguments.format.format)?;
    let fetched = guest::fetched_sets(&cache)?;
    let columns = [("set", "set"), ("fetched version", "version"), ("what", "what")];
    let mut table = Table::new("sets", columns);
    let version = |there: &SetEntry| there.version().unwrap_or("yes").to_owned();
    for set in PACKAGE_SETS {
        let there = fetched.iter().find(|there| there.name == set.name);
        table.row([set.name.to_owned(), there.map_or_else(String::new, version), set.summary.to_owned()]);
    }
    for there in fetched.iter().filter(|there| guest::package_set(&there.name).is_none()) {
        let what =
            there.suite.as_ref().map_or("Debian package".to_owned(), |suite| format!("kernel of Debian {suite}"));
        table.row([there.name.clone(), version(there), what]);
    }
    printer.table(table)?;
    let mut text = format!("\ncache: {}\n", cache.linux().display());
    if fetched.iter().all(|set| set.name != BASE) {
        let default: Vec<_> = PACKAGE_SETS.iter().filter(|set| set.fetched_by_default).map(|set| set.name).collect();
        let default = default.join(", ");
        text +=
            &format!("`pagewalk guest fetch` brings {default}, and others by name; `--only base` is the quickest\n");
    }
    printer.say(&text)?;
    printer.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// The header is printed and not installed: a program's build puts it where its compiler looks.
fn header() -> Result<ExitCode, Failure> {
    print(guest::HEADER)?;
    Ok(ExitCode::SUCCESS)
}
