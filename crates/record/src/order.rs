//! Rows into another order, in place: the largest table decides how much memory a run needs at most.

/// A permutation of rows.
pub(crate) struct Order {
    /// by row, which row comes there
    of: Vec<u32>,
    /// a row of each cycle of rows that change places
    cycles: Vec<u32>,
}

impl Order {
    /// Row `i` is to be what row `of[i]` was.
    pub(crate) fn new(of: Vec<u32>) -> Self {
        let mut seen = vec![false; of.len()];
        let mut cycles = Vec::new();
        for start in 0..of.len() as u32 {
            if !seen[start as usize] && of[start as usize] != start {
                cycles.push(start);
            }
            let mut row = start;
            while !std::mem::replace(&mut seen[row as usize], true) {
                row = of[row as usize];
            }
        }
        Self { of, cycles }
    }

    /// Puts the values into this order.
    pub(crate) fn apply<T: Copy>(&self, values: &mut [T]) {
        for &start in &self.cycles {
            let first = values[start as usize];
            let mut row = start as usize;
            while self.of[row] != start {
                values[row] = values[self.of[row] as usize];
                row = self.of[row] as usize;
            }
            values[row] = first;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_change_places_along_cycles() {
        // 0 stays, 1 and 3 change places, 2, 4 and 5 go round
        let order = Order::new(vec![0, 3, 4, 1, 5, 2]);
        assert_eq!(order.cycles, [1, 2]);
        let mut values = [10, 11, 12, 13, 14, 15];
        order.apply(&mut values);
        assert_eq!(values, [10, 13, 14, 11, 15, 12]);
    }
}
