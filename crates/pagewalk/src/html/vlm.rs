//! The report of `vlm`: Figures 4, 8 and 9 of the 1998 paper.

use super::charts::{self, At, Axis, Bars, Curve, Group, Lines, Numbers, Point, Shape, Spacing, Stroke, Vertical};
use super::document::{Block, Chart, Charts, DataTable, Document, Finding, Section};
use super::figures::grouped;
use super::legend;
use super::page::page;
use super::palette;
use super::read::read;
use crate::error::Failure;
use config::host_model::HostModel;
use serde::Deserialize;
use serde_json::{Value, json};

/// What `vlm` writes, as far as the report reads it.
#[derive(Deserialize)]
struct Vlm {
    host: String,
    divisor: u64,
    clock_hz: u64,
    figure_4: Vec<Tables>,
    figure_8: Vec<StartUp>,
    figure_9: Vec<StartUp>,
    granularity: Vec<Granularity>,
}

#[derive(Deserialize)]
struct Tables {
    section: u64,
    mappers: u64,
    private: Option<u64>,
    shared: u64,
    paper_private: u64,
    paper_shared: u64,
}

#[derive(Deserialize)]
struct StartUp {
    section: u64,
    vms: u64,
    private: Option<u64>,
    shared: u64,
}

#[derive(Deserialize)]
struct Granularity {
    host: String,
    pages: Vec<Pages>,
}

#[derive(Deserialize)]
struct Pages {
    page: String,
    updates: u64,
    l1d_misses: u64,
    walks: u64,
    host_refs: u64,
}

