//! RED as in Linux up to 3.2: no divisions, and every constant is a power of two.
//!
//! `include/net/red.h` and `tc`'s `tc_red.c`: W = 2^-Wlog, the probability at `max` is (max - min) / 2^Plog, and the
//! decay of an idle queue is looked up in a table of shifts.

use fairport_units::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::{Admission, DropTail, PacketView, QueueDiscipline, QueueView, Reason};
use crate::BuildError;
use crate::context::{PortContext, positive_share};
use crate::limit::{Limit, share};
use crate::stream::Stream;

/// A queue with Linux's RED, in the plan of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// the buffer's limit
    pub limit: Limit,
    /// whether the packet in service counts against the limit
    pub count_in_service: bool,
    /// average below which nothing is dropped early
    pub min_bytes: u32,
    /// average from which on every packet is dropped or marked
    pub max_bytes: u32,
    /// probability at `max_bytes`, in parts of 10^9; the probability per byte above `min_bytes` becomes the greatest
    /// power of two below this one's
    pub max_p_ppb: u32,
    /// weight of a new sample in the average, in parts of 10^9; rounded down to a power of two
    pub weight_ppb: u32,
    /// mark ECN-capable packets instead of dropping them early
    pub ecn: bool,
    /// typical size of a packet; it determines how fast the average of an idle queue falls
    pub mean_packet_bytes: u32,
}

impl Config {
    pub(crate) fn build(&self, port: &PortContext<'_>) -> Result<RedLinux, BuildError> {
        if self.min_bytes >= self.max_bytes {
            let min = Limit::Bytes(self.min_bytes);
            let problem = format!("is not below max, {}", Limit::Bytes(self.max_bytes));
            let remedy = "give the smaller one as min";
            return Err(BuildError::new("queue.min", min, problem, remedy));
        }
        positive_share("max_p", self.max_p_ppb)?;
        positive_share("weight", self.weight_ppb)?;
        let packet_time = port.packet_time(self.mean_packet_bytes);
        let buffer = port.buffer(self.limit)?;
        Ok(RedLinux::new(self, buffer, packet_time, port.stream()))
    }
}

/// Linux's RED: thresholds in bytes, not gentle. If the average is above the upper threshold, ECN-capable packets are
/// still marked (`harddrop` off).
#[derive(Clone, Debug)]
#[repr(C, align(64))] // what every packet needs comes first
pub struct RedLinux {
    average: u64,
    /// thresholds of the average, in bytes · 2^Wlog
    min: u64,
    max: u64,
    /// packets since the last draw; -1 if no number was drawn yet
    count: i64,
    buffer: DropTail,
    idle_shift: IdleTable,
    weight_log: u32,
    ecn: bool,
    /// when the last packet was dropped; an idle link counts as idle from then on
    dropped_at: Instant,
    /// 2^Plog - 1
    mask: u64,
    /// the number drawn, which the count is compared with
    drawn: u64,
    stream: Stream,
}

impl RedLinux {
    /// An empty queue in `buffer` that draws from `stream`. A packet of typical size takes `packet_time` on the link.
    pub fn new(config: &Config, buffer: DropTail, packet_time: Duration, stream: Stream) -> Self {
        let weight_log = log_at_or_below(share(config.weight_ppb));
        let range = f64::from(config.max_bytes - config.min_bytes);
        Self {
            min: u64::from(config.min_bytes) << weight_log,
            max: u64::from(config.max_bytes) << weight_log,
            weight_log,
            mask: (1_u64 << log_below(share(config.max_p_ppb) / range)) - 1,
            idle_shift: IdleTable::new(weight_log, packet_time),
            buffer,
            ecn: config.ecn,
            average: 0,
            count: -1,
            drawn: 0,
            dropped_at: Instant::ZERO,
            stream,
        }
    }

    /// The admission of a packet if the average is above `min`.
    #[inline(never)] // keeps the path of a short queue short
    fn admit_above_min(&mut self, fits: bool, packet: &PacketView) -> Admission {
        let is_early = if self.average >= self.max {
            self.count = -1;
            true
        } else {
            self.is_drawn()
        };
        let marks = self.ecn && packet.is_ecn_capable();
        match is_early {
            true if !marks => Admission::Dropped(Reason::Early),
            _ if !fits => Admission::Dropped(Reason::Full),
            true => Admission::Marked,
            false => Admission::Accepted,
        }
    }

    /// Whether the number of packets, times the average above `min`, has reached the number drawn.
    fn is_drawn(&mut self) -> bool {
        self.count += 1;
        if self.count == 0 {
            self.drawn = self.draw();
            return false;
        }
        let reached = ((self.average - self.min) >> self.weight_log) * self.count as u64;
        if reached < self.drawn {
            return false;
        }
        self.count = 0;
        self.drawn = self.draw();
        true
    }

    fn draw(&mut self) -> u64 {
        self.stream.up_to(self.mask)
    }
}

