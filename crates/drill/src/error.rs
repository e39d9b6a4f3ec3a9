//! The error of a script that cannot be read: where it is, what was expected, and what was found.

use serde::Serialize;

use crate::ast::Position;

/// A syntax error in a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("line {line}, column {column}: expected {expected}, found {found}")]
pub struct ScriptError {
    /// The line, from 1.
    pub line: u32,
    /// The column in characters, from 1.
    pub column: u32,
    /// What is allowed there.
    pub expected: String,
    /// What was found there.
    pub found: String,
}

impl ScriptError {
    pub(crate) fn new(at: Position, expected: &str, found: &str) -> Self {
        Self {
            line: at.line,
            column: at.column,
            expected: expected.to_owned(),
            found: found.to_owned(),
        }
    }
}
