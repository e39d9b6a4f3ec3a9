//! Typed columns, and the tables that consist of them: the results of a run.
//!
//! The end of a column's name is its unit (`_s`, `_bytes`, `_bps`, `_ppm`). A missing value is NaN in a column of f64,
//! and the largest number of the type in a column of integers.

/// A column of one table.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// small enumerations, and truth values as 0 and 1
    U8(Vec<u8>),
    /// indices and 32-bit wire numbers
    U32(Vec<u32>),
    /// counts and sizes
    U64(Vec<u64>),
    /// times in s, rates in bit/s
    F64(Vec<f64>),
}

impl Column {
    /// The number of rows.
    pub fn len(&self) -> usize {
        match self {
            Self::U8(values) => values.len(),
            Self::U32(values) => values.len(),
            Self::U64(values) => values.len(),
            Self::F64(values) => values.len(),
        }
    }

    /// Whether the column has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values as f64, whatever their type is. A number above 2^53 is rounded.
    pub fn to_f64(&self) -> Vec<f64> {
        match self {
            Self::U8(values) => values.iter().map(|value| f64::from(*value)).collect(),
            Self::U32(values) => values.iter().map(|value| f64::from(*value)).collect(),
            Self::U64(values) => values.iter().map(|value| *value as f64).collect(),
            Self::F64(values) => values.clone(),
        }
    }

    /// The name of the values' type, as in libraries for tables.
    pub fn dtype(&self) -> &'static str {
        match self {
            Self::U8(_) => "u8",
            Self::U32(_) => "u32",
            Self::U64(_) => "u64",
            Self::F64(_) => "f64",
        }
    }

    /// Appends the rows of another column of the same type.
    fn append(&mut self, other: Self) {
        match (self, other) {
            (Self::U8(own), Self::U8(mut more)) => own.append(&mut more),
            (Self::U32(own), Self::U32(mut more)) => own.append(&mut more),
            (Self::U64(own), Self::U64(mut more)) => own.append(&mut more),
            (Self::F64(own), Self::F64(mut more)) => own.append(&mut more),
            (own, more) => unreachable!(
                "a column of {} cannot follow one of {}",
                more.dtype(),
                own.dtype()
            ),
        }
    }

    /// Keeps only the first `rows` rows.
    fn truncate(&mut self, rows: usize) {
        match self {
            Self::U8(values) => values.truncate(rows),
            Self::U32(values) => values.truncate(rows),
            Self::U64(values) => values.truncate(rows),
            Self::F64(values) => values.truncate(rows),
        }
    }

    /// Reorders the rows: row `i` becomes what row `order[i]` was.
    fn reorder(&mut self, order: &[u32]) {
        fn of<T: Copy>(values: &[T], order: &[u32]) -> Vec<T> {
            order.iter().map(|row| values[*row as usize]).collect()
        }
        match self {
            Self::U8(values) => *values = of(values, order),
            Self::U32(values) => *values = of(values, order),
            Self::U64(values) => *values = of(values, order),
            Self::F64(values) => *values = of(values, order),
        }
    }
}

/// A table: its name, and its columns with their names.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// unique among the tables of a run
    pub name: &'static str,
    /// all of the same length
    pub columns: Vec<(&'static str, Column)>,
}

impl Table {
    /// The column with this name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        let found = self.columns.iter().find(|(own, _)| *own == name);
        found.map(|(_, column)| column)
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |(_, column)| column.len())
    }

    /// Appends the rows of another table with the same columns.
    ///
    /// # Panics
    /// If the columns of the other table differ.
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

    /// The table with its rows in order of the column `time`, and where times are equal, of the column `number`. Equal
    /// rows keep their order. The result does not depend on the order in which an engine visits ports and flows.
    ///
    /// # Panics
    /// If the table has no such columns.
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
            for (_, column) in &mut self.columns {
                column.reorder(&order);
            }
        }
        self
    }

    /// Keeps only the first `rows` rows.
    pub(crate) fn truncate(&mut self, rows: usize) {
        for (_, column) in &mut self.columns {
            column.truncate(rows);
        }
    }
}

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