impl QueueDiscipline for RedLinux {
    #[inline(never)] // makes the dispatcher a jump
    fn admit(&mut self, queue: &QueueView, packet: &PacketView) -> Admission {
        self.average = if queue.idle() > Duration::ZERO {
            let idle = queue.now.saturating_sub(queue.idle_at.max(self.dropped_at));
            self.idle_shift
                .decay(self.average, idle.as_ps() / 1_000_000)
        } else {
            self.average - (self.average >> self.weight_log) + u64::from(queue.backlog.bytes)
        };
        let fits = self.buffer.fits(queue.backlog, packet.frame_bytes);
        if self.average < self.min {
            self.count = -1;
            return if fits {
                Admission::Accepted
            } else {
                Admission::Dropped(Reason::Full)
            };
        }
        let admission = self.admit_above_min(fits, packet);
        if !admission.is_accepted() {
            self.dropped_at = queue.now;
        }
        admission
    }
}

/// The n for which 2^-n is the greatest power of two not above `share`; at most 31. `share` is above 0 and at most 1.
fn log_at_or_below(share: f64) -> u32 {
    let mut log = 0;
    while log < 31 && 1.0 > share * f64::from(1_u32 << log) {
        log += 1;
    }
    log
}

/// The n for which 2^-n is the greatest power of two below `share`, as in tc's `tc_red_eval_P`; at most 31.
fn log_below(share: f64) -> u32 {
    let log = log_at_or_below(share);
    let is_exact = 1.0 >= share * f64::from(1_u32 << log);
    (log + u32::from(is_exact)).min(31)
}

/// By how many bits the average is shifted after an idle period (`Stab`, `Scell_log`).
#[derive(Clone, Debug)]
struct IdleTable {
    shifts: Box<[u8; 256]>,
    cell_log: u32,
}

impl IdleTable {
    fn new(weight_log: u32, packet_time: Duration) -> Self {
        let packet_us = packet_time.as_ps() as f64 / 1e6;
        let per_us = -libm::log(1.0 - 1.0 / f64::from(1_u32 << weight_log)) / packet_us;
        let longest_us = 31.0 / per_us;
        let mut cell_log = 0;
        while cell_log < 31 && longest_us / f64::from(1_u32 << cell_log) >= 512.0 {
            cell_log += 1;
        }
        let mut shifts = Box::new([31; 256]);
        for (cell, shift) in shifts.iter_mut().enumerate().take(255) {
            *shift = ((((cell as u64) << cell_log) as f64 * per_us) as u64).min(31) as u8;
        }
        Self { shifts, cell_log }
    }

