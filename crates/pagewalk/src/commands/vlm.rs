//! `pagewalk vlm`: the evaluation of Noel and Karkhanis (1998), side by side with the paper's numbers.

use super::{check_report, write_page, write_report};
use crate::cli::VlmArgs;
use crate::error::Failure;
use crate::html;
use crate::output::print;
use crate::table::Table;
use machine::config::Config;
use machine::host_model::HostModel;
use machine::vlm::figures::{
    Granularity, Residence, Scale, StartUp, TableMemory, granularity, residence, start_up_by_section, start_up_by_vms,
    table_memory,
};
use machine::vlm::{ShadowMemory, VlmError, shadow_memory};
use serde_json::{Value, json};
use std::fs;
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
    check_report(arguments.json.as_deref())?;
    check_report(arguments.html.as_deref())?;
    let failed = |error: VlmError| Failure::Run(error.to_string());
    let divisor = if arguments.full { 1 } else { 10 };
    // Half of what is free, so that others have some.
    let budget = kibibytes("/proc/meminfo", "MemAvailable").map_or(1 << 30, |free| (free << 10) / 2);
    let scale = Scale { divisor, budget };
    let model = HostModel::load(HOST)?;
    let (step, hz) = (model.prices.prices().monitor_step, model.clock_hz);

    let before = resident();
    let mut used = None;
    let residence = residence(scale, || used = resident()).map_err(failed)?;
    let memory = table_memory(scale).map_err(failed)?;
    print(&format!("Figure 4: MiB of tables\n{}\n", figure_4(&memory)))?;
    let (section, counts) = if arguments.full { (1 << 30, [1, 10, 20, 50]) } else { (1 << 27, [1, 10, 20, 50]) };
    let shadow = shadow_memory(section, &counts).map_err(failed)?;
    print(&format!(
        "The same of shadow tables, when every guest has used all of the section\n{}\n",
        figure_4_shadow(&shadow)
    ))?;
    let by_vms = start_up_by_vms(scale, step).map_err(failed)?;
    print(&format!(
        "Figure 8: seconds until so many VMs have mapped a section, on {HOST}\n{}\n",
        start_up(&by_vms, hz)
    ))?;
    let by_section = start_up_by_section(scale, step).map_err(failed)?;
    print(&format!("Figure 9: the same by the size of the section\n{}", start_up(&by_section, hz)))?;
    print(
        "The paper: 300 processes take just under 3 s with shared tables whatever the size, and with private ones longer at a nearly constant rate.\n\n",
    )?;
    let mut granularities = Vec::new();
    for host in HOSTS {
        let (model, config) = (HostModel::load(host)?, Config { host: host.to_owned(), ..Config::default() });
        let lines = granularity(&model, &config, UPDATES / divisor).map_err(failed)?;
        print(&format!("gups inside a section of 1G on {host}, for 1000 updates\n{}\n", misses(&lines)))?;
        granularities.push(json!({ "host": host, "pages": lines.iter().map(granularity_json).collect::<Vec<_>>() }));
    }
    print(&resident_line(&residence, before, used))?;
    if arguments.json.is_some() || arguments.html.is_some() {
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
        arguments.json.as_deref().map_or(Ok(()), |path| write_report(path, &report))?;
        arguments.html.as_deref().map_or(Ok(()), |path| write_page(path, &html::vlm(&report)?))?;
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

fn figure_4(points: &[TableMemory]) -> Table {
    let mut table = Table::new(["section MiB", "mappers", "private", "shared", "paper, private", "paper, shared"]);
    for point in points {
        let (private, shared) = point.paper();
        table.row([
            mib(point.section),
            point.mappers.to_string(),
            or_dash(point.private.map(mib)),
            mib(point.shared),
            mib(private),
            mib(shared),
        ]);
    }
    table
}

fn figure_4_shadow(points: &[ShadowMemory]) -> Table {
    let mut table = Table::new(["section MiB", "guests", "private", "shared", "faults, private", "faults, shared"]);
    for point in points {
        table.row([
            mib(point.section),
            point.mappers.to_string(),
            mib(point.private),
            mib(point.shared),
            point.faults.0.to_string(),
            point.faults.1.to_string(),
        ]);
    }
    table
}

fn start_up(points: &[StartUp], hz: u64) -> Table {
    let seconds = |cycles: Cycles| format!("{:.6}", cycles.0 as f64 / hz as f64);
    let mut table = Table::new(["section MiB", "VMs", "private", "shared"]);
    for point in points {
        let private = or_dash(point.private.map(seconds));
        table.row([mib(point.section), point.vms.to_string(), private, seconds(point.shared)]);
    }
    table
}

fn misses(lines: &[Granularity]) -> Table {
    let mut table = Table::new(["pages up to", "L1 misses", "walks", "references"]);
    for Granularity { page, misses } in lines {
        let per = |count: u64| format!("{:.1}", count as f64 * 1000.0 / misses.updates as f64);
        let counts = &misses.statistics;
        table.row([page.to_string(), per(counts.l1d_misses), per(counts.walks), per(counts.host_refs)]);
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

/// Bytes of this process that are in memory.
fn resident() -> Option<u64> {
    kibibytes("/proc/self/status", "VmRSS").map(|size| size << 10)
}

/// A line `key: NUMBER kB` of a file of the system's.
fn kibibytes(path: &str, key: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse().ok()
}
