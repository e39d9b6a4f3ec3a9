//! Rows of tables during a run, and their conversion into columns at its end.
//!
//! During a run a table is a vector of rows, so that adding a row touches only a cache line or two. The macro `table!`
//! declares it from the columns' names and types; [`crate::tables`] is the only place where tables are defined. At the
//! end of the run it becomes a [`crate::Table`], with columns of plain numbers. The largest table determines the peak
//! memory of a run. So rows are smaller than their columns, and their memory is released gradually while the columns
//! grow.

/// Number of steps in which rows release their memory while they become columns.
pub(crate) const STEPS: usize = 64;

/// Rows in the order in which they were added.
#[derive(Clone)]
pub(crate) struct Rows<R> {
    pub(crate) pushed: Vec<R>,
    /// numbers that do not fit into a row
    pub(crate) large: Vec<u64>,
    /// rows that were added after a row that they belong before; in order once they are separated
    late: Vec<R>,
}

impl<R> Default for Rows<R> {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl<R> Rows<R> {
    /// An empty table with room for `rows` rows.
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self {
            pushed: Vec::with_capacity(rows),
            large: Vec::new(),
            late: Vec::new(),
        }
    }

    /// Moves late rows to a separate list, so that all others are in order. Few rows are late: they come from a port
    /// that catches up with its departures, or after a host has decided about packets in advance.
    fn set_apart<K: Ord>(&mut self, key: impl Fn(&R) -> K) {
        let mut last = None;
        let is_late = |row: &mut R| {
            let key = Some(key(row));
            let is_late = key < last;
            if !is_late {
                last = key;
            }
            is_late
        };
        self.late = self.pushed.extract_if(.., is_late).collect();
        self.late.sort_by_key(key);
    }

    /// The key of the row that is last in the order of keys.
    fn last_key<K: Ord>(&self, key: impl Fn(&R) -> K) -> Option<K> {
        let [last, late] = [self.pushed.last(), self.late.last()];
        last.map(&key).max(late.map(&key))
    }

    /// Removes the row that is last in the order of keys. Among equal ones a late row, because it was added later.
    fn pop<K: Ord>(&mut self, key: impl Fn(&R) -> K) -> Option<R> {
        let late = self.late.last().map(&key);
        if late.is_some() && late >= self.pushed.last().map(&key) {
            self.late.pop()
        } else {
            self.pushed.pop()
        }
    }
}

/// The rows of several regions, from last to first in the order of their keys. Equal rows are in the order of regions,
/// and within a region in the order in which they were added.
pub(crate) struct FromLast<R, F> {
    regions: Vec<Rows<R>>,
    key: F,
}

impl<R, K: Ord, F: Fn(&R) -> K> FromLast<R, F> {
    /// All rows of these regions.
    pub(crate) fn new(mut regions: Vec<Rows<R>>, key: F) -> Self {
        for region in &mut regions {
            region.set_apart(&key);
        }
        Self { regions, key }
    }

    /// Number of rows left.
    pub(crate) fn len(&self) -> usize {
        let lengths = self
            .regions
            .iter()
            .map(|it| it.pushed.len() + it.late.len());
        lengths.sum()
    }

    /// Removes the last row that is left. Returns it with the large numbers of its region.
    pub(crate) fn pop(&mut self) -> Option<(R, &[u64])> {
        let regions = self.regions.iter_mut();
        let region = regions.max_by_key(|region| region.last_key(&self.key))?;
        let row = region.pop(&self.key)?;
        Some((row, &region.large))
    }

    /// Releases the memory of rows that were removed.
    pub(crate) fn shrink(&mut self) {
        for region in &mut self.regions {
            region.pushed.shrink_to_fit();
            region.late.shrink_to_fit();
        }
    }
}

/// Memory of a table with `rows` rows: the rows, in a vector that doubles as it grows, plus their columns.
pub(crate) fn memory_bytes(rows: u64, row_bytes: u64, column_bytes: u64) -> u64 {
    let room = rows.checked_next_power_of_two().unwrap_or(u64::MAX);
    let columns = rows.saturating_mul(column_bytes);
    room.saturating_mul(row_bytes).saturating_add(columns)
}

