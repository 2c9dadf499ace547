//! What stands on which track of a trace.

use super::packets::{Label, Packets, Track};
use super::slices::{Slice, add};
use crate::observe::identity::RunIdentity;
use crate::observe::recorded::Recordings;
use machine::{Event, EventKind, Intervals, Reading, ShadowWay, Statistics, Stay, Trace};
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::io;
use types::Cycles;

/// Kinds of tracks, as a part of a track's number.
#[derive(Clone, Copy)]
enum Of {
    /// A pCPU: which vCPU has it.
    Processor = 1,
    /// What the hypervisor does on a pCPU.
    Hypervisor = 2,
    /// A vCPU: exits, interrupts, spins.
    Vcpu = 3,
    /// A guest: its regions of interest.
    Guest = 4,
    /// Counters of a vCPU.
    Counter = 5,
}

/// One guest of a run.
struct TracedGuest<'r> {
    identity: &'r RunIdentity,
    trace: &'r Trace,
    stays: &'r [Stay],
    intervals: Option<&'r Intervals>,
}

impl<'r> TracedGuest<'r> {
    /// `None` where no trace was recorded.
    fn of<R: Borrow<Recordings>>((identity, recordings): &'r (RunIdentity, R)) -> Option<Self> {
        let Recordings { trace, stays, intervals, .. } = recordings.borrow();
        Some(Self { identity, trace: trace.as_ref()?, stays, intervals: intervals.as_ref() })
    }
}

/// Writes what was traced of runs. The guests of one run follow each other.
///
/// # Errors
/// Those of `to`.
pub(in crate::observe) fn write<R: Borrow<Recordings>>(
    to: &mut dyn io::Write,
    runs: &[(RunIdentity, R)],
) -> io::Result<()> {
    let mut packets = Packets::default();
    for run in runs.chunk_by(|(one, _), (other, _)| one.run == other.run) {
        let guests: Vec<TracedGuest<'_>> = run.iter().filter_map(TracedGuest::of).collect();
        add_run(&mut packets, &guests);
    }
    packets.write(to)
}

