use super::*;
use std::collections::BTreeSet;

const fn extent(lines: u32, pages: u32) -> ExtentModel {
    ExtentModel { lines, pages }
}

/// Each event touches other numbers.
fn model() -> FootprintModel {
    let touch = |number: u32| TouchModel {
        code: extent(2 + number, 1),
        pcpu: extent(3 * number, number),
        vm: extent(70 + number, 2 + number),
    };
    FootprintModel {
        exit: touch(1),
        call: touch(2),
        wait: touch(3),
        nested_fault: touch(4),
        device: touch(5),
        interrupt: touch(6),
        shadow_fill: touch(7),
        shadow_invalidation: touch(8),
        shadow_switch: touch(9),
        dispatch: touch(10),
    }
}

#[test]
fn an_event_touches_as_many_lines_and_pages_as_the_model_says() {
    let (model, line) = (model(), 64);
    let plan = FootprintPlan::new(&model, Hpa(0x8123_4000), 2);
    for event in FootprintEvent::ALL {
        let TouchModel { code, pcpu, vm } = *model.of(event);
        let touched = plan.touched(event, FootprintPlace { pcpu: 1, vm: 0 });
        for (touched, extent) in touched.iter().zip([code, pcpu, vm]) {
            let lines: BTreeSet<u64> = touched.lines(line).map(|line| line.0).collect();
            let pages: BTreeSet<u64> = lines.iter().map(|line| line & !0xfff).collect();
            assert_eq!(lines.len(), extent.lines as usize, "{event:?}");
            assert!(pages.iter().copied().eq(touched.pages().map(|page| page.0)), "{event:?}");
            assert_eq!(pages.len(), extent.pages as usize);
        }
    }
}

#[test]
fn what_different_events_pcpus_and_vms_touch_is_apart_and_behind_the_guests() {
    let plan = FootprintPlan::new(&model(), Hpa(0x8123_4000), 3);
    let mut owners = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for event in FootprintEvent::ALL {
        for (pcpu, vm) in (0..3).flat_map(|pcpu| (0..4).map(move |vm| (pcpu, vm))) {
            let [code, own, guests] = plan.touched(event, FootprintPlace { pcpu, vm });
            for (owner, touched) in [((0, 0), code), ((1, pcpu), own), ((2, vm), guests)] {
                for page in touched.pages() {
                    assert!((0x8140_0000..plan.end(4).0).contains(&page.0), "{page}");
                    owners.insert((page.0, event as usize, owner));
                    seen.insert(page.0);
                }
            }
        }
    }
    assert_eq!(owners.len(), seen.len(), "each page has one owner");
    assert_eq!(seen.len() as u64 * BASE_PAGE, plan.end(4).0 - 0x8140_0000);
}

/// 64 lines of consecutive places are in 64 sets of an L1 whose ways are pages.
#[test]
fn lines_spread_evenly_over_sets() {
    let touch = TouchModel { vm: extent(40, 7), ..TouchModel::default() };
    let plan = FootprintPlan::new(&FootprintModel { exit: touch, call: touch, ..FootprintModel::default() }, Hpa(0), 1);
    let sets = |event| {
        let [_, _, vm] = plan.touched(event, FootprintPlace { pcpu: 0, vm: 0 });
        vm.lines(64).map(|line| line.0 / 64 % 64).collect::<Vec<_>>()
    };
    assert!(sets(FootprintEvent::Exit).into_iter().eq(0..40));
    assert!(sets(FootprintEvent::Call).into_iter().eq((40..80).map(|place| place % 64)));
}

#[test]
fn lines_that_do_not_fit_in_their_pages_are_named() {
    let mut model = model();
    assert_eq!(model.problem(64), None);
    model.wait.vm = extent(129, 2);
    let problem = model.problem(64).unwrap();
    assert!(problem.starts_with("footprint.wait.vm.lines: 129 lines of 64 bytes"), "{problem}");
    assert_eq!(model.problem(32), None);
}

#[test]
fn shadow_work_touches_by_its_way_and_activity() {
    use FootprintEvent::{Exit, NestedFault, ShadowFill, ShadowInvalidation, ShadowSwitch};
    let of = |way, activity, filled| {
        let work = Work { activity, way, steps: 1, references: 1, filled };
        FootprintEvent::of_shadow(&work).collect::<Vec<_>>()
    };
    assert_eq!(of(Way::Exit, Activity::Validation, 0), [Exit, ShadowFill]);
    assert_eq!(of(Way::Exit, Activity::Validation, 2), [Exit, ShadowFill, NestedFault, NestedFault]);
    assert_eq!(of(Way::Within, Activity::Pptlb, 0), [ShadowInvalidation]);
    assert_eq!(of(Way::Exit, Activity::PurgeTlb, 0), [Exit, ShadowInvalidation]);
    assert_eq!(of(Way::Exit, Activity::LoadControl, 0), [Exit, ShadowSwitch]);
    assert_eq!(of(Way::Exit, Activity::Other, 0), [Exit]);
    assert_eq!(of(Way::Assist, Activity::Validation, 0), []);
}
