//! How wide a text is. The reader's fonts are not known here, so widths are those of a common sans-serif at 12 pixels, a little more than most have.

/// The width of a text in pixels.
pub(super) fn width(text: &str) -> f64 {
    let each = |character: char| match character {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '/' | '|' | '\'' | '(' | ')' | '[' | ']' => 4.0,
        ' ' | '\u{202f}' | 'f' | 'r' | 't' | '-' => 4.6,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | 'µ' => 10.6,
        'A'..='Z' | '+' | '=' | '<' | '>' | '–' | '−' => 8.6,
        _ => 7.2,
    };
    text.chars().map(each).sum()
}

/// A text as lines that are not wider than so many pixels, broken after a space, a slash or a comma where there is one. Nothing is left out.
pub(super) fn wrapped(text: &str, limit: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_inclusive([' ', '/', ',']) {
        let line = lines.last_mut().expect("there is always one");
        if line.is_empty() || width(&format!("{line}{}", word.trim_end())) <= limit {
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
        while let Some(rest) = lines.last_mut().and_then(|line| beyond(line, limit)) {
            lines.push(rest);
        }
    }
    lines.into_iter().map(|line| line.trim_end().to_owned()).collect()
}

/// Cuts a word off that is wider than a line, and returns what was cut.
fn beyond(line: &mut String, limit: f64) -> Option<String> {
    if width(line.trim_end()) <= limit {
        return None;
    }
    let mut sum = 0.0;
    let cut = line.char_indices().find_map(|(at, character)| {
        sum += width(character.encode_utf8(&mut [0; 4]));
        (at > 0 && sum > limit).then_some(at)
    })?;
    Some(line.split_off(cut))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_broken_and_lose_nothing() {
        let name = "shadow:4K+4K/shadow.tables=12/paging.guest=sv48/host.caches.l2.latency=14";
        let lines = wrapped(name, 200.0);
        assert!(lines.len() > 1 && lines.iter().all(|line| width(line) <= 200.0), "{lines:?}");
        assert_eq!(lines.concat(), name);
        assert!(lines[0].ends_with('/'), "{lines:?}");
    }

    #[test]
    fn a_word_without_a_place_to_break_is_broken_all_the_same() {
        let word = "x".repeat(100);
        let lines = wrapped(&word, 100.0);
        assert!(lines.iter().all(|line| width(line) <= 100.0));
        assert_eq!(lines.concat(), word);
        assert_eq!(wrapped("", 100.0), [""]);
        assert_eq!(wrapped("mm", 1.0), ["m", "m"], "a line has one character at least");
    }
}
