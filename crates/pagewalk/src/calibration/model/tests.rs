use super::*;
use crate::calibration::warnings;
use calibrate::staircase::Point;
use calibrate::{
    BehindBranches, Caches, HugeEntries, LastLevel, NextLine, Overlap, Pipeline, Reuse, Streams, SystemCache,
    SystemTlb, TlbLevel, Walks,
};

fn spread(median: f64) -> Spread {
    Spread { median, low: median * 0.99, high: median * 1.01 }
}

fn between(least: u64, below: u64) -> Capacity {
    Capacity { least, below }
}

fn nothing<T>() -> Finding<T> {
    Err("not measured".to_owned())
}

fn tlb_level(least: u64, below: u64, ways: Finding<Capacity>) -> Finding<TlbLevel> {
    Ok(TlbLevel { entries: between(least, below), ways })
}

/// A machine at 2 GHz of which everything is known but ways of large caches.
fn findings() -> Findings {
    let cache = |least, below, latency, ways| Cache {
        size: between(least, below),
        latency: spread(latency),
        ways,
        slopes_above: Vec::new(),
        slower_parts: Vec::new(),
    };
    let said = |level, size, ways| SystemCache { level, size, ways, line: 64 };
    Findings {
        host: Host {
            processor: "A\nprocessor".to_owned(),
            hypervisor: None,
            caches: vec![said(1, 48 << 10, 12), said(2, 2 << 20, 16), said(3, 260 << 20, 20)],
            tlbs: Vec::new(),
            available: 1 << 34,
        },
        no_huge_pages: None,
        pipeline: Pipeline { clock_hz: Ok(spread(2e9)), timestamp_hz: nothing(), width: Ok(spread(4.6)) },
        caches: Caches {
            levels: Ok(vec![
                cache(46341, 55109, 2.5, Ok(between(12, 13))),
                cache(1_574_623, 2_493_948, 8.0, nothing()),
                cache(15_048_887, 23_726_566, 31.0, nothing()),
            ]),
            memory: Ok(spread(100.0)),
        },
        base_tlb: Tlb {
            first: tlb_level(91, 108, Ok(between(6, 8))),
            second: tlb_level(1494, 2233, Ok(between(13, 18))),
            second_hit: Ok(spread(3.5)),
        },
        huge_tlb: Tlb { first: tlb_level(29, 35, Ok(between(4, 5))), second: nothing(), second_hit: nothing() },
        huge_entries: Ok(HugeEntries::Whole),
        walks: Ok(Walks { dependent: spread(15.0), independent: spread(4.0) }),
        huge_walks: nothing(),
        overlap: Overlap { memory: Ok(spread(16.0)), last_level: nothing() },
        last_level: nothing(),
        reuse: nothing(),
        prefetch: nothing(),
        next_line: nothing(),
        streams: nothing(),
        branches: nothing(),
        curves: Vec::new(),
    }
}

