//! Congestion control: how large the window is. One file an algorithm.
//!
//! An algorithm sees each ACK of new data as an [`AckSample`] and moves the [`Window`]; it is asked
//! for the new slow-start threshold when a loss shows, and told of a timeout. What is sent again
//! is loss recovery's matter.

mod bbr;
mod bic;
mod cubic;
mod dctcp;
mod hystart;
mod newreno;

use fairport_units::Time;

use self::bbr::Bbr;
use self::bic::Bic;
use self::cubic::Cubic;
use self::dctcp::Dctcp;
use crate::delivery_rate::RateSample;
use crate::recovery::State;
use crate::settings::{CongestionControl, Settings, WindowUnit};

/// What an ACK says to a congestion control: one of new data, and to one that asks for rates each.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckSample {
    pub(crate) now: Time,
    /// newly acknowledged, in the window's unit
    pub(crate) acked: u64,
    /// newly acknowledged segments
    pub(crate) segments: u32,
    /// of what was acknowledged, under ECE: the peer says that it was marked
    pub(crate) marked: u64,
    /// the round-trip time, where Karn's rule allowed one
    pub(crate) rtt: Option<Time>,
    /// the smoothed one
    pub(crate) srtt: Option<Time>,
    /// `SND.UNA` and `SND.NXT` after the ACK: they delimit round trips
    pub(crate) una: u64,
    pub(crate) nxt: u64,
    /// loss recovery's state before the ACK; with a rate, after it
    pub(crate) state: State,
    /// whether the window was what held the sender back; one that was not used does not grow
    /// (RFC 7661 3; Linux's `tcp_is_cwnd_limited`)
    pub(crate) limited: bool,
    /// how fast the network delivers, for an algorithm that asks ([`Congestion::asks_for_rates`])
    pub(crate) rate: Option<RateSample>,
}

/// The congestion window, in segments or octets.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub(crate) cwnd: u64,
    /// `u64::MAX` before the first loss
    pub(crate) ssthresh: u64,
    /// one full segment: 1 or its octets
    unit: u64,
    /// the window at the start
    initial: u64,
    /// grow by what is acknowledged (RFC 3465), not by the number of ACKs
    abc: bool,
    /// what one ACK grows it by at most in slow start
    abc_limit: u64,
    /// what was counted towards the next increase in congestion avoidance
    count: u64,
}

/// Full segments by which one ACK grows the window at most under ABC in the slow start after a
/// timeout (RFC 3465 2.3), where there is a limit at all.
const ABC_LIMIT_AFTER_TIMEOUT: u64 = 1;

impl Window {
    pub(crate) fn new(settings: &Settings, payload: u16) -> Self {
        let unit = match settings.window_unit {
            WindowUnit::Segments => 1,
            WindowUnit::Bytes => u64::from(payload),
        };
        let initial = u64::from(settings.initial_window_segments) * unit;
        Self {
            cwnd: initial,
            ssthresh: u64::MAX,
            unit,
            initial,
            abc: settings.abc,
            abc_limit: match settings.abc_limit_segments {
                0 => u64::MAX,
                limit => u64::from(limit) * unit,
            },
            count: 0,
        }
    }

    /// One full segment in the window's unit.
    #[inline]
    pub(crate) fn unit(&self) -> u64 {
        self.unit
    }

    /// The window in whole segments, as Linux's algorithms count.
    #[inline]
    fn segments(&self) -> u64 {
        if self.unit == 1 {
            self.cwnd
        } else {
            self.cwnd / self.unit
        }
    }

    /// RFC 5681 lets either algorithm run where both are equal; Linux before 3.13 ran slow start.
    #[inline]
    fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// RFC 5681 3.1: a segment an ACK. Under ABC: what was acknowledged, within a limit.
    #[inline]
    fn slow_start(&mut self, sample: &AckSample) {
        if !self.abc {
            self.cwnd += self.unit;
            return;
        }
        let limit = match sample.state {
            State::Loss if self.abc_limit < u64::MAX => ABC_LIMIT_AFTER_TIMEOUT * self.unit,
            _ => self.abc_limit,
        };
        let grown = self.cwnd + sample.acked.min(limit);
        self.cwnd = grown.min(self.ssthresh);
    }