fn add_run(packets: &mut Packets, guests: &[TracedGuest<'_>]) {
    let Some(TracedGuest { identity, .. }) = guests.first() else { return };
    let run = Run { number: identity.run as u64, clock_hz: identity.clock_hz, several: guests.len() > 1 };
    packets.group(run.group(), run.number + 1, &name(guests));
    run.processors(packets, guests);
    for (number, guest) in guests.iter().enumerate() {
        run.guest(packets, number, guest);
    }
}

/// The name of a run.
fn name(guests: &[TracedGuest<'_>]) -> String {
    let RunIdentity { work, system, settings, .. } = guests[0].identity;
    match guests {
        [_] => format!("{work} under {system}"),
        _ => {
            let spin = settings["spin"].as_str().map_or(String::new(), |spin| format!(" with {spin}"));
            format!("{} guests under {system}{spin}", guests.len())
        }
    }
}

struct Run {
    number: u64,
    clock_hz: u64,
    /// Whether it has several guests.
    several: bool,
}

impl Run {
    fn group(&self) -> Track {
        Track((self.number + 1) << 40)
    }

    fn track(&self, of: Of, guest: usize, index: u64) -> Track {
        Track(self.group().0 | (of as u64) << 32 | (guest as u64) << 16 | index)
    }

    /// A time in nanoseconds.
    fn time(&self, at: Cycles) -> u64 {
        (u128::from(at.0) * 1_000_000_000 / u128::from(self.clock_hz.max(1))) as u64
    }

    fn slice(&self, (from, took): (Cycles, Cycles), label: Label) -> Slice {
        Slice { from: self.time(from), to: self.time(from + took), label }
    }

    /// The name of a vCPU where others can have the same number.
    fn vcpu(&self, guest: &str, hart: u64) -> String {
        if self.several { format!("{guest}/{hart}") } else { format!("vCPU {hart}") }
    }

    /// Which vCPU has each pCPU, and what the hypervisor does there.
    fn processors(&self, packets: &mut Packets, guests: &[TracedGuest<'_>]) {
        let mut stays: BTreeMap<u64, Vec<Slice>> = BTreeMap::new();
        let mut work: BTreeMap<u64, Vec<Slice>> = BTreeMap::new();
        for guest in guests {
            for stay in guest.stays {
                let label = Label {
                    name: self.vcpu(&guest.identity.guest, stay.hart as u64),
                    category: "vcpu",
                    figures: vec![("cycles", stay.to.0 - stay.from.0)],
                    measured: false,
                };
                let slice = self.slice((stay.from, stay.to - stay.from), label);
                stays.entry(stay.pcpu as u64).or_default().push(slice);
            }
            for event in &guest.trace.events {
                let Some(pcpu) = event.place.pcpu.map(u64::from) else { continue };
                if let Some(label) = hypervisor_label(event) {
                    work.entry(pcpu).or_default().push(self.slice((event.at, event.took), label));
                } else if event.what == EventKind::Idle {
                    stays
                        .entry(pcpu)
                        .or_default()
                        .push(self.slice((event.at, event.took), labelled(event, "waits", "idle")));
                }
            }
        }
        for (of, slices) in [(Of::Processor, stays), (Of::Hypervisor, work)] {
            for (pcpu, slices) in slices {
                let track = self.track(of, 0, pcpu);
                let name = match of {
                    Of::Hypervisor => format!("hypervisor on processor {pcpu}"),
                    Of::Processor | Of::Vcpu | Of::Guest | Of::Counter => format!("processor {pcpu}"),
                };
                packets.track(track, self.group(), &name);
                add(packets, track, slices);
            }
        }
    }

    fn guest(&self, packets: &mut Packets, number: usize, guest: &TracedGuest<'_>) {
        let TracedGuest { identity, trace, intervals, .. } = guest;
        let regions = self.track(Of::Guest, number, 0);
        let of_guest = if self.several { format!("{}: ", identity.guest) } else { String::new() };
        packets.track(regions, self.group(), &format!("{of_guest}region of interest"));
        let measured = trace.regions.iter().map(|region| {
            let took = region.to - region.from;
            let figures = vec![("cycles", took.0)];
            self.slice(
                (region.from, took),
                Label { name: "measured".to_owned(), category: "region", figures, measured: true },
            )
        });
        add(packets, regions, measured.collect());

        let mut exits: BTreeMap<u64, Vec<Slice>> = BTreeMap::new();
        for event in &trace.events {
            let hart = u64::from(event.place.hart);
            let track = self.track(Of::Vcpu, number, hart);
            let slices = exits.entry(hart).or_default();
            match exit_label(event) {
                Some(label) if event.took > Cycles(0) => slices.push(self.slice((event.at, event.took), label)),
                Some(label) => packets.instant(track, self.time(event.at), &label),
                None => {}
            }
        }
        for (hart, slices) in exits {
            let track = self.track(Of::Vcpu, number, hart);
            packets.track(track, self.group(), &self.vcpu(&identity.guest, hart));
            add(packets, track, slices);
        }
        if let Some(intervals) = intervals {
            self.counters(packets, number, identity, intervals);
        }
    }

    /// Values over time: each from the beginning of its interval on.
    fn counters(&self, packets: &mut Packets, number: usize, identity: &RunIdentity, intervals: &Intervals) {
        for hart in 0..intervals.begun.harts.len() {
            let tracks = COUNTERS.map(|counter| self.track(Of::Counter, number, (hart as u64) << 4 | counter.number));
            for (counter, track) in COUNTERS.iter().zip(tracks) {
                let name = format!("{}: {}", self.vcpu(&identity.guest, hart as u64), counter.name);
                packets.counter(track, self.group(), (&name, counter.unit));
            }
            let mut before: &Reading = &intervals.begun;
            for interval in &intervals.intervals {
                let (from, to) = (&before.harts[hart].statistics, &interval.end.harts[hart].statistics);
                for (counter, track) in COUNTERS.iter().zip(tracks) {
                    packets.value(track, self.time(before.at), (counter.value)(from, to));
                }
                before = &interval.end;
            }
        }
    }
}

/// A counter of a vCPU.
struct Counter {
    number: u64,
    name: &'static str,
    unit: &'static str,
    value: fn(&Statistics, &Statistics) -> f64,
}

const COUNTERS: [Counter; 3] = [
    Counter {
        number: 0,
        name: "instructions per cycle",
        unit: "IPC",
        value: |from, to| ratio(gained(from, to, |of| of.instructions), gained(from, to, |of| of.time.total().0)),
    },
    Counter {
        number: 1,
        name: "L2 TLB misses",
        unit: "per 1000 instructions",
        value: |from, to| 1e3 * ratio(gained(from, to, |of| of.mmu.l2_misses), gained(from, to, |of| of.instructions)),
    },
    Counter {
        number: 2,
        name: "cycles of translation",
        unit: "% of all",
        value: |from, to| {
            1e2 * ratio(gained(from, to, |of| of.time.translation.0), gained(from, to, |of| of.time.total().0))
        },
    },
];

/// What a count has gained. The time of translation can shrink under `core`.
fn gained(from: &Statistics, to: &Statistics, of: fn(&Statistics) -> u64) -> f64 {
    of(to).wrapping_sub(of(from)).cast_signed() as f64
}

fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// What stands on the track of a vCPU.
fn exit_label(event: &Event) -> Option<Label> {
    Some(match event.what {
        EventKind::Exit(reason) => labelled(event, reason.name(), "exit"),
        EventKind::Firmware(reason) => labelled(event, reason.name(), "firmware"),
        EventKind::Shadow(shadow) if shadow.way == ShadowWay::Exit => labelled(event, shadow.reason.name(), "exit"),
        EventKind::Interrupt(interrupt) => labelled(event, interrupt.name(), "interrupt"),
        EventKind::Spin(reason) => labelled(event, &format!("spin: {}", reason.name()), "spin"),
        EventKind::Shadow(_)
        | EventKind::Paging(_)
        | EventKind::Scheduling
        | EventKind::Sections
        | EventKind::Segments
        | EventKind::Idle => return None,
    })
}

/// What stands on the track of the hypervisor.
fn hypervisor_label(event: &Event) -> Option<Label> {
    Some(match event.what {
        EventKind::Shadow(shadow) => {
            let category = match shadow.way {
                // The time is that of the exit, which the track of the vCPU has too.
                ShadowWay::Exit => "shadow in exit",
                ShadowWay::Assist => "shadow assist",
                ShadowWay::Within => "shadow",
            };
            labelled(event, shadow.activity.name(), category)
        }
        EventKind::Paging(pages) => {
            let name = if pages.in_ > 0 {
                "page in"
            } else if pages.taken() > 0 {
                "reclaim"
            } else {
                "balloon"
            };
            let mut label = labelled(event, name, "paging");
            label.figures.extend(pages.iter().filter(|(_, count)| *count > 0));
            label
        }
        EventKind::Scheduling => labelled(event, "scheduling", "scheduling"),
        EventKind::Sections => labelled(event, "sections", "sections"),
        EventKind::Segments => labelled(event, "segment registers", "segments"),
        EventKind::Exit(_)
        | EventKind::Firmware(_)
        | EventKind::Interrupt(_)
        | EventKind::Spin(_)
        | EventKind::Idle => return None,
    })
}

fn labelled(event: &Event, name: &str, category: &'static str) -> Label {
    let figures = vec![("cycles", event.took.0)];
    Label { name: name.to_owned(), category, figures, measured: event.measured }
}