fn model(findings: &Findings) -> (String, HostModel) {
    let base = HostModel::load("xeon-2017").unwrap();
    let text = Calibrated { findings, base_name: "xeon-2017", base: &base }.text("mine");
    let model = HostModel::parse("mine.toml", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    (text, model)
}

fn shapes(arrays: &[ArrayModel]) -> Vec<(u32, u32)> {
    arrays.iter().map(|array| (array.sets, array.ways)).collect()
}

#[test]
fn what_was_measured_is_in_the_model_and_the_rest_is_the_bases() {
    let (text, model) = model(&findings());
    let base = HostModel::load("xeon-2017").unwrap();
    assert_eq!((model.name.as_str(), model.clock_hz), ("mine", 2_000_000_000));
    assert_eq!(shapes(&model.tlb.l1d), [(16, 6), (8, 4), (1, 4)]);
    assert_eq!(shapes(&model.tlb.l2), [(128, 16), (4, 4)]);
    let caches = model.caches.unwrap();
    assert_eq!((caches.l1d.size.0, caches.l1d.ways, caches.l1d.latency), (48 << 10, 12, 5));
    let l2 = caches.l2.unwrap();
    assert_eq!((l2.size.0, l2.ways, l2.latency), (2 << 20, 16, 16), "the system's word lies within what was measured");
    let llc = caches.llc.unwrap();
    assert!((15 << 20..23 << 20).contains(&llc.size.0) && llc.latency == 62, "the system's word does not: {llc:?}");
    assert_eq!((caches.memory, model.prices.l2_tlb_hit.0, model.prices.table_reference.0), (200, 7, 30));
    assert_eq!(model.core.unwrap().walkers, 4, "15 ns alone, 4 ns where they overlap");
    assert_eq!((model.prices.exit, model.tlb.l1i.clone()), (base.prices.exit, base.tlb.l1i));
    for said in [
        "# A processor, as",
        "between 1494 and 2232",
        "TLB for 2M, level 2, entries: not measured",
        "# outstanding misses, memory: 16.0",
    ] {
        assert!(text.contains(said), "no `{said}` in\n{text}");
    }
    assert!(text.lines().filter(|line| !line.starts_with('#')).all(|line| !line.contains("processor")), "{text}");
}

/// The staircase of a second level is a slope, so that its capacity is known within a wide range only.
#[test]
fn a_tlb_has_the_processors_word_where_that_lies_within_what_was_measured() {
    let with = |entries| {
        let mut findings = findings();
        findings.base_tlb.second = tlb_level(1494, 2233, nothing());
        findings.host.tlbs = vec![SystemTlb { level: 2, pages: Pages::Base, entries }];
        let (text, model) = model(&findings);
        (shapes(&model.tlb.l2)[0], text.contains("The processor says"))
    };
    assert_eq!(with(1536), ((128, 12), true));
    assert_eq!(with(2048), ((128, 16), true));
    assert_eq!(with(3072), ((128, 14), false), "the middle of what was measured");
}

/// A user who reads a number reads where it comes from.
#[test]
fn every_number_has_a_comment() {
    let (text, _) = model(&findings());
    let lines: Vec<&str> = text.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let key = line.contains(" = ") && !line.starts_with(['#', ' ', 'n', 'b']);
        let group = |line: &str| line.split('.').next().map(str::to_owned);
        let first = index == 0 || group(lines[index - 1]) != group(line);
        assert!(!key || !first || lines[index - 1].starts_with('#'), "`{line}` in\n{text}");
    }
}

#[test]
fn a_machine_of_which_nothing_is_known_is_its_base() {
    let none = || Tlb { first: nothing(), second: nothing(), second_hit: nothing() };
    let findings = Findings {
        pipeline: Pipeline { clock_hz: nothing(), timestamp_hz: nothing(), width: nothing() },
        caches: Caches { levels: nothing(), memory: nothing() },
        base_tlb: none(),
        huge_tlb: none(),
        walks: nothing(),
        overlap: Overlap { memory: nothing(), last_level: nothing() },
        ..findings()
    };
    let (_, model) = model(&findings);
    assert_eq!(model, HostModel { name: "mine".to_owned(), ..HostModel::load("xeon-2017").unwrap() });
}

#[test]
fn a_virtual_machines_walk_makes_references_of_two_kinds() {
    let mut findings = findings();
    findings.host.hypervisor = Some("KVM".to_owned());
    let (text, model) = model(&findings);
    assert_eq!(model.prices.table_reference.0, 15);
    assert!(text.contains("This machine is virtual (KVM)"), "{text}");
}

#[test]
fn a_machine_of_two_caches_keeps_the_bases_last_level() {
    let mut findings = findings();
    findings.caches.levels.as_mut().unwrap().truncate(2);
    let (_, model) = model(&findings);
    assert_eq!(model.caches.unwrap().llc, HostModel::load("xeon-2017").unwrap().caches.unwrap().llc);
}