    /// Congestion avoidance: one segment more for every `every` that is acknowledged (in the
    /// window's unit). Without ABC each ACK counts as a full segment, and, as in Linux before 3.13,
    /// the one after the last of them grows the window.
    #[inline]
    fn grow_one_per(&mut self, every: u64, sample: &AckSample) {
        if !self.abc {
            if self.count >= every {
                self.cwnd += self.unit;
                self.count = 0;
            } else {
                self.count += self.unit;
            }
            return;
        }
        if self.count >= every {
            // counted while `every` was larger: worth one segment, as in Linux
            self.count = 0;
            self.cwnd += self.unit;
        }
        self.count += sample.acked;
        while self.count >= every {
            self.count -= every;
            self.cwnd += self.unit;
        }
    }

    /// A loss: the window falls to `ssthresh` in whole segments, at least 2.
    fn fall_to(&mut self, ssthresh_segments: u64) {
        self.ssthresh = ssthresh_segments.max(2) * self.unit;
        self.count = 0;
    }
}

/// Static dispatch over the algorithms.
#[derive(Debug)]
enum Algorithm {
    NewReno,
    Bic(Bic),
    Cubic(Box<Cubic>),
    Dctcp(Dctcp),
    Bbr(Box<Bbr>),
}

/// The window and the algorithm that moves it.
#[derive(Debug)]
pub(crate) struct Congestion {
    window: Window,
    algorithm: Algorithm,
}

impl Congestion {
    /// For segments of `payload` octets.
    pub(crate) fn new(settings: &Settings, payload: u16) -> Self {
        let window = Window::new(settings, payload);
        let algorithm = match settings.congestion_control {
            CongestionControl::NewReno => Algorithm::NewReno,
            CongestionControl::Bic => Algorithm::Bic(Bic::new(settings)),
            CongestionControl::Cubic => Algorithm::Cubic(Box::new(Cubic::new(settings, payload))),
            CongestionControl::Dctcp => Algorithm::Dctcp(Dctcp::new(settings)),
            CongestionControl::Bbr => Algorithm::Bbr(Box::new(Bbr::new(window.unit, payload))),
        };
        Self { window, algorithm }
    }

    /// The handshake is over and took a round trip of `rtt`. The same `seed` draws the same.
    pub(crate) fn begin(&mut self, now: Time, rtt: Option<Time>, seed: u64) {
        if let Algorithm::Bbr(it) = &mut self.algorithm {
            it.begin(now, self.window.cwnd, rtt, seed);
        }
    }

    /// Whether each ACK is to tell how fast the network delivers; such an algorithm sets the window
    /// and the pace by itself, whatever loss recovery says.
    pub(crate) fn asks_for_rates(&self) -> bool {
        matches!(self.algorithm, Algorithm::Bbr(_))
    }

    /// Octets a second at which is sent, where the algorithm sets that.
    pub(crate) fn pacing_rate(&self) -> Option<u64> {
        match &self.algorithm {
            Algorithm::Bbr(it) => Some(it.rate()),
            _ => None,
        }
    }

    /// Whether the flight is held so small that samples of the rate say nothing of the path.
    pub(crate) fn holds_small(&self) -> bool {
        matches!(&self.algorithm, Algorithm::Bbr(it) if it.holds_small())
    }

    /// After a gap of the application the first segment went out, with nothing else in flight.
    pub(crate) fn on_restart(&mut self, now: Time) {
        if let Algorithm::Bbr(it) = &mut self.algorithm {
            it.on_restart(now, &mut self.window);
        }
    }

    /// The SYN had to be sent again: start with one segment (RFC 5681 3.1; Linux forgives one
    /// loss).
    pub(crate) fn start_small(&mut self) {
        self.window.cwnd = self.window.unit;
    }

