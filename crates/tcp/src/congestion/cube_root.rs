//! Where the cubic function comes back to its last maximum: a cube root in integers.

/// The integer cube root, rounded down (the kernel's is within 1 of it).
pub(super) fn cube_root(value: u64) -> u64 {
    let mut root = libm::cbrt(value as f64) as u64;
    while u128::from(root).pow(3) > u128::from(value) {
        root -= 1;
    }
    while u128::from(root + 1).pow(3) <= u128::from(value) {
        root += 1;
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cube_roots_are_exact() {
        for root in [1_u64, 2, 9_300, 2_097_151] {
            assert_eq!(cube_root(root.pow(3)), root);
            assert_eq!(cube_root(root.pow(3) - 1), root - 1);
        }
    }
}
