//! Splitting a list whose values are TOML: not within quotes, brackets or braces.

/// A quote or bracket without its partner.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{text}`: `{mark}` has no matching bracket or quotation mark")]
pub struct Unclosed {
    /// All of the text.
    pub text: String,
    /// The mark that stands alone.
    pub mark: char,
}

/// The parts of `text` between separators. `separates` is given the rest of the text from each place outside of quotes and
/// brackets on, and says whether it begins with a separator, which is one byte long.
///
/// # Errors
/// [`Unclosed`].
pub(super) fn split(text: &str, separates: impl Fn(&str) -> bool) -> Result<Vec<&str>, Unclosed> {
    let unclosed = |mark| Unclosed { text: text.to_owned(), mark };
    let mut parts = Vec::new();
    let mut start = 0;
    // Opened and not closed yet: the bracket, and the one that closes it.
    let mut open: Vec<(char, char)> = Vec::new();
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let mut length = c.len_utf8();
        match c {
            '"' | '\'' => length = quoted(&text[at..], c).ok_or_else(|| unclosed(c))?,
            '[' => open.push((c, ']')),
            '{' => open.push((c, '}')),
            ']' | '}' => {
                open.pop().filter(|&(_, closing)| closing == c).ok_or_else(|| unclosed(c))?;
            }
            _ if open.is_empty() && separates(&text[at..]) => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
        at += length;
    }
    match open.last() {
        Some(&(mark, _)) => Err(unclosed(mark)),
        None => {
            parts.push(&text[start..]);
            Ok(parts)
        }
    }
}

/// Bytes of the quoted text that `text` begins with, its marks among them; `None` if it does not end. A text may stand between three
/// marks, and end in two more of them (TOML 1.0, "String").
fn quoted(text: &str, mark: char) -> Option<usize> {
    let run = |text: &str| text.chars().take_while(|&c| c == mark).count();
    let marks = if run(text) >= 3 { 3 } else { 1 };
    let mut at = marks;
    loop {
        let rest = &text[at..];
        match rest.chars().next()? {
            // A backslash means something between double quotes only.
            '\\' if mark == '"' => at += 1 + rest[1..].chars().next()?.len_utf8(),
            c if c == mark && run(rest) >= marks => {
                return Some(at + if marks == 3 { run(rest).min(5) } else { 1 });
            }
            c => at += c.len_utf8(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at_commas(text: &str) -> Result<Vec<&str>, char> {
        split(text, |rest| rest.starts_with(',')).map_err(|error| error.mark)
    }

    #[test]
    fn only_what_stands_free_separates() {
        assert_eq!(at_commas("a,b"), Ok(vec!["a", "b"]));
        assert_eq!(at_commas(""), Ok(vec![""]));
        assert_eq!(at_commas("a=[1, {b=2,c=3}],d"), Ok(vec!["a=[1, {b=2,c=3}]", "d"]));
        assert_eq!(at_commas("a='x,\\',b"), Ok(vec!["a='x,\\'", "b"]));
        assert_eq!(at_commas(r#"a="x\",y",é"#), Ok(vec![r#"a="x\",y""#, "é"]));
        assert_eq!(at_commas("a='[',b"), Ok(vec!["a='['", "b"]));
        assert_eq!(at_commas("a='',b=\"\",c"), Ok(vec!["a=''", "b=\"\"", "c"]));
        assert_eq!(at_commas("a='''x','y'''',b"), Ok(vec!["a='''x','y''''", "b"]));
    }

    #[test]
    fn a_mark_without_a_partner_is_named() {
        for (text, mark) in [("a=[1,2", '['), ("a=1]", ']'), ("a=[1}", '}'), ("a='x", '\''), ("a=\"x\\\"", '"')] {
            assert_eq!(at_commas(text), Err(mark), "{text}");
        }
    }
}
