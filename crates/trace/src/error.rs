//! Errors of captures that cannot be analysed, and how to fix them.

use std::io;

/// Why an analysis failed. Damage within a capture is not an error: see [`Damage`](crate::Damage).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened, or nothing in it can be read.
    #[error("{file}: {source}")]
    Io {
        /// Name of the file.
        file: String,
        /// The error of the system.
        source: io::Error,
    },
    /// Something is wrong with a file, or with all of them together; then `file` is empty.
    #[error("{file}: {problem}")]
    Capture {
        /// Name of the file.
        file: String,
        /// What is wrong.
        problem: String,
        /// How to fix it.
        remedy: String,
    },
}

impl Error {
    pub(crate) fn new(
        file: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self::Capture {
            file: file.into(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}
