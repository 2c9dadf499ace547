//! What the colours and shapes of charts mean.

use super::charts::Curve;
use super::document::Key;
use super::palette::{Colour, TIMES};

/// A colour and its meaning.
pub(super) fn key(colour: Colour, name: &str) -> Key {
    Key { class: colour.class(), shape: None, name: name.to_owned() }
}

/// The parts of time.
pub(super) fn of_times() -> Vec<Key> {
    TIMES.map(|(name, colour)| key(colour, name)).into()
}

/// Curves, each name once; none where there is nothing to distinguish.
pub(super) fn of_curves<'c>(curves: impl IntoIterator<Item = &'c Curve>) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    for curve in curves {
        if keys.iter().all(|key| key.name != curve.name) {
            keys.push(Key { shape: Some(curve.shape.anchor()), ..key(curve.colour, &curve.name) });
        }
    }
    if keys.len() > 1 { keys } else { Vec::new() }
}
