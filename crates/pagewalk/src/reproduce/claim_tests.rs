use super::*;
use minijinja::Value;

fn claim(keys: &str) -> Claim {
    let text = format!("id = \"c\"\nclaim = \"more\"\nsource = \"page 1\"\n{keys}");
    toml::from_str(&text).unwrap()
}

const BANDED: &str = "axis = \"times\"\npaper = 2\nours = \"a\"\nband = [1.5, 2.5]\nbecause = \"rounding\"\n";
const CAUSE: &str = "cause = { shows = \"b is large.\", ours = \"b\", band = [10, inf], because = \"it is\" }\n";

/// The verdict where `a` is each of these in the repeats, and `b` always this.
fn verdict(keys: &str, a: &[f64], b: f64) -> Verdict {
    let repeats: Vec<Measured> = a
        .iter()
        .map(|&a| {
            let mut measured = Measured::new();
            measured.insert("a", Value::from(a));
            measured.insert("b", Value::from(b));
            measured
        })
        .collect();
    Judged::of(&claim(keys), &repeats).unwrap().verdict
}

#[test]
fn a_claim_holds_where_all_of_its_interval_is_inside_the_band() {
    assert_eq!(verdict(BANDED, &[2.0, 2.1, 1.9], 0.0), Verdict::Holds);
    // The mean is inside, the interval is not: 1.6 ± 0.25.
    assert_eq!(verdict(BANDED, &[1.5, 1.7, 1.6], 0.0), Verdict::Open);
}

#[test]
fn outside_the_band_it_takes_a_cause_that_is_shown() {
    let keys = [BANDED, CAUSE].concat();
    assert_eq!(verdict(BANDED, &[4.0, 4.0], 20.0), Verdict::Open);
    assert_eq!(verdict(&keys, &[4.0, 4.0], 20.0), Verdict::Refuted);
    assert_eq!(verdict(&keys, &[4.0, 4.0], 5.0), Verdict::Open);
    // A band has two sides.
    assert_eq!(verdict(&keys, &[0.5, 0.5], 20.0), Verdict::Refuted);
    // Across the end, a cause does not help.
    assert_eq!(verdict(&keys, &[2.0, 3.0], 20.0), Verdict::Open);
}

#[test]
fn a_cause_of_numbers_on_one_side_explains_none_on_the_other() {
    let cause = |side: &str| format!("{BANDED}{}", CAUSE.replace(" }", &format!(", explains = \"{side}\" }}")));
    assert_eq!(verdict(&cause("above"), &[4.0, 4.0], 20.0), Verdict::Refuted);
    assert_eq!(verdict(&cause("above"), &[0.5, 0.5], 20.0), Verdict::Open);
    assert_eq!(verdict(&cause("below"), &[0.5, 0.5], 20.0), Verdict::Refuted);
    assert_eq!(verdict(&cause("below"), &[4.0, 4.0], 20.0), Verdict::Open);
    let claim = claim(&cause("above"));
    let mut measured = Measured::new();
    measured.insert("a", Value::from(0.5));
    measured.insert("b", Value::from(20));
    let shown = Judged::of(&claim, &[measured]).unwrap().shown();
    assert!(
        shown.ends_with("10.00 or more: our number is on the other side of the band, which this does not explain."),
        "{shown}"
    );
}

#[test]
fn a_single_run_shows_nothing_unless_repeats_cannot_differ() {
    assert_eq!(verdict(BANDED, &[2.0], 0.0), Verdict::Open);
    assert_eq!(verdict(&[BANDED, "exact = \"a count\""].concat(), &[2.0], 0.0), Verdict::Holds);
}

#[test]
fn evidence_has_the_number_its_interval_the_papers_and_the_band() {
    let claim = claim(&[BANDED, CAUSE, "explanation = { holds = \"yes\", open = \"no\" }"].concat());
    let mut measured = Measured::new();
    measured.insert("a", Value::from(2));
    measured.insert("b", Value::from(1));
    let judged = Judged::of(&claim, &[measured]).unwrap();
    assert_eq!(judged.evidence(), "times: 2.00 (n = 1); the paper has 2.00; band 1.50 to 2.50");
    assert_eq!(judged.shown(), "Cause: b is large. Measured 1.00 (n = 1), predicted 10.00 or more: it is not so.");
    assert_eq!(judged.explanation(), "no");
}

#[test]
fn a_number_that_cannot_be_judged_is_named() {
    for ours in ["b > 1", "'x'", "1 / 0", "c.d"] {
        let claim = claim(&BANDED.replace("\"a\"", &format!("\"{ours}\"")));
        let mut measured = Measured::new();
        measured.insert("a", Value::from(3));
        let line = Judged::of(&claim, &[measured]).unwrap_err().line();
        assert!(line.contains("claim `c`, ours"), "{line}");
    }
}

#[test]
fn a_rule_of_an_experiment_of_ones_own_may_be_true_or_false() {
    assert_eq!(verdict("holds = \"a > 2\"", &[3.0, 3.0], 0.0), Verdict::Holds);
    assert_eq!(verdict("holds = \"a > 2\"", &[3.0, 1.0], 0.0), Verdict::Open);
}

#[test]
fn a_rule_without_two_sides_is_refused() {
    let refused = |keys: &str| {
        let text = format!("id = \"c\"\nclaim = \"more\"\nsource = \"page 1\"\n{keys}");
        toml::from_str::<Claim>(&text).unwrap_err().to_string()
    };
    assert!(refused(&BANDED.replace("2.5", "inf")).contains("`band`"));
    assert!(refused(&BANDED.replace("2.5", "1")).contains("`band`"));
    assert!(refused(&BANDED.replace("because = \"rounding\"\n", "")).contains("`because`"));
    assert!(refused("holds = \"a > 2\"\ndirection = \"a > 1\"").contains("`direction`"));
}
