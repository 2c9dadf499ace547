//! `pagewalk reserve`: the reserved memory registry.

use super::outputs::{open_printer, write_report};
use crate::cli::{
    AddArgs, ByteSize, FreeArgs, ModifyArgs, NameArgs, RegistryArgs, ReservationArgs, ReserveCommand, ShowArgs,
};
use crate::control::{Connection, FreedReservation, Reply, Request, section_name};
use crate::error::Failure;
use crate::output::{Printer, print};
use crate::setup::configuration;
use crate::text::cell::Cell;
use crate::text::table::Table;
use machine::registry::{
    Change, EditError, Held, Preallocation, Registry, RegistryFile, Reservation, SectionName, StartPlan, Tuning,
    default_path,
};
use serde_json::{Value, json};
use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use types::PageSize;

/// Runs the command.
///
/// # Errors
/// [`Failure`]: a name or size that cannot be, a registry that is damaged or cannot be written.
pub(super) fn run(command: &ReserveCommand) -> Result<ExitCode, Failure> {
    match command {
        ReserveCommand::Add(arguments) => add(arguments),
        ReserveCommand::Modify(arguments) => modify(arguments),
        ReserveCommand::Remove(arguments) => edit(arguments, "removed", Registry::remove),
        ReserveCommand::Free(arguments) => free(arguments),
        ReserveCommand::Show(arguments) => show(arguments),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn add(arguments: &AddArgs) -> Result<(), Failure> {
    let change = Change {
        alloc: Some(arguments.alloc),
        zeroed: Some(arguments.zeroed),
        page_tables: Some(!arguments.no_page_tables),
        ..Change::default()
    };
    edit(&arguments.reservation, "added", |registry, name| {
        let reservation = Reservation::new(name.clone(), arguments.size.0)
            .map_err(|bad| EditError::Bad { name: name.clone(), bad })?;
        registry.add(reservation)?;
        registry.modify(name, change).cloned()
    })
}

fn modify(arguments: &ModifyArgs) -> Result<(), Failure> {
    let choice = |yes: bool, no: bool| (yes || no).then_some(yes);
    let change = Change {
        bytes: arguments.size.map(|size| size.0),
        alloc: choice(arguments.alloc, arguments.fluid),
        zeroed: choice(arguments.zeroed, arguments.not_zeroed),
        page_tables: choice(arguments.page_tables, arguments.no_page_tables),
        freed: arguments.again.then_some(false),
    };
    edit(&arguments.reservation, "modified", |registry, name| registry.modify(name, change).cloned())
}

/// Changes one reservation, and prints what it is then.
fn edit(
    arguments: &ReservationArgs,
    done: &str,
    change: impl FnOnce(&mut Registry, &SectionName) -> Result<Reservation, EditError>,
) -> Result<(), Failure> {
    let name = name(&arguments.name)?;
    let file = file(&arguments.registry)?;
    let reservation = file.change(|registry| change(registry, &name))?;
    Ok(print(&format!("{done} in {}: {}\n", file.path().display(), in_words(&reservation)))?)
}

fn name(arguments: &NameArgs) -> Result<SectionName, Failure> {
    section_name(&arguments.name, arguments.group).map_err(Failure::Usage)
}

/// Frees a reservation: in a registry's file, or on a running host.
fn free(arguments: &FreeArgs) -> Result<(), Failure> {
    if let Some(socket) = &arguments.control {
        return free_on_host(&arguments.name, socket);
    }
    let file = arguments.file.clone().or_else(|| env::var_os("PAGEWALK_RESERVED_MEMORY").map(PathBuf::from));
    let reservation = ReservationArgs { name: arguments.name.clone(), registry: RegistryArgs { file } };
    edit(&reservation, "freed", |registry, name| registry.free(name).cloned())
}

/// Frees a reservation on the host that listens at `socket`, and prints what that gave back.
fn free_on_host(arguments: &NameArgs, socket: &Path) -> Result<(), Failure> {
    // A name that cannot be is bad usage, whatever listens.
    name(arguments)?;
    let mut connection = Connection::open(socket)?;
    let request = Request::Free { name: arguments.name.clone(), group: arguments.group };
    let answer = match connection.ask(&request)? {
        Reply::Answer(answer) => answer,
        Reply::Ended => return Err(connection.ended()),
    };
    let freed: FreedReservation = serde_json::from_value(answer)
        .map_err(|error| Failure::Run(format!("{}: not the reply of this version: {error}", socket.display())))?;
    Ok(print(&format!("freed on the host at {}: {freed}\n", socket.display()))?)
}

fn in_words(reservation: &Reservation) -> String {
    let kind = match reservation.preallocation {
        Preallocation::Fluid => "fluid",
        Preallocation::Alloc { zeroed: true } => "alloc, zeroed",
        Preallocation::Alloc { zeroed: false } => "alloc",
    };
    let tables = if reservation.page_tables { "page tables" } else { "no page tables" };
    let freed = if reservation.freed { ", freed" } else { "" };
    format!("{}, {}, {kind}, {tables}{freed}", reservation.name, ByteSize(reservation.bytes()))
}

fn file(arguments: &RegistryArgs) -> Result<RegistryFile, Failure> {
    let none = || Failure::Usage("there is no home directory to keep the registry in: name a --file".to_owned());
    arguments.file.clone().or_else(default_path).map(RegistryFile::new).ok_or_else(none)
}

fn show(arguments: &ShowArgs) -> Result<(), Failure> {
    let config = configuration(&[], &arguments.config, &[])?;
    let (mut printer, output) = open_printer(arguments.format, arguments.json.as_deref())?;
    let file = file(&arguments.registry)?;
    let registry = file.read()?;
    let guests = machine::guest_host_bytes(&config).saturating_mul(u64::from(arguments.guests));
    let sizes = config.host_model()?.tlb.groups.granularities();
    let tuning = Tuning::new(&registry, pages(guests), sizes);
    let host_bytes = arguments.host_memory.map_or(tuning.least_host_bytes, |size| size.0);
    let plan = Tuning::plan(&registry, host_bytes, tuning.minimum_fluid, sizes);
    let shown = Shown { file: &file, registry: &registry, tuning, host_bytes, plan: &plan };
    shown.print(&mut printer)?;
    printer.finish()?;
    output.map_or(Ok(()), |output| write_report(output, &shown.json()))
}

/// What `show` shows.
struct Shown<'a> {
    file: &'a RegistryFile,
    registry: &'a Registry,
    tuning: Tuning,
    host_bytes: u64,
    plan: &'a StartPlan,
}

/// What a host does for one reservation.
enum State<'a> {
    Honoured(&'a Held),
    Refused(String),
    Freed,
}

impl Shown<'_> {
    fn state(&self, reservation: &Reservation) -> State<'_> {
        let name = &reservation.name;
        if let Some(entry) = self.plan.honoured.iter().find(|entry| entry.reservation.name == *name) {
            return State::Honoured(&entry.held);
        }
        let refused = self.plan.refused.iter().find(|refused| refused.name == *name);
        refused.map_or(State::Freed, |refused| State::Refused(refused.why.to_string()))
    }

    fn print(&self, printer: &mut Printer) -> std::io::Result<()> {
        let columns = [
            ("name", "name"),
            ("group", "group"),
            ("size", "bytes"),
            ("page tables", "table_bytes"),
            ("pages", "kind"),
            ("a host does", "a_host_does"),
        ];
        let mut table = Table::new("reservations", columns);
        for entry in self.registry.iter() {
            let group = entry.name.scope().group().map_or_else(Cell::missing, |group| Cell::count(group.into()));
            let tables = if entry.page_tables { size(entry.table_pages()) } else { Cell::missing() };
            let kind = match entry.preallocation {
                Preallocation::Fluid => "fluid",
                Preallocation::Alloc { zeroed: true } => "alloc, zeroed",
                Preallocation::Alloc { zeroed: false } => "alloc",
            };
            let state = match self.state(entry) {
                State::Honoured(Held::Fluid) => "promise them".to_owned(),
                State::Honoured(Held::Alloc { alignment, .. }) => format!("set them aside, aligned to {alignment}"),
                State::Refused(_) => "refuse".to_owned(),
                State::Freed => "nothing: it is freed".to_owned(),
            };
            let size = Cell::new(ByteSize(entry.bytes()).to_string(), entry.bytes());
            table.row([Cell::text(entry.name.text()), group, size, tables, Cell::text(kind), Cell::text(state)]);
        }
        let refused: String = self.plan.refused.iter().map(|refused| format!("refused: {refused}\n")).collect();
        let Tuning { reserved, tables, contiguous, minimum_fluid, least_host_bytes } = self.tuning;
        let mut sums = Table::new("tuning", [("tune the host to", "what"), ("pages", "pages"), ("size", "bytes")]);
        for (what, pages) in [
            ("reserved", reserved),
            ("reserved for page tables", tables),
            ("of these set aside in one piece", contiguous),
            ("minimum fluid page count", minimum_fluid),
            ("least host memory", pages(least_host_bytes)),
            ("host memory", pages(self.host_bytes)),
            ("fluid page count", self.plan.fluid.count()),
        ] {
            sums.row([Cell::text(what), Cell::count(pages), size(pages)]);
        }
        printer.table(table)?;
        printer.say(&format!("{refused}\n"))?;
        printer.table(sums)?;
        printer.say(&format!("registry: {}\n", self.file.path().display()))
    }

    fn json(&self) -> Value {
        let reservations: Vec<Value> = self.registry.iter().map(|entry| self.entry(entry)).collect();
        let bytes = |pages: u64| pages * PageSize::Size4K.bytes();
        json!({
            "version": env!("CARGO_PKG_VERSION"),
            "registry": self.file.path().display().to_string(),
            "reservations": reservations,
            "host": {
                "bytes": self.host_bytes,
                "fluid_pages": self.plan.fluid.count(),
            },
            "tuning": {
                "reserved_bytes": bytes(self.tuning.reserved),
                "table_bytes": bytes(self.tuning.tables),
                "contiguous_bytes": bytes(self.tuning.contiguous),
                "minimum_fluid_pages": self.tuning.minimum_fluid,
                "least_host_bytes": self.tuning.least_host_bytes,
            },
        })
    }

    fn entry(&self, entry: &Reservation) -> Value {
        let (state, alignment, refusal) = match self.state(entry) {
            State::Honoured(Held::Fluid) => ("honoured", None, None),
            State::Honoured(Held::Alloc { alignment, .. }) => ("honoured", Some(alignment.to_string()), None),
            State::Refused(why) => ("refused", None, Some(why)),
            State::Freed => ("freed", None, None),
        };
        json!({
            "name": entry.name.text(),
            "group": entry.name.scope().group(),
            "bytes": entry.bytes(),
            "alloc": entry.preallocation != Preallocation::Fluid,
            "zeroed": entry.preallocation == Preallocation::Alloc { zeroed: true },
            "page_tables": entry.page_tables,
            "table_bytes": entry.table_pages() * PageSize::Size4K.bytes(),
            "state": state,
            "alignment": alignment,
            "refusal": refusal,
        })
    }
}

fn pages(bytes: u64) -> u64 {
    bytes / PageSize::Size4K.bytes()
}

/// The size of this many pages.
fn size(pages: u64) -> Cell {
    let bytes = pages.saturating_mul(PageSize::Size4K.bytes());
    Cell::new(if pages == 0 { "0".to_owned() } else { ByteSize(bytes).to_string() }, bytes)
}
