//! Expressions over what was measured: those of Jinja, whose values are the commands' JSON.
//!
//! A result is the JSON as the command writes it, with its lists made easy to reach: the run of `gups` under `nested:4K+4K` in the result
//! `tlb` is `tlb.of.gups["nested:4K+4K"]`, the guest `a` of a host's
//! run `spin` is `spin.guest.a`, and the totals of the method `wapd` among several are `spin.by.wapd`.

use crate::systems::reported_system;
use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, Expression, State, UndefinedBehavior, Value, context};
use serde_json::{Map, Value as Json};

/// What expressions can name.
#[derive(Debug)]
pub(crate) struct Measured {
    environment: Environment<'static>,
}

impl Measured {
    /// Nothing yet, but the functions `every`, `some` and `each` of a list and an expression of `it`, `mean` and `geometric_mean` of a list,
    /// `means` of a list of results of the same form (each number in it the mean of theirs), and
    /// `least_at` of a list of points and one of values: the point with the least value, the first of several.
    pub(crate) fn new() -> Self {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.add_function("every", every);
        environment.add_function("some", some);
        environment.add_function("each", each);
        environment.add_function("mean", mean);
        environment.add_function("geometric_mean", geometric_mean);
        environment.add_function("means", means);
        environment.add_function("least_at", least_at);
        Self { environment }
    }

    /// Gives `value` a name.
    pub(crate) fn insert(&mut self, name: &str, value: Value) {
        self.environment.add_global(name.to_owned(), value);
    }

    /// Gives a command's result a name.
    pub(crate) fn insert_result(&mut self, name: &str, result: &Json) {
        self.insert(name, Value::from_serialize(indexed(result)));
    }

    /// The value of `expression`.
    ///
    /// # Errors
    /// [`Error`]: it does not read, or names what is not there.
    pub(crate) fn evaluate(&self, expression: &str) -> Result<Value, Error> {
        compiled(&self.environment, expression)?.eval(context! {})
    }

    /// The value of `expression` at the point `x`, which has this index `i`.
    ///
    /// # Errors
    /// As [`Self::evaluate`].
    pub(crate) fn evaluate_at(&self, expression: &str, x: &Value, i: usize) -> Result<Value, Error> {
        compiled(&self.environment, expression)?.eval(context! { x => x, i => i })
    }

    /// Whether an expression reads, before anything is measured.
    ///
    /// # Errors
    /// [`Error`]: it does not.
    pub(crate) fn check(expression: &str) -> Result<(), Error> {
        compiled(&Environment::new(), expression).map(drop)
    }
}

/// Compiles an expression. Jinja's lexer takes braces that close nothing for the end of a template, and panics behind it, so they are refused here.
fn compiled<'e, 't>(environment: &'e Environment<'t>, expression: &'t str) -> Result<Expression<'e, 't>, Error> {
    if closes_too_much(expression) {
        return Err(Error::new(ErrorKind::SyntaxError, "a bracket closes nothing"));
    }
    environment.compile_expression(expression)
}

/// Whether an expression closes more brackets than it has opened, of any kind, outside its strings.
fn closes_too_much(expression: &str) -> bool {
    let (mut open, mut string, mut escaped) = (0_u32, None, false);
    for byte in expression.bytes() {
        match (string, byte) {
            (Some(_), _) if escaped => escaped = false,
            (Some(_), b'\\') => escaped = true,
            (Some(quote), _) if byte == quote => string = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => string = Some(byte),
            (None, b'(' | b'[' | b'{') => open += 1,
            (None, b')' | b']' | b'}') => match open.checked_sub(1) {
                Some(left) => open = left,
                None => return true,
            },
            (None, _) => {}
        }
    }
    false
}

