//! Decisions of a sender: when and why its window or its phase changes.
//!
//! A connection passes each decision to [`crate::Events::decision`]. Decisions are rare (a few per loss, none per ACK),
//! so they explain why a window fell without a trace of every packet.

/// One decision, with the window before and after it.
///
/// Windows are in bytes of payload. If a stack counts its window in segments, each counts as a full one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What the sender decided.
    pub what: DecisionKind,
    /// Why.
    pub cause: DecisionCause,
    /// The congestion window before.
    pub cwnd_before_bytes: u64,
    /// The congestion window after. While a window is reduced gradually (PRR, rate halving), it is still as large as
    /// before.
    pub cwnd_after_bytes: u64,
    /// The slow-start threshold after; `u64::MAX` if there is none.
    pub ssthresh_bytes: u64,
}

/// Declares an enum with one name per variant for the table `decisions`. Variants are numbered from 0.
macro_rules! named {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// The names, in the order of the variants' numbers.
            pub const NAMES: &[&'static str] = &[$($text),+];

            /// The name in the tables.
            pub const fn name(self) -> &'static str {
                Self::NAMES[self as usize]
            }
        }
    };
}

named! {
    /// What a sender decided.
    DecisionKind {
        /// Fast recovery begins.
        EnterRecovery = "enter-recovery",
        /// Fast recovery, or the recovery after a timeout, is over.
        LeaveRecovery = "leave-recovery",
        /// A reduction was needless: the window is restored.
        Undo = "undo",
        /// The window is reduced for an ECN mark.
        EcnReduction = "ecn-reduction",
        /// Slow start ends.
        SlowStartEnd = "slow-start-end",
        /// The retransmission timer fired: everything outstanding counts as lost.
        Rto = "rto",
        /// A segment is sent to find out whether the tail of the flight was lost (RFC 8985 7).
        TailLossProbe = "tail-loss-probe",
        /// RACK's reordering window changes (RFC 8985 6.2).
        ReorderingWindow = "reordering-window",
        /// The window is reduced because nothing was sent for the length of a timeout.
        IdleRestart = "idle-restart",
        /// The window is reduced because it was not fully used for the length of a timeout.
        UnusedWindow = "unused-window",
        /// BBR searches for the bandwidth again.
        BbrStartup = "bbr-startup",
        /// BBR drains the queue that startup has built.
        BbrDrain = "bbr-drain",
        /// BBR cruises and probes for more bandwidth.
        BbrProbeBandwidth = "bbr-probe-bw",
        /// BBR shrinks the flight to measure the smallest round-trip time.
        BbrProbeRtt = "bbr-probe-rtt",
        /// BBR starts or stops sending at the rate of a policer.
        BbrPolicer = "bbr-policer",
        /// A congestion control from outside this crate changed its state.
        Custom = "custom",
    }
}

named! {
    /// Why a sender made the decision.
    DecisionCause {
        /// Three duplicate ACKs (RFC 5681 3.2).
        DuplicateAcks = "duplicate-acks",
        /// Three segments SACKed above the first hole (RFC 6675).
        Sack = "sack",
        /// The highest SACKed segment is three segments above the first hole (forward acknowledgement).
        Fack = "fack",
        /// A segment sent later was delivered, and the reordering window has passed (RFC 8985).
        Rack = "rack",
        /// Fewer than three duplicate ACKs, in a flight too small to cause three (RFC 5827).
        EarlyRetransmit = "early-retransmit",
        /// The answer to a tail loss probe showed that the probe repaired a loss.
        TailLossProbe = "tail-loss-probe",
        /// A loss, however it was found.
        Loss = "loss",
        /// The round-trip time grew (HyStart).
        HystartDelay = "hystart-delay",
        /// The train of ACKs in one round was too long (HyStart).
        HystartTrain = "hystart-train",
        /// The window reached the slow-start threshold.
        Threshold = "threshold",
        /// An ECN mark.
        Mark = "mark",
        /// A timestamp showed that the original was acknowledged, not its retransmission (RFC 3522, 4015).
        Timestamps = "timestamps",
        /// Duplicate SACKs showed that every retransmission was a copy (RFC 3708).
        Dsack = "dsack",
        /// F-RTO: data that had not been retransmitted was acknowledged (RFC 5682).
        Frto = "frto",
        /// Everything that was outstanding when the episode began is acknowledged.
        Acknowledged = "acknowledged",
        /// The retransmission timer, for a SYN or SYN-ACK.
        RtoSyn = "rto-syn",
        /// The retransmission timer: the tail was lost.
        RtoTail = "rto-tail",
        /// The retransmission timer: a retransmission was lost.
        RtoLostRetransmit = "rto-lost-retransmit",
        /// The retransmission timer: too few duplicate ACKs for fast retransmit.
        RtoFewDupAcks = "rto-few-dup-acks",
        /// The probe timer, two round trips after the last segment was sent (RFC 8985 7.2).
        ProbeTimer = "probe-timer",
        /// A segment arrived late, but was not lost.
        Reordering = "reordering",
        /// No reordering was seen for 16 recoveries (RFC 8985 6.2 step 4).
        NoReordering = "no-reordering",
        /// Nothing was sent for the length of a timeout (RFC 2861 3.1).
        Idle = "idle",
        /// The application had too little to send (RFC 2861 3.2).
        ApplicationLimited = "application-limited",
        /// BBR: the bandwidth grew by less than a quarter in each of three rounds.
        PipeFull = "pipe-full",
        /// BBR: no more data is in flight than the path holds.
        QueueDrained = "queue-drained",
        /// BBR: the smallest round-trip time is ten seconds old.
        MinRttExpired = "min-rtt-expired",
        /// BBR: the flight was small for 200 ms and at least one round.
        MinRttMeasured = "min-rtt-measured",
        /// BBR: two intervals with heavy loss had the same delivery rate.
        PolicerFound = "policer-found",
        /// BBR: the policer's rate was used for 48 rounds.
        PolicerExpired = "policer-expired",
        /// A congestion control from outside this crate gives no cause.
        Custom = "custom",
    }
}

impl From<crate::TimeoutCause> for DecisionCause {
    fn from(cause: crate::TimeoutCause) -> Self {
        match cause {
            crate::TimeoutCause::Syn => Self::RtoSyn,
            crate::TimeoutCause::Tail => Self::RtoTail,
            crate::TimeoutCause::LostRetransmit => Self::RtoLostRetransmit,
            crate::TimeoutCause::FewDupAcks => Self::RtoFewDupAcks,
        }
    }
}
