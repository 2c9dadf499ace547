//! Which free frames a page of a guest gets.

use core::{fmt, str::FromStr};
use types::SplitMix64;

/// Which of the free frames that fit a page of a guest's RAM gets. Tables always get the lowest ones.
///
/// Frames in order of first use are those of a host that has just started. After some time the free frames of a host are scattered, so that pages
/// that are next to each other for the guest share sets of a physically indexed cache at random.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Placement {
    /// The lowest frames.
    #[default]
    Lowest,
    /// Any frames, by a generator that starts from this seed.
    Random(u64),
}

/// A text is no placement.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{0}` is not a placement: `lowest`, `random`, or `random:SEED`")]
pub struct UnknownPlacement(String);

impl FromStr for Placement {
    type Err = UnknownPlacement;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownPlacement(text.to_owned());
        match text.split_once(':') {
            None if text == "lowest" => Ok(Self::Lowest),
            None if text == "random" => Ok(Self::Random(0)),
            Some(("random", seed)) => seed.parse().map(Self::Random).map_err(|_| unknown()),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lowest => f.write_str("lowest"),
            Self::Random(seed) => write!(f, "random:{seed}"),
        }
    }
}

/// A placement with the state of its generator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Places {
    Lowest,
    Random(SplitMix64),
}

impl From<Placement> for Places {
    fn from(placement: Placement) -> Self {
        match placement {
            Placement::Lowest => Self::Lowest,
            Placement::Random(seed) => Self::Random(SplitMix64::new(seed)),
        }
    }
}

impl Places {
    /// Where the search for free frames starts, as a number below `frames`, which is not 0.
    pub(super) const fn draw(&mut self, frames: u64) -> u64 {
        match self {
            Self::Lowest => 0,
            Self::Random(random) => ((random.draw() as u128 * frames as u128) >> 64) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placements_read_and_print() {
        for (text, placement) in [("lowest", Placement::Lowest), ("random:7", Placement::Random(7))] {
            assert_eq!(text.parse(), Ok(placement));
            assert_eq!(placement.to_string(), text);
        }
        assert_eq!("random".parse(), Ok(Placement::Random(0)));
        for bad in ["", "lowest:1", "random:", "random:x", "best"] {
            assert!(bad.parse::<Placement>().is_err(), "{bad}");
        }
    }

    #[test]
    fn draws_are_in_range_and_repeat() {
        let draws = |seed| {
            let mut places = Places::from(Placement::Random(seed));
            (0..1000).map(|_| places.draw(10)).collect::<Vec<_>>()
        };
        assert_eq!(draws(1), draws(1));
        assert_ne!(draws(1), draws(2));
        assert!((0..10).all(|number| draws(1).contains(&number)) && draws(1).iter().all(|&draw| draw < 10));
        assert_eq!(Places::from(Placement::Lowest).draw(10), 0);
    }
}
