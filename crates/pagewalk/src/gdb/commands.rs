//! Commands of `monitor`: what GDB does not know of a guest. None of them changes anything.

use super::threads::VmNames;
use crate::cli;
use crate::comparison::counts as json;
use crate::text::table::Table;
use machine::debug::{DebugSession, Permits, ResidentSpace, TlbEntry};
use machine::{Answer, Reference, Statistics, WalkRecord, WalkStep};
use std::fmt::Write;
use types::{Gpa, Gva, Hpa};

/// Bytes that are shown where no length is given, and the most that are shown at once.
const USUAL_BYTES: u64 = 64;
const MOST_BYTES: u64 = 4096;

const HELP: &str = "\
monitor walk ADDRESS [HART]   the walk of a load from the address: entries of the guest's and of the hypervisor's tables
monitor tlb [HART]            entries of the TLBs of the hart's pCPU, the most recently used first
monitor stats [HART]          what the hart and all harts have counted
monitor phys ADDRESS [BYTES]  memory by guest physical address
monitor host ADDRESS [BYTES]  memory by host physical address
Numbers are decimal, or hexadecimal with 0x. Without HART, it is the hart that GDB looked at last.
Of several VMs, the one is meant whose hart GDB looked at last.
";

/// A number of a command.
fn number_or_address(text: &str) -> Result<u64, String> {
    cli::address(text).map(|address| address.0)
}

/// What a command says; one that is wrong says why.
pub(super) fn answer(session: &DebugSession<'_>, names: VmNames<'_>, focus: usize, command: &str) -> String {
    answered(session, names, focus, command).unwrap_or_else(|wrong| format!("{wrong}\n"))
}

fn answered(session: &DebugSession<'_>, names: VmNames<'_>, focus: usize, command: &str) -> Result<String, String> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let guest = session.guest_of(focus);
    let vcpus = session.vcpus_of(guest);
    let hart = |word: Option<&&str>| {
        let vcpu = match word.map(|word| number_or_address(word)).transpose()? {
            None => focus,
            Some(hart) => usize::try_from(hart)
                .ok()
                .and_then(|hart| vcpus.clone().nth(hart))
                .ok_or_else(|| format!("there is no hart {hart}: the guest has harts 0 to {}", vcpus.len() - 1))?,
        };
        Ok::<_, String>((vcpu, names.of(session, vcpu)))
    };
    match words.as_slice() {
        [] | ["help"] => Ok(HELP.to_owned()),
        ["walk", address, rest @ ..] if rest.len() <= 1 => {
            let gva = Gva(number_or_address(address)?);
            walk(session, hart(rest.first())?, gva)
        }
        ["tlb", rest @ ..] if rest.len() <= 1 => tlb(session, hart(rest.first())?),
        ["stats", rest @ ..] if rest.len() <= 1 => Ok(statistics(session, hart(rest.first())?)),
        [kind @ ("phys" | "host"), address, rest @ ..] if rest.len() <= 1 => {
            let length = rest.first().map_or(Ok(USUAL_BYTES), |length| number_or_address(length))?;
            let length = usize::try_from(length.min(MOST_BYTES)).unwrap_or_default();
            memory(session, (kind, guest), number_or_address(address)?, length)
        }
        [name @ ("walk" | "tlb" | "stats" | "phys" | "host"), ..] => {
            Err(format!("`monitor {name}` takes other arguments: see `monitor help`"))
        }
        [other, ..] => Err(format!("there is no command `{other}`: see `monitor help`")),
    }
}

/// Both walks, as `recorded_walk` of the JSON has them.
fn walk(session: &DebugSession<'_>, (vcpu, name): (usize, String), gva: Gva) -> Result<String, String> {
    let walk = session.walk(vcpu, gva).map_err(|error| format!("{name}: {:#x}: {error}", gva.0))?;
    let WalkRecord { gpa, hpa, page, guest_levels, host_levels, .. } = &walk.whole;
    let mut text = format!(
        "{name}: gVA {:#x} -> gPA {:#x} -> hPA {:#x}, in a page of {page}; levels: guest {guest_levels}, host \
         {host_levels}\n",
        gva.0, gpa.0, hpa.0
    );
    write_walk(&mut text, "with nothing cached", &walk.whole);
    write_walk(&mut text, "with the walk caches and the nested TLB as they are", &walk.cached);
    Ok(text)
}

fn write_walk(text: &mut String, title: &str, walk: &WalkRecord) {
    // A string takes whatever is written to it.
    let _ = writeln!(text, "{title}: {}", references(walk));
    if walk.guest_segment.is_some() {
        *text += "  the guest's segment translates the address\n";
    }
    if let Some(level) = walk.guest_cached {
        let _ = writeln!(text, "  the guest's entry of level {level} is cached");
    }
    for step in &walk.steps {
        write_step(text, step);
    }
}

fn references(walk: &WalkRecord) -> String {
    match walk.references() {
        1 => "1 reference".to_owned(),
        count => format!("{count} references"),
    }
}

fn write_step(text: &mut String, step: &WalkStep) {
    let kind = if step.entry.is_some() { "table" } else { "page" };
    let answer = match step.answer {
        Answer::Constant => "a constant".to_owned(),
        Answer::Segment => "the hypervisor's segment".to_owned(),
        Answer::NestedTlb => "the nested TLB".to_owned(),
        Answer::Tables { cached: None } => "tables".to_owned(),
        Answer::Tables { cached: Some(level) } => format!("tables below the cached entry of level {level}"),
    };
    let _ = writeln!(text, "  {kind} at gPA {:#x} -> hPA {:#x} by {answer}", step.gpa.0, step.hpa.0);
    for reference in &step.references {
        write_reference(text, "host", reference);
    }
    if let Some(entry) = &step.entry {
        write_reference(text, "guest", entry);
    }
}

