//! Colours by meaning: a colour means the same thing on all charts of all pages. The style sheet has a light and a dark value of
//! each. Marks never distinguish by colour alone.

use schemes::{Family, registry};

/// A colour of the style sheet, which knows it by its meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Colour {
    meaning: &'static str,
    shade: usize,
}

impl Colour {
    /// How many shades of a colour can be told apart.
    const SHADES: usize = 3;

    const fn of(meaning: &'static str) -> Self {
        Self { meaning, shade: 0 }
    }

    /// The classes of elements that have this colour.
    pub(super) fn class(self) -> String {
        match self.shade {
            0 => format!("c-{}", self.meaning),
            shade => format!("c-{} shade-{shade}", self.meaning),
        }
    }

    /// One of several that have the same meaning; after a few, they repeat.
    pub(super) const fn shade(self, index: usize) -> Self {
        Self { shade: index % Self::SHADES, ..self }
    }
}

/// Bars of one kind, which have their names beside them.
pub(super) const PLAIN: Colour = Colour::of("plain");
/// What a paper says.
pub(super) const PAPER: Colour = Colour::of("paper");
/// What Pagewalk simulated, where it stands beside what others measured.
pub(super) const SIMULATED: Colour = Colour::of("simulated");
/// What a real machine was measured to do.
pub(super) const MEASURED: Colour = Colour::of("measured");
/// What was found in measurements.
pub(super) const FOUND: Colour = Colour::of("found");
/// Page tables of each process.
pub(super) const PRIVATE_TABLES: Colour = Colour::of("private");
/// Page tables that processes share.
pub(super) const SHARED_TABLES: Colour = Colour::of("shared");
/// Address spaces, by the name of what runs in them.
pub(super) const PROCESS: Colour = Colour::of("process");
/// Functions.
pub(super) const FUNCTION: Colour = Colour::of("function");
/// What functions load from and store to.
pub(super) const DATA: Colour = Colour::of("data");

/// The parts of time, each with its colour.
pub(super) const TIMES: [(&str, Colour); 3] =
    [("the guest's instructions", GUEST), ("translation", TRANSLATION), ("the hypervisor", HYPERVISOR)];
/// What the guest does itself.
pub(super) const GUEST: Colour = Colour::of("guest");
/// What translation does.
pub(super) const TRANSLATION: Colour = Colour::of("translation");
/// What the hypervisor does.
pub(super) const HYPERVISOR: Colour = Colour::of("hypervisor");

/// Of a scheme, by its family. A report may be of a scheme that this program does not have.
pub(super) fn of_scheme(scheme: &str) -> Colour {
    known_scheme(scheme).unwrap_or(Colour::of("other"))
}

/// Of a series of a figure: that of the scheme, if it has a scheme's name, and else one by its number.
pub(super) fn of_series(name: &str, index: usize) -> Colour {
    const SERIES: [&str; 8] = ["s1", "s2", "s3", "s4", "s5", "s6", "s7", "s8"];
    known_scheme(name).unwrap_or(Colour::of(SERIES[index % SERIES.len()]))
}

fn known_scheme(name: &str) -> Option<Colour> {
    let name = name.split([':', '/']).next().unwrap_or(name);
    let family = registry::find(name)?.facts().family;
    Some(Colour::of(match family {
        Family::Native => "native",
        Family::Nested => "nested",
        Family::Shadow => "shadow",
        Family::Flat => "flat",
        Family::Segment => "segment",
        Family::Other => "other",
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_has_the_colour_of_its_family_wherever_it_is_drawn() {
        assert_eq!(of_scheme("nested:4K+2M/harts=2"), of_series("nested", 7));
        assert_eq!(of_scheme("vmm-direct:4K"), of_scheme("dual-direct:4K"));
        assert_ne!(of_scheme("nested:4K"), of_scheme("shadow:4K"));
        assert_eq!(of_scheme("not-one-of-ours"), Colour::of("other"));
    }

    #[test]
    fn shades_keep_the_meaning() {
        assert_eq!(of_scheme("nested").shade(1).class(), "c-nested shade-1");
        assert_eq!(of_scheme("nested").shade(Colour::SHADES).class(), "c-nested");
    }
}
