//! A profile as JSON. The keys are a contract: see docs/json-keys.md.

use super::attribution::{Attribution, Entry};
use super::programs;
use super::stacks::StackId;
use machine::{Contents, Counters, ProfileDetail, Space, SpaceMapping, Touched};
use serde_json::{Map, Value, json};
use types::{Access, PagingMode};

/// The profiles of a command.
#[must_use]
pub fn document(profiles: &[Attribution]) -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "format": "pagewalk-profile",
        "runs": profiles.iter().map(run).collect::<Vec<_>>(),
    })
}

/// A document as indented JSON with a newline at its end, [without controls](without_controls).
///
/// # Errors
/// As of the JSON.
pub fn text(document: &Value) -> serde_json::Result<String> {
    let mut text = without_controls(serde_json::to_string_pretty(document)?);
    text.push('\n');
    Ok(text)
}

/// JSON with the controls escaped that JSON allows in strings, and a terminal obeys: U+007F to U+009F. They occur in strings only.
#[must_use]
pub fn without_controls(text: String) -> String {
    let is_control = |c: char| ('\x7f'..='\u{9f}').contains(&c);
    if !text.contains(is_control) {
        return text;
    }
    let escaped = |c: char| if is_control(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    text.chars().map(escaped).collect()
}

fn run(profile: &Attribution) -> Value {
    let part = |mut about: Value, counters: &Counters| {
        about["counts"] = counts(profile, counters);
        about
    };
    let list = |parts: Vec<(Value, Counters)>| -> Vec<Value> {
        parts.into_iter().map(|(about, counters)| part(about, &counters)).collect()
    };
    let space = |index: usize| {
        let named = &profile.spaces[index];
        let Space { mode, root, asid } = named.space.unwrap_or_default();
        let kept_apart = named.space.is_some();
        json!({
            "space": index,
            "name": named.name,
            "mode": kept_apart.then(|| mode_name(mode)),
            "root": kept_apart.then(|| format!("{root:#x}", root = root.0)),
            "asid": kept_apart.then_some(asid.0),
            "pid": named.pid,
        })
    };
    let pages_of_symbols = profile.most_missed(|entry| (entry.space, entry.symbol));
    let pages_of_objects = profile.most_missed(|entry| (entry.space, entry.object));
    let symbol = |(space, symbol): (usize, usize)| {
        json!({
            "space": space,
            "name": profile.symbols.name(symbol),
            "most_missed": pages_of_symbols.get(&(space, symbol)).copied().map(hexadecimal),
        })
    };
    let line = |line: Option<usize>| line.map(|line| profile.lines.name(line));
    let instruction = |(space, pc, symbol, offset, at): (usize, Option<u64>, usize, u64, Option<usize>)| {
        let mut about = json!({
            "space": space,
            "pc": pc.map(hexadecimal),
            "symbol": profile.symbols.name(symbol),
            "offset": offset,
        });
        if let Some(line) = line(at) {
            about["line"] = line.into();
        }
        about
    };
    let of_line = |(space, symbol, at): (usize, usize, Option<usize>)| json!({ "space": space, "symbol": profile.symbols.name(symbol), "line": line(at) });
    let page = |(space, page, access, object): (usize, Option<u64>, &'static str, usize)| {
        json!({
            "space": space,
            "page": page.map(hexadecimal),
            "access": access,
            "object": profile.objects.name(object),
        })
    };
    let object = |(space, object): (usize, usize)| {
        json!({
            "space": space,
            "name": profile.objects.name(object),
            "most_missed": pages_of_objects.get(&(space, object)).copied().map(hexadecimal),
        })
    };
    let both = |(space, symbol, object): (usize, usize, usize)| {
        json!({
            "space": space,
            "symbol": profile.symbols.name(symbol),
            "object": profile.objects.name(object),
        })
    };
    fn about<K>(sums: Vec<(K, Counters)>, of: impl Fn(K) -> Value) -> Vec<(Value, Counters)> {
        sums.into_iter().map(|(key, counters)| (of(key), counters)).collect()
    }
    let by_space = about(profile.sums(|entry| entry.space), space);
    let by_symbol = about(profile.sums(|entry| (entry.space, entry.symbol)), symbol);
    let by_instruction =
        about(profile.sums(|entry| (entry.space, entry.pc, entry.symbol, entry.offset, entry.line)), instruction);
    let by_page = about(profile.sums(page_of), page);
    let by_object = about(profile.sums(|entry| (entry.space, entry.object)), object);
    let by_both = about(profile.sums(|entry| (entry.space, entry.symbol, entry.object)), both);
    let stack = |(space, callers, symbol, object): (usize, Option<StackId>, usize, usize)| {
        json!({
            "space": space,
            "functions": profile.functions(callers, symbol).collect::<Vec<_>>(),
            "object": profile.objects.name(object),
        })
    };
    let mut run = json!({
        "guest": profile.about.guest,
        "workload": profile.about.work,
        "scheme": profile.about.system,
        "settings": profile.about.settings,
        "ticks_per_cycle": profile.rates.ticks_per_cycle(),
        "totals": counts(profile, &profile.totals),
        "spaces": list(by_space),
        "symbols": list(by_symbol),
        "instructions": list(by_instruction),
        "pages": list(by_page),
        "objects": list(by_object),
        "symbols_and_objects": list(by_both),
    });
    if !profile.mappings.is_empty() {
        run["mappings"] = profile.mappings.iter().map(|(space, found)| mapping(*space, found)).collect();
    }
    if !profile.lines.is_empty() {
        run["lines"] = list(about(profile.sums(|entry| (entry.space, entry.symbol, entry.line)), of_line)).into();
    }
    if profile.detail == ProfileDetail::Callers {
        let by_stack = profile.sums(|entry| (entry.space, entry.callers, entry.symbol, entry.object));
        run["stacks"] = list(about(by_stack, stack)).into();
    }
    run
}

/// What a process has mapped.
fn mapping(space: usize, SpaceMapping { mapping, .. }: &SpaceMapping) -> Value {
    let mut about = json!({
        "space": space,
        "start": hexadecimal(mapping.start.0),
        "end": hexadecimal(mapping.end.0),
        "name": programs::name(&mapping.contents),
    });
    if let Contents::File { path, offset } = &mapping.contents {
        about["path"] = path.as_str().into();
        about["offset"] = hexadecimal(*offset).into();
    }
    about
}

/// The counters that are not zero, and the times that they amount to.
fn counts(profile: &Attribution, counters: &Counters) -> Value {
    let mut map: Map<String, Value> = counters
        .iter()
        .filter(|(_, count)| *count != 0)
        .map(|(counter, count)| (counter.name().to_owned(), count.into()))
        .collect();
    map.insert("translation_ticks".to_owned(), profile.rates.translation(counters).into());
    map.insert("hypervisor_ticks".to_owned(), profile.rates.hypervisor(counters).into());
    Value::Object(map)
}

fn page_of(entry: &Entry) -> (usize, Option<u64>, &'static str, usize) {
    let (page, access) = match entry.touched {
        Touched::Page(page, access) => (
            Some(page.0),
            match access {
                Access::Read => "load",
                Access::Write => "store",
                Access::Execute => "fetch",
            },
        ),
        Touched::Nothing => (None, "none"),
        Touched::Others => (None, "other"),
    };
    (entry.space, page, access, entry.object)
}

/// Addresses have more bits than a number of JSON has for most readers.
fn hexadecimal(address: u64) -> String {
    format!("{address:#x}")
}

const fn mode_name(mode: PagingMode) -> &'static str {
    match mode {
        PagingMode::Bare => "bare",
        PagingMode::Sv39 => "sv39",
        PagingMode::Sv48 => "sv48",
        PagingMode::Sv57 => "sv57",
    }
}
