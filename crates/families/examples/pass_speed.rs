//! How long a pass takes: `cargo run --release -p pagewalk-families --example pass_speed -- RECORDING [MEMORY IN MIB [PASS]]`.
//!
//! It counts for 64 systems: eight L1D TLBs, each with eight L2 TLBs. With a number from 0 to 39, it makes that pass of a study of 100 L1D TLBs, each with
//! 100 L2 TLBs.

use families::Pass;
use mmu::{MmuConfig, TlbArray};
use recording::Reader;
use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::ops::{Range, RangeInclusive};
use std::time::Instant;
use types::{Gpa, PageSize};

/// Systems of a pass.
const PASS: usize = 256;

/// Sets and ways.
type Shape = (u32, u32);

const L1D: [Shape; 8] = [(4, 4), (16, 4), (16, 2), (8, 4), (8, 8), (1, 32), (32, 4), (16, 8)];
const L2: [Shape; 8] = [(64, 4), (64, 8), (128, 4), (128, 8), (128, 12), (256, 4), (256, 8), (256, 6)];

/// Every `1 / count` of the shapes of so many sets and ways whose entries are in a range.
fn shapes(log2_sets: Range<u32>, ways: Range<u32>, entries: RangeInclusive<u32>, count: usize) -> Vec<Shape> {
    let of_sets = |sets: u32| ways.clone().map(move |ways| (sets, ways));
    let all = log2_sets.flat_map(|log2| of_sets(1 << log2)).filter(|(sets, ways)| entries.contains(&(sets * ways)));
    let all: Vec<Shape> = all.collect();
    (0..count).map(|number| all[number * all.len() / count]).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("RECORDING")?;
    let memory = arguments.next().map_or(Ok(4096), |text| text.parse::<u64>())? << 20;
    let of_study = arguments.next().map(|text| text.parse::<usize>()).transpose()?;
    let level = |(sets, ways)| vec![TlbArray::new(&[PageSize::Size4K, PageSize::Size2M, PageSize::Size1G], sets, ways)];
    let l1i = level((8, 4));
    let (l1d, l2) = match of_study {
        None => (L1D.to_vec(), L2.to_vec()),
        Some(_) => (shapes(0..7, 1..65, 16..=256, 100), shapes(4..13, 2..33, 256..=16384, 100)),
    };
    let systems: Vec<MmuConfig> = l1d
        .into_iter()
        .flat_map(|l1d| l2.iter().map(move |&l2| (l1d, l2)))
        .skip(of_study.map_or(0, |pass| pass * PASS))
        .take(PASS)
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
