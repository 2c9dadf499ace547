//! Guests whose vCPUs share pCPUs.

use super::common::{Transcript, VOS, image};
use config::units::ByteSize;
use config::{AttributeName, Config, ConfigBuilder};
use machine::sched::{Allocation, PcpuId, spin::SpinMethod};
use machine::sections::GuestSections;
use machine::{GuestPlan, HostChange, HostPlan, Machine, Outcome, PlannedChange};
use types::Cycles;

/// A quarter of a millisecond of the default host.
const SLICE: Cycles = Cycles(600_000);

fn vos(command_line: &str, harts: u32, spin: SpinMethod) -> GuestPlan {
    GuestPlan {
        image: image(VOS, command_line),
        harts,
        memory: ByteSize(64 << 20),
        memory_attribute: AttributeName::default(),
        weight: 1,
        allocation: Allocation::Shared,
        spin,
        background: false,
        sections: GuestSections::default(),
    }
}

fn config(scheme: &str) -> Config {
    ConfigBuilder::default().set("scheme", scheme).unwrap().set("timeout", "20").unwrap().build().unwrap()
}

fn host(pcpus: usize, guests: Vec<GuestPlan>) -> Machine {
    Machine::assemble_host(&config("nested"), &HostPlan { pcpus, slice: SLICE, guests, ..HostPlan::default() })
        .expect("a host that can be")
}

fn run(machine: &mut Machine) -> (Vec<Outcome>, Vec<String>) {
    let mut transcript = Transcript::default();
    let outcomes = machine.run_all(&mut transcript);
    (outcomes, transcript.0)
}

const WORK: &str = "workload=qsort size=64K procs=6";

#[test]
fn guests_share_real_processors_under_every_method_and_compute_what_they_compute_alone() {
    for method in SpinMethod::ALL {
        let guests = vec![vos(WORK, 4, method), vos("workload=gups size=1M updates=50000 procs=3", 3, method)];
        let mut machine = host(2, guests);
        let (outcomes, printed) = run(&mut machine);
        assert_eq!(outcomes, [Outcome::Finished(0), Outcome::Finished(0)], "{method}: {printed:?}");
        assert_eq!(printed[0].matches("qsort: ok").count(), 6, "{method}: {}", printed[0]);
        assert_eq!(printed[1].matches("gups: ok").count(), 3, "{method}: {}", printed[1]);
        let dispatches: u64 = (0..2).map(|guest| machine.scheduling_of(guest).dispatches).sum();
        assert!(dispatches > 20, "{method}: {dispatches} dispatches");
    }
}

#[test]
fn a_run_on_shared_processors_repeats_exactly() {
    let observe = || {
        let mut machine = host(2, vec![vos(WORK, 4, SpinMethod::Wapd), vos(WORK, 2, SpinMethod::Rslp)]);
        machine.record_stays();
        run(&mut machine);
        let statistics = [0, 1].map(|guest| format!("{:?}", machine.statistics_of(guest)));
        (statistics, machine.elapsed(), machine.take_stays())
    };
    let (first, second) = (observe(), observe());
    assert_eq!(first.0, second.0);
    assert_eq!((first.1, &first.2), (second.1, &second.2));
    // At no time are two at one place, or one at two.
    for (index, stay) in first.2.iter().enumerate() {
        assert!(stay.from <= stay.to);
        for other in &first.2[..index] {
            let same_pcpu = stay.pcpu == other.pcpu;
            assert!(!same_pcpu || stay.from >= other.to || other.from >= stay.to, "{stay:?} {other:?}");
        }
    }
    assert!(first.2.len() > 10);
}

#[test]
fn all_the_time_of_real_processors_is_accounted_for() {
    let mut machine = host(1, vec![vos(WORK, 2, SpinMethod::Wapd), vos(WORK, 2, SpinMethod::Wapd)]);
    run(&mut machine);
    let guests = [0, 1].map(|guest| machine.statistics_of(guest).time.total().0);
    let busy: u64 = [0, 1].iter().map(|&guest| machine.scheduling_of(guest).busy.0).sum();
    // What the guests count is what they were charged for, but for rounding and what the dispatcher took in their time.
    let sum: u64 = guests.iter().sum();
    assert!(sum.abs_diff(busy) < busy / 50, "{guests:?} {busy}");
    assert!(busy + machine.scheduling_time().0 <= machine.elapsed().0 + busy / 100);
}

