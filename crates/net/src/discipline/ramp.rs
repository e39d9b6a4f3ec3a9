//! The probability of an early drop as a function of the average queue; shared by RED and RIO.
//!
//! Floyd & Jacobson 1993, section 4; Floyd, "Recommendation on using the gentle variant of RED", 2000.

use crate::BuildError;
use crate::context::positive_share;
use crate::limit::Limit;

/// How the probability of an early drop depends on the average queue.
#[derive(Clone, Copy, Debug)]
#[repr(C)] // `min` is what every packet is compared with
pub struct Ramp {
    /// below this average nothing is dropped early
    pub min: f64,
    /// at this average the probability is `max_p`; if `gentle`, everything is dropped at twice this
    pub max: f64,
    /// probability at `max`, over 0 up to 1
    pub max_p: f64,
    /// whether the probability rises from `max_p` to 1 between `max` and twice `max` (Floyd 2000) instead of jumping to
    /// 1 at `max`
    pub gentle: bool,
}

impl Ramp {
    /// A ramp from `min` to `max`, which must have the same unit. `prefix` begins the names of the fields in errors.
    pub(super) fn new(
        prefix: &str,
        [min, max]: [Limit; 2],
        max_p_ppb: u32,
        gentle: bool,
    ) -> Result<Self, BuildError> {
        let refuse = |problem: String, remedy: &str| {
            Err(BuildError::new(
                format!("queue.{prefix}min"),
                min,
                problem,
                remedy,
            ))
        };
        let ((Limit::Packets(lower), Limit::Packets(upper))
        | (Limit::Bytes(lower), Limit::Bytes(upper))) = (min, max)
        else {
            let problem = format!("is not in the unit of {prefix}max, {max}");
            return refuse(problem, "give both in bytes or both in packets");
        };
        if lower >= upper {
            let problem = format!("is not below {prefix}max, {max}");
            return refuse(problem, "give the smaller one as min");
        }
        Ok(Self {
            min: f64::from(lower),
            max: f64::from(upper),
            max_p: positive_share(&format!("{prefix}max_p"), max_p_ppb)?,
            gentle,
        })
    }

    /// The average from which on every packet is dropped.
    #[inline]
    pub(super) fn end(&self) -> f64 {
        if self.gentle {
            2.0 * self.max
        } else {
            self.max
        }
    }

    /// The probability of an early drop at an `average` of at least `min`.
    #[inline]
    pub(super) fn probability(&self, average: f64) -> f64 {
        if average >= self.end() {
            1.0
        } else if average < self.max {
            self.max_p * (average - self.min) / (self.max - self.min)
        } else {
            self.max_p + (1.0 - self.max_p) * (average - self.max) / self.max
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_probability_climbs_to_max_p_and_gently_on_to_1() {
        let gentle = Ramp {
            min: 5.0,
            max: 15.0,
            max_p: 0.1,
            gentle: true,
        };
        let steep = Ramp {
            gentle: false,
            ..gentle
        };
        for (average, gently, steeply) in [
            (5.0, 0.0, 0.0),
            (10.0, 0.05, 0.05),
            (15.0, 0.1, 1.0),
            (22.5, 0.55, 1.0),
            (30.0, 1.0, 1.0),
            (99.0, 1.0, 1.0),
        ] {
            assert!((gentle.probability(average) - gently).abs() < 1e-12);
            assert!((steep.probability(average) - steeply).abs() < 1e-12);
        }
        assert_eq!((gentle.end(), steep.end()), (30.0, 15.0));
    }
}
