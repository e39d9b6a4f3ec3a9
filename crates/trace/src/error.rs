//! What is wrong with captures that cannot be analysed, and how to fix it.

use std::io;

/// Why there is no analysis. Damage within a capture is no error: see [`Damage`](crate::Damage).
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file cannot be opened, or nothing of it can be read.
    #[error("{file}: {source}")]
    Io {
        /// Its name.
        file: String,
        /// What the system says.
        source: io::Error,
    },
    /// Something is wrong with a file, or with all of them together (then `file` is empty).
    #[error("{file}: {problem}")]
    Capture {
        /// Its name.
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
