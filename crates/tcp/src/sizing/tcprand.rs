//! `TCPRand`'s adaptive minimum: payloads are small while the window is near the one at the last loss.
//!
//! Alpha is the window after the last decrease, Wmax the one before it, and `x = (cwnd - alpha) / (Wmax - alpha)`.
//! While `tau <= cwnd <= omega`, the minimum is `MSS (1 - Phi(x))`, and at least theta. Outside of these bounds it is
//! the MSS, so nothing is drawn. Phi is the normal distribution with mean mu and *variance* sigma^2; `tau = Wmax -
//! (Wmax - alpha) / nu_tau` and `omega = Wmax + (Wmax - alpha) / nu_omega`.
//!
//! The paper does not say what happens before the first loss, or when Wmax equals alpha; here it is off then. Wmax is
//! the window itself, before fast convergence. After a timeout alpha is the window of one segment; a further timeout in
//! the same episode does not change Wmax.

use serde::{Deserialize, Serialize};

use crate::settings::SettingError;

/// The four parameters of adaptive `TCPRand`, in thousandths. In JSON they are a name or the list `[sigma^2, mu,
/// nu_tau, nu_omega]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Given", into = "Given")]
pub struct TcpRand {
    /// sigma^2, above 0.
    pub variance_permille: u32,
    /// mu.
    pub mean_permille: i32,
    /// nu of the lower bound tau; none: infinite, so that tau equals Wmax.
    pub nu_tau_permille: Option<u32>,
    /// nu of the upper bound omega; 0: no bound; none: infinite, so that omega equals Wmax.
    pub nu_omega_permille: Option<u32>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Name {
    Default,
    Conservative,
    Aggressive,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Given {
    Name(Name),
    Numbers(u32, i32, Option<u32>, Option<u32>),
}

impl From<Given> for TcpRand {
    fn from(given: Given) -> Self {
        match given {
            Given::Name(Name::Default) => Self::DEFAULT,
            Given::Name(Name::Conservative) => Self::CONSERVATIVE,
            Given::Name(Name::Aggressive) => Self::AGGRESSIVE,
            Given::Numbers(variance, mean, nu_tau, nu_omega) => Self {
                variance_permille: variance,
                mean_permille: mean,
                nu_tau_permille: nu_tau,
                nu_omega_permille: nu_omega,
            },
        }
    }
}

impl From<TcpRand> for Given {
    fn from(it: TcpRand) -> Self {
        Self::Numbers(
            it.variance_permille,
            it.mean_permille,
            it.nu_tau_permille,
            it.nu_omega_permille,
        )
    }
}

fn number(permille: Option<u32>) -> f64 {
    permille.map_or(f64::INFINITY, |value| f64::from(value) / 1000.0)
}

impl TcpRand {
    /// (1, 1, 1, 1).
    pub const DEFAULT: Self = Self {
        variance_permille: 1000,
        mean_permille: 1000,
        nu_tau_permille: Some(1000),
        nu_omega_permille: Some(1000),
    };

    /// (1, 1, infinite, 1): draws only above the last maximum.
    pub const CONSERVATIVE: Self = Self {
        nu_tau_permille: None,
        ..Self::DEFAULT
    };

    /// (1, 0, 1, 0): smaller payloads, without an upper bound.
    pub const AGGRESSIVE: Self = Self {
        mean_permille: 0,
        nu_omega_permille: Some(0),
        ..Self::DEFAULT
    };

    pub(super) fn validate(&self) -> Result<(), SettingError> {
        if self.variance_permille == 0 {
            return Err(SettingError::new(
                "tcprand",
                &"sigma^2 = 0",
                "would make the variance of the normal distribution zero",
                "use 1000 (thousandths), as its authors do",
            ));
        }
        Ok(())
    }

    /// rMin of a segment of `mss` bytes at `x`, before theta.
    fn minimum_at(&self, x: f64, mss: u16) -> f64 {
        let mean = f64::from(self.mean_permille) / 1000.0;
        let deviation = libm::sqrt(f64::from(self.variance_permille) / 1000.0);
        let above = 0.5 * libm::erfc((x - mean) / (deviation * std::f64::consts::SQRT_2));
        f64::from(mss) * above
    }
}

/// The state of one sender. Windows are in the unit that the stack counts in.
#[derive(Clone, Debug)]
pub(super) struct Adaptive {
    shape: TcpRand,
    /// smallest minimum, in bytes
    theta: u16,
    alpha: u64,
    /// window before the last decrease; 0: undefined
    w_max: u64,
}

impl Adaptive {
    pub(super) fn new(shape: TcpRand, theta: u16) -> Self {
        Self {
            shape,
            theta,
            alpha: 0,
            w_max: 0,
        }
    }

    pub(super) fn begin(&mut self, w_max: u64, alpha: u64) {
        self.w_max = w_max;
        self.alpha = alpha;
    }

    pub(super) fn fall(&mut self, alpha: u64) {
        self.alpha = alpha;
    }

    /// rMin at the window `cwnd`; `mss` if nothing is drawn.
    pub(super) fn minimum(&self, mss: u16, cwnd: u64) -> u16 {
        if self.w_max <= self.alpha {
            return mss;
        }
        let (alpha, w_max, cwnd) = (self.alpha as f64, self.w_max as f64, cwnd as f64);
        let span = w_max - alpha;
        let tau = w_max - span / number(self.shape.nu_tau_permille);
        let omega = w_max + span / number(self.shape.nu_omega_permille);
        if !(tau..=omega).contains(&cwnd) {
            return mss;
        }
        let minimum = self.shape.minimum_at((cwnd - alpha) / span, mss);
        (libm::round(minimum) as u16).max(self.theta).min(mss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window that fell from 30 to 10 segments: x is (cwnd - 10) / 20.
    fn fallen(shape: TcpRand) -> Adaptive {
        let mut adaptive = Adaptive::new(shape, 200);
        adaptive.begin(30, 10);
        adaptive
    }

    fn minima(shape: TcpRand, windows: [u64; 5]) -> [u16; 5] {
        windows.map(|cwnd| fallen(shape).minimum(1460, cwnd))
    }

    /// x = 0, 0.5, 1, 1.5, 2
    const WINDOWS: [u64; 5] = [10, 20, 30, 40, 50];

    #[test]
    fn the_minimum_over_x_is_that_of_the_normal_distribution() {
        assert_eq!(
            minima(TcpRand::DEFAULT, WINDOWS),
            [1228, 1010, 730, 450, 232]
        );
        // with a theta of 200
        assert_eq!(
            minima(TcpRand::AGGRESSIVE, WINDOWS),
            [730, 450, 232, 200, 200]
        );
    }

    #[test]
    fn conservative_draws_from_the_last_maximum_on_only() {
        assert_eq!(
            minima(TcpRand::CONSERVATIVE, WINDOWS),
            [1460, 1460, 730, 450, 232]
        );
    }

    #[test]
    fn the_upper_bound_is_as_far_above_the_maximum_as_the_fall_was_deep() {
        assert_eq!(fallen(TcpRand::DEFAULT).minimum(1460, 51), 1460);
        assert_eq!(fallen(TcpRand::AGGRESSIVE).minimum(1460, 5000), 200);
    }

    #[test]
    fn it_is_off_before_the_first_loss_and_where_the_window_did_not_fall() {
        let mut adaptive = Adaptive::new(TcpRand::AGGRESSIVE, 200);
        assert_eq!(adaptive.minimum(1460, 10), 1460);
        adaptive.begin(10, 10);
        assert_eq!(adaptive.minimum(1460, 10), 1460);
    }
}
