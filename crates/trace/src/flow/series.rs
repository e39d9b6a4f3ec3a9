//! What flows are like over time, in intervals that become longer when there would be too many.

use fairport_record::tables::{SeriesRow, SeriesRows};
use fairport_units::{Duration, Instant};

/// Intervals of all flows together, at most.
const MOST_CELLS: usize = 1 << 19;
/// Directions beyond this number have no series.
pub(crate) const MOST_DIRECTIONS: u32 = 1 << 17;

/// One flow within one interval.
#[derive(Clone, Copy, Debug)]
struct Cell {
    interval: u32,
    new_bytes: u32,
    in_flight_bytes: u32,
    srtt_us: f32,
    rtt: Rtt,
}

/// RTT samples of an interval, in us.
#[derive(Clone, Copy, Debug, Default)]
struct Rtt {
    min: f32,
    max: f32,
    sum: f32,
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
    cells: usize,
    /// by direction
    of: Vec<Vec<Cell>>,
}

/// What a direction is like at the moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Present {
    pub(crate) in_flight_bytes: u64,
    pub(crate) srtt_ns: f64,
}

impl Series {
    pub(crate) fn new(interval_ns: u64) -> Self {
        Self {
            interval_ns,
            cells: 0,
            of: Vec::new(),
        }
    }

    pub(crate) fn interval_ns(&self) -> u64 {
        self.interval_ns
    }

    /// New bytes of a direction arrived at the receiver, and its sender is like that.
    #[inline]
    pub(crate) fn add(&mut self, direction: u32, time_ns: u64, new_bytes: u64, present: Present) {
        let Some(cell) = self.cell(direction, time_ns) else {
            return;
        };
        cell.new_bytes = cell.new_bytes.saturating_add(new_bytes as u32);
        cell.in_flight_bytes = present.in_flight_bytes.min(u64::from(u32::MAX)) as u32;
        cell.srtt_us = (present.srtt_ns / 1e3) as f32;
    }

    /// An RTT sample.
    #[inline]
    pub(crate) fn add_rtt(&mut self, direction: u32, time_ns: u64, rtt_ns: u64) {
        let us = rtt_ns as f32 / 1e3;
        let Some(cell) = self.cell(direction, time_ns) else {
            return;
        };
        cell.rtt = cell.rtt.join(Rtt {
            min: us,
            max: us,
            sum: us,
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
        while self.cells >= MOST_CELLS || time_ns / self.interval_ns > u64::from(u32::MAX) {
            self.double();
        }
        let interval = (time_ns / self.interval_ns) as u32;
        let cells = &mut self.of[direction];
        // what left late may belong to an interval before the newest one
        let place = match cells.last() {
            Some(newest) if newest.interval == interval => cells.len() - 1,
            _ => cells.partition_point(|cell| cell.interval < interval),
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

    /// Makes every interval twice as long.
    #[cold]
    fn double(&mut self) {
        self.interval_ns *= 2;
        self.cells = 0;
        for cells in &mut self.of {
            let mut joined: Vec<Cell> = Vec::with_capacity(cells.len() / 2 + 1);
            for cell in cells.drain(..) {
                let interval = cell.interval / 2;
                match joined.last_mut() {
                    Some(last) if last.interval == interval => {
                        *last = Cell {
                            interval,
                            new_bytes: last.new_bytes.saturating_add(cell.new_bytes),
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

    /// Bytes of a direction from an instant on, to the interval.
    pub(crate) fn bytes_between(&self, direction: u32, from_ns: u64, to_ns: u64) -> u64 {
        let cells = self
            .of
            .get(direction as usize)
            .map_or(&[][..], Vec::as_slice);
        let within = cells.iter().filter(|cell| {
            let start_ns = u64::from(cell.interval) * self.interval_ns;
            (from_ns..to_ns).contains(&start_ns)
        });
        within.map(|cell| u64::from(cell.new_bytes)).sum()
    }

    /// Rows of these directions, by number of the flow, from the first packet to the last: also of intervals
    /// in which nothing came.
    pub(crate) fn into_rows(mut self, directions: &[u32]) -> SeriesRows {
        let spans = |series: &Self| -> usize {
            let cells = directions
                .iter()
                .filter_map(|one| series.of.get(*one as usize));
            cells
                .filter_map(|cells| Some((cells.first()?.interval, cells.last()?.interval)))
                .map(|(first, last)| (last - first) as usize + 1)
                .sum()
        };
        while spans(&self) > MOST_CELLS {
            self.double();
        }
        let mut rows: Vec<(u32, SeriesRow)> = Vec::new();
        for (flow, direction) in directions.iter().enumerate() {
            if let Some(cells) = self.of.get(*direction as usize) {
                self.rows_of(flow as u32, cells, &mut rows);
            }
        }
        rows.sort_by_key(|(interval, row)| (*interval, row.flow));
        let mut table = SeriesRows::with_capacity(rows.len());
        for (_, row) in rows {
            table.push(row);
        }
        table
    }

    fn rows_of(&self, flow: u32, cells: &[Cell], rows: &mut Vec<(u32, SeriesRow)>) {
        let interval_s = self.interval_ns as f64 / 1e9;
        let mut delivered_bytes = 0;
        let mut before: Option<Cell> = None;
        for cell in cells {
            let empty = before.map_or(cell.interval, |before| before.interval + 1);
            for interval in empty..=cell.interval {
                let now = if interval == cell.interval {
                    *cell
                } else {
                    Cell {
                        new_bytes: 0,
                        rtt: Rtt::default(),
                        ..before.unwrap_or(*cell)
                    }
                };
                delivered_bytes += u64::from(now.new_bytes);
                let rtt_s = |us: f32| match now.rtt.samples {
                    0 => f64::NAN,
                    _ => f64::from(us) / 1e6,
                };
                let srtt_ns = (f64::from(now.srtt_us) * 1e3) as u64;
                let row = SeriesRow {
                    time_s: Instant::from_ns((u64::from(interval) + 1) * self.interval_ns),
                    flow,
                    goodput_bps: f64::from(now.new_bytes) * 8.0 / interval_s,
                    cwnd_bytes: 0,
                    ssthresh_bytes: None,
                    srtt_s: if srtt_ns == 0 {
                        Duration::NEVER
                    } else {
                        Duration::from_ns(srtt_ns)
                    },
                    in_flight_bytes: u64::from(now.in_flight_bytes),
                    rtt_min_s: rtt_s(now.rtt.min),
                    rtt_mean_s: rtt_s(now.rtt.sum / now.rtt.samples.max(1) as f32),
                    rtt_max_s: rtt_s(now.rtt.max),
                    delivered_bytes,
                };
                rows.push((interval, row));
            }
            before = Some(*cell);
        }
    }
}