/// Where others use the last level, the step to it may not be seen.
#[test]
fn no_cache_holds_more_than_the_system_names() {
    let mut findings = findings();
    let levels = findings.caches.levels.as_mut().unwrap();
    levels.truncate(2);
    levels[1].size = between(3 << 20, 4 << 20);
    let (_, model) = model(&findings);
    assert_eq!(model.caches.unwrap().l2.unwrap().size.0, 2 << 20);
    let warnings = warnings(&findings).join("\n");
    assert!(
        warnings.contains("Cache 2 seems to hold 3M to 4M here, and has 2M by the system's word")
            && warnings.contains("2 levels of cache were found, and the system names 3"),
        "{warnings}"
    );
}

#[test]
fn a_prefetcher_that_crosses_pages_has_as_many_lines_under_way_as_littles_law_says() {
    let of = |ascending, random| {
        let streams = Streams { ascending: spread(ascending), random: spread(random) };
        let (text, model) = model(&Findings { streams: Ok(streams), ..findings() });
        let core = model.core.unwrap();
        let stream = core.prefetch.stream;
        (core.l2_misses, stream.distance, format!("{:?}", stream.page_end), text)
    };
    // A latency of 100 ns.
    let (misses, distance, page_end, text) = of(2.0, 9.0);
    assert_eq!((misses, distance, page_end.as_str()), (50, 50, "Cross"), "{text}");
    assert!(
        text.contains("# A line of a stream takes more time where pages of 4K come in random order, as above"),
        "{text}"
    );
    assert!(text.contains("# stream, lines under way: 50.0 misses"), "{text}");
    let (misses, distance, ..) = of(0.1, 9.0);
    assert_eq!((misses, distance), (256, 64), "no more than the model can have");
    let base = HostModel::load("xeon-2017").unwrap().core.unwrap();
    let (misses, distance, page_end, text) = of(8.0, 9.0);
    let stream = base.prefetch.stream;
    assert_eq!((misses, distance, page_end.as_str()), (base.l2_misses, stream.distance, "Stop"), "{text}");
}

#[test]
fn steps_that_are_no_caches_are_in_the_warnings() {
    let mut findings = findings();
    let last = findings.caches.levels.as_mut().unwrap().last_mut().unwrap();
    (last.slopes_above, last.slower_parts) = (vec![spread(6.0)], vec![spread(25.0), spread(40.0)]);
    let warnings = warnings(&findings).join("\n");
    assert!(
        warnings
            .contains("there is a step of 6 ns, and the system names no cache there: it is a slope of the cache above")
            && warnings.contains("has a slower part of 25 and 40 ns. The model has the latency of the first."),
        "{warnings}"
    );
}

#[test]
fn the_last_level_has_the_greater_of_both_sizes_and_no_more_than_the_system_says() {
    let of = |mib: f64| {
        let last_level = LastLevel { holds: spread(mib * 1048576.0), points: Vec::new() };
        let (text, model) = model(&Findings { last_level: Ok(last_level), ..findings() });
        let llc = model.caches.unwrap().llc.unwrap();
        assert!(text.contains("# last level, held with 16 chases: "), "{text}");
        let whose = text.lines().find_map(|line| line.strip_prefix("# The size is that of ")).unwrap().to_owned();
        (llc.size.0 as f64 / 1048576.0, whose)
    };
    let (size, whose) = of(40.0);
    assert!((size - 40.0).abs() < 0.01, "its staircase ends between 14 and 23, and {size} was measured");
    assert_eq!(whose, "many chases, the greater of the two.");
    assert!((of(400.0).0 - 260.0).abs() < 0.01);
    let (size, whose) = of(6.0);
    assert!((14.0..23.0).contains(&size), "one chase has kept more than 6 MiB: {size}");
    assert_eq!(whose, "one chase, the greater of the two.");
}