    #[inline]
    pub(crate) fn window(&self) -> &Window {
        &self.window
    }

    /// An ACK came.
    #[inline]
    pub(crate) fn on_ack(&mut self, sample: &AckSample) {
        match &mut self.algorithm {
            Algorithm::NewReno => {}
            Algorithm::Dctcp(it) => it.on_acked(sample),
            Algorithm::Bic(it) => it.on_acked(sample),
            Algorithm::Cubic(it) => it.on_acked(&mut self.window, sample),
            Algorithm::Bbr(it) => {
                if let Some(rate) = &sample.rate {
                    it.on_ack(&mut self.window, sample, rate);
                }
                return;
            }
        }
        if !sample.limited || sample.state == State::Fast {
            return;
        }
        if self.window.in_slow_start() {
            self.window.slow_start(sample);
            return;
        }
        match &mut self.algorithm {
            Algorithm::NewReno => newreno::avoid(&mut self.window, sample),
            Algorithm::Bic(it) => it.avoid(&mut self.window, sample),
            Algorithm::Cubic(it) => it.avoid(&mut self.window, sample),
            Algorithm::Dctcp(_) => Dctcp::avoid(&mut self.window, sample),
            Algorithm::Bbr(_) => {}
        }
    }

    /// Fast recovery starts: the window falls to the algorithm's share of itself.
    ///
    /// The share is of the window and not of the flight size that RFC 5681 names: a window that
    /// was not used does not grow, so the two differ by limited transmit only, which RFC
    /// 3042 does not count.
    pub(crate) fn on_loss(&mut self) {
        self.reduce_threshold();
        self.set_recovery_window(self.window.ssthresh);
    }

    /// A timeout sets the window.
    pub(crate) fn set_window(&mut self, cwnd: u64) {
        self.window.cwnd = cwnd;
    }

    /// The threshold is at least three quarters of a window that was in use
    /// (`tcp_current_ssthresh`).
    fn keep_threshold(&mut self) {
        let window = &mut self.window;
        let about = window.cwnd / 2 + window.cwnd / 4;
        window.ssthresh = window.ssthresh.max(about);
    }

    /// Data goes out, and nothing was outstanding for `idle`.
    pub(crate) fn on_idle(&mut self, now: Time, idle: Time) {
        if let Algorithm::Cubic(it) = &mut self.algorithm {
            it.on_idle(now, idle);
        }
    }

    /// Only `used` of the window was used for long: it comes half the way down to that, which counts
    /// as the initial window at least.
    pub(crate) fn come_down_to(&mut self, used: u64) {
        let used = used.max(self.window.initial);
        if used < self.window.cwnd {
            self.keep_threshold();
            self.window.cwnd = self.window.cwnd.midpoint(used);
        }
    }

    /// The window is halved as often, but not below the initial one.
    pub(crate) fn restart(&mut self, halvings: u64) {
        self.keep_threshold();
        let window = &mut self.window;
        let least = window.initial.min(window.cwnd);
        let halved = window.cwnd.checked_shr(halvings.min(64) as u32);
        window.cwnd = halved.unwrap_or(0).max(least);
    }

    /// How far rate halving takes the window: to the threshold, NewReno's to half of it
    /// (`tcp_cwnd_min`, `tcp_reno_min_cwnd`).
    pub(crate) fn least_window(&self) -> u64 {
        match self.algorithm {
            Algorithm::NewReno => self.window.ssthresh / 2,
            _ => self.window.ssthresh,
        }
    }

    /// Fast recovery sets the window (a reduction by and by, its end).
    pub(crate) fn set_recovery_window(&mut self, cwnd: u64) {
        if !self.asks_for_rates() {
            self.window.cwnd = cwnd;
        }
    }