/// Declares a table: the struct of its columns, the struct of a row, and its name.
///
/// `Drops` of `DroppedPacket` in `"drops"` gets `Drops::push(DroppedPacket { .. })` and `Drops::into_table()`. Its
/// memory follows from the columns' types. A table declared `by` two of its columns is sorted by them, and equal rows
/// keep the order in which they were added. So its order does not depend on the order in which an engine visits ports
/// and flows.
macro_rules! table {
    (
        $(#[$about:meta])*
        $table:ident of $row:ident in $name:literal $(by $time:ident, $number:ident)? {
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
            own: $crate::rows::Rows<($(<$type as $crate::cell::Cell>::Stored,)+)>,
            /// rows of other such tables, which follow the rows of this one
            behind: Vec<$crate::rows::Rows<($(<$type as $crate::cell::Cell>::Stored,)+)>>,
        }

        impl $table {
            /// The table's name.
            pub const NAME: &'static str = $name;

            /// Bytes that one row takes during the run.
            pub(crate) const ROW_BYTES: u64 =
                size_of::<($(<$type as $crate::cell::Cell>::Stored,)+)>() as u64;

            /// Bytes that one row takes in the finished table.
            pub(crate) const COLUMN_BYTES: u64 =
                (0 $(+ size_of::<<$type as $crate::cell::Cell>::Value>())+) as u64;

            /// Largest memory of a table with `rows` rows, in bytes.
            pub fn memory_bytes(rows: u64) -> u64 {
                $crate::rows::memory_bytes(rows, Self::ROW_BYTES, Self::COLUMN_BYTES)
            }

            /// An empty table with room for `rows` rows.
            pub fn with_capacity(rows: usize) -> Self {
                Self { own: $crate::rows::Rows::with_capacity(rows), behind: Vec::new() }
            }

            /// Adds a row.
            #[inline]
            pub fn push(&mut self, row: $row) {
                debug_assert!(self.behind.is_empty(), "no row can be added after `append`");
                let large = &mut self.own.large;
                let row = ($($crate::cell::Cell::store(row.$column, large),)+);
                self.own.pushed.push(row);
            }

            /// Appends the rows of another such table. They are not moved until the table is finished, because a copy
            /// would need memory for both.
            pub fn append(&mut self, other: Self) {
                self.behind.push(other.own);
                self.behind.extend(other.behind);
            }

            /// The columns' names and types.
            pub fn columns() -> Vec<(&'static str, &'static str)> {
                let empty = Self::default().into_table();
                empty.columns.iter().map(|(name, column)| (*name, column.dtype())).collect()
            }

            /// The finished table.
            pub fn into_table(self) -> $crate::column::Table {
                struct Columns {
                    $($column: Vec<<$type as $crate::cell::Cell>::Value>,)+
                }
                let mut regions = vec![self.own];
                regions.extend(self.behind);
                #[allow(unused_variables, reason = "which columns decide about the order differs")]
                let key = |&($($column,)+): &($(<$type as $crate::cell::Cell>::Stored,)+)| ($($time, $number)?);
                let mut rows = $crate::rows::FromLast::new(regions, key);
                let count = rows.len();
                let mut columns = Columns { $($column: Vec::with_capacity(count),)+ };
                let mut left = count;
                while let Some((($($column,)+), large)) = rows.pop() {
                    $(columns.$column.push(<$type as $crate::cell::Cell>::load($column, large));)+
                    left -= 1;
                    if left.is_multiple_of(count.div_ceil($crate::rows::STEPS)) {
                        rows.shrink();
                    }
                }
                $(columns.$column.reverse();)+
                $crate::column::Table {
                    name: Self::NAME,
                    columns: vec![$((
                        stringify!($column),
                        <$type as $crate::cell::Cell>::column(columns.$column),
                    ),)+],
                }
            }
        }
    };
}

pub(crate) use table;

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of a key and a name.
    fn rows(pushed: &[(u32, char)]) -> Rows<(u32, char)> {
        Rows {
            pushed: pushed.to_vec(),
            ..Rows::default()
        }
    }

    fn from_first(regions: Vec<Rows<(u32, char)>>) -> String {
        let mut rows = FromLast::new(regions, |row| row.0);
        let count = rows.len();
        let mut names = Vec::new();
        while let Some(((_, name), _)) = rows.pop() {
            names.push(name);
            rows.shrink();
            assert_eq!(rows.len() + names.len(), count);
        }
        names.iter().rev().collect()
    }

    #[test]
    fn late_rows_come_where_they_belong_and_behind_equal_ones() {
        let one = rows(&[(1, 'a'), (5, 'e'), (2, 'b'), (5, 'f'), (2, 'c'), (4, 'd')]);
        assert_eq!(from_first(vec![one]), "abcdef");
    }

    #[test]
    fn equal_rows_of_several_regions_are_in_the_order_of_regions() {
        let first = rows(&[(1, 'a'), (3, 'e'), (2, 'c')]);
        let second = rows(&[(1, 'b'), (2, 'd'), (3, 'f'), (7, 'g')]);
        assert_eq!(from_first(vec![first, second, rows(&[])]), "abcdefg");
    }

    #[test]
    fn a_table_needs_room_for_its_rows_and_their_columns() {
        assert_eq!(memory_bytes(5, 48, 61), 8 * 48 + 5 * 61);
        assert_eq!(memory_bytes(u64::MAX, 48, 61), u64::MAX);
    }
}