/// From memory a load takes 100 ns, and from the last level 31.
#[test]
fn a_last_level_that_keeps_what_is_used_again_predicts_reuse() {
    let of = |behind_scan| {
        let reuse = Reuse { alone: spread(35.0), behind_scan: spread(behind_scan) };
        let (text, model) = model(&Findings { reuse: Ok(reuse), ..findings() });
        (model.caches.unwrap().llc.unwrap().replacement.0.to_string(), text)
    };
    let (replacement, text) = of(50.0);
    assert_eq!(replacement, "drrip", "{text}");
    assert!(text.contains("# last level, kept beside a scan: 78 %, between 77 and 78"), "{text}");
    let (replacement, text) = of(100.0);
    assert_eq!(replacement, "lru", "{text}");
    assert!(text.contains("# Lines that are used again do not stay."), "{text}");
    let noisy = Reuse { alone: spread(35.0), behind_scan: Spread { median: 200.0, low: 80.0, high: 300.0 } };
    let (text, left) = model(&Findings { reuse: Ok(noisy), ..findings() });
    assert_eq!(left.caches.unwrap().llc.unwrap().replacement.0.to_string(), "lru", "the base's");
    assert!(text.contains("# last level, kept beside a scan: too noisy: the quartiles"), "{text}");
    let (_, untouched) = model(&findings());
    assert_eq!(untouched.caches.unwrap().llc.unwrap().replacement.0.to_string(), "lru", "the base's");
}

/// Lines that a model with these times of the next line brings, the level, the most misses, and its text. A hit takes 2.5 ns, and one of the second level 8 ns.
fn of_next_line(next: [f64; 3]) -> (u64, String, u32, String) {
    let points = [1, 4, 12].into_iter().zip(next);
    let next: Vec<Point> = points.map(|(size, value)| Point { size, value: spread(value) }).collect();
    let beyond_same = next[0].value.median - 2.5;
    let next_line = NextLine { same: spread(2.5), apart: spread(98.0), next, beyond_same };
    let (text, model) = model(&Findings { next_line: Ok(next_line), ..findings() });
    let prefetch = model.core.unwrap().prefetch;
    (prefetch.next_line, format!("{:?}", prefetch.next_line_into), prefetch.next_line_misses, text)
}

#[test]
fn the_next_line_is_prefetched_where_it_takes_less_time() {
    let base = HostModel::load("xeon-2017").unwrap().core.unwrap().prefetch;
    assert!(base.next_line > 0);
    let (lines, into, misses, text) = of_next_line([2.6, 40.0, 90.0]);
    assert_eq!((lines, into.as_str(), misses), (base.next_line, "L1d", 4), "{text}");
    assert!(text.contains("# the line behind one that missed: "), "{text}");
    let (lines, into, misses, text) = of_next_line([90.0, 40.0, 90.0]);
    assert_eq!((lines, into.as_str(), misses), (0, "L1d", base.next_line_misses), "{text}");
    assert!(text.contains("takes as long as another line of its page"), "{text}");
}

#[test]
fn loads_behind_a_misprediction_begin_on_the_wrong_path_where_they_overlap() {
    let of = |random: f64| {
        let branches = BehindBranches { predicted: spread(9.0), random: spread(random) };
        let (text, model) = model(&Findings { branches: Ok(branches), ..findings() });
        assert!(text.contains("# load and branch, random ways: "), "{text}");
        format!("{:?}", model.core.unwrap().wrong_path)
    };
    // A load takes 100 ns.
    assert_eq!([of(11.0), of(60.0)], ["Converges", "Off"]);
    assert_eq!(of(9.0), "Off", "that of the base: nothing shows a misprediction");
    let of_base = HostModel::load("xeon-2017").unwrap().core.unwrap().wrong_path;
    assert_eq!(model(&findings()).1.core.unwrap().wrong_path, of_base, "it was not measured");
}

#[test]
fn the_next_line_is_in_the_level_whose_time_it_takes_and_comes_with_any_number_of_misses_tried() {
    let (_, into, misses, text) = of_next_line([8.1, 8.5, 9.0]);
    assert_eq!((into.as_str(), misses), ("L2", 256), "{text}");
    assert!(text.contains("comes with all numbers that were tried"), "{text}");
}