    /// A reduction was needless: window and threshold are again at least what they were
    /// (`tcp_undo_cwnd_reduction`, `tcp_reno_undo_cwnd`).
    pub(crate) fn take_back(&mut self, cwnd: u64, ssthresh: u64) {
        match &mut self.algorithm {
            Algorithm::Bbr(it) => it.on_undo(),
            _ => self.window.cwnd = self.window.cwnd.max(cwnd),
        }
        self.window.ssthresh = self.window.ssthresh.max(ssthresh);
    }

    /// Both sides use ECN.
    pub(crate) fn use_ecn(&mut self) {
        if let Algorithm::Dctcp(it) = &mut self.algorithm {
            it.use_ecn();
        }
    }

    /// An ACK up to `una` came, which may carry ECE; what it acknowledges is told by
    /// [`Self::on_ack`] later.
    pub(crate) fn on_echo(&mut self, una: u64, nxt: u64) {
        if let Algorithm::Dctcp(it) = &mut self.algorithm {
            it.on_echo(una, nxt);
        }
    }

    /// ECE came, and the window falls at once.
    pub(crate) fn on_mark(&mut self) {
        self.reduce_for_mark();
        self.set_recovery_window(self.window.ssthresh);
    }

    /// ECE came: the threshold falls as for a loss (RFC 3168 6.1.2), but for DCTCP; BBR takes no notice.
    pub(crate) fn reduce_for_mark(&mut self) {
        if let Algorithm::Dctcp(it) = &self.algorithm {
            it.reduce_by_alpha(&mut self.window);
        } else {
            self.reduce_threshold();
        }
    }

    /// Whether a loss lowers the window even where a mark has just done so.
    pub(crate) fn halves_on_loss(&self) -> bool {
        match &self.algorithm {
            Algorithm::Dctcp(it) => it.halves_on_loss(),
            Algorithm::Bbr(_) => true,
            _ => false,
        }
    }

    /// A timeout: the window falls to one segment. `first` of the series, it lowers the
    /// threshold too; fast recovery has done so already (Linux; RFC 5681 would take the flight
    /// size again).
    pub(crate) fn on_timeout(&mut self, first: bool) {
        if first {
            self.reduce_threshold();
        }
        self.window.cwnd = self.window.unit;
        self.window.count = 0;
        match &mut self.algorithm {
            Algorithm::NewReno | Algorithm::Dctcp(_) => {}
            Algorithm::Bic(it) => it.reset(),
            Algorithm::Cubic(it) => it.reset(),
            Algorithm::Bbr(it) => it.on_timeout(),
        }
    }

    /// Fast recovery starts, and the window comes down by and by.
    pub(crate) fn reduce_threshold(&mut self) {
        match &mut self.algorithm {
            Algorithm::NewReno => newreno::reduce(&mut self.window),
            Algorithm::Bic(it) => it.reduce(&mut self.window),
            Algorithm::Cubic(it) => it.reduce(&mut self.window),
            Algorithm::Dctcp(it) => it.reduce(&mut self.window),
            Algorithm::Bbr(it) => it.keep_window(&self.window),
        }
    }
}

/// Linux's running estimate of segments an ACK, with which its algorithms of before 3.13 corrected
/// for counting ACKs: sixteenths of a segment, smoothed by 1/16.
#[derive(Clone, Debug)]
struct AckRatio(u32);

impl AckRatio {
    const SHIFT: u32 = 4;

    fn new() -> Self {
        Self(2 << Self::SHIFT)
    }

    #[inline]
    fn sample(&mut self, segments: u32) {
        // as in the kernel, the ratio settles where its whole part equals the sample
        let ratio = self.0 + segments.min(u32::from(u16::MAX));
        self.0 = ratio - (self.0 >> Self::SHIFT);
    }

    fn correct(&self, count: u64) -> u64 {
        (count << Self::SHIFT) / u64::from(self.0.max(1))
    }
}

/// How long an increase rate holds while the window stays the same: HZ/32.
const RATE_HOLDS: Time = Time::from_ps(31_250_000_000);
