//! What is wrong with a key.

/// A key whose value cannot be with the rest of the configuration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyProblem {
    /// The key.
    pub key: &'static str,
    /// What is wrong.
    pub problem: String,
}
