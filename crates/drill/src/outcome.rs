//! How a script ended.

use fairport_units::Instant;
use serde::Serialize;

/// What came of a script.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The stack that it ran against.
    pub stack: String,
    /// The first thing that was not as the script says; none: the script passed.
    pub failure: Option<Failure>,
    /// What was not taken into account.
    pub notes: Vec<Note>,
}

/// A line of the script that was not taken into account, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Line of the script.
    pub line: u32,
    /// What it is about.
    pub text: String,
}

/// What kind of thing was not as the script says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FailureKind {
    /// A segment was sent at another time.
    Time,
    /// Another segment was sent.
    Segment,
    /// Nothing was sent.
    Silence,
    /// A socket call returned something else.
    Call,
    /// An assertion does not hold.
    Assertion,
    /// The script asks for something that is not modelled.
    Unsupported,
}

/// The first thing that was not as the script says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// What kind of thing.
    pub kind: FailureKind,
    /// Line of the script.
    pub line: u32,
    /// When, in seconds since the start of the script.
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

/// A time as scripts write it: seconds, to the microsecond.
pub(crate) fn shown(time: Instant) -> String {
    let us = (time.as_ps() + 500_000) / 1_000_000;
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
