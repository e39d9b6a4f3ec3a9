//! Typed columns, and the tables that they make up.
//!
//! While a run goes on, a table is a vector of rows, so that a row costs a cache line or two. The
//! macro `table!` declares it from the columns' names and types: [`crate::tables`] is the one place
//! where a table is defined. At its end the table becomes a [`Table`]: columns of plain
//! numbers.
//!
//! A column's unit is the end of its name (`_s`, `_bytes`, `_bps`, `_ppm`). A value that does not
//! exist is NaN in a column of f64, and the largest number of the type in one of integers.

use fairport_units::{Duration, Instant};

use crate::order::Order;

/// A column of one table.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// small enumerations
    U8(Vec<u8>),
    /// indices and 32-bit wire numbers
    U32(Vec<u32>),
    /// counts and sizes
    U64(Vec<u64>),
    /// times in s, rates in bit/s
    F64(Vec<f64>),
}

impl Column {
    /// Rows in it.
    pub fn len(&self) -> usize {
        match self {
            Self::U8(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::U64(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The name of its values' type, as tables of types usually have it.
    pub fn dtype(&self) -> &'static str {
        match self {
            Self::U8(_) => "u8",
            Self::U32(_) => "u32",
            Self::U64(_) => "u64",
            Self::F64(_) => "f64",
        }
    }

    /// Adds the rows of another column of the same type.
    fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::U8(own), Self::U8(mut more)) => own.append(&mut more),
            (Self::U32(own), Self::U32(mut more)) => own.append(&mut more),
            (Self::U64(own), Self::U64(mut more)) => own.append(&mut more),
            (Self::F64(own), Self::F64(mut more)) => own.append(&mut more),
            (own, more) => unreachable!("{} after {}", more.dtype(), own.dtype()),
        }
    }

    /// Leaves out the rows after the first so many.
    fn truncate(&mut self, rows: usize) {
        match self {
            Self::U8(values) => values.truncate(rows),
            Self::U32(values) => values.truncate(rows),
            Self::U64(values) => values.truncate(rows),
            Self::F64(values) => values.truncate(rows),
        }
    }

    /// Row `i` is from now on what row `order.of[i]` was.
    fn reorder(&mut self, order: &Order) {
        match self {
            Self::U8(values) => order.apply(values),
            Self::U32(values) => order.apply(values),
            Self::U64(values) => order.apply(values),
            Self::F64(values) => order.apply(values),
        }
    }
}

/// A table: its name, and its columns by name.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// unique among the tables
    pub name: &'static str,
    /// all of one length
    pub columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        let found = self.columns.iter().find(|(own, _)| *own == name);
        found.map(|(_, column)| column)
    }

    /// Rows of the table.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// Adds the rows of another table with the same columns.
    ///
    /// # Panics
    /// If its columns are others.
    pub fn append(&mut self, other: Self) {
        assert_eq!(
            (self.name, self.columns.len()),
            (other.name, other.columns.len())
        );
        for ((name, own), (other_name, more)) in self.columns.iter_mut().zip(other.columns) {
            assert_eq!(*name, other_name);
            own.append(more);
        }
    }

    /// The same rows in order of a column of times, and of one of numbers where these are equal; equal rows
    /// stay in their order. So it does not depend on the order in which an engine visits ports and flows.
    ///
    /// # Panics
    /// If there are no such columns.
    #[must_use]
    pub fn in_order_of(mut self, [time, number]: [&str; 2]) -> Self {
        let (Some(Column::F64(times)), Some(Column::U32(numbers))) =
            (self.column(time), self.column(number))
        else {
            unreachable!("{} has no columns {time} and {number}", self.name);
        };
        let key = |row: &u32| (times[*row as usize], numbers[*row as usize]);
        let compare = |a: &u32, b: &u32| {
            let ((a_time, a_number), (b_time, b_number)) = (key(a), key(b));
            let by_key = a_time.total_cmp(&b_time).then(a_number.cmp(&b_number));
            by_key.then(a.cmp(b))
        };
        let mut order: Vec<u32> = (0..times.len() as u32).collect();
        if !order.is_sorted_by(|a, b| compare(a, b).is_le()) {
            order.sort_unstable_by(compare);
            self.reorder(order);
        }
        self
    }

    /// Leaves out the rows after the first so many.
    pub(crate) fn truncate(&mut self, rows: usize) {
        for (_, column) in &mut self.columns {
            column.truncate(rows);
        }
    }

    /// Row `i` is from now on what row `order[i]` was.
    fn reorder(&mut self, order: Vec<u32>) {
        let order = Order::new(order);
        for (_, column) in &mut self.columns {
            column.reorder(&order);
        }
    }
}

/// What a column may hold.
pub trait Cell {
    /// how it is stored while the run goes on
    type Stored: Copy;

    /// Stores a value.
    fn store(self) -> Self::Stored;

    /// The column of the values stored.
    fn column(stored: Vec<Self::Stored>) -> Column;
}

/// Cells that are stored as they are.
macro_rules! plain_cells {
    ($($type:ty => $column:ident),+) => {$(
        impl Cell for $type {
            type Stored = Self;

            #[inline]
            fn store(self) -> Self {
                self
            }

            fn column(stored: Vec<Self>) -> Column {
                Column::$column(stored)
            }
        }
    )+};
}

