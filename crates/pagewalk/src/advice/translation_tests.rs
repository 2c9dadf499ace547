use super::*;

fn run(scheme: &str, cycles: u64) -> Value {
    json!({ "workload": "gups", "scheme": scheme, "settings": {}, "host": null, "cycles": cycles, "overhead": 0.5, "instructions": 1000, "overhead_ideal": 0.1 })
}

fn times() -> TimeModels {
    TimeModels::shared(&json!({ "host": { "name": "sandybridge-2012" }, "config": { "fidelity": "counts" } }))
}

fn advice(runs: &[(&str, u64)]) -> TranslationAdvice {
    let runs: Vec<Value> = runs.iter().map(|(scheme, cycles)| run(scheme, *cycles)).collect();
    TranslationAdvice::of("gups", &times(), &runs.iter().collect::<Vec<_>>()).unwrap()
}

fn advised(advice: &TranslationAdvice) -> [&str; 3] {
    Goal::ALL.map(|goal| advice.advised(goal).map_or("none", |candidate| &candidate.system))
}

#[test]
fn each_goal_has_the_fastest_system_that_meets_it() {
    let advice = advice(&[
        ("native:4K", 900),
        ("nested:4K+4K", 2000),
        ("shadow:4K+4K", 1500),
        ("vmm-direct:4K", 1200),
        ("dual-direct:4K", 800),
        ("nested:2M+2M", 1000),
    ]);
    assert_eq!(advised(&advice), ["dual-direct:4K", "vmm-direct:4K", "nested:2M+2M"]);
    assert_eq!(advice.baseline.system, "nested:4K+4K");
    assert!((advice.saves(advice.advised(Goal::Best).unwrap()) - 0.6).abs() < 1e-9);
}

#[test]
fn of_systems_as_good_as_each_other_the_one_with_least_in_its_way_is_advised() {
    let advice =
        advice(&[("dual-direct:4K", 1000), ("vmm-direct:4K", 1002), ("nested:4K+4K", 1004), ("shadow:4K+4K", 1001)]);
    assert_eq!(advised(&advice), ["nested:4K+4K"; 3]);
}

#[test]
fn another_host_is_no_choice() {
    let mut other = run("shadow:4K+4K", 1);
    other["host"] = json!({ "name": "xeon-2017" });
    let here = [run("nested:4K+4K", 10), run("flat:4K+4K", 9)];
    let advice = TranslationAdvice::of("gups", &times(), &[&other, &here[0], &here[1]]).unwrap();
    assert_eq!(advice.advised(Goal::Best).unwrap().system, "flat:4K+4K");
}

#[test]
fn there_is_no_choice_of_one() {
    assert!(TranslationAdvice::of("gups", &times(), &[&run("nested:4K+4K", 10), &run("native:4K", 5)]).is_none());
}

#[test]
fn what_stands_in_the_way_is_said() {
    let text = |scheme: &str| {
        Obstacle::of(&scheme.parse().unwrap()).iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(text("nested:4K+4K"), "");
    assert!(text("nested:2M+1G").contains("the host needs free memory in pieces of 1G"));
    assert!(text("nested:2M+1G").contains("the guest needs free memory in pieces of 2M"));
    assert!(text("dual-direct").contains("ballooning") && text("dual-direct").contains("primary regions"));
    assert!(text("shadow").contains("shadow tables"));
}

#[test]
fn work_that_a_run_left_out_is_not_saved_by_its_scheme() {
    let mut skips = run("dual-direct:4K", 200);
    skips["instructions"] = json!(170);
    skips["overhead_ideal"] = json!(0.0);
    let base = run("nested:4K+4K", 1100);
    let advice = TranslationAdvice::of("p", &times(), &[&base, &skips]).unwrap();
    let best = advice.advised(Goal::Best).unwrap();
    assert_eq!(best.system, "dual-direct:4K");
    // 1100 cycles with 10 % of overhead are 1000 without.
    assert!((advice.saves(best) - 100.0 / 1100.0).abs() < 1e-9 && best.over_native.is_none());
    assert!(
        best.notes.iter().any(|note| note.starts_with("-83.0 % instructions over nested:4K+4K")),
        "{:?}",
        best.notes
    );
}

#[test]
fn transactions_are_the_unit_where_all_runs_count_them() {
    let counted = |scheme: &str, cycles: u64, count: u64| {
        let mut run = run(scheme, cycles);
        run["transactions"] = json!(count);
        run["instructions"] = json!(10 * count);
        run
    };
    let (slow, fast) = (counted("nested:4K+4K", 10_000, 100), counted("shadow:4K+4K", 10_000, 200));
    let advice = TranslationAdvice::of("p", &times(), &[&slow, &fast]).unwrap();
    assert!((advice.saves(advice.advised(Goal::Best).unwrap()) - 0.5).abs() < 1e-9);
}

#[test]
fn a_failed_run_is_no_candidate() {
    let mut failed = run("dual-direct:4K", 1);
    failed["failed"] = json!("the guest's command ended with status 1");
    let good = [run("nested:4K+4K", 10), run("flat:4K+4K", 9)];
    let advice = TranslationAdvice::of("p", &times(), &[&failed, &good[0], &good[1]]).unwrap();
    assert_eq!((advice.ranking.len(), advice.ranking[0].system.as_str()), (2, "flat:4K+4K"));
}
