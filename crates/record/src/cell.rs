//! The types of values in a column, and how they are stored during a run.

use fairport_units::{Duration, Instant};

use crate::column::Column;

/// A type of value that a column may hold.
pub trait Cell {
    /// the type in which a row stores it during the run
    type Stored: Copy;
    /// the type of the column's values
    type Value;

    /// Stores a value. A number that does not fit into a row is appended to `large`.
    fn store(self, large: &mut Vec<u64>) -> Self::Stored;

    /// The stored value, as the column has it.
    fn load(stored: Self::Stored, large: &[u64]) -> Self::Value;

    /// The column with these values.
    fn column(values: Vec<Self::Value>) -> Column;
}

/// Cells that are stored unchanged.
macro_rules! plain_cells {
    ($($type:ty => $column:ident),+) => {$(
        impl Cell for $type {
            type Stored = Self;
            type Value = Self;

            #[inline]
            fn store(self, _: &mut Vec<u64>) -> Self {
                self
            }

            #[inline]
            fn load(stored: Self, _: &[u64]) -> Self {
                stored
            }

            fn column(values: Vec<Self>) -> Column {
                Column::$column(values)
            }
        }
    )+};
}

plain_cells!(u8 => U8, u32 => U32, f64 => F64);

/// A truth value: 1 if true, 0 if not.
impl Cell for bool {
    type Stored = u8;
    type Value = u8;

    #[inline]
    fn store(self, _: &mut Vec<u64>) -> u8 {
        u8::from(self)
    }

    #[inline]
    fn load(stored: u8, _: &[u64]) -> u8 {
        stored
    }

    fn column(values: Vec<u8>) -> Column {
        Column::U8(values)
    }
}

/// An integer that may be missing; the largest number means none.
impl Cell for Option<u32> {
    type Stored = u32;
    type Value = u32;

    #[inline]
    fn store(self, _: &mut Vec<u64>) -> u32 {
        self.unwrap_or(u32::MAX)
    }

    #[inline]
    fn load(stored: u32, _: &[u64]) -> u32 {
        stored
    }

    fn column(values: Vec<u32>) -> Column {
        Column::U32(values)
    }
}

/// Counts and sizes below this take four bytes of a row. For larger ones the row has this number plus their index in
/// the list of large numbers.
const LARGE: u32 = 1 << 31;

/// Stores a number of at least [`LARGE`]. The largest number, which means none, is frequent and takes no entry.
#[cold]
fn store_large(number: u64, large: &mut Vec<u64>) -> u32 {
    if number == u64::MAX {
        return u32::MAX;
    }
    let place = large.len() as u32;
    assert!(place < u32::MAX - LARGE, "too many large numbers");
    large.push(number);
    LARGE + place
}

impl Cell for u64 {
    type Stored = u32;
    type Value = Self;

    #[inline]
    fn store(self, large: &mut Vec<u64>) -> u32 {
        if self < Self::from(LARGE) {
            self as u32
        } else {
            store_large(self, large)
        }
    }

    #[inline]
    fn load(stored: u32, large: &[u64]) -> Self {
        match stored {
            u32::MAX => Self::MAX,
            LARGE.. => large[(stored - LARGE) as usize],
            small => Self::from(small),
        }
    }

    fn column(values: Vec<Self>) -> Column {
        Column::U64(values)
    }
}

/// An integer that may be missing; the largest number means none.
impl Cell for Option<u64> {
    type Stored = u32;
    type Value = u64;

    #[inline]
    fn store(self, large: &mut Vec<u64>) -> u32 {
        self.unwrap_or(u64::MAX).store(large)
    }

    #[inline]
    fn load(stored: u32, large: &[u64]) -> u64 {
        u64::load(stored, large)
    }

    fn column(values: Vec<u64>) -> Column {
        Column::U64(values)
    }
}

/// Times, which become seconds in the column. `NEVER` means that there is no such time.
macro_rules! time_cells {
    ($($type:ty),+) => {$(
        impl Cell for $type {
            type Stored = Self;
            type Value = f64;

            #[inline]
            fn store(self, _: &mut Vec<u64>) -> Self {
                self
            }

            #[inline]
            fn load(stored: Self, _: &[u64]) -> f64 {
                match stored {
                    Self::NEVER => f64::NAN,
                    time => time.as_secs_f64(),
                }
            }

            fn column(values: Vec<f64>) -> Column {
                Column::F64(values)
            }
        }
    )+};
}

time_cells!(Instant, Duration);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_what_they_were_however_large() {
        let bound = u64::from(LARGE);
        let counts = [0, bound - 1, bound, 1 << 32, u64::MAX - 1, u64::MAX];
        let mut large = Vec::new();
        let stored = counts.map(|count| count.store(&mut large));
        assert_eq!(stored.map(|it| u64::load(it, &large)), counts);
        assert_eq!(large, counts[2..5]);
    }
}
