//! A script that cannot be read: where, what was expected, what is there.

use serde::Serialize;

use crate::ast::Position;

/// A fault of a script's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("line {line}, column {column}: expected {expected}, found {found}")]
pub struct ScriptError {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// What could be there.
    pub expected: String,
    /// What does.
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
