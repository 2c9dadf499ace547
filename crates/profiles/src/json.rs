//! A profile as JSON. The keys are a contract: see docs/json-keys.md.
//!
//! A document may have a hundred thousand parts, so each is written when it is its turn, and none is kept.

mod about;

use super::attribution::{About, Attribution, Entry};
use super::controls::escape_controls;
use super::stacks::StackId;
use about::{
    AboutInstruction, AboutLine, AboutMapping, AboutPage, AboutSpace, AboutStack, AboutSymbolAndObject, Hexadecimal,
    NameInSpace, instruction_of, page_of,
};
use machine::{Counters, ProfileDetail};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::hash::Hash;

/// The profiles of a command as indented JSON with a newline at its end, [without controls](escape_controls).
///
/// # Errors
/// As of the JSON.
pub fn text(profiles: &[Attribution]) -> serde_json::Result<String> {
    let mut text = escape_controls(serde_json::to_string_pretty(&Document::of(profiles))?);
    text.push('\n');
    Ok(text)
}

/// The same as a value.
///
/// # Errors
/// As of the JSON.
pub fn value(profiles: &[Attribution]) -> serde_json::Result<Value> {
    serde_json::to_value(Document::of(profiles))
}

#[derive(Serialize)]
struct Document<'a> {
    version: &'static str,
    format: &'static str,
    runs: Vec<Run<'a>>,
}

impl<'a> Document<'a> {
    fn of(profiles: &'a [Attribution]) -> Self {
        let runs = profiles.iter().map(Run).collect();
        Self { version: env!("CARGO_PKG_VERSION"), format: "pagewalk-profile", runs }
    }
}

/// The profile of a run.
struct Run<'a>(&'a Attribution);

impl Serialize for Run<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let profile = self.0;
        let About { guest, work, system, settings } = &profile.about;
        let most_missed = profile.most_missed(|entry| (entry.space, entry.symbol));
        let symbol = |(space, symbol)| NameInSpace {
            space,
            name: profile.symbols.name(symbol),
            most_missed: most_missed.get(&(space, symbol)).copied().map(Hexadecimal),
        };
        let most_missed = profile.most_missed(|entry| (entry.space, entry.object));
        let object = |(space, object)| NameInSpace {
            space,
            name: profile.objects.name(object),
            most_missed: most_missed.get(&(space, object)).copied().map(Hexadecimal),
        };
        let mut run = serializer.serialize_map(None)?;
        run.serialize_entry("guest", guest)?;
        run.serialize_entry("workload", work)?;
        run.serialize_entry("scheme", system)?;
        run.serialize_entry("settings", settings)?;
        run.serialize_entry("ticks_per_cycle", &profile.rates.ticks_per_cycle())?;
        run.serialize_entry("totals", &Counts { profile, counters: &profile.totals })?;
        run.serialize_entry("spaces", &parts(profile, |entry| entry.space, |space| AboutSpace::of(profile, space)))?;
        run.serialize_entry("symbols", &parts(profile, |entry| (entry.space, entry.symbol), symbol))?;
        run.serialize_entry("instructions", &parts(profile, instruction_of, |key| AboutInstruction::of(profile, key)))?;
        run.serialize_entry("pages", &parts(profile, page_of, |key| AboutPage::of(profile, key)))?;
        run.serialize_entry("objects", &parts(profile, |entry| (entry.space, entry.object), object))?;
        let both = |(space, symbol, object)| AboutSymbolAndObject {
            space,
            symbol: profile.symbols.name(symbol),
            object: profile.objects.name(object),
        };
        let by_both = parts(profile, |entry| (entry.space, entry.symbol, entry.object), both);
        run.serialize_entry("symbols_and_objects", &by_both)?;
        if !profile.mappings.is_empty() {
            let mappings: Vec<_> = profile.mappings.iter().map(|(space, of)| AboutMapping::of(*space, of)).collect();
            run.serialize_entry("mappings", &mappings)?;
        }
        if !profile.lines.is_empty() {
            let line = |(space, symbol, line): (usize, usize, Option<usize>)| AboutLine {
                space,
                symbol: profile.symbols.name(symbol),
                line: line.map(|line| profile.lines.name(line)),
            };
            let by_line = parts(profile, |entry| (entry.space, entry.symbol, entry.line), line);
            run.serialize_entry("lines", &by_line)?;
        }
        if profile.detail == ProfileDetail::Callers {
            let stack_of = |entry: &Entry| (entry.space, entry.callers, entry.symbol, entry.object);
            let stack = |(space, callers, symbol, object): (usize, Option<StackId>, usize, usize)| AboutStack {
                space,
                functions: profile.functions(callers, symbol).collect(),
                object: profile.objects.name(object),
            };
            run.serialize_entry("stacks", &parts(profile, stack_of, stack))?;
        }
        run.end()
    }
}

/// A list of the parts that a profile has by a key, each with what `about` says of it and with its counters.
fn parts<'a, K, A>(
    profile: &'a Attribution,
    key: impl Fn(&Entry) -> K,
    about: impl Fn(K) -> A + 'a,
) -> impl Serialize + 'a
where
    K: Ord + Copy + Hash + 'a,
    A: Serialize + 'a,
{
    Parts { profile, sums: profile.sums(key), about }
}

struct Parts<'a, K, F> {
    profile: &'a Attribution,
    sums: Vec<(K, Counters)>,
    about: F,
}

impl<K: Copy, A: Serialize, F: Fn(K) -> A> Serialize for Parts<'_, K, F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.sums.len()))?;
        for (key, counters) in &self.sums {
            let counts = Counts { profile: self.profile, counters };
            list.serialize_element(&Part { about: (self.about)(*key), counts })?;
        }
        list.end()
    }
}

#[derive(Serialize)]
struct Part<'a, A> {
    #[serde(flatten)]
    about: A,
    counts: Counts<'a>,
}

/// The counters that are not zero, and the times that they amount to.
struct Counts<'a> {
    profile: &'a Attribution,
    counters: &'a Counters,
}

impl Serialize for Counts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { profile, counters } = self;
        let mut map = serializer.serialize_map(None)?;
        for (counter, count) in counters.iter().filter(|(_, count)| *count != 0) {
            map.serialize_entry(counter.name(), &count)?;
        }
        map.serialize_entry("translation_ticks", &profile.rates.translation(counters))?;
        map.serialize_entry("hypervisor_ticks", &profile.rates.hypervisor(counters))?;
        map.end()
    }
}