fn write_reference(text: &mut String, whose: &str, reference: &Reference) {
    let Reference { level, at, entry } = reference;
    let _ = writeln!(text, "    {whose} level {level}: entry at hPA {:#x} is {entry:#018x}", at.0);
}

fn tlb(session: &DebugSession<'_>, (vcpu, name): (usize, String)) -> Result<String, String> {
    let contents = session.tlb(vcpu).map_err(|error| format!("{name}: {error}"))?;
    let mut text = format!("{name}\n");
    for (name, entries) in [("L1D", &contents.l1d), ("L1I", &contents.l1i), ("L2", &contents.l2)] {
        let _ = writeln!(text, "{name}: {} entries", entries.len());
        if entries.is_empty() {
            continue;
        }
        let mut table = Table::new("tlb", ["gVA", "gPA", "hPA", "page", "space", "rights"].map(|name| (name, name)));
        for TlbEntry { gva, gpa, hpa, size, space, permits } in entries {
            let hex = |address: u64| format!("{address:#018x}");
            let cells = [hex(gva.0), hex(gpa.0), hex(hpa.0), size.to_string(), space_of(*space), rights(*permits)];
            table.row(cells);
        }
        let _ = write!(text, "{table}");
    }
    Ok(text)
}

fn space_of(space: ResidentSpace) -> String {
    match space {
        ResidentSpace::Asid(asid) => format!("ASID {}", asid.0),
        ResidentSpace::Global => "global".to_owned(),
        ResidentSpace::Bare => "bare".to_owned(),
    }
}

fn rights(permits: Permits) -> String {
    let Permits { read, write, execute, user, supervisor } = permits;
    let letters = [(read, 'r'), (write, 'w'), (execute, 'x'), (user, 'u'), (supervisor, 's')];
    letters.map(|(given, letter)| if given { letter } else { '-' }).into_iter().collect()
}

fn statistics(session: &DebugSession<'_>, (vcpu, name): (usize, String)) -> String {
    let (own, all) = (session.statistics_of_vcpu(vcpu), session.statistics_of(session.guest_of(vcpu)));
    let mut table =
        Table::new("statistics", [("count".to_owned(), "count"), (name, "hart"), ("all harts".to_owned(), "all")]);
    for ((name, own), (_, all)) in counts(&own).into_iter().zip(counts(&all)) {
        if all != 0 || own != 0 {
            table.row([name, own.to_string(), all.to_string()]);
        }
    }
    table.to_string()
}

/// Counts by the names that they have in the JSON.
fn counts(statistics: &Statistics) -> Vec<(String, u64)> {
    let (mmu, time) = (&statistics.mmu, &statistics.time);
    let named = [
        ("instructions", statistics.instructions),
        ("loads", statistics.loads),
        ("stores", statistics.stores),
        ("cycles", time.total().0),
        ("time.guest", time.guest.0),
        ("time.translation", time.translation.0),
        ("time.monitor", time.hypervisor.0),
        ("segment_hits", mmu.segment_hits),
        ("escape_hits", mmu.escape_hits),
        ("refills.count", mmu.refills),
    ];
    let named = named.into_iter().map(|(name, count)| (name.to_owned(), count));
    let groups =
        [("tlb", json::tlb(statistics)), ("walks", json::walks(statistics)), ("exits", json::exits(statistics))];
    let grouped = groups.into_iter().flat_map(|(group, counts)| {
        counts.into_iter().map(move |(name, count)| (format!("{group}.{name}"), count.as_u64().unwrap_or_default()))
    });
    let paging = statistics.paging.iter().map(|(name, count)| (format!("paging.{name}"), count));
    named.chain(grouped).chain(paging).collect()
}

fn memory(
    session: &DebugSession<'_>,
    (kind, guest): (&str, usize),
    address: u64,
    length: usize,
) -> Result<String, String> {
    let mut bytes = vec![0; length];
    let read = match kind {
        "phys" => session.read_guest(guest, Gpa(address), &mut bytes).map_err(|error| error.to_string()),
        _ => session.read_host(Hpa(address), &mut bytes).map_err(|error| error.to_string()),
    };
    read.map_err(|error| format!("{address:#x}: {error}"))?;
    Ok(dump(address, &bytes))
}

/// Sixteen bytes a line, in hexadecimal and as text.
fn dump(address: u64, bytes: &[u8]) -> String {
    let mut text = String::new();
    for (line, bytes) in bytes.chunks(16).enumerate() {
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let shown = |byte: &u8| if byte.is_ascii_graphic() || *byte == b' ' { char::from(*byte) } else { '.' };
        let letters: String = bytes.iter().map(shown).collect();
        let at = address.wrapping_add(16 * line as u64);
        let _ = writeln!(text, "{at:#018x}  {:<47}  {letters}", hex.join(" "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_shown_by_lines_of_sixteen() {
        let bytes: Vec<u8> = (b'0'..b'0' + 17).collect();
        let expected = "0x0000000080000000  30 31 32 33 34 35 36 37 38 39 3a 3b 3c 3d 3e 3f  0123456789:;<=>?\n\
                        0x0000000080000010  40                                               @\n";
        assert_eq!(dump(0x8000_0000, &bytes), expected);
    }

    #[test]
    fn rights_are_letters() {
        let permits = Permits { read: true, write: false, execute: true, user: true, supervisor: false };
        assert_eq!(rights(permits), "r-xu-");
    }
}
