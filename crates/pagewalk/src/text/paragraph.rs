//! Running text on a terminal.

/// The longest line where nothing limits it.
pub(crate) const WIDTH: usize = 110;

/// The text in lines of at most `width` columns, the first behind `first` and the others behind `indent`; nothing if it has no words.
pub(crate) fn paragraph(first: &str, indent: &str, text: &str, width: usize) -> String {
    let mut lines = String::new();
    let mut line = first.to_owned();
    let mut begun = false;
    for word in text.split_whitespace() {
        if begun && line.chars().count() + 1 + word.chars().count() > width {
            lines += &line;
            lines.push('\n');
            line = indent.to_owned();
            begun = false;
        }
        if begun {
            line.push(' ');
        }
        line += word;
        begun = true;
    }
    if begun {
        lines += &line;
        lines.push('\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_between_words() {
        let text = paragraph("* ", "  ", &"word ".repeat(30), WIDTH);
        assert!(text.lines().all(|line| line.len() <= WIDTH) && text.lines().count() == 2, "{text}");
        assert!(text.starts_with("* word") && text.lines().nth(1).unwrap().starts_with("  word"));
        assert_eq!(paragraph("* ", "  ", " ", WIDTH), "");
    }
}
