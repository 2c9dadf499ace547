//! Text of guests and files in messages of Pagewalk's own.
//!
//! A terminal obeys control characters: an escape sequence that a guest prints could move the cursor, change the title or colours, or hide what
//! comes next. So everything that Pagewalk itself prints is passed through here, and control characters are shown as Rust writes them in a
//! string: `\u{1b}`. Only the console of `boot` is the guest's own, and passed on as it is.

use std::borrow::Cow;

/// The most characters of a guest's that a message quotes.
const LONGEST_QUOTE: usize = 200;

/// `text` with its control characters as escapes, but for ends of lines and tabs.
#[must_use]
pub fn without_controls(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_control(c) && c != '\n' && c != '\t')
}

/// `text` in one line: white space between words becomes one space, and control characters are escapes.
#[must_use]
pub fn without_controls_in_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    escaped(&words.join(" "), is_control).into_owned()
}

/// The last line of `output` with anything in it, as far as a message has room for it; `None` if there is none.
#[must_use]
pub fn last_line(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().rev().map(without_controls_in_line).find(|line| !line.is_empty())?;
    match line.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => Some(format!("{}…", &line[..end])),
        None => Some(line),
    }
}

fn escaped(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hidden) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if hidden(c) { safe.extend(c.escape_default()) } else { safe.push(c) }
    }
    Cow::Owned(safe)
}

/// Whether a terminal may do something else at `c` than to draw it: controls (C0, DEL, C1), and those that change the direction or the lines of the
/// text around them.
fn is_control(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_of_a_guest_are_shown_and_not_obeyed() {
        assert_eq!(without_controls("\x1b]0;title\x07\x1b[2J\u{9b}31m"), "\\u{1b}]0;title\\u{7}\\u{1b}[2J\\u{9b}31m");
        assert_eq!(without_controls("a\tb\nc\u{202e}d\x7f"), "a\tb\nc\\u{202e}d\\u{7f}");
        assert_eq!(without_controls_in_line("a\r\n  b\x1b[0m "), "a b\\u{1b}[0m");
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in ["plain\n", "größer – 大 ✓", ""] {
            assert!(matches!(without_controls(text), Cow::Borrowed(same) if same == text));
        }
    }

    #[test]
    fn the_last_line_is_the_last_with_anything_in_it_and_not_too_long() {
        assert_eq!(last_line(b"one\n\x1b[1mtwo\x1b[0m\r\n  \n").as_deref(), Some("\\u{1b}[1mtwo\\u{1b}[0m"));
        assert_eq!(last_line(b" \n\n"), None);
        assert_eq!(last_line(&[b'x'; 4000]).unwrap().chars().count(), LONGEST_QUOTE + 1);
        assert_eq!(last_line(b"bad \xff byte").as_deref(), Some("bad \u{fffd} byte"));
    }
}
