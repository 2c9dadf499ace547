//! Makes the image of a Debian root file system: a Linux guest writes it onto a disk, from packages that the host has opened.

use crate::cleanup::TemporaryPath;
use crate::cli::{CacheArgs, DiskSpec, LinuxArgs, SandboxMode, ShareSpec};
use crate::error::Failure;
use crate::guest::{
    BASE, Cache, DebianImage, FetchRequest, GuestError, ImageRequest, LinuxGuest, Memory, Opened, Source, fetch,
    open_packages,
};
use crate::interrupt::{self, Orderly};
use crate::progress::{Progress, Runs};
use crate::runs::image::{GuestKind, Prepared, Work, prepare};
use crate::runs::quiet::QuietConsole;
use crate::sandbox::Needs;
use crate::shared_memory::SharedMemory;
use config::Config;
use config::units::ByteSize;
use machine::{Machine, Outcome};
use process::Access;
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// The guest's memory: the packages are read from the host, and the file system is on the disk.
const MEMORY: ByteSize = ByteSize(512 << 20);

/// The least disk that the packages of every image fit on.
const LEAST_SIZE: u64 = 512 << 20;

/// The most that a disk may have: ext4 with blocks of 4 KiB.
const MOST_SIZE: u64 = 16 << 40;

/// What is to be made, and how.
pub(crate) struct Order {
    pub(crate) request: ImageRequest,
    pub(crate) source: Source,
    /// Whether an image that is there is looked at again, for newer packages.
    pub(crate) renew: bool,
    pub(crate) sandbox: SandboxMode,
}

/// Whether there was anything to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Made {
    Now,
    AlreadyThere,
}

/// Makes the image of `order` the one that boots.
///
/// # Errors
/// [`Failure`]; the earlier image then stays.
pub(crate) fn image(cache: &Cache, order: &Order) -> Result<(DebianImage, Made), Failure> {
    let size = order.request.size;
    if !(LEAST_SIZE..=MOST_SIZE).contains(&size) || !size.is_multiple_of(4096) {
        let (least, most) = (ByteSize(LEAST_SIZE), ByteSize(MOST_SIZE));
        return Err(Failure::Usage(format!("--size: {}: not a multiple of 4K from {least} to {most}", ByteSize(size))));
    }
    let mut progress = Progress::new();
    let there = |image: &DebianImage| image.serves(&order.request) && !order.renew;
    if let Some(image) = DebianImage::current(cache)?.filter(there) {
        return Ok((image, Made::AlreadyThere));
    }
    if matches!(LinuxGuest::open(cache.clone()), Err(GuestError::NotFetched { .. })) {
        let base =
            FetchRequest { sets: vec![BASE.to_owned()], source: order.source.clone(), ..FetchRequest::default() };
        fetch(cache, &base, &mut progress)?;
    }
    let lock = cache.lock(|| progress.say("waiting for another `pagewalk guest`"))?;
    let work = cache.debian().join("work");
    let opened = open_packages(&work, &order.source, &order.request.packages, &mut progress)?;
    let linux = LinuxGuest::open(cache.clone())?;
    let image = DebianImage::of(&order.request, &opened, linux.release()?);
    let path = image.path(cache);
    let made = if path.is_file() { Made::AlreadyThere } else { Made::Now };
    drop(progress);
    let cleaned = if made == Made::Now { Some(make(cache, order, &image, &opened)?) } else { None };
    image.select(cache)?;
    remove_others(&path, &cache.debian()).map_err(GuestError::at(&cache.debian()))?;
    fs::remove_dir_all(&work).map_err(GuestError::at(&work))?;
    drop((cleaned, lock));
    Ok((image, made))
}

/// Runs the guest that makes `image`, and gives its disk its name.
fn make(
    cache: &Cache,
    order: &Order,
    image: &DebianImage,
    opened: &Opened,
) -> Result<crate::sandbox::Entered, Failure> {
    let at = |path: &Path| GuestError::at(path);
    let path = image.path(cache);
    let images = path.parent().unwrap_or(Path::new("/")).to_owned();
    fs::create_dir_all(&images).map_err(at(&images))?;
    // In the directory of its name: the sandbox lets no file go from one to another.
    let disk = TemporaryPath::remove_later(images.join("unfinished"));
    File::create(disk.path()).and_then(|file| file.set_len(image.request.size)).map_err(at(disk.path()))?;
    let share = ShareSpec { host: opened.directory.clone(), tag: Some("packages".to_owned()), write: false };
    let arguments = LinuxArgs {
        disks: vec![DiskSpec { path: disk.path().to_owned(), write: true, blank: None }],
        shares: vec![share],
        cache: CacheArgs { directory: Some(cache.root().to_owned()) },
        ..LinuxArgs::default()
    };
    let script = image.script(opened);
    let prepared = prepare(GuestKind::Linux, Work::Command(script), &arguments, Memory::OfKernel)?;
    let config = Config { memory: MEMORY, ..Config::default() };
    let needs = Needs::of_machines(1).devices(prepared.devices()).configuration(&config);
    // Afterwards the image gets its name, and what it replaces goes.
    let afterwards = [Access::Directory, Access::RemoveDirectory].map(|access| (cache.debian(), access));
    let sandbox = needs.paths(afterwards.into()).enter(order.sandbox)?;
    configure(&prepared, &config)?;
    File::open(disk.path()).and_then(|file| file.sync_all()).map_err(at(disk.path()))?;
    fs::rename(disk.path(), &path).map_err(at(&path))?;
    disk.forget();
    Ok(sandbox)
}

fn configure(prepared: &Prepared, config: &Config) -> Result<(), Failure> {
    let plan = SharedMemory::default().plan(config, prepared.image(config)?)?;
    let mut machine = Machine::assemble_host(config, &plan)?;
    let orderly = Orderly::begin();
    let progress = Runs::one_drawn();
    let running = progress.begin("", "putting the image together");
    machine.show_on(running.gauge());
    let mut console = QuietConsole::default();
    let outcome = machine.run(&mut console);
    drop(running);
    drop(progress);
    if let Some(signal) = interrupt::requested() {
        return Err(Failure::Interrupted(signal));
    }
    drop(orderly);
    match console.panic.judge(outcome) {
        Outcome::Finished(0) => Ok(()),
        other => {
            let said = String::from_utf8_lossy(&console.output);
            let last = said.lines().map(str::trim).rfind(|line| !line.is_empty());
            Err(GuestError::Image(format!("{other}: {}", last.unwrap_or("the guest said nothing"))).into())
        }
    }
}

/// Removes images other than that at `image`, and the states of guests that booted from them.
fn remove_others(image: &Path, debian: &Path) -> io::Result<()> {
    let files = |directory: &str| fs::read_dir(debian.join(directory)).into_iter().flatten();
    let mut booted = Vec::new();
    for entry in files("images") {
        let path = entry?.path();
        if path != image {
            fs::remove_file(path)?;
            booted = files("booted").collect();
        }
    }
    booted.into_iter().try_for_each(|entry| fs::remove_file(entry?.path()))
}
