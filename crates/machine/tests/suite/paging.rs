//! Guests on a host with less memory than they use.

use super::common::{Transcript, VOS, config, elf, image};
use config::AttributeName;
use config::units::ByteSize;
use machine::sched::{Allocation, PcpuId, spin::SpinMethod};
use machine::sections::GuestSections;
use machine::{BuildError, GuestPlan, HostPlan, Machine, Outcome};
use types::Cycles;

/// Where the guest below is loaded, and where its data begins.
const CODE: u64 = 0x8020_0000;
const DATA: u64 = 0x8080_0000;

/// A guest without tables of its own. In each of `pages` pages it stores a double word across the end and adds to another one, and calls one of
/// `functions` functions, each in a page of its own, which adds its number to a sum. Then it goes back over the pages, checks both, takes
/// the second with LR and SC, and calls again. It ends with status 0 if all is right, the sum too, and 1 if not.
fn straddler(pages: u64, functions: u64) -> Vec<u8> {
    // li a2, 0; for s5 from 0 up: t1 = DATA + (s5 + 1) * 4096 - 3; t2 = ~(s5 << 32 | s5); *t1 = t2; *(t1 - 2045) += t2; call s5 & s3.
    // For s5 down to 0: *t1 == t2? lr *(t1 - 2045) == t2? sc 0; call s5 & s3. a2 == s4?
    const MAIN: [u32; 51] = [
        0x0000_0297,
        0x4002_8293,
        0x0002_b403,
        0x0082_b483,
        0x0102_b903,
        0x0182_b983,
        0x0202_ba03,
        0x0000_0613,
        0x0000_0a93,
        0x001a_8313,
        0x00c3_1313,
        0x0093_0333,
        0xffd3_0313,
        0x020a_9393,
        0x0153_e3b3,
        0xfff3_c393,
        0x0073_3023,
        0xc033_0e13,
        0xc00e_0e13,
        0x007e_302f,
        0x013a_feb3,
        0x00ce_9e93,
        0x012e_8eb3,
        0x000e_80e7,
        0x001a_8a93,
        0xfc8a_e0e3,
        0xfffa_8a93,
        0x001a_8313,
        0x00c3_1313,
        0x0093_0333,
        0xffd3_0313,
        0x020a_9393,
        0x0153_e3b3,
        0xfff3_c393,
        0x0003_3283,
        0x0272_9c63,
        0xc033_0e13,
        0xc00e_0e13,
        0x100e_32af,
        0x0272_9463,
        0x180e_3f2f,
        0xfe0f_1ae3,
        0x013a_feb3,
        0x00ce_9e93,
        0x012e_8eb3,
        0x000e_80e7,
        0xfa0a_98e3,
        0x0146_1463,
        0x1000_2013,
        0x1010_2013,
        0xffdf_f06f,
    ];
    assert!(functions.is_power_of_two() && functions < 2048);
    let mut memory = vec![0; 4096 * (1 + functions as usize)];
    let mut put = |at: usize, bytes: &[u8]| memory[at..at + bytes.len()].copy_from_slice(bytes);
    for (index, word) in MAIN.into_iter().enumerate() {
        put(4 * index, &word.to_le_bytes());
    }
    let sum: u64 = 2 * (0..pages).map(|page| page % functions + 1).sum::<u64>();
    for (index, parameter) in [pages, DATA, CODE + 4096, functions - 1, sum].into_iter().enumerate() {
        put(0x400 + 8 * index, &parameter.to_le_bytes());
    }
    for function in 0..functions as usize {
        let add = (function as u32 + 1) << 20 | 12 << 15 | 12 << 7 | 0x13;
        put(4096 * (1 + function), &[add.to_le_bytes(), 0x0000_8067_u32.to_le_bytes()].concat());
    }
    elf(CODE, &memory)
}

/// What is in a hart's hands when a page goes is not used afterwards: where its code lies, the first half of a misaligned store, a reservation.
#[test]
fn nothing_of_a_page_that_went_is_used_again() {
    for scheme in ["nested:4K+4K", "nested:4K+2M", "flat:4K+4K", "flat-hw:2M+2M", "shadow:4K+4K", "shadow:2M+2M"] {
        for host in ["8M", "32M"] {
            let settings = [("scheme", scheme), ("memory", "64M"), ("host_memory", host), ("timeout", "100")];
            let mut machine = Machine::assemble(&config(&settings), &image(straddler(3200, 256), "")).unwrap();
            assert_eq!(machine.run(&mut Transcript::default()), Outcome::Finished(0), "{scheme} in {host}");
            let paging = machine.statistics().paging;
            let (taken, back) = if host == "8M" { (2000, 1000) } else { (0, 0) };
            assert!(paging.taken() >= taken && paging.in_ >= back, "{scheme} in {host}: {paging:?}");
            assert_eq!(paging.in_ == 0, back == 0, "{scheme} in {host}: {paging:?}");
        }
    }
}

fn guest(command_line: &str, memory: u64, memory_attribute: AttributeName) -> GuestPlan {
    GuestPlan {
        image: image(VOS, command_line),
        harts: 1,
        memory: ByteSize(memory),
        memory_attribute,
        weight: 1,
        allocation: Allocation::Shared,
        spin: SpinMethod::None,
        background: false,
        sections: GuestSections::default(),
    }
}

fn host(settings: &[(&str, &str)], pcpus: usize, guests: Vec<GuestPlan>) -> Result<Machine, BuildError> {
    Machine::assemble_host(
        &config(settings),
        &HostPlan { pcpus, slice: Cycles(600_000), guests, ..HostPlan::default() },
    )
}

