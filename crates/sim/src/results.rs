//! What a run gives: tables of numbers. Names and units as in the project's tables; enumerations
//! and ports are indices into lists of names that come beside them.

use fairport_units::Time;

/// A column of one table.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// small enumerations
    U8(Vec<u8>),
    /// indices and 32-bit wire numbers
    U32(Vec<u32>),
    /// counts and sizes
    U64(Vec<u64>),
    /// times in s, rates in bit/s; NaN where there is no value
    F64(Vec<f64>),
}

/// A table: its name, and its columns by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// unique among the tables
    pub name: &'static str,
    /// all of one length
    pub columns: Vec<(&'static str, Column)>,
}

/// Everything that a run gives.
#[derive(Clone, Debug)]
pub struct Results {
    /// hash of packet facts: equal for equal scenario, seed and version, on every machine
    pub fingerprint: u64,
    /// packets whose last bit arrived at a next node
    pub packet_hops: u64,
    /// packet-hops and timers that fired
    pub events: u64,
    /// start of the measurement
    pub measure_from: Time,
    /// end of the measurement
    pub measure_to: Time,
    /// what was simulated
    pub simulated: Time,
    /// lists of names: ports, reasons of drops, causes of timeouts
    pub names: Vec<(&'static str, Vec<String>)>,
    /// the tables
    pub tables: Vec<Table>,
}

impl Column {
    /// Times in s; [`Time::NEVER`] gives NaN.
    pub(crate) fn seconds(times: impl IntoIterator<Item = Time>) -> Self {
        let seconds = |time: Time| match time {
            Time::NEVER => f64::NAN,
            time => time.as_secs_f64(),
        };
        Self::F64(times.into_iter().map(seconds).collect())
    }

    /// Row `i` is from now on what row `order[i]` was.
    pub(crate) fn reorder(&mut self, order: &[u32]) {
        fn reordered<T: Copy>(values: &[T], order: &[u32]) -> Vec<T> {
            order.iter().map(|row| values[*row as usize]).collect()
        }
        match self {
            Self::U8(values) => *values = reordered(values, order),
            Self::U32(values) => *values = reordered(values, order),
            Self::U64(values) => *values = reordered(values, order),
            Self::F64(values) => *values = reordered(values, order),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_put_in_order() {
        let order = [2, 0, 1];
        let mut column = Column::seconds([3, 1, 2].map(Time::from_secs));
        column.reorder(&order);
        assert_eq!(column, Column::F64(vec![2.0, 3.0, 1.0]));
        let mut column = Column::U8(vec![7, 8, 9]);
        column.reorder(&order);
        assert_eq!(column, Column::U8(vec![9, 7, 8]));
    }
}