#[test]
fn weights_divide_the_processors() {
    for (pcpus, harts) in [(1, 1), (2, 2)] {
        let mut guests =
            vec![vos("misbehave=spin", harts, SpinMethod::None), vos("misbehave=spin", harts, SpinMethod::None)];
        (guests[0].weight, guests[1].weight) = (30, 70);
        // The slowest host: a second is not many cycles.
        let slow = ConfigBuilder::default().set("scheme", "nested").unwrap().set("host", "hitachi-1985").unwrap();
        let config = slow.set("timeout", "1").unwrap().build().unwrap();
        let plan = HostPlan { pcpus, slice: Cycles(20_000), guests, ..HostPlan::default() };
        let mut machine = Machine::assemble_host(&config, &plan).unwrap();
        let (outcomes, _) = run(&mut machine);
        assert!(outcomes.iter().all(|outcome| matches!(outcome, Outcome::Timeout { seconds: 1, .. })), "{outcomes:?}");
        let busy = [0, 1].map(|guest| machine.scheduling_of(guest).busy.0 as f64);
        // Only hart 0 of each spins; the others wait in vain to be started, so that with two pCPUs no vCPU waits for a pCPU.
        let expected = if pcpus == 1 { 0.3 } else { 0.5 };
        let part = busy[0] / (busy[0] + busy[1]);
        assert!((part - expected).abs() < 0.02 * expected, "{busy:?}");
    }
}

#[test]
fn a_guest_that_hogs_halts_or_dies_keeps_no_other_from_working() {
    for misbehaviour in ["spin", "sleep", "jump", "satp", "panic"] {
        let mut other = vos(&format!("misbehave={misbehaviour}"), 2, SpinMethod::Wapd);
        other.background = true;
        let mut machine = host(1, vec![vos(WORK, 2, SpinMethod::Wapd), other]);
        let (outcomes, printed) = run(&mut machine);
        assert_eq!(outcomes[0], Outcome::Finished(0), "{misbehaviour}: {printed:?}");
    }
}

#[test]
fn a_weight_of_zero_runs_when_no_other_can() {
    let mut idler = vos("workload=hello", 1, SpinMethod::None);
    idler.weight = 0;
    let mut machine = host(1, vec![idler, vos(WORK, 2, SpinMethod::None)]);
    machine.record_stays();
    let (outcomes, _) = run(&mut machine);
    assert_eq!(outcomes, [Outcome::Finished(0), Outcome::Finished(0)]);
    let stays = machine.take_stays();
    let last_of = |guest| stays.iter().rposition(|stay| stay.guest == guest).unwrap();
    assert!(last_of(0) > last_of(1), "it comes to its end last");
}

#[test]
fn dedicated_and_shared_processors_are_mixed_and_change() {
    let pcpus = |numbers: &[usize]| Allocation::Dedicated(numbers.iter().copied().map(PcpuId).collect());
    let mut first = vos(WORK, 2, SpinMethod::Wapd);
    first.allocation = pcpus(&[2, 0]);
    let mut machine = host(3, vec![first, vos(WORK, 3, SpinMethod::Wapd)]);
    machine.record_stays();
    let (outcomes, _) = run(&mut machine);
    assert_eq!(outcomes, [Outcome::Finished(0), Outcome::Finished(0)]);
    let stays = machine.take_stays();
    let of_first: Vec<(usize, usize)> =
        stays.iter().filter(|stay| stay.guest == 0).map(|stay| (stay.hart, stay.pcpu)).collect();
    assert_eq!(of_first, [(0, 2), (1, 0)]);
    let end = stays.iter().find(|stay| stay.guest == 0).unwrap().to;
    let second = |stay: &&machine::Stay| stay.guest == 1;
    assert!(stays.iter().filter(second).all(|stay| stay.pcpu == 1 || stay.from >= end));
    assert!(stays.iter().filter(second).any(|stay| stay.pcpu != 1), "what the first leaves behind is used");
}

#[test]
fn a_host_without_enough_processors_is_refused() {
    let mut guest = vos(WORK, 2, SpinMethod::None);
    guest.allocation = Allocation::Dedicated(vec![PcpuId(0)]);
    let plan = HostPlan { pcpus: 2, slice: SLICE, guests: vec![guest], ..HostPlan::default() };
    let error = Machine::assemble_host(&config("nested"), &plan).err().expect("refused");
    assert!(error.to_string().contains("each vCPU needs exactly one") && error.is_usage(), "{error}");
}