/// The page.
///
/// # Errors
/// [`Failure::Usage`]: it is not what `vlm` writes.
pub(crate) fn vlm(report: &Value) -> Result<String, Failure> {
    let vlm: Vlm = read(report)?;
    let host = HostModel::load(&vlm.host).map(|host| json!(host)).unwrap_or(Value::Null);
    let scale = if vlm.divisor == 1 { "at the paper's sizes" } else { "at a tenth of the paper's sizes" };
    Ok(page(Document {
        command: "vlm".to_owned(),
        title: "What very large shared memory costs, with private and with shared page tables".to_owned(),
        lede: format!("Figures 4, 8 and 9 of Noel and Karkhanis (1998) {scale}, on a simulated {}.", vlm.host),
        findings: findings(&vlm),
        sections: vec![
            start_up(
                &vlm,
                "start-vms",
                "Start-up by the number of VMs",
                "Figure 8: until all VMs have mapped a section, by their number.",
                &vlm.figure_8,
                By::Vms,
            ),
            start_up(
                &vlm,
                "start-section",
                "Start-up by the size of the section",
                "Figure 9: the same number of VMs map sections of more and more memory. In the paper the time stays nearly the same with shared tables.",
                &vlm.figure_9,
                By::Section,
            ),
            tables(&vlm),
            granularity(&vlm),
            super::host::section(&[&host], &Value::Null),
        ],
    }))
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn findings(vlm: &Vlm) -> Vec<Finding> {
    let mut findings = Vec::new();
    let milliseconds = |cycles: u64| cycles as f64 * 1e3 / vlm.clock_hz as f64;
    if let Some((point, private)) = vlm.figure_8.iter().rev().find_map(|point| Some((point, point.private?))) {
        findings.push(Finding {
            number: format!("{:.0} ×", private as f64 / point.shared.max(1) as f64),
            text: format!(
                "longer start-up with private tables: {:.1} ms against {:.2} ms until {} VMs have mapped {:.0} MiB",
                milliseconds(private),
                milliseconds(point.shared),
                point.vms,
                mib(point.section)
            ),
        });
    }
    if let Some((point, private)) = vlm.figure_4.iter().rev().find_map(|point| Some((point, point.private?))) {
        findings.push(Finding {
            number: format!("{:.0} ×", private as f64 / point.shared.max(1) as f64),
            text: format!(
                "more memory for private tables: {:.1} MiB against {:.1} MiB where {} VMs map {:.0} MiB",
                mib(private),
                mib(point.shared),
                point.mappers,
                mib(point.section)
            ),
        });
    }
    findings
}

/// What a start-up curve goes over.
#[derive(Clone, Copy)]
enum By {
    Vms,
    Section,
}

fn start_up(vlm: &Vlm, id: &'static str, title: &str, intro: &str, points: &[StartUp], by: By) -> Section {
    let milliseconds = |cycles: u64| cycles as f64 * 1e3 / vlm.clock_hz as f64;
    let at = |point: &StartUp| match by {
        By::Vms => point.vms as f64,
        By::Section => mib(point.section),
    };
    let line = |of: &dyn Fn(&StartUp) -> Option<u64>| {
        points.iter().filter_map(|point| Some((at(point), milliseconds(of(point)?)))).collect()
    };
    let curves = [
        curve("private tables", line(&|point| point.private), Stroke::Solid),
        curve("shared tables", line(&|point| Some(point.shared)), Stroke::Solid),
    ];
    let axis = match by {
        By::Vms => "VMs",
        By::Section => "MiB of the section",
    };
    let description = format!("Curves: milliseconds of start-up over {axis}, with private and with shared tables");
    let mut table = DataTable::new(title, &["#section, MiB", "#VMs", "#private tables, ms", "#shared tables, ms"]);
    for point in points {
        let time = |cycles: u64| format!("{:.3}", milliseconds(cycles));
        let private = point.private.map_or_else(|| "–".to_owned(), time);
        table.row([format!("{:.1}", mib(point.section)), point.vms.to_string(), private, time(point.shared)]);
    }
    let x = Axis { title: axis, spacing: Spacing::Even };
    let y = Vertical { title: "milliseconds", numbers: Numbers::Plain, end: None };
    let svg = Lines { description: &description, curves: &curves, x, y }.svg();
    let charts = Charts {
        caption: title.to_owned(),
        legend: legend::of_curves(&curves),
        charts: vec![Chart { title: String::new(), svg }],
        table,
    };
    section(id, intro, charts)
}

/// A curve over numbers; solid ones are ours.
fn curve(name: &str, line: Vec<(f64, f64)>, stroke: Stroke) -> Curve {
    let private = name.starts_with("private");
    let point =
        |(at, value): (f64, f64)| Point { at: At::Number(at), value, range: None, exact: format!("{value:.3}") };
    Curve {
        name: name.to_owned(),
        points: line.into_iter().map(point).collect(),
        colour: if private { palette::PRIVATE_TABLES } else { palette::SHARED_TABLES },
        shape: Shape::of_series(usize::from(!private) + if stroke == Stroke::Dashed { 2 } else { 0 }),
        stroke,
    }
}

fn section(id: &'static str, intro: &str, charts: Charts) -> Section {
    Section {
        id: id.into(),
        title: charts.caption.clone(),
        intro: vec![intro.to_owned()],
        blocks: vec![Block::Charts(charts)],
    }
}

/// Figure 4.
fn tables(vlm: &Vlm) -> Section {
    const TITLE: &str = "Memory of page tables";
    let mut table = DataTable::new(
        TITLE,
        &["#section, MiB", "#mappers", "#private, MiB", "#shared, MiB", "#paper, private, MiB", "#paper, shared, MiB"],
    );
    let number = |bytes: u64| format!("{:.2}", mib(bytes));
    for point in &vlm.figure_4 {
        table.row([
            format!("{:.1}", mib(point.section)),
            point.mappers.to_string(),
            point.private.map_or_else(|| "–".to_owned(), number),
            number(point.shared),
            number(point.paper_private),
            number(point.paper_shared),
        ]);
    }
    let largest = vlm.figure_4.iter().map(|point| point.section).max().unwrap_or(0);
    let points = || vlm.figure_4.iter().filter(|point| point.section == largest);
    let line = |of: &dyn Fn(&Tables) -> Option<u64>| {
        points().filter_map(|point| Some((point.mappers as f64, mib(of(point)?)))).collect()
    };
    let curves = [
        curve("private tables", line(&|point| point.private), Stroke::Solid),
        curve("private tables, the paper's", line(&|point| Some(point.paper_private)), Stroke::Dashed),
        curve("shared tables", line(&|point| Some(point.shared)), Stroke::Solid),
        curve("shared tables, the paper's", line(&|point| Some(point.paper_shared)), Stroke::Dashed),
    ];
    let description =
        format!("Curves: MiB of tables over the number of VMs that map a section of {:.0} MiB", mib(largest));
    let x = Axis { title: "VMs", spacing: Spacing::Even };
    let y = Vertical { title: "MiB of tables", numbers: Numbers::Plain, end: None };
    let svg = Lines { description: &description, curves: &curves, x, y }.svg();
    let chart = Chart { title: format!("A section of {:.0} MiB", mib(largest)), svg };
    let intro = "Figure 4. RISC-V's tables have entries of 8 bytes for pages of 4K, the Alpha's the same for pages of 8K: private tables take twice as much here.";
    let legend = legend::of_curves(&curves);
    section("tables", intro, Charts { caption: TITLE.to_owned(), legend, charts: vec![chart], table })
}

/// Misses by the largest page that the section is mapped by.
fn granularity(vlm: &Vlm) -> Section {
    const TITLE: &str = "TLB misses by the largest page";
    let mut table = DataTable::new(
        TITLE,
        &["host", "pages up to", "#L1 misses / 1000", "#walks / 1000", "#references / 1000", "#updates"],
    );
    let per = |count: u64, updates: u64| count as f64 * 1000.0 / updates.max(1) as f64;
    let rows = || vlm.granularity.iter().flat_map(|host| host.pages.iter().map(move |pages| (host, pages)));
    let longest = charts::cut(rows().map(|(_, pages)| per(pages.host_refs, pages.updates)));
    let mut charts = Vec::new();
    for Granularity { host, pages } in &vlm.granularity {
        let group = |pages: &Pages| {
            let value = per(pages.host_refs, pages.updates);
            Group::single(pages.page.clone(), value, format!("{value:.1}"), palette::PLAIN)
        };
        let groups: Vec<Group> = pages.iter().map(group).collect();
        let description = format!("Bars: table references of 1000 updates on {host}. {}", charts::spoken(&groups));
        let bars = Bars { description: &description, groups: &groups, end: longest, numbers: Numbers::Plain };
        charts.push(Chart { title: host.clone(), svg: bars.svg() });
    }
    for (Granularity { host, .. }, pages) in rows() {
        let count = |count: u64| format!("{:.1}", per(count, pages.updates));
        table.row([
            host.clone(),
            pages.page.clone(),
            count(pages.l1d_misses),
            count(pages.walks),
            count(pages.host_refs),
            grouped(pages.updates),
        ]);
    }
    let intro = "Table references of 1000 random updates inside a section of 1 GiB that is mapped by pages, or groups, of this size at the most.";
    section("granularity", intro, Charts { caption: TITLE.to_owned(), legend: Vec::new(), charts, table })
}