plain_cells!(u8 => U8, u32 => U32, u64 => U64, f64 => F64);

/// Integers that may be missing: the largest number means none.
macro_rules! optional_cells {
    ($($type:ty => $column:ident),+) => {$(
        impl Cell for Option<$type> {
            type Stored = $type;

            #[inline]
            fn store(self) -> $type {
                self.unwrap_or(<$type>::MAX)
            }

            fn column(stored: Vec<$type>) -> Column {
                Column::$column(stored)
            }
        }
    )+};
}

optional_cells!(u32 => U32, u64 => U64);

/// In s; `NEVER` is a time that does not exist.
macro_rules! time_cells {
    ($($type:ty),+) => {$(
        impl Cell for $type {
            type Stored = Self;

            #[inline]
            fn store(self) -> Self {
                self
            }

            fn column(stored: Vec<Self>) -> Column {
                let seconds = |time: Self| match time {
                    Self::NEVER => f64::NAN,
                    time => time.as_secs_f64(),
                };
                Column::F64(stored.into_iter().map(seconds).collect())
            }
        }
    )+};
}

time_cells!(Instant, Duration);

/// In so many parts a table's rows become columns: it needs that much more memory than its rows alone.
pub(crate) const PARTS: usize = 16;

/// Declares a table: the struct of its columns, the struct of one row, and its name.
///
/// `Drops` of `Drop` in `"drops"` gets `Drops::push(Drop { .. })`, `Drops::ROW_BYTES` (what one row
/// takes in memory, from the columns' types) and `Drops::into_table()`.
macro_rules! table {
    (
        $(#[$about:meta])*
        $table:ident of $row:ident in $name:literal {
            $($(#[$doc:meta])* $column:ident: $type:ty,)+
        }
    ) => {
        $(#[$about])*
        ///
        /// One row of the table:
        #[derive(Clone, Copy, Debug)]
        pub struct $row {
            $($(#[$doc])* pub $column: $type,)+
        }

        $(#[$about])*
        #[derive(Clone, Default)]
        pub struct $table {
            rows: Vec<($(<$type as $crate::column::Cell>::Stored,)+)>,
            /// tables whose rows come behind these
            behind: Vec<Self>,
        }

        impl $table {
            /// The table's name.
            pub const NAME: &'static str = $name;

            /// What one row takes in memory, bytes.
            pub const ROW_BYTES: u64 =
                size_of::<($(<$type as $crate::column::Cell>::Stored,)+)>() as u64;

            /// No rows, with room for so many.
            pub fn with_capacity(rows: usize) -> Self {
                Self { rows: Vec::with_capacity(rows), behind: Vec::new() }
            }

            /// Adds a row.
            #[inline]
            pub fn push(&mut self, row: $row) {
                debug_assert!(self.behind.is_empty(), "rows of other tables come last");
                self.rows.push(($($crate::column::Cell::store(row.$column),)+));
            }

            /// Adds the rows of another such table behind all rows of this one. They stay where they are until the
            /// table is finished, for a copy would need room for both.
            pub fn append(&mut self, other: Self) {
                self.behind.push(other);
            }

            /// The columns' names and types.
            pub fn columns() -> Vec<(&'static str, &'static str)> {
                let empty = Self::default().into_table();
                empty.columns.iter().map(|(name, column)| (*name, column.dtype())).collect()
            }

            /// The finished table.
            pub fn into_table(self) -> $crate::column::Table {
                struct Columns {
                    $($column: Vec<<$type as $crate::column::Cell>::Stored>,)+
                }
                let mut rows = self.rows;
                let mut columns = Columns { $($column: Vec::with_capacity(rows.len()),)+ };
                // From the end, so that rows give their memory back while columns take theirs: the largest table
                // decides how much a run needs at most.
                let part = rows.len().div_ceil($crate::column::PARTS);
                while !rows.is_empty() {
                    for ($($column,)+) in rows.drain(rows.len().saturating_sub(part)..).rev() {
                        $(columns.$column.push($column);)+
                    }
                    rows.shrink_to_fit();
                }
                $(columns.$column.reverse();)+
                let mut table = $crate::column::Table {
                    name: Self::NAME,
                    columns: vec![$((
                        stringify!($column),
                        <$type as $crate::column::Cell>::column(columns.$column),
                    ),)+],
                };
                for more in self.behind {
                    table.append(more.into_table());
                }
                table
            }
        }
    };
}

pub(crate) use table;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_empty_while_it_has_no_rows() {
        assert!(Column::U32(Vec::new()).is_empty());
        let mut column = Column::U32(vec![4]);
        column.append(Column::U32(vec![5, 6]));
        assert!(!column.is_empty());
        assert_eq!(column.len(), 3);
    }

    #[test]
    fn rows_of_one_time_and_number_stay_in_their_order() {
        let table = Table {
            name: "rows",
            columns: vec![
                ("time_s", Column::F64(vec![2.0, 1.0, 2.0, 1.0, 2.0])),
                ("port", Column::U32(vec![7, 8, 6, 8, 7])),
                ("row", Column::U8(vec![0, 1, 2, 3, 4])),
            ],
        };
        let sorted = table.in_order_of(["time_s", "port"]);
        assert_eq!(sorted.column("row"), Some(&Column::U8(vec![1, 3, 2, 0, 4])));
    }
}
