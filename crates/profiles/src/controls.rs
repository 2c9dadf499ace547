//! Escapes in JSON that a terminal needs.

/// JSON with the controls escaped that JSON allows in strings, and a terminal obeys: U+007F to U+009F. They occur in strings only.
#[must_use]
pub fn escape_controls(text: String) -> String {
    // Each begins with one of two bytes, which are soon looked for in a long text.
    let may_begin_a_control = |byte: u8| byte == 0x7f || byte == 0xc2;
    if !text.bytes().any(may_begin_a_control) {
        return text;
    }
    let is_control = |c: char| ('\x7f'..='\u{9f}').contains(&c);
    let escaped = |c: char| if is_control(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    text.chars().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_are_escaped_and_nothing_else_is() {
        let escaped = |text: &str| escape_controls(text.to_owned());
        assert_eq!(escaped("\"\x7f\u{80}\u{9b}31m\u{9f}\""), r#""\u007f\u0080\u009b31m\u009f""#);
        for plain in ["\"\u{a0}\u{bf}\u{c2}é\u{1f600}\"", "{\n  \"a\": 1\n}\n", ""] {
            assert_eq!(escaped(plain), plain);
        }
    }
}
