//! What of a capture could not be read.

/// What was lost to damage in a file. Everything else of it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Bytes skipped, after unpacking.
    pub bytes: u64,
    /// Packets in them, at least.
    pub packets: u64,
    /// Where the first damage was, as the number of a byte.
    pub first_at: Option<u64>,
    /// What was wrong there.
    pub problem: String,
}

impl Damage {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        self.first_at.is_none()
    }

    /// Adds a damaged place.
    pub(crate) fn add(&mut self, at: u64, bytes: u64, packets: u64, problem: &str) {
        self.bytes += bytes;
        self.packets += packets;
        if self.first_at.is_none() {
            self.first_at = Some(at);
            problem.clone_into(&mut self.problem);
        }
    }
}
