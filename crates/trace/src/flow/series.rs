//! The state of flows over time, in intervals that become longer if there would be too many.

use std::iter;

use fairport_record::tables::{SeriesRow, SeriesRows};
use fairport_units::{Duration, Instant};

/// Maximum number of intervals of all flows together.
const MOST_CELLS: usize = 1 << 18;
/// Directions with this number or a higher one have no series.
pub(crate) const MOST_DIRECTIONS: u32 = 1 << 17;

/// One flow in one interval.
#[derive(Clone, Copy, Debug)]
struct Cell {
    interval: u32,
    new_bytes: u64,
    in_flight_bytes: u32,
    srtt_us: f32,
    rtt: Rtt,
}

/// RTT samples of an interval, in us.
#[derive(Clone, Copy, Debug, Default)]
struct Rtt {
    min: f32,
    max: f32,
    /// of a million samples or more: `f32` would lose microseconds of each
    sum: f64,
    samples: u32,
}

impl Rtt {
    fn join(self, other: Self) -> Self {
        if self.samples == 0 || other.samples == 0 {
            return if self.samples == 0 { other } else { self };
        }
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            sum: self.sum + other.sum,
            samples: self.samples + other.samples,
        }
    }
}

/// The intervals of all directions.
#[derive(Clone, Debug)]
pub(crate) struct Series {
    interval_ns: u64,
    /// the interval that was used last, and its beginning
    present: (u32, u64),
    cells: usize,
    /// by direction: its intervals
    of: Vec<Vec<Cell>>,
}

/// The state of a direction at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Present {
    pub(crate) in_flight_bytes: u64,
    pub(crate) srtt_ns: f64,
}

impl Series {
    pub(crate) fn new(interval_ns: u64) -> Self {
        Self {
            interval_ns,
            present: (0, 0),
            cells: 0,
            of: Vec::new(),
        }
    }

    pub(crate) fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// Adds new bytes of a direction that arrived at the receiver, with the sender's state at that time.
    #[inline]
    pub(crate) fn add(&mut self, direction: u32, time_ns: u64, new_bytes: u64, present: Present) {
        let Some(cell) = self.cell(direction, time_ns) else {
            return;
        };
        cell.new_bytes += new_bytes;
        cell.in_flight_bytes = present.in_flight_bytes.min(u64::from(u32::MAX)) as u32;
        cell.srtt_us = (present.srtt_ns / 1e3) as f32;
    }

    /// Adds an RTT sample.
    #[inline]
    pub(crate) fn add_rtt(&mut self, direction: u32, time_ns: u64, rtt_ns: u64) {
        let us = rtt_ns as f32 / 1e3;
        let Some(cell) = self.cell(direction, time_ns) else {
            return;
        };
        cell.rtt = cell.rtt.join(Rtt {
            min: us,
            max: us,
            sum: f64::from(us),
            samples: 1,
        });
    }

    #[inline]
    fn cell(&mut self, direction: u32, time_ns: u64) -> Option<&mut Cell> {
        if direction >= MOST_DIRECTIONS {
            return None;
        }
        let direction = direction as usize;
        if self.of.len() <= direction {
            self.of.resize(direction + 1, Vec::new());
        }
        if self.cells >= MOST_CELLS {
            self.double();
        }
        let interval = self.interval_of(time_ns);
        let cells = &mut self.of[direction];
        // a packet that left late may belong to an interval before the newest one
        let place = match cells.last() {
            None => 0,
            Some(newest) if newest.interval == interval => cells.len() - 1,
            Some(newest) if newest.interval < interval => cells.len(),
            Some(_) => cells.partition_point(|cell| cell.interval < interval),
        };
        if cells
            .get(place)
            .is_none_or(|cell| cell.interval != interval)
        {
            let like = place.checked_sub(1).map(|before| cells[before]);
            self.cells += 1;
            cells.insert(
                place,
                Cell {
                    interval,
                    new_bytes: 0,
                    in_flight_bytes: like.map_or(0, |like| like.in_flight_bytes),
                    srtt_us: like.map_or(0.0, |like| like.srtt_us),
                    rtt: Rtt::default(),
                },
            );
        }
        Some(&mut cells[place])
    }

    /// The interval of a time; mostly that of the packet before.
    #[inline]
    fn interval_of(&mut self, time_ns: u64) -> u32 {
        let (interval, from_ns) = self.present;
        if time_ns.wrapping_sub(from_ns) < self.interval_ns {
            return interval;
        }
        while time_ns / self.interval_ns > u64::from(u32::MAX) {
            self.double();
        }
        let number = time_ns / self.interval_ns;
        self.present = (number as u32, number * self.interval_ns);
        number as u32
    }

    /// Reads data that the next packet of this direction needs; see [`Tracker::warm`](super::Tracker::warm).
    #[inline]
    pub(crate) fn warm(&self, direction: u32) -> u32 {
        let cells = self.of.get(direction as usize);
        cells
            .and_then(|cells| cells.last())
            .map_or(0, |cell| cell.interval)
    }

