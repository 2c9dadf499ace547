//! The evaluation of Noel and Karkhanis, "OpenVMS Alpha 64-bit Very Large Memory Design" (1998), at the level of the monitor:
//! `cargo run --release -p pagewalk-machine --example vlm [-- --full]`. Sections are the paper's, and VMs a tenth of its processes unless `--full` is
//! given: the private tables of Figure 4 then take 16 GB of memory.

use machine::config::Config;
use machine::host_model::HostModel;
use machine::registry::Granularities;
use machine::vlm::{Mappers, Sharing, VlmError, gups};
use types::{Cycles, PageSize};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// Base pages alone: hints do not make tables smaller.
const BASE: Granularities = Granularities::RISCV.at_most(PageSize::Size4K);
const BOTH: [Sharing; 2] = [Sharing::Private, Sharing::Shared];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scale = if std::env::args().any(|argument| argument == "--full") { 1 } else { 10 };
    let model = HostModel::load("alpha-1997")?;
    let step = model.prices.prices().monitor_step;
    figure_4(scale, step)?;
    figure_8(scale, step, model.clock_hz)?;
    figure_9(scale, step, model.clock_hz)?;
    for host in ["alpha-1997", "sandybridge-2012"] {
        granularity(host)?;
    }
    Ok(())
}

/// Table memory in MiB, and what the paper's Figure 4 has for the same: 8 bytes for each 8K page and process.
fn figure_4(scale: u64, step: Cycles) -> Result<(), VlmError> {
    println!("Figure 4: MiB of tables");
    println!("{:>8} {:>8} {:>10} {:>10} {:>10}", "section", "mappers", "private", "shared", "paper");
    for gigabytes in [2, 4, 6, 8] {
        let bytes = gigabytes * GIB;
        let mut runs = Vec::new();
        for sharing in BOTH {
            let mut mappers = Mappers::new(bytes, sharing, BASE, 1000 / scale as u16, step)?;
            let mut at = Vec::new();
            for wanted in [scale, 100, 200, 400, 600, 800, 1000].map(|wanted| wanted / scale) {
                while mappers.count() < wanted {
                    mappers.start()?;
                }
                at.push((wanted, mappers.table_bytes()));
            }
            runs.push(at);
        }
        for (private, shared) in runs[0].iter().zip(&runs[1]) {
            let (mib, mappers) = (|bytes: u64| bytes as f64 / MIB as f64, private.0);
            let paper = mib(mappers * (bytes / 1024));
            let (private, shared) = (mib(private.1), mib(shared.1));
            println!("{:>8} {mappers:>8} {private:>10.1} {shared:>10.1} {paper:>10.1}", bytes / MIB);
        }
    }
    Ok(())
}

/// How long it takes until so many VMs have started.
fn figure_8(scale: u64, step: Cycles, hz: u64) -> Result<(), VlmError> {
    let bytes = 7680 * MIB;
    let vms = 300 / scale as u16;
    println!("Figure 8: seconds until so many VMs have mapped a section of {} MiB", bytes / MIB);
    println!("{:>8} {:>10} {:>10}", "VMs", "private", "shared");
    let mut runs = Vec::new();
    for sharing in BOTH {
        let mut mappers = Mappers::new(bytes, sharing, BASE, vms, step)?;
        let (mut total, mut at) = (0, Vec::new());
        for vm in 1..=vms {
            total += mappers.start()?.0;
            if vm == 1 || vm % (vms / 6) == 0 {
                at.push((vm, total));
            }
        }
        runs.push(at);
    }
    for (private, shared) in runs[0].iter().zip(&runs[1]) {
        let seconds = |cycles: u64| cycles as f64 / hz as f64;
        println!("{:>8} {:>10.4} {:>10.4}", private.0, seconds(private.1), seconds(shared.1));
    }
    Ok(())
}

/// How long many VMs take to start, by the size of the section.
fn figure_9(scale: u64, step: Cycles, hz: u64) -> Result<(), VlmError> {
    let vms = 300 / scale as u16;
    println!("Figure 9: seconds until {vms} VMs have mapped a section of so many MiB");
    println!("{:>8} {:>10} {:>10}", "section", "private", "shared");
    for gigabytes in 1..=7 {
        let bytes = gigabytes * GIB;
        let mut seconds = Vec::new();
        for sharing in BOTH {
            let mut mappers = Mappers::new(bytes, sharing, BASE, vms, step)?;
            let total: u64 = (0..vms).map(|_| mappers.start().map(|cycles| cycles.0)).sum::<Result<_, _>>()?;
            seconds.push(total as f64 / hz as f64);
        }
        println!("{:>8} {:>10.4} {:>10.4}", bytes / MIB, seconds[0], seconds[1]);
    }
    Ok(())
}

/// What granularity does for the TLB of a host.
fn granularity(host: &str) -> Result<(), Box<dyn std::error::Error>> {
    let model = HostModel::load(host)?;
    let config = Config { host: host.to_owned(), ..Config::default() };
    let processor = config.mmu(&model)?;
    println!("gups inside a section of 1 GiB on {host}: of 1000 updates");
    println!("{:>8} {:>10} {:>10} {:>10}", "pages", "L1 misses", "walks", "references");
    let sizes = model.tlb.groups.granularities();
    for largest in sizes.descending() {
        let run = gups(GIB, 1_000_000, sizes.at_most(largest), &processor)?;
        let per = |count: u64| count as f64 * 1000.0 / run.updates as f64;
        let [misses, walks, references] =
            [run.statistics.l1d_misses, run.statistics.walks, run.statistics.host_refs].map(per);
        println!("{:>8} {misses:>10.1} {walks:>10.1} {references:>10.1}", largest.to_string());
    }
    Ok(())
}
