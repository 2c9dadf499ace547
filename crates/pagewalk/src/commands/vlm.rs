//! `pagewalk vlm`: the evaluation of Noel and Karkhanis (1998), side by side with the paper's numbers.

use super::outputs::{open_output, open_printer, write_page, write_report};
use crate::cli::VlmArgs;
use crate::error::Failure;
use crate::html;
use crate::progress::{Progress, aside};
use crate::sandbox::Needs;
use crate::text::cell::Cell;
use crate::text::table::{Caption, Column, Table};
use crate::time_model::TimeModels;
use config::Config;
use config::host_model::HostModel;
use experiments::vlm::figures::{
    Granularity, Residence, Scale, StartUp, TableMemory, granularity, residence, start_up_by_section, start_up_by_vms,
    table_memory,
};
use experiments::vlm::{ShadowMemory, VlmError, shadow_memory};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::process::ExitCode;
use types::Cycles;

/// The paper's machine.
const HOST: &str = "alpha-1997";

/// Hosts whose TLBs are compared.
const HOSTS: [&str; 2] = [HOST, "sandybridge-2012"];

/// Updates of each run of gups, at the paper's scale.
const UPDATES: u64 = 1_000_000;

/// Runs the command.
///
/// # Errors
/// [`Failure`].
pub(super) fn run(arguments: &VlmArgs) -> Result<ExitCode, Failure> {
    let (mut printer, json_output) = open_printer(arguments.format, arguments.json.as_deref())?;
    let html_output = open_output(arguments.html.as_deref())?;
    let failed = |error: VlmError| Failure::Run(error.to_string());
    let divisor = if arguments.full { 1 } else { 10 };
    // Half of what is free, so that others have some.
    let memory = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let budget = kibibytes(&memory, "MemAvailable").map_or(1 << 30, |free| (free << 10) / 2);
    let scale = Scale { divisor, budget };
    let model = HostModel::load(HOST)?;
    let (step, hz) = (model.prices.monitor_step, model.clock_hz);

    let status = File::open("/proc/self/status").ok();
    let needs = Needs::of_machines(1).output(json_output.as_ref()).output(html_output.as_ref());
    let _sandbox = needs.enter(arguments.sandbox.sandbox)?;
    let mut progress = Progress::new();
    let before = resident(status.as_ref());
    progress.say("vlm: memory that a shared section takes");
    let mut used = None;
    let residence = residence(scale, || used = resident(status.as_ref())).map_err(failed)?;
    progress.say("vlm: figure 4, memory of tables");
    let memory = table_memory(scale).map_err(failed)?;
    let mut show = |table: Table, remark: &str| -> std::io::Result<()> {
        aside(|| printer.table(table).and_then(|()| printer.say(&format!("{remark}\n"))))
    };
    show(figure_4(&memory), "")?;
    progress.say("vlm: memory of shadow tables");
    let (section, counts) = if arguments.full { (1 << 30, [1, 10, 20, 50]) } else { (1 << 27, [1, 10, 20, 50]) };
    let shadow = shadow_memory(section, &counts).map_err(failed)?;
    show(figure_4_shadow(&shadow), "")?;
    progress.say("vlm: figure 8, start-up of many VMs");
    let by_vms = start_up_by_vms(scale, step).map_err(failed)?;
    let caption = format!("Figure 8: seconds until all VMs have mapped a section, by their number, on {HOST}");
    show(start_up("figure_8", &by_vms, hz).captioned(Caption::Above(caption)), "")?;
    progress.say("vlm: figure 9, start-up by the size of the section");
    let by_section = start_up_by_section(scale, step).map_err(failed)?;
    let caption = format!("Figure 9: the same by the size of the section, on {HOST}");
    show(
        start_up("figure_9", &by_section, hz).captioned(Caption::Above(caption)),
        "The paper: 300 processes take just under 3 s with shared tables whatever the size, and with private ones longer at a nearly constant rate.\n",
    )?;
    let mut granularities = Vec::new();
    for host in HOSTS {
        let (model, config) = (HostModel::load(host)?, Config { host: host.to_owned(), ..Config::default() });
        progress.say(&format!("vlm: TLB misses of gups inside a section, on {host}"));
        let lines = granularity(&model, &config, UPDATES / divisor).map_err(failed)?;
        let times = TimeModels::of(host, &config);
        let caption = format!("gups inside a section of 1G, for 1000 updates ({times})");
        show(misses(&lines, host).captioned(Caption::Above(caption)), "")?;
        granularities.push(json!({ "host": host, "pages": lines.iter().map(granularity_json).collect::<Vec<_>>() }));
    }
    drop(progress);
    printer.say(&resident_line(&residence, before, used))?;
    printer.finish()?;
    if json_output.is_some() || html_output.is_some() {
        let report = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "host": HOST,
            "divisor": divisor,
            "clock_hz": hz,
            "figure_4": memory.iter().map(table_memory_json).collect::<Vec<_>>(),
            "shadow_tables": shadow.iter().map(shadow_memory_json).collect::<Vec<_>>(),
            "figure_8": by_vms.iter().map(start_up_json).collect::<Vec<_>>(),
            "figure_9": by_section.iter().map(start_up_json).collect::<Vec<_>>(),
            "granularity": granularities,
            "resident": {
                "section": residence.section,
                "vms": residence.vms,
                "tables": residence.tables,
                "pages_agreed": residence.agreed,
                "rss_before": before,
                "rss_used": used,
            },
        });
        json_output.map_or(Ok(()), |output| write_report(output, &report))?;
        html_output.map_or(Ok(()), |output| write_page(output, &html::vlm(&report)?))?;
    }
    if residence.agreed * 4096 != residence.section {
        return Err(Failure::Run(format!(
            "{} of {} pages are the same for all VMs",
            residence.agreed,
            residence.section / 4096
        )));
    }
    Ok(ExitCode::SUCCESS)
}

