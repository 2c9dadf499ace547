//! Slow, obvious models of translation and replacement that the shipped ones are tested against.
