//! The outcome of a script.

use fairport_units::Instant;
use serde::Serialize;

/// The outcome of a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The name of the stack that the script ran against.
    pub stack: String,
    /// The first difference from the script, or None if the script passed.
    pub failure: Option<Failure>,
    /// The lines that were not taken into account.
    pub notes: Vec<Note>,
}

/// A line of the script that was not taken into account, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The line of the script.
    pub line: u32,
    /// Why the line was not taken into account.
    pub text: String,
}

/// The kind of a difference from the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// A segment was sent at a time that the script does not allow.
    Time,
    /// The stack sent a different segment.
    Segment,
    /// The stack sent nothing.
    Silence,
    /// A socket call returned a different value.
    Call,
    /// An assertion does not hold.
    Assertion,
    /// The script needs something that is not modelled.
    Unsupported,
}

/// The first difference from the script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The kind of the difference.
    pub kind: FailureKind,
    /// The line of the script.
    pub line: u32,
    /// The time of the difference, in seconds since the start of the script.
    #[serde(rename = "time_s", serialize_with = "seconds")]
    pub time: Instant,
    /// What the script says.
    pub expected: String,
    /// What happened.
    pub actual: String,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn seconds<S: serde::Serializer>(time: &Instant, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(time.as_secs_f64())
}

/// A time in seconds with six decimals, as scripts write it.
pub(crate) fn shown(time: Instant) -> String {
    let us = time.as_ps().saturating_add(500_000) / 1_000_000;
    format!("{}.{:06} s", us / 1_000_000, us % 1_000_000)
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "line {}, at {}: expected {}; {}",
            self.line,
            shown(self.time),
            self.expected,
            self.actual
        )
    }
}
