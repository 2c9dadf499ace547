//! An interval as lines, for logs and pipes.

use super::sample::{GuestInterval, Interval};
use serde_json::{Value, json};
use std::fmt::Write;

/// Functions in a group of lines.
const FUNCTIONS: usize = 5;

/// A line for each guest, and lines for its exits and functions.
pub(crate) fn lines(interval: &Interval) -> String {
    let mut text = String::new();
    for guest in &interval.guests {
        // A text is written to without failure.
        let _ = guest_lines(&mut text, interval, guest);
    }
    text
}

fn guest_lines(text: &mut String, interval: &Interval, guest: &GuestInterval) -> std::fmt::Result {
    writeln!(
        text,
        "{:>10.6} s  {}: {:.1} M instructions, IPC {:.2}, of 1000 instructions {:.2} L1 and {:.2} L2 TLB misses, {:.2} references a walk, translation {:.1} %, hypervisor {:.1} %",
        interval.at_s,
        guest.name,
        guest.instructions as f64 / 1e6,
        guest.ipc(),
        guest.per_thousand(guest.l1_misses),
        guest.per_thousand(guest.l2_misses),
        super::sample::ratio(guest.references, guest.walks),
        guest.share(guest.translation),
        guest.share(guest.hypervisor),
    )?;
    if !guest.exits.is_empty() {
        let exits: Vec<_> = guest.exits.iter().map(|(cause, count)| format!("{cause} {count}")).collect();
        writeln!(text, "{:>12}  exits: {}", "", exits.join(", "))?;
    }
    if let Some(functions) = guest.functions.as_ref().filter(|functions| !functions.is_empty()) {
        let functions: Vec<_> = functions
            .iter()
            .take(FUNCTIONS)
            .map(|(function, process, cycles)| format!("{function} ({process}) {:.1} %", guest.share(*cycles)))
            .collect();
        writeln!(text, "{:>12}  functions: {}", "", functions.join(", "))?;
    }
    Ok(())
}

/// The same as an object, with exact counts.
pub(crate) fn object(interval: &Interval) -> Value {
    let guest = |guest: &GuestInterval| {
        let exits: serde_json::Map<_, _> =
            guest.exits.iter().map(|(cause, count)| (cause.clone(), Value::from(*count))).collect();
        let functions = guest.functions.as_ref().map(|functions| {
            let function = |(function, process, cycles): &(String, String, u64)| {
                json!({ "function": function, "process": process, "cycles": cycles })
            };
            functions.iter().map(function).collect::<Vec<_>>()
        });
        json!({
            "name": guest.name,
            "instructions": guest.instructions,
            "cycles": guest.cycles,
            "l1_misses": guest.l1_misses,
            "l2_misses": guest.l2_misses,
            "walks": guest.walks,
            "references": guest.references,
            "translation": guest.translation,
            "monitor": guest.hypervisor,
            "exits": exits,
            "functions": functions,
        })
    };
    json!({
        "at_s": interval.at_s,
        "simulated_s": interval.simulated_s,
        "host_s": interval.host_s,
        "guests": interval.guests.iter().map(guest).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::sample::tests::sample;
    use super::*;

    #[test]
    fn lines_name_the_counts_of_the_interval() {
        let text = lines(&sample(5).since(&sample(3)));
        let mut lines = text.lines();
        assert_eq!(
            lines.next(),
            Some(
                "  5.000000 s  one: 0.0 M instructions, IPC 0.50, of 1000 instructions 80.00 L1 and 40.00 L2 TLB misses, 5.00 references a walk, translation 30.0 %, hypervisor 10.0 %"
            )
        );
        assert_eq!(lines.next(), Some("              exits: wfi 4, mmio 2"));
        assert_eq!(lines.next(), Some("              functions: update (gups) 20.0 %, memcpy (sh) 1.0 %"));
        assert_eq!(lines.next(), None);
    }

    #[test]
    fn an_object_has_exact_counts() {
        let object = object(&sample(5).since(&sample(3)));
        assert_eq!((&object["simulated_s"], &object["guests"][0]["exits"]["wfi"]), (&json!(2.0), &json!(4)));
    }
}
