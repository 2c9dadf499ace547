//! The settings of a system as a person reads them.

use super::line::Line;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The most characters of the settings of a system, and how many of them are from the end.
const LONGEST: usize = 400;
const FROM_END: usize = 150;

/// The settings that all lines have with the same value.
pub(super) fn common(lines: &[Line]) -> Map<String, Value> {
    let Some(first) = lines.first() else { return Map::new() };
    let in_all = |(key, value): &(&String, &Value)| lines.iter().all(|line| line.settings.get(*key) == Some(*value));
    first.settings.iter().filter(in_all).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// A system's settings without those of all.
pub(super) fn own(settings: &Map<String, Value>, common: &Map<String, Value>) -> String {
    let own = settings.iter().filter(|(key, _)| !common.contains_key(*key));
    let text = written(own);
    if text.is_empty() { "no settings of its own".to_owned() } else { shortened(&text).into_owned() }
}

/// Settings in a text.
pub(super) fn written<'s>(settings: impl Iterator<Item = (&'s String, &'s Value)>) -> String {
    settings.map(|(key, value)| format!("{key} = {}", of_value(value))).collect::<Vec<_>>().join(", ")
}

fn of_value(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(arrays) if !arrays.is_empty() => {
            let arrays: Option<Vec<String>> = arrays.iter().map(of_array).collect();
            arrays.map_or_else(|| value.to_string(), |arrays| arrays.join(" and "))
        }
        other => other.to_string(),
    }
}

/// An array of a TLB level: `64 × 4 of 4K+2M`. `None` if it is something else, or has more keys.
fn of_array(array: &Value) -> Option<String> {
    let array = array.as_object().filter(|array| array.len() == 3)?;
    let (sets, ways) = (array.get("sets")?.as_u64()?, array.get("ways")?.as_u64()?);
    let sizes: Option<Vec<&str>> = array.get("sizes")?.as_array()?.iter().map(Value::as_str).collect();
    Some(format!("{sets} × {ways} of {}", sizes?.join("+")))
}

fn shortened(text: &str) -> Cow<'_, str> {
    let length = text.chars().count();
    if length <= LONGEST {
        return Cow::Borrowed(text);
    }
    let begin = text.chars().take(LONGEST - FROM_END - 1);
    Cow::Owned(begin.chain(['…']).chain(text.chars().skip(length - FROM_END)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).expect("it is an object")
    }

    #[test]
    fn settings_read_well() {
        let array = |sets| json!({ "sizes": ["4K", "2M"], "sets": sets, "ways": 4 });
        let settings = map(json!({ "host": "xeon-2017", "mmu.l2": [array(64), array(1)], "mmu.nested_tlb": 8 }));
        assert_eq!(
            own(&settings, &map(json!({ "host": "xeon-2017" }))),
            "mmu.l2 = 64 × 4 of 4K+2M and 1 × 4 of 4K+2M, mmu.nested_tlb = 8"
        );
        assert_eq!(own(&settings, &settings), "no settings of its own");
        let other = map(json!({ "mmu.l2": [], "mmu.walk_caches": { "guest": [1, 2] } }));
        assert_eq!(own(&other, &Map::new()), r#"mmu.l2 = [], mmu.walk_caches = {"guest":[1,2]}"#);
    }

    #[test]
    fn long_settings_keep_their_ends() {
        let text = own(&map(json!({ "host": "x".repeat(5000), "seed": 7 })), &Map::new());
        assert_eq!(text.chars().count(), LONGEST);
        assert!(text.starts_with("host = x") && text.ends_with("seed = 7"), "{text}");
    }
}