/// The result with `of`, where it has runs of workloads under schemes, and `guest`, where it has guests; in those of each value as well.
fn indexed(result: &Json) -> Json {
    let Json::Object(object) = result else { return result.clone() };
    let mut object: Map<String, Json> = object.iter().map(|(key, value)| (key.clone(), indexed(value))).collect();
    if let Some(Json::Array(runs)) = object.get("runs") {
        let mut of = Map::new();
        for run in runs {
            let (Some(workload), Some(system)) = (run["workload"].as_str(), reported_system(run)) else { continue };
            if let Some(schemes) = of.entry(workload).or_insert_with(|| Map::new().into()).as_object_mut() {
                schemes.insert(system, run.clone());
            }
        }
        object.insert("of".to_owned(), of.into());
    }
    // One method, or several.
    let several = object.get("runs").and_then(Json::as_array).into_iter().flatten().filter_map(|run| run.get("total"));
    let methods = several.chain(object.get("total"));
    let by: Map<String, Json> =
        methods.filter_map(|total| Some((total["spin"].as_str()?.to_owned(), total.clone()))).collect();
    if !by.is_empty() {
        object.insert("by".to_owned(), by.into());
    }
    if let Some(Json::Array(guests)) = object.get("guests") {
        let named = guests.iter().filter_map(|guest| Some((guest["name"].as_str()?.to_owned(), guest.clone())));
        let guest: Map<String, Json> = named.collect();
        object.insert("guest".to_owned(), guest.into());
    }
    object.into()
}

/// `expression` for each element of the list, which it calls `it`.
fn over(state: &State, list: &Value, expression: &str) -> Result<Vec<Value>, Error> {
    let compiled = compiled(state.env(), expression)?;
    let outer = |name| state.lookup(name).unwrap_or_default();
    let (x, i) = (outer("x"), outer("i"));
    list.try_iter()?.map(|it| compiled.eval(context! { it => it, x => x, i => i })).collect()
}

fn truth(value: &Value) -> Result<bool, Error> {
    match value.kind() {
        ValueKind::Bool => Ok(value.is_true()),
        other => Err(Error::new(ErrorKind::InvalidOperation, format!("neither true nor false but a {other}"))),
    }
}

fn every(state: &State, list: &Value, expression: &str) -> Result<bool, Error> {
    over(state, list, expression)?.iter().try_fold(true, |all, value| Ok(all & truth(value)?))
}

fn some(state: &State, list: &Value, expression: &str) -> Result<bool, Error> {
    over(state, list, expression)?.iter().try_fold(false, |any, value| Ok(any | truth(value)?))
}

fn each(state: &State, list: &Value, expression: &str) -> Result<Value, Error> {
    over(state, list, expression).map(Value::from)
}

fn mean(list: &Value) -> Result<f64, Error> {
    mean_by(list, |value| value)
}

fn geometric_mean(list: &Value) -> Result<f64, Error> {
    mean_by(list, f64::ln).map(f64::exp)
}

fn mean_by(list: &Value, scale: impl Fn(f64) -> f64) -> Result<f64, Error> {
    let values = list.try_iter()?.map(f64::try_from).collect::<Result<Vec<_>, _>>()?;
    if values.is_empty() {
        return Err(Error::new(ErrorKind::InvalidOperation, "the mean of nothing"));
    }
    let count = values.len() as f64;
    Ok(values.into_iter().map(scale).sum::<f64>() / count)
}

fn means(list: &Value) -> Result<Value, Error> {
    let results =
        serde_json::to_value(list).map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))?;
    let Json::Array(results) = results else { return Err(Error::new(ErrorKind::InvalidOperation, "no list")) };
    Ok(Value::from_serialize(mean_of(&results.iter().collect::<Vec<_>>())))
}

