//! Folded stacks: one line for each, its frames with semicolons between them, a space, and its weight. Programs that draw flame graphs read it.

use super::attribution::Attribution;

/// The stacks of profiles. Where there are several, the run is the outermost frame. A stack without cost has no line: neither the negative
/// time of an out-of-order core nor none at all can be drawn.
#[must_use]
pub fn folded(profiles: &[Attribution]) -> String {
    let mut lines = String::new();
    for profile in profiles {
        let run = match profiles {
            [_] => String::new(),
            _ => format!("{};", frame(&format!("{} under {}", profile.about.work, profile.about.system))),
        };
        for ((space, callers, symbol), counters) in profile.sums(|entry| (entry.space, entry.callers, entry.symbol)) {
            let weight = profile.weight(&counters);
            if weight > 0 {
                let space = frame(&profile.spaces[space].name);
                let functions: String =
                    profile.functions(callers, symbol).map(|name| format!(";{}", frame(name))).collect();
                lines += &format!("{run}{space}{functions} {weight}\n");
            }
        }
    }
    lines
}

/// A name as a frame.
fn frame(name: &str) -> String {
    name.chars().map(|c| if c == ';' || c.is_control() { ':' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_keeps_the_line_whole() {
        assert_eq!(frame("a;b\nc d"), "a:b:c d");
    }
}