#[test]
fn guests_of_every_attribute_share_a_host_and_only_the_pageable_ones_are_paged() {
    let guests = |real| {
        vec![
            guest("workload=gups size=1M updates=20000", 16 << 20, real),
            guest("workload=qsort size=128K", 16 << 20, AttributeName::Resident),
            guest("workload=gups size=8M updates=4000", 48 << 20, AttributeName::Virtual),
            guest("workload=kv size=8M iterations=4000", 48 << 20, AttributeName::Virtual),
        ]
    };
    for scheme in ["nested", "shadow"] {
        // 6 MiB for the two that want 24.
        let settings = [("scheme", scheme), ("host_memory", "42M"), ("timeout", "100")];
        let mut machine = host(&settings, 2, guests(AttributeName::Real)).unwrap();
        let mut transcript = Transcript::default();
        let outcomes = machine.run_all(&mut transcript);
        assert_eq!(outcomes, [const { Outcome::Finished(0) }; 4], "{scheme}: {:?}", transcript.0);
        let of = |guest| machine.statistics_of(guest).exits.of(hypervisor::ExitReason::NestedFault);
        assert!(scheme == "shadow" || (of(0), of(1)) == (0, 0) && of(2) > 2000 && of(3) > 2000);
        let paging = [0, 1, 2, 3].map(|guest| machine.statistics_of(guest).paging);
        assert!(paging[..2].iter().all(|paging| paging.taken() + paging.in_ == 0), "{scheme}: {paging:?}");
        assert!(paging[2..].iter().all(|paging| paging.taken() > 1000 && paging.in_ > 1000), "{scheme}: {paging:?}");
    }
    let settings = [("scheme", "nested"), ("host_memory", "64M")];
    let second = host(&settings, 2, [guests(AttributeName::Real), guests(AttributeName::Real)].concat());
    let error = second.err().expect("one V=R guest is all").to_string();
    assert!(error.contains("V=R is possible for one guest"), "{error}");
}

#[test]
fn a_guest_for_which_no_memory_is_left_ends_alone_and_says_why() {
    // The first wants more than there is with swap and all; the second has room once that is gone.
    let guests = || {
        vec![
            guest("workload=gups size=16M updates=1000", 64 << 20, AttributeName::Virtual),
            guest("workload=qsort size=128K", 16 << 20, AttributeName::Virtual),
        ]
    };
    let settings = [("scheme", "nested"), ("host_memory", "8M"), ("swap.size", "4M"), ("timeout", "100")];
    // In turns, on one processor, and side by side.
    for pcpus in [1, 2] {
        let mut machine = host(&settings, pcpus, guests()).unwrap();
        let mut transcript = Transcript::default();
        let outcomes = machine.run_all(&mut transcript);
        assert!(matches!(&outcomes[0], Outcome::OutOfMemory(_)), "{outcomes:?} {:?}", transcript.0);
        let why = outcomes[0].to_string();
        for part in ["0 free bytes of 8388608", "swap file is full, with 4194304 bytes"] {
            assert!(why.contains(part), "{why}");
        }
        assert_eq!(outcomes[1], Outcome::Finished(0), "{:?}", transcript.0);
    }
}

#[test]
fn fixed_guests_that_do_not_fit_are_refused_and_pageable_ones_are_not() {
    let small = |attribute| {
        let settings = [("scheme", "nested"), ("host_memory", "16M")];
        host(&settings, 1, vec![guest("workload=hello", 32 << 20, attribute)])
    };
    for (attribute, name) in [(AttributeName::Real, "V=R"), (AttributeName::Resident, "V=Resident")] {
        let error = small(attribute).err().expect("it does not fit");
        assert!(error.is_usage() && error.to_string().contains(name), "{error}");
    }
    assert_eq!(small(AttributeName::Virtual).unwrap().run(&mut Transcript::default()), Outcome::Finished(0));
}

/// The shipped host with a swap device that takes no time, so that harts do not spin for pages of others.
fn host_with_fast_swap() -> String {
    const MODEL: &str = include_str!("../../../../hosts/sandybridge-2012.toml");
    let fast = MODEL.replace("page_in = 183_000", "page_in = 3000");
    assert_ne!(fast, MODEL, "the shipped model's price has changed");
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("fast-swap.toml");
    std::fs::write(&path, fast).unwrap();
    path.to_str().unwrap().to_owned()
}

/// What one hart pages out, the others must not have either.
#[test]
fn harts_of_one_guest_lose_a_page_together() {
    let model = host_with_fast_swap();
    for scheme in ["nested:4K+4K", "nested:4K+2M", "flat:4K+4K", "shadow:4K+4K"] {
        let settings = [("host", model.as_str()), ("scheme", scheme), ("host_memory", "9M"), ("timeout", "100")];
        let own = Allocation::Dedicated((0..4).map(PcpuId).collect());
        let work = GuestPlan {
            harts: 4,
            allocation: own,
            ..guest("workload=gups size=4M updates=200 procs=4", 64 << 20, AttributeName::Virtual)
        };
        let mut machine = host(&settings, 4, vec![work]).unwrap();
        let mut transcript = Transcript::default();
        assert_eq!(machine.run(&mut transcript), Outcome::Finished(0), "{scheme}: {:?}", transcript.0);
        assert_eq!(transcript.0[0].matches("gups: ok").count(), 4, "{scheme}: {}", transcript.0[0]);
        let paging = machine.statistics().paging;
        assert!(paging.out > 2000 && paging.in_ > 2000, "{scheme}: {paging:?}");
    }
}
