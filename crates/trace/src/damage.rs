//! Damage: the parts of a capture that could not be read.

/// What was lost to damage in a file. Everything else in it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Damage {
    /// Number of bytes skipped, after unpacking.
    pub bytes: u64,
    /// Minimum number of packets in these bytes.
    pub packets: u64,
    /// Byte offset of the first damage.
    pub first_at: Option<u64>,
    /// What was wrong at that place.
    pub problem: String,
}

impl Damage {
    /// Whether there is no damage.
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
