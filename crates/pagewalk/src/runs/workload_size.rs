//! Sizes of workloads, checked before a guest boots: what the guest's program would refuse minutes later, with the same bounds (`guests/workloads`).

use config::units::ByteSize;

/// What a workload's size is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Meaning {
    /// Bytes of each of this many arrays, no fewer than `least`.
    Bytes { arrays: u64, least: u64 },
    /// Bytes of one array, a power of two and no fewer than `least`.
    PowerOfTwo { least: u64 },
    /// A number within bounds, with this many bytes of memory for each.
    Count { least: u64, most: u64, bytes: u64 },
    /// The logarithm of a number, within bounds, with this many bytes of memory for each.
    Scale { least: u64, most: u64, bytes: u64 },
    /// One of NPB's classes.
    Class,
    /// The workload's own concern.
    Other,
    /// There is none.
    None,
}

/// The largest array that workloads take.
const MOST_BYTES: u64 = 1 << 40;

const fn meaning(workload: &str) -> Meaning {
    match workload.as_bytes() {
        b"gups" | b"kv" => Meaning::PowerOfTwo { least: 4096 },
        b"stream" | b"triad" | b"triadp" => Meaning::Bytes { arrays: 3, least: 8 },
        b"qsort" => Meaning::Bytes { arrays: 1, least: 8 },
        b"sieve" => Meaning::Bytes { arrays: 1, least: 16 },
        // Sixteen edges of two vertices for each.
        b"bfs" => Meaning::Scale { least: 4, most: 32, bytes: 256 },
        // 32 arcs, each with more than the two nodes that it joins.
        b"mcf" => Meaning::Count { least: 4, most: 16 << 20, bytes: 512 },
        b"cg" => Meaning::Class,
        b"hello" | b"spin" | b"crash" | b"reach" => Meaning::None,
        _ => Meaning::Other,
    }
}

/// Checks the size that a user gives `workload`, whose arrays are to lie in `memory` unless that is `None`.
///
/// # Errors
/// What is wrong with it, in words.
pub(crate) fn check(workload: &str, size: &str, memory: Option<ByteSize>) -> Result<(), String> {
    let refused = |problem: String| Err(format!("{workload}:{size}: {problem}"));
    let within = |least: u64, most: u64| match number(size) {
        None => Err(format!("{workload}:{size}: not a number with a suffix of K, M, G or none")),
        Some(value) if value < least || value > most => {
            Err(format!("{workload}:{size}: the size has to be in {least} to {most}"))
        }
        Some(value) => Ok(value),
    };
    let bytes = match meaning(workload) {
        Meaning::Bytes { arrays, least } => arrays.saturating_mul(within(least, MOST_BYTES)?),
        Meaning::PowerOfTwo { least } => match within(least, MOST_BYTES)? {
            bytes if bytes.is_power_of_two() => bytes,
            _ => return refused("the size has to be a power of two".to_owned()),
        },
        Meaning::Count { least, most, bytes } => within(least, most)?.saturating_mul(bytes),
        Meaning::Scale { least, most, bytes } => bytes << within(least, most)?,
        Meaning::Class if matches!(size, "S" | "W" | "A") => 0,
        Meaning::Class => return refused("the size has to be S, W or A".to_owned()),
        Meaning::Other => 0,
        Meaning::None => return refused(format!("{workload} has no size")),
    };
    match memory {
        Some(memory) if bytes >= memory.0 => {
            refused(format!("{} of data do not fit into the guest's memory of {memory}", ByteSize(bytes)))
        }
        _ => Ok(()),
    }
}

/// A number as `guests/common/number.c` reads it: decimal or 0x, with one of three suffixes or none.
fn number(text: &str) -> Option<u64> {
    let (digits, radix) = text.strip_prefix("0x").map_or((text, 10), |digits| (digits, 16));
    let suffixes = [('K', 10), ('M', 20), ('G', 30)];
    let suffixed = suffixes.iter().find_map(|&(suffix, shift)| Some((digits.strip_suffix(suffix)?, shift)));
    let (digits, shift) = suffixed.unwrap_or((digits, 0));
    let plain = !digits.is_empty() && digits.chars().all(|digit| digit.is_digit(radix));
    let value = u64::from_str_radix(digits, radix).ok().filter(|_| plain)?;
    value.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_that_the_workload_would_refuse_is_refused_before_it_boots() {
        let memory = Some(ByteSize(1 << 30));
        for (workload, size, says) in [
            ("gups", "0", "in 4096 to 1099511627776"),
            ("gups", "-1", "not a number"),
            ("gups", "16X", "not a number"),
            ("gups", "900T", "not a number"),
            ("gups", "16m", "not a number"),
            ("gups", "+4096", "not a number"),
            ("gups", "99999999999G", "not a number"),
            ("gups", "3M", "power of two"),
            ("kv", "1G", "1G of data do not fit into the guest's memory of 1G"),
            ("stream", "512M", "do not fit"),
            ("bfs", "33", "in 4 to 32"),
            ("bfs", "30", "do not fit"),
            ("mcf", "3", "in 4"),
            ("cg", "B", "S, W or A"),
            ("hello", "1", "hello has no size"),
        ] {
            let refused = check(workload, size, memory).unwrap_err();
            assert!(refused.starts_with(&format!("{workload}:{size}: ")) && refused.contains(says), "{refused}");
        }
        for (workload, size) in
            [("gups", "0x1000"), ("gups", "16M"), ("bfs", "14"), ("cg", "W"), ("mcf", "64"), ("jobs", "64K")]
        {
            assert_eq!(check(workload, size, memory), Ok(()), "{workload}:{size}");
        }
        assert_eq!(check("gups", "2G", None), Ok(()), "its table is in a section");
    }
}