/// Heavy spins: many short processes under few locks, and TLB purges that partners are asked for.
const SPINS: &str = "workload=qsort size=8K procs=40 purge=partners";

#[test]
fn a_guest_that_shakes_hands_calls_while_it_shares_and_spins_while_it_does_not() {
    let pcpus = |numbers: &[usize]| Allocation::Dedicated(numbers.iter().copied().map(PcpuId).collect());
    let calls = |handshake: &str, allocation: Allocation, changes: &[(u64, Allocation)]| {
        let mut guest = vos(&format!("{SPINS} handshake={handshake}"), 3, SpinMethod::Wapd);
        guest.allocation = allocation;
        let mut other = vos("misbehave=spin", 1, SpinMethod::Wapd);
        other.background = true;
        let change = |(at, allocation): &(u64, Allocation)| PlannedChange {
            at: Cycles(*at),
            change: HostChange::Allocation { guest: 0, allocation: allocation.clone() },
        };
        let changes = changes.iter().map(change).collect();
        let plan = HostPlan { pcpus: 4, slice: SLICE, guests: vec![guest, other], changes, ..HostPlan::default() };
        let mut machine = Machine::assemble_host(&config("nested"), &plan).unwrap();
        let (outcomes, printed) = run(&mut machine);
        assert_eq!(outcomes[0], Outcome::Finished(0), "{handshake}: {printed:?}");
        assert!(machine.refused_changes().is_empty(), "{:?}", machine.refused_changes());
        let statistics = machine.scheduling_of(0);
        assert_eq!(statistics.ends, 40, "a process is a transaction");
        (statistics.spin_calls[..3].iter().sum::<u64>(), machine.elapsed().0)
    };
    let dedicated = || pcpus(&[0, 1, 2]);
    for handshake in ["area", "codes", "interrupt"] {
        let (none, quick) = calls(handshake, dedicated(), &[]);
        assert_eq!(none, 0, "{handshake}: f = 1");
        let (shared, slow) = calls(handshake, Allocation::Shared, &[]);
        assert!(shared > 0, "{handshake}: f = 0");
        // Half-way through, its processors become its own.
        let (flipped, _) = calls(handshake, Allocation::Shared, &[(slow / 2, dedicated())]);
        match handshake {
            // "A change of processor allocation forms requires the guest to be IPLed again": it goes on calling.
            "codes" => assert!(flipped > 0),
            _ => assert!(flipped < shared, "{handshake}: {flipped} calls of {shared}"),
        }
        // And the other way round: it begins to call.
        let (flipped, _) = calls(handshake, dedicated(), &[(quick / 2, Allocation::Shared)]);
        assert_eq!(flipped > 0, handshake != "codes", "{handshake}: {flipped}");
    }
    assert_eq!(calls("none", Allocation::Shared, &[]).0, 0);
}

#[test]
fn a_guest_that_says_nothing_is_found_out_by_its_pauses() {
    for (method, found) in [(SpinMethod::None, false), (SpinMethod::Wapd, true), (SpinMethod::DirectedYield, true)] {
        let mut machine = host(1, vec![vos(SPINS, 3, method)]);
        let (outcomes, printed) = run(&mut machine);
        assert_eq!(outcomes, [Outcome::Finished(0)], "{method}: {printed:?}");
        let noticed = machine.scheduling_of(0).spin_calls[3];
        assert_eq!(noticed > 0, found, "{method}: {noticed}");
    }
}

#[test]
fn excessive_spins_take_processors_off_line_and_the_guest_goes_on() {
    let line = format!("{SPINS} handshake=none spins=100");
    let mut machine = host(1, vec![vos(&line, 3, SpinMethod::None), vos(WORK, 2, SpinMethod::None)]);
    let (outcomes, printed) = run(&mut machine);
    assert_eq!(outcomes, [Outcome::Finished(0), Outcome::Finished(0)], "{printed:?}");
    let statistics = machine.scheduling_of(0);
    assert!(statistics.excessive_spins > 0 && (1..=2).contains(&statistics.processors_lost), "{statistics:?}");
}
