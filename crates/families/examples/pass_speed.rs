//! How long a pass takes: `cargo run --release -p pagewalk-families --example pass_speed -- RECORDING [MEMORY IN MIB]`.
//!
//! It counts for 64 systems: eight L1D TLBs, each with eight L2 TLBs.

use families::Pass;
use mmu::{MmuConfig, TlbArray};
use recording::Reader;
use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::time::Instant;
use types::{Gpa, PageSize};

const L1D: [(u32, u32); 8] = [(4, 4), (16, 4), (16, 2), (8, 4), (8, 8), (1, 32), (32, 4), (16, 8)];
const L2: [(u32, u32); 8] = [(64, 4), (64, 8), (128, 4), (128, 8), (128, 12), (256, 4), (256, 8), (256, 6)];

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("RECORDING")?;
    let memory = arguments.next().map_or(Ok(4096), |text| text.parse::<u64>())? << 20;
    let level = |(sets, ways)| vec![TlbArray::new(&[PageSize::Size4K, PageSize::Size2M, PageSize::Size1G], sets, ways)];
    let l1i = level((8, 4));
    let systems: Vec<MmuConfig> = L1D
        .into_iter()
        .flat_map(|l1d| L2.map(|l2| (l1d, l2)))
        .map(|(l1d, l2)| MmuConfig { l1d: level(l1d), l1i: l1i.clone(), l2: level(l2), ..MmuConfig::default() })
        .collect();
    let mut reader = Reader::open(BufReader::new(File::open(path)?))?;
    let events = reader.summary().events;
    let begun = Instant::now();
    let counts = Pass::new(&systems, Gpa(0x8000_0000)..Gpa(0x8000_0000 + memory), 0).run(&mut reader, || true)?;
    let seconds = begun.elapsed().as_secs_f64();
    println!("{:?}", counts[0]);
    let rate = events as f64 * systems.len() as f64 / seconds / 1e6;
    println!("{} systems, {events} events: {seconds:.2} s, {rate:.0} M events/s", systems.len());
    Ok(())
}