    #[inline]
    fn decay(&self, average: u64, idle_us: u64) -> u64 {
        if average == 0 {
            return 0; // most ports, most of the time; they do not read the table
        }
        let idle_us = idle_us.min(255 << self.cell_log);
        let shift = self.shifts[(idle_us >> self.cell_log) as usize & 255];
        if shift > 0 {
            return average >> shift;
        }
        // the first part of the exponential, approximated by a straight line
        let less = ((u128::from(average) * u128::from(idle_us)) >> self.cell_log) as u64;
        average - less.min(average >> 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discipline::fixtures::{ECT0, frame, full_frames};

    const MTU: u32 = 1518;

    fn red(ecn: bool) -> RedLinux {
        let config = Config {
            limit: Limit::Bytes(100 * MTU),
            count_in_service: false,
            min_bytes: 5 * MTU,
            max_bytes: 15 * MTU,
            max_p_ppb: 100_000_000,
            weight_ppb: 2_000_000,
            ecn,
            mean_packet_bytes: 1500,
        };
        let buffer = DropTail::new(config.limit);
        let packet_time = Duration::from_us(12);
        RedLinux::new(&config, buffer, packet_time, Stream::new(1, "test", 0))
    }

    #[test]
    fn weight_and_probability_become_the_powers_of_two_below_them() {
        assert_eq!(log_at_or_below(0.002), 9); // 1/512
        assert_eq!(log_at_or_below(1.0 / 512.0), 9);
        // from 32 KiB to 128 KiB with a max_P of 0.02, and with one that is a power of two per byte: tc takes the next
        // one, because it doubles the probability until it is above 1
        assert_eq!(log_below(0.02 / (96.0 * 1024.0)), 23);
        assert_eq!(log_below(1.0 / f64::from(1 << 22)), 23);
    }

    #[test]
    fn the_average_is_the_fixed_point_form_of_the_formula() {
        let mut red = red(false);
        let mut exact = 0.0;
        let queue = full_frames(4);
        for _ in 0..1000 {
            red.admit(&queue, &frame(MTU));
            exact += (f64::from(4 * MTU) - exact) / 512.0;
        }
        let fixed = red.average as f64 / 512.0;
        assert!((fixed - exact).abs() < 2.0, "{fixed} beside {exact}");
    }

    #[test]
    fn idle_time_halves_the_average_by_a_table_of_natural_logarithms() {
        // W = 1/512, 12 us per packet: -ln(1 - 1/512) / 12 us = 1.629e-4 per us; 31 divided by that is 190 323 us, and
        // cells of 2^9 us are the smallest of which 512 cover it
        let table = IdleTable::new(9, Duration::from_us(12));
        assert_eq!(table.cell_log, 9);
        assert_eq!(table.shifts[11], 0); // 5632 us · 1.629e-4 = 0.92
        assert_eq!(table.shifts[12], 1); // 6144 us: 1.0009
        assert_eq!(table.shifts[100], 8); // 51 200 us: 8.34
        assert_eq!(table.shifts[254], 21);
        assert_eq!(table.shifts[255], 31);
        assert_eq!(table.decay(1 << 20, 100_000_000), 0);
        assert_eq!(table.decay(1 << 20, 51_200), 1 << 12);
        // 128 us are a quarter of a cell: a quarter less
        assert_eq!(table.decay(1 << 20, 128), (1 << 20) * 3 / 4);
    }

    #[test]
    fn gaps_between_drops_follow_the_number_drawn() {
        // the average is constant at 10 packets: (avg - min) · count reaches a uniform draw below 2^Plog, so the gaps
        // are uniform up to 2^Plog / (avg - min)
        let mut red = red(false);
        red.average = u64::from(10 * MTU) << 9;
        let queue = full_frames(10);
        let longest = (red.mask + 1) / u64::from(5 * MTU) + 1;
        let (mut gap, mut gaps) = (0, Vec::new());
        while gaps.len() < 2000 {
            gap += 1;
            if red.admit(&queue, &frame(MTU)) != Admission::Accepted {
                gaps.push(gap);
                gap = 0;
            }
        }
        assert!(gaps[1..].iter().all(|gap| *gap <= longest));
        let mean = gaps[1..].iter().sum::<u64>() as f64 / 1999.0;
        assert!((mean / (longest as f64 / 2.0) - 1.0).abs() < 0.1, "{mean}");
    }

    /// `red_cmp_thresh` and `red_action`: packets count from `min` on, including `min`, and again after the average was
    /// above `max`. The first one only draws a number.
    #[test]
    fn packets_count_between_the_thresholds_only() {
        let mut red = red(false);
        let mut count = |packets: u32| {
            // an average that does not change
            red.average = u64::from(packets * MTU) << 9;
            red.admit(&full_frames(packets), &frame(MTU));
            red.count
        };
        assert_eq!([4, 5, 5, 5].map(&mut count), [-1, 0, 1, 2]);
        assert_eq!([15, 5, 5].map(&mut count), [-1, 0, 1]);
        assert_eq!([4, 14].map(&mut count), [-1, 0]);
    }

    /// `red_enqueue` ends an idle period with any packet. If that is dropped, the next dequeue begins another.
    #[test]
    fn an_idle_time_counts_once_however_many_packets_are_dropped_in_it() {
        let mut red = red(false);
        red.average = u64::from(40 * MTU) << 9;
        let mut average_at = |us| {
            let queue = QueueView {
                now: Instant::from_us(us),
                idle_at: Instant::ZERO,
                ..full_frames(0)
            };
            let admission = red.admit(&queue, &frame(MTU));
            assert_eq!(admission, Admission::Dropped(Reason::Early));
            red.average >> 9
        };
        // 10 ms halve it, and a microsecond more takes a 512th
        assert_eq!(average_at(10_000), u64::from(20 * MTU));
        let left = u64::from(20 * MTU) * 511 / 512;
        assert!(average_at(10_001).abs_diff(left) <= 1);
    }

    #[test]
    fn above_the_upper_threshold_everything_is_dropped_or_marked() {
        for (ecn, wanted) in [
            (false, Admission::Dropped(Reason::Early)),
            (true, Admission::Marked),
        ] {
            let mut red = red(ecn);
            red.average = u64::from(16 * MTU) << 9;
            let queue = full_frames(16);
            let packet = PacketView {
                ecn: ECT0,
                ..frame(MTU)
            };
            assert_eq!(red.admit(&queue, &packet), wanted);
        }
    }

    /// `red_mark_probability` in Linux: drawn unless ((qavg - `qth_min`) >> Wlog) * qcount < qR.
    #[test]
    fn a_packet_is_drawn_from_the_count_on_that_reaches_the_number() {
        let mut red = red(false);
        red.average = red.min + (10 << red.weight_log);
        let mut is_drawn = |count: i64, drawn| {
            (red.count, red.drawn) = (count - 1, drawn);
            red.is_drawn()
        };
        assert!(is_drawn(3, 29) && is_drawn(3, 30));
        assert!(!is_drawn(3, 31));
        // the first above `min` draws a number
        assert!(!is_drawn(0, 0));
    }
}
