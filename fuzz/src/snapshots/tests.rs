use super::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Inputs of a guest that goes on, each with other devices and registers.
const SEEDS: [(&str, &[u8]); 2] = [
    ("sbi-test", include_bytes!("../../corpus/snapshots/sbi-test")),
    ("devices", include_bytes!("../../corpus/snapshots/devices")),
];

/// Regression: the files had the format of earlier snapshots, and nothing behind the check of the format was reached.
#[test]
fn the_seeds_are_guests_that_go_on_under_every_scheme() {
    let mut under = BTreeSet::new();
    for (name, seed) in SEEDS {
        let mut at = NamedTempFile::new().unwrap();
        at.write_all(&with_memory(&seed[1..])).unwrap();
        let snapshot = Snapshot::open(at.path()).unwrap();
        for scheme in SCHEMES {
            let Some(config) = configuration(&snapshot, scheme).filter(|config| snapshot.check(config).is_ok()) else {
                continue;
            };
            let mut machine = Machine::restore(&config, &snapshot, &[]).unwrap();
            let before = machine.statistics().instructions;
            machine.run(&mut NoConsole(0));
            assert!(machine.statistics().instructions > before, "{name}: {scheme}");
            under.insert(scheme);
        }
    }
    assert_eq!(under, BTreeSet::from(SCHEMES));
}

/// Regression: a snapshot in which a hart had fewer counters than there are, or a primary region ended before it began, ended the process. Here
/// every value of a description is replaced by others, and every list loses or gains an element.
#[test]
fn any_value_of_a_description_may_be_another() {
    alter(SEEDS[0]);
}

/// The same in a test of its own, which runs beside that one.
#[test]
fn any_value_of_a_description_of_devices_may_be_another() {
    alter(SEEDS[1]);
}

fn alter((name, seed): (&str, &[u8])) {
    let length = u32::from_le_bytes(*seed[1..].first_chunk().unwrap()) as usize;
    let (text, pages) = seed[5..].split_at(length);
    let description: Value = serde_json::from_slice(text).unwrap();
    let (mut altered, mut failures) = (0, Vec::new());
    for place in places(&description) {
        for value in others(description.pointer(&place).unwrap()) {
            let mut description = description.clone();
            *description.pointer_mut(&place).unwrap() = value.clone();
            let text = description.to_string();
            let input = [b"m", &(text.len() as u32).to_le_bytes()[..], text.as_bytes(), pages].concat();
            if std::panic::catch_unwind(|| run(&input)).is_err() {
                failures.push(format!("{place} = {value}"));
            }
            altered += 1;
        }
    }
    assert!(failures.is_empty(), "{name}: {failures:#?}");
    assert!(altered > 500, "{name}: {altered}");
}

/// JSON pointers to all values below `value`; of a long list, to the first and the last element.
fn places(value: &Value) -> Vec<String> {
    let below = |key: String, value: &Value| places(value).into_iter().map(move |place| format!("/{key}{place}"));
    let mut all = vec![String::new()];
    match value {
        Value::Array(list) => {
            let ends = list.iter().enumerate().filter(|(index, _)| *index == 0 || index + 1 == list.len());
            all.extend(ends.flat_map(|(index, value)| below(index.to_string(), value)));
        }
        Value::Object(map) => all.extend(map.iter().flat_map(|(key, value)| below(key.clone(), value))),
        _ => {}
    }
    all
}

/// What may stand for `value`.
fn others(value: &Value) -> Vec<Value> {
    const NUMBERS: [u64; 10] = [0, 1, 2, 0x1000, 0x8000_0000, 0x80ff_fff8, u32::MAX as u64, 1 << 40, 1 << 63, u64::MAX];
    match value {
        Value::Number(_) => NUMBERS.map(|number| json!(number)).to_vec(),
        Value::Bool(value) => vec![json!(!value)],
        Value::Array(list) => {
            let (first, last) = (list.first().cloned(), list.last().cloned());
            let less = list.get(1..).unwrap_or_default().to_vec();
            let more = [list.clone(), first.into_iter().collect()].concat();
            let many = [list.clone(), vec![last.unwrap_or(json!(1)); 100]].concat();
            [Vec::new(), less, more, many].map(Value::Array).to_vec()
        }
        Value::Null => [json!(0), json!(u64::MAX), json!([1, 2])].to_vec(),
        Value::Object(_) | Value::String(_) => vec![Value::Null],
    }
}
