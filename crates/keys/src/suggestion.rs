//! What the user may have meant by an unknown name.

/// Says that `word` is no `what`, and which of the known names is near it, or all of them if none is.
#[must_use]
pub fn unknown<'k>(what: &str, word: &str, known: impl IntoIterator<Item = &'k str> + Clone) -> String {
    answer(what, word, nearest(word, known.clone()), known)
}

/// Says that `word` is no `what`, and suggests `near`, or lists all known names if there is none.
pub fn answer<'k>(what: &str, word: &str, near: Option<&str>, known: impl IntoIterator<Item = &'k str>) -> String {
    match near {
        Some(near) => format!("unknown {what} `{word}`; did you mean `{near}`?"),
        None => format!("unknown {what} `{word}` ({})", known.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

/// The name that `word` is most likely a slip of; the first of several.
fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let near = known.into_iter().filter_map(|name| distance(word, name).map(|distance| (distance, name)));
    near.min_by_key(|&(distance, _)| distance).map(|(_, name)| name)
}

/// How many slips lie between two names: a character too many, too few, or another, or two in the wrong order. `None` if that is more than one
/// in three, or nothing of a name is left; a name that is cut short is near all the same.
pub fn distance(word: &str, name: &str) -> Option<usize> {
    let (word, name) = (word.to_lowercase(), name.to_lowercase());
    let (shorter, longer) =
        (word.chars().count().min(name.chars().count()), word.chars().count().max(name.chars().count()));
    let slips = strsim::osa_distance(&word, &name);
    let near = slips < shorter && slips <= (longer / 3).max(1);
    (near || word.len() >= 3 && name.starts_with(&word)).then_some(slips)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_anything_else_the_list() {
        let hosts = ["sandybridge-2012", "xeon-2017", "alpha-1997"];
        for (word, near) in [
            ("xeon2017", "xeon-2017"),
            ("Xeon-2017", "xeon-2017"),
            ("xoen-2017", "xeon-2017"),
            ("sandybridge", "sandybridge-2012"),
            ("alhpa-1979", "alpha-1997"),
        ] {
            let text = unknown("host", word, hosts);
            assert_eq!(text, format!("unknown host `{word}`; did you mean `{near}`?"));
        }
        for word in ["vax-1978", "", "x", "é"] {
            let text = unknown("host", word, hosts);
            assert_eq!(text, format!("unknown host `{word}` (sandybridge-2012, xeon-2017, alpha-1997)"));
        }
    }

    #[test]
    fn the_nearest_of_several_is_meant() {
        assert_eq!(nearest("gps", ["gups", "gpu", "gp"]), Some("gups"), "one slip each: the first");
        assert_eq!(nearest("nest", ["native", "nested"]), Some("nested"));
        assert_eq!(nearest("v", ["c", "d"]), None, "one letter is no slip of another");
    }
}
