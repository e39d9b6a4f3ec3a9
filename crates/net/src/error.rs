//! Errors in the description of a network.

use thiserror::Error;

/// A network cannot be built. The error names the field and its value, what is wrong with it, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{field}: `{value}` {problem}; {remedy}")]
pub struct BuildError {
    /// dotted path of the field, e.g. `topology.k`
    pub field: String,
    /// the value, as written
    pub value: String,
    /// what is wrong with the value; it is printed after the value
    pub problem: String,
    /// how to fix it
    pub remedy: String,
}

impl BuildError {
    /// An error from its four parts.
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