    /// Doubles the length of every interval.
    #[cold]
    fn double(&mut self) {
        self.interval_ns *= 2;
        self.present = (0, 0);
        self.cells = 0;
        for cells in &mut self.of {
            let mut joined: Vec<Cell> = Vec::with_capacity(cells.len() / 2 + 1);
            for cell in cells.drain(..) {
                let interval = cell.interval / 2;
                match joined.last_mut() {
                    Some(last) if last.interval == interval => {
                        *last = Cell {
                            interval,
                            new_bytes: last.new_bytes + cell.new_bytes,
                            rtt: last.rtt.join(cell.rtt),
                            ..cell
                        };
                    }
                    _ => joined.push(Cell { interval, ..cell }),
                }
            }
            self.cells += joined.len();
            *cells = joined;
        }
    }

    /// Bytes of a direction in the intervals that begin at `from_ns` or later, and before `to_ns`.
    pub(crate) fn bytes_between(&self, direction: u32, from_ns: u64, to_ns: u64) -> u64 {
        let cells = self.cells_of(direction).iter();
        let begins_ns = |cell: &&Cell| u64::from(cell.interval) * self.interval_ns;
        let within = cells.filter(|cell| (from_ns..to_ns).contains(&begins_ns(cell)));
        within.map(|cell| cell.new_bytes).sum()
    }

    /// The rows of these directions, by number of the flow, from the first packet to the last. Intervals without
    /// packets have rows as well.
    pub(crate) fn into_rows(mut self, directions: &[u32]) -> SeriesRows {
        let mut spans = self.spans(directions);
        while spans.iter().map(Span::rows).sum::<usize>() > MOST_CELLS {
            self.double();
            spans = self.spans(directions);
        }
        let mut table = SeriesRows::with_capacity(spans.iter().map(Span::rows).sum());
        let mut cursors = vec![Cursor::default(); directions.len()];
        spans.sort_by_key(|span| span.first);
        let mut later = spans.into_iter().peekable();
        // flows with a row in this interval, by number
        let mut present: Vec<Span> = Vec::new();
        while let Some(first) = later.peek().map(|span| span.first) {
            let mut interval = first;
            while interval == first || !present.is_empty() {
                let before = present.len();
                present.extend(iter::from_fn(|| {
                    later.next_if(|span| span.first == interval)
                }));
                if present.len() > before {
                    present.sort_by_key(|span| span.flow);
                }
                for Span { flow, .. } in &present {
                    let cursor = &mut cursors[*flow as usize];
                    let cell = cursor.step(self.cells_of(directions[*flow as usize]), interval);
                    table.push(self.row(*flow, interval, cell, cursor.delivered_bytes));
                }
                present.retain(|span| span.last > interval);
                interval += 1;
            }
        }
        table
    }

    fn cells_of(&self, direction: u32) -> &[Cell] {
        let cells = self.of.get(direction as usize);
        cells.map_or(&[], Vec::as_slice)
    }

    /// The intervals of these directions, for those that have any.
    fn spans(&self, directions: &[u32]) -> Vec<Span> {
        let spans = (0..).zip(directions).filter_map(|(flow, direction)| {
            let cells = self.cells_of(*direction);
            Some(Span {
                flow,
                first: cells.first()?.interval,
                last: cells.last()?.interval,
            })
        });
        spans.collect()
    }

    fn row(&self, flow: u32, interval: u32, cell: Cell, delivered_bytes: u64) -> SeriesRow {
        let rtt_s = |us: f64| match cell.rtt.samples {
            0 => f64::NAN,
            _ => us / 1e6,
        };
        let srtt_ns = (f64::from(cell.srtt_us) * 1e3) as u64;
        SeriesRow {
            time_s: Instant::from_ns((u64::from(interval) + 1) * self.interval_ns),
            flow,
            goodput_bps: cell.new_bytes as f64 * 8.0 / (self.interval_ns as f64 / 1e9),
            cwnd_bytes: None,
            ssthresh_bytes: None,
            srtt_s: if srtt_ns == 0 {
                Duration::NEVER
            } else {
                Duration::from_ns(srtt_ns)
            },
            in_flight_bytes: u64::from(cell.in_flight_bytes),
            rtt_min_s: rtt_s(cell.rtt.min.into()),
            rtt_mean_s: rtt_s(cell.rtt.sum / f64::from(cell.rtt.samples.max(1))),
            rtt_max_s: rtt_s(cell.rtt.max.into()),
            delivered_bytes,
        }
    }
}

/// The first and the last interval of a flow.
#[derive(Clone, Copy, Debug)]
struct Span {
    flow: u32,
    first: u32,
    last: u32,
}

impl Span {
    fn rows(&self) -> usize {
        (self.last - self.first) as usize + 1
    }
}

/// The position in the rows of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Cursor {
    /// number of cells that already have a row
    done: usize,
    delivered_bytes: u64,
}

impl Cursor {
    /// The cell for the next interval: the flow's own, or one without arrivals.
    fn step(&mut self, cells: &[Cell], interval: u32) -> Cell {
        let next = cells
            .get(self.done)
            .filter(|cell| cell.interval == interval);
        if let Some(cell) = next {
            self.done += 1;
            self.delivered_bytes += cell.new_bytes;
            return *cell;
        }
        Cell {
            new_bytes: 0,
            rtt: Rtt::default(),
            ..cells[self.done - 1]
        }
    }
}

#[cfg(test)]
mod tests;
