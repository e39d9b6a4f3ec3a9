//! The traffic that passed an output.

/// The traffic that passed an output, and its highest rate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Load {
    pub(crate) packets: u64,
    pub(crate) wire_bytes: u64,
    interval: u64,
    in_interval: u64,
    most: u64,
}

impl Load {
    const INTERVAL_NS: u64 = 10_000_000;
    /// bytes of preamble, check sequence and gap
    const FRAMING: u64 = 24;

    #[inline]
    pub(crate) fn add(&mut self, time_ns: u64, frame_bytes: u32) {
        let bytes = u64::from(frame_bytes) + Self::FRAMING;
        self.packets += 1;
        self.wire_bytes += bytes;
        let interval = time_ns / Self::INTERVAL_NS;
        if interval != self.interval {
            self.interval = interval;
            self.in_interval = 0;
        }
        self.in_interval += bytes;
        self.most = self.most.max(self.in_interval);
    }

    /// The highest rate within any 10 ms, in bit/s.
    pub(crate) fn peak_bps(&self) -> f64 {
        self.most as f64 * 8.0 * 1e9 / Self::INTERVAL_NS as f64
    }
}
