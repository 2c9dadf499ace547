use super::*;

const SMALL: &str = r#"
paper = "p"
title = "t"
citation = "c"
[size]
n = { short = "1", full = "2" }
[[measure]]
id = "m"
command = "compare --workload gups:{n}M"
[[figure]]
id = "f"
title = "f"
source = "Table 1"
kind = "bars"
x_label = "workload"
x = ["gups", "kv"]
series = [{ name = "nested", paper = [1, nan], ours = "m.of[x].native" }]
[[claim]]
id = "c"
claim = "more"
source = "page 1"
axis = "times"
paper = 1
ours = "1"
band = [0.5, 1.5]
because = "rounding"
"#;

fn problem(from: &str, to: &str) -> String {
    assert!(SMALL.contains(from), "{from}");
    Experiment::read("small.toml", &SMALL.replace(from, to)).unwrap_err().to_string()
}

#[test]
fn an_experiment_reads() {
    let experiment = Experiment::read("small.toml", SMALL).unwrap();
    assert_eq!(experiment.size["n"].full, "2");
    let Some(Numbers::List(paper)) = &experiment.figure[0].series[0].paper else { panic!("a list") };
    assert!(paper[1].is_nan());
}

#[test]
fn what_is_wrong_is_named_with_its_place_before_anything_runs() {
    for (from, to, expected) in [
        ("paper = [1, nan]", "paper = [1]", "series `nested`: paper has not 2 values"),
        ("m.of[x].native", "m.of[", "figure `f`, series `nested`"),
        ("ours = \"1\"", "ours = \"1 >\"", "claim `c`"),
        (
            "band = [0.5, 1.5]",
            "band = [0.5, 1.5]\ncause = { shows = 's', ours = '1 +', band = [1, inf], because = 'b' }",
            "claim `c`",
        ),
        ("band = [0.5, 1.5]", "band = [1.5, 0.5]", "claim `c`: `band`"),
        ("id = \"m\"", "id = \"m\"\nrepeats = [\"1\"]", "measure `m`: nothing in it names {repeat}"),
        ("id = \"m\"", "id = \"m\"\nids = 3", "ids"),
    ] {
        let problem = problem(from, to);
        assert!(problem.starts_with("small.toml: ") && problem.contains(expected), "{problem}");
    }
}

#[test]
fn a_name_stands_for_one_thing() {
    let twice = problem("[[figure]]", "[[measure]]\nid = \"m\"\ncommand = \"vlm\"\n[[figure]]");
    assert!(twice.contains("`m` is there twice"), "{twice}");
}

#[test]
fn all_papers_read_and_an_unknown_one_is_answered_with_the_nearest() {
    for name in Experiment::names() {
        assert_eq!(Experiment::load(name).unwrap().paper, name);
    }
    let unknown = Experiment::load("gandhi").unwrap_err().to_string();
    assert!(unknown.contains("gandhi2014") && unknown.contains("*.toml"), "{unknown}");
}
