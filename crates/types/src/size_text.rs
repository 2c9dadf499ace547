//! Sizes in bytes as people write them: `4096`, `64K`, `256M`, `2G`, `1T`; units are powers of 1024.

use core::fmt;

const UNITS: [(char, u32); 4] = [('T', 40), ('G', 30), ('M', 20), ('K', 10)];

/// Reads such a text; `None` of anything else, of zero, and of what 64 bits do not hold.
#[must_use]
pub fn parse_size(text: &str) -> Option<u64> {
    let unit = UNITS.iter().find(|(name, _)| text.ends_with([*name, name.to_ascii_lowercase()]));
    let (digits, shift) = unit.map_or((text, 0), |&(_, shift)| (&text[..text.len() - 1], shift));
    digits.parse::<u64>().ok().and_then(|number| number.checked_mul(1 << shift)).filter(|&bytes| bytes != 0)
}

/// Prints a size in the largest unit that takes it whole, so that [`parse_size`] reads it back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SizeText(pub u64);

impl fmt::Display for SizeText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.iter().find(|(_, shift)| self.0 != 0 && self.0.trailing_zeros() >= *shift) {
            Some((name, shift)) => write!(f, "{}{name}", self.0 >> shift),
            None => write!(f, "{}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_back() {
        for (text, bytes) in [("4096", 4096), ("64k", 64 << 10), ("256M", 256 << 20), ("2G", 2 << 30), ("1T", 1 << 40)]
        {
            assert_eq!(parse_size(text), Some(bytes));
            assert_eq!(parse_size(&SizeText(bytes).to_string()), Some(bytes));
        }
        assert_eq!(SizeText(7680 << 20).to_string(), "7680M");
        assert_eq!(SizeText(1000).to_string(), "1000");
        for bad in ["", "M", "-1", "1.5G", "0", "99999999999T", "é"] {
            assert_eq!(parse_size(bad), None, "{bad}");
        }
    }
}
