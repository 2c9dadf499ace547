//! Differences of counts that are JSON.

use serde_json::{Map, Value};

/// What `after` counts and `before` does not, where both are counts by the same keys. What `before` lacks is zero there.
pub(super) fn difference(after: &Value, before: &Value) -> Value {
    match after {
        Value::Number(count) => {
            let whole = |value: Option<i64>| value.unwrap_or_default();
            whole(count.as_i64()).wrapping_sub(whole(before.as_i64())).into()
        }
        Value::Object(map) => {
            let of = |(key, count): (&String, &Value)| (key.clone(), difference(count, &before[key]));
            Value::Object(map.iter().map(of).collect::<Map<_, _>>())
        }
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) => after.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn counts_are_subtracted_wherever_they_stand() {
        let after = json!({ "a": 7, "b": { "c": 3, "d": -4 }, "e": null, "f": { "g": 2 } });
        let before = json!({ "a": 2, "b": { "c": 5, "d": -6 }, "e": null, "f": null });
        assert_eq!(
            difference(&after, &before),
            json!({ "a": 5, "b": { "c": -2, "d": 2 }, "e": null, "f": { "g": 2 } })
        );
    }
}