/// Each number the mean of all results' numbers in its place; whatever is no number in all of them is that of the first, or null if it differs.
fn mean_of(results: &[&Json]) -> Json {
    let Some(&first) = results.first() else { return Json::Null };
    if let Some(numbers) = results.iter().map(|result| result.as_f64()).collect::<Option<Vec<_>>>() {
        return (numbers.iter().sum::<f64>() / numbers.len() as f64).into();
    }
    let at = |get: &dyn Fn(&'_ Json) -> Json| results.iter().map(|result| get(result)).collect::<Vec<_>>();
    match first {
        Json::Object(object) => {
            let mean = |key: &String| mean_of(&at(&|result| result[key].clone()).iter().collect::<Vec<_>>());
            object.keys().map(|key| (key.clone(), mean(key))).collect::<Map<_, _>>().into()
        }
        Json::Array(array) => {
            let mean = |index| mean_of(&at(&|result| result[index].clone()).iter().collect::<Vec<_>>());
            (0..array.len()).map(mean).collect::<Vec<_>>().into()
        }
        other if results.iter().all(|result| *result == other) => other.clone(),
        _ => Json::Null,
    }
}

fn least_at(points: &Value, values: &Value) -> Result<Value, Error> {
    let values = values.try_iter()?.map(f64::try_from).collect::<Result<Vec<_>, _>>()?;
    let pairs = points.try_iter()?.zip(&values);
    let least = pairs.reduce(|least, next| if next.1 < least.1 { next } else { least });
    least.map(|(point, _)| point).ok_or_else(|| Error::new(ErrorKind::InvalidOperation, "the least of nothing"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn measured() -> Measured {
        let mut measured = Measured::new();
        let run = |workload: &str, overhead: f64, settings: Json| json!({"workload": workload, "scheme": "nested:4K+4K", "settings": settings, "overhead": overhead});
        measured
            .insert_result("tlb", &json!({"runs": [run("gups", 2.5, json!({})), run("kv", 0.5, json!({"harts": 4}))]}));
        measured.insert_result("spin", &json!({"wapd": {"guests": [{"name": "a", "etr": 3}]}}));
        measured
    }

    #[test]
    fn runs_and_guests_are_reached_by_name() {
        let measured = measured();
        let value = |text: &str| measured.evaluate(text).unwrap();
        assert_eq!(value("tlb.of.gups['nested:4K+4K'].overhead * 100"), Value::from(250.0));
        assert_eq!(value("tlb.of.kv['nested:4K+4K/harts=4'].overhead"), Value::from(0.5));
        assert_eq!(value("spin.wapd.guest.a.etr"), Value::from(3));
    }

    /// Found by fuzzing: Jinja's lexer panicked.
    #[test]
    fn a_brace_that_closes_nothing_is_an_error() {
        for text in ["a.c}}]}lock", "(1 + 2) }} 3", "{'x': 1}}} ", "each(list, 'it }} it')"] {
            let error = measured().evaluate(text).unwrap_err();
            assert!(format!("{error:#} {error:?}").contains("closes nothing") || text.starts_with("each"), "{error:#}");
            assert!(Measured::check(text).is_err() || text.starts_with("each"));
        }
        assert_eq!(measured().evaluate("'}}' ~ \"\\\"}}\" ~ {'x': {'y': 1}}.x.y").unwrap(), Value::from("}}\"}}1"));
    }

    #[test]
    fn lists_are_judged_element_by_element() {
        let measured = measured();
        let value = |text: &str| measured.evaluate_at(text, &Value::from(2), 0).unwrap();
        assert!(value("every([1, 2], 'it <= x')").is_true());
        assert!(!value("some([3, 4], 'it <= x')").is_true());
        assert_eq!(value("mean(each([1, 2], 'it * x'))"), Value::from(3.0));
        assert_eq!(value("geometric_mean([2, 8]) | round(9)"), Value::from(4.0));
        assert_eq!(
            value("means([{'a': [1, 'w'], 'b': 1}, {'a': [2, 'v'], 'b': 4}])|string"),
            Value::from("{\"a\": [1.5, None], \"b\": 2.5}")
        );
        assert_eq!(value("least_at([7, 8, 9], [2, 1, 1])"), Value::from(8));
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        let measured = measured();
        for text in [
            "nothing",
            "tlb.of.bfs['native:4K']",
            "tlb.of.gups['native:4K'].overhead < 1",
            "every([1], 'it')",
            "mean([])",
            "1 +",
        ] {
            assert!(measured.evaluate(text).and_then(|value| truth(&value)).is_err(), "{text}");
        }
    }
}
