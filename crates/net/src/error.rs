//! What is wrong with a network that was asked for.

use thiserror::Error;

/// A network cannot be built: which field, its value, what is wrong with it, how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field}: `{value}` {problem}; {remedy}")]
pub struct BuildError {
    /// dotted path of the field, e.g. `topology.k`
    pub field: String,
    /// the value as it was given
    pub value: String,
    /// what is wrong with it, to be read after the value
    pub problem: String,
    /// how to fix it
    pub remedy: String,
}

impl BuildError {
    /// From its four parts.
    pub fn new(
        field: impl Into<String>,
        value: impl std::fmt::Display,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            field: field.into(),
            value: value.to_string(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}
