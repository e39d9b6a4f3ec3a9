//! Rows while a run goes on, and how they become columns.
//!
//! A table is a vector of rows, so that a row costs a cache line or two. The macro `table!` declares it from
//! the columns' names and types: [`crate::tables`] is the one place where a table is defined. When the run
//! is over, the table becomes a [`crate::Table`]: columns of plain numbers. The largest table
//! decides how much memory a run needs at most, so rows are smaller than what they become, and give their
//! memory back while columns take theirs.

/// In so many steps rows give their memory back while they become columns.
pub(crate) const STEPS: usize = 64;

/// Rows in the order in which they came.
#[derive(Clone)]
pub(crate) struct Rows<R> {
    pub(crate) pushed: Vec<R>,
    /// numbers for which there is no room in a row
    pub(crate) large: Vec<u64>,
    /// in order, once these are apart: rows that came after one that they belong before
    late: Vec<R>,
}

impl<R> Default for Rows<R> {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl<R> Rows<R> {
    /// None, with room for so many.
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self {
            pushed: Vec::with_capacity(rows),
            large: Vec::new(),
            late: Vec::new(),
        }
    }

    /// Puts late rows apart, so that all others are in order. Few are late: of a port that catches up with
    /// its departures, or after a host that has decided about packets to come.
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

    /// The key of the last row in the order of keys.
    fn last_key<K: Ord>(&self, key: impl Fn(&R) -> K) -> Option<K> {
        let [last, late] = [self.pushed.last(), self.late.last()];
        last.map(&key).max(late.map(&key))
    }

    /// Takes the last row in the order of keys; of equal ones a late one, which came later.
    fn pop<K: Ord>(&mut self, key: impl Fn(&R) -> K) -> Option<R> {
        let late = self.late.last().map(&key);
        if late.is_some() && late >= self.pushed.last().map(&key) {
            self.late.pop()
        } else {
            self.pushed.pop()
        }
    }
}

/// The rows of several regions from the last to the first in the order of their keys. Equal ones come in the
/// order of regions, and of one region in the order in which they came.
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

    /// Rows that are left.
    pub(crate) fn len(&self) -> usize {
        let lengths = self
            .regions
            .iter()
            .map(|it| it.pushed.len() + it.late.len());
        lengths.sum()
    }

    /// Takes the last row that is left; the large numbers of its region come with it.
    pub(crate) fn pop(&mut self) -> Option<(R, &[u64])> {
        let regions = self.regions.iter_mut();
        let region = regions.max_by_key(|region| region.last_key(&self.key))?;
        let row = region.pop(&self.key)?;
        Some((row, &region.large))
    }

    /// Gives back the memory of rows that were taken.
    pub(crate) fn shrink(&mut self) {
        for region in &mut self.regions {
            region.pushed.shrink_to_fit();
            region.late.shrink_to_fit();
        }
    }
}

/// What a table of so many rows needs: the rows in a vector that doubles as it grows, and their columns.
pub(crate) fn memory_bytes(rows: u64, row_bytes: u64, column_bytes: u64) -> u64 {
    let room = rows.checked_next_power_of_two().unwrap_or(u64::MAX);
    let columns = rows.saturating_mul(column_bytes);
    room.saturating_mul(row_bytes).saturating_add(columns)
}

/// Declares a table: the struct of its columns, the struct of one row, and its name.
///
/// `Drops` of `DroppedPacket` in `"drops"` gets `Drops::push(DroppedPacket { .. })` and `Drops::into_table()`,
/// and knows from the columns' types what it takes in memory. A table `by` two of its columns is in their
/// order, and has equal rows in the order in which they came. So it does not depend on the order in which an
/// engine visits ports and flows.
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
            /// rows of other such tables, which come behind these
            behind: Vec<$crate::rows::Rows<($(<$type as $crate::cell::Cell>::Stored,)+)>>,
        }

        impl $table {
            /// The table's name.
            pub const NAME: &'static str = $name;

            /// What one row takes while the run goes on, bytes.
            pub(crate) const ROW_BYTES: u64 =
                size_of::<($(<$type as $crate::cell::Cell>::Stored,)+)>() as u64;

            /// What one row takes in the finished table, bytes.
            pub(crate) const COLUMN_BYTES: u64 =
                (0 $(+ size_of::<<$type as $crate::cell::Cell>::Value>())+) as u64;

            /// What a table of so many rows needs at most, bytes.
            pub fn memory_bytes(rows: u64) -> u64 {
                $crate::rows::memory_bytes(rows, Self::ROW_BYTES, Self::COLUMN_BYTES)
            }

            /// No rows, with room for so many.
            pub fn with_capacity(rows: usize) -> Self {
                Self { own: $crate::rows::Rows::with_capacity(rows), behind: Vec::new() }
            }

            /// Adds a row.
            #[inline]
            pub fn push(&mut self, row: $row) {
                debug_assert!(self.behind.is_empty(), "rows of other tables come last");
                let large = &mut self.own.large;
                let row = ($($crate::cell::Cell::store(row.$column, large),)+);
                self.own.pushed.push(row);
            }

            /// Adds the rows of another such table behind all rows of this one. They stay where they are until the
            /// table is finished, for a copy would need room for both.
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