fn mib(bytes: u64) -> String {
    format!("{:.1}", bytes as f64 / f64::from(1 << 20))
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "-".to_owned())
}

fn mib_cell(bytes: u64) -> Cell {
    Cell::new(mib(bytes), bytes)
}

fn figure_4(points: &[TableMemory]) -> Table {
    let columns = [
        ("section MiB", "section_bytes"),
        ("mappers", "mappers"),
        ("private", "private_bytes"),
        ("shared", "shared_bytes"),
        ("paper, private", "paper_private_bytes"),
        ("paper, shared", "paper_shared_bytes"),
    ];
    let mut table = Table::new("figure_4", columns).captioned(Caption::Above("Figure 4: MiB of tables".to_owned()));
    for point in points {
        let (private, shared) = point.paper();
        table.row([
            mib_cell(point.section),
            Cell::count(point.mappers),
            point.private.map_or_else(Cell::missing, mib_cell),
            mib_cell(point.shared),
            mib_cell(private),
            mib_cell(shared),
        ]);
    }
    table
}

fn figure_4_shadow(points: &[ShadowMemory]) -> Table {
    let columns = [
        ("section MiB", "section_bytes"),
        ("guests", "mappers"),
        ("private", "private_bytes"),
        ("shared", "shared_bytes"),
        ("faults, private", "private_faults"),
        ("faults, shared", "shared_faults"),
    ];
    let caption = "The same of shadow tables, when every guest has used all of the section".to_owned();
    let mut table = Table::new("shadow_tables", columns).captioned(Caption::Above(caption));
    for point in points {
        table.row([
            mib_cell(point.section),
            Cell::count(point.mappers),
            mib_cell(point.private),
            mib_cell(point.shared),
            Cell::count(point.faults.0),
            Cell::count(point.faults.1),
        ]);
    }
    table
}

fn start_up(name: &str, points: &[StartUp], hz: u64) -> Table {
    let seconds = |cycles: Cycles| Cell::fixed(cycles.0 as f64 / hz as f64, 6);
    let columns = [
        ("section MiB", "section_bytes"),
        ("VMs", "vms"),
        ("private", "private_seconds"),
        ("shared", "shared_seconds"),
    ];
    let mut table = Table::new(name, columns.map(Column::from).into_iter().chain([Column::exact("host_model")]));
    for point in points {
        table.row([
            mib_cell(point.section),
            Cell::count(point.vms),
            point.private.map_or_else(Cell::missing, seconds),
            seconds(point.shared),
            Cell::exact(HOST),
        ]);
    }
    table
}

fn misses(lines: &[Granularity], host: &str) -> Table {
    let columns = [
        ("pages up to", "largest_page"),
        ("L1 misses", "l1_misses_per_1000_updates"),
        ("walks", "walks_per_1000_updates"),
        ("references", "references_per_1000_updates"),
    ];
    let mut table =
        Table::new("granularity", columns.map(Column::from).into_iter().chain([Column::exact("host_model")]));
    for Granularity { page, misses } in lines {
        let per = |count: u64| Cell::fixed(count as f64 * 1000.0 / misses.updates as f64, 1);
        let counts = &misses.statistics;
        table.row([
            Cell::text(page.to_string()),
            per(counts.l1d_misses),
            per(counts.walks),
            per(counts.host_refs),
            Cell::exact(host),
        ]);
    }
    table
}

fn resident_line(residence: &Residence, before: Option<u64>, used: Option<u64>) -> String {
    let size = |bytes: Option<u64>| or_dash(bytes.map(mib));
    format!(
        "A section of {} MiB mapped and used by {} VMs, with {} MiB of tables: this process had {} MiB resident before and {} MiB then\n",
        mib(residence.section),
        residence.vms,
        mib(residence.tables),
        size(before),
        size(used)
    )
}

fn table_memory_json(point: &TableMemory) -> Value {
    let (private, shared) = point.paper();
    json!({
        "section": point.section,
        "mappers": point.mappers,
        "private": point.private,
        "shared": point.shared,
        "paper_private": private,
        "paper_shared": shared,
    })
}

fn shadow_memory_json(point: &ShadowMemory) -> Value {
    json!({
        "section": point.section,
        "mappers": point.mappers,
        "private": point.private,
        "shared": point.shared,
        "faults_private": point.faults.0,
        "faults_shared": point.faults.1,
    })
}

fn start_up_json(point: &StartUp) -> Value {
    json!({
        "section": point.section,
        "vms": point.vms,
        "private": point.private.map(|cycles| cycles.0),
        "shared": point.shared.0,
    })
}

fn granularity_json(line: &Granularity) -> Value {
    let counts = &line.misses.statistics;
    json!({
        "page": line.page.to_string(),
        "updates": line.misses.updates,
        "l1d_misses": counts.l1d_misses,
        "walks": counts.walks,
        "host_refs": counts.host_refs,
    })
}

/// Bytes of this process that are in memory, as the file `/proc/self/status` has it now.
fn resident(status: Option<&File>) -> Option<u64> {
    let (mut status, mut text) = (status?, String::new());
    status.rewind().and_then(|()| status.read_to_string(&mut text)).ok()?;
    kibibytes(&text, "VmRSS").map(|size| size << 10)
}

/// A line `key: NUMBER kB` of a text of the system's.
fn kibibytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
