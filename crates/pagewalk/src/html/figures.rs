//! Numbers as text.

/// A ratio as a percentage, with a sign: overheads.
pub(super) fn signed_percent(ratio: f64) -> String {
    format!("{}{}", if ratio < 0.0 { "−" } else { "+" }, percent(ratio.abs()))
}

/// A ratio as a percentage, with as many digits as tell something.
pub(super) fn percent(ratio: f64) -> String {
    let value = 100.0 * ratio;
    let digits = match value.abs() {
        value if !(0.005..99.95).contains(&value) => 0,
        value if value >= 0.095 => 1,
        _ => 2,
    };
    format!("{value:.digits$} %")
}

/// Millions.
pub(super) fn millions(count: u64) -> String {
    format!("{:.1}", count as f64 / 1e6)
}

/// A whole number with its thousands apart, by spaces that do not break.
pub(super) fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    text
}

/// The same of a number that may be below zero.
pub(super) fn grouped_signed(count: i64) -> String {
    format!("{}{}", if count < 0 { "−" } else { "" }, grouped(count.unsigned_abs()))
}

/// `a`, `b` and `c`.
pub(super) fn listed<T: AsRef<str>>(names: &[T]) -> String {
    match names {
        [] => String::new(),
        [one] => one.as_ref().to_owned(),
        [most @ .., last] => {
            let most: Vec<&str> = most.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", most.join(", "), last.as_ref())
        }
    }
}

/// `1 workload`, `2 workloads`.
pub(super) fn counted(count: usize, name: &str) -> String {
    format!("{count} {name}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages_have_digits_that_tell() {
        let cases = [(17.154, "+1715 %"), (0.1257, "+12.6 %"), (0.0023, "+0.2 %"), (0.0004, "+0.04 %"), (0.0, "+0 %")];
        for (ratio, text) in cases {
            assert_eq!(signed_percent(ratio), text);
        }
        assert_eq!(signed_percent(-0.5), "−50.0 %");
    }

    #[test]
    fn numbers_and_lists_read_well() {
        assert_eq!(grouped(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!((grouped(123), grouped(0)), ("123".to_owned(), "0".to_owned()));
        assert_eq!((grouped_signed(-1234), grouped_signed(7)), ("−1\u{202f}234".to_owned(), "7".to_owned()));
        assert_eq!((listed(&["a"]), listed(&["a", "b", "c"])), ("a".to_owned(), "a, b and c".to_owned()));
        assert_eq!((counted(1, "run"), counted(2, "run")), ("1 run".to_owned(), "2 runs".to_owned()));
    }
}
