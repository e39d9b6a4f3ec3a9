//! Sequence numbers: 32 bits on the wire, 64 bits inside.
//!
//! Inside, positions never wrap, so they can be compared and subtracted like any number. They start at 2^32 + ISN:
//! their low 32 bits are the numbers on the wire, and a number from the peer may lie half the sequence space before the
//! first without becoming a negative position.

/// The position of an initial sequence number.
pub(crate) const fn first(isn: u32) -> u64 {
    (1 << 32) | isn as u64
}

/// The 32 bits of `position` on the wire.
#[inline]
pub(crate) const fn wire(position: u64) -> u32 {
    position as u32
}

/// The position nearest to `reference` whose low 32 bits are `wire` (RFC 9293 3.4: numbers are compared within half the
/// sequence space).
#[inline]
pub(crate) const fn unwrap(reference: u64, wire: u32) -> u64 {
    let distance = wire.wrapping_sub(reference as u32).cast_signed();
    reference.wrapping_add_signed(distance as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wrap_on_the_wire_and_not_inside() {
        let before = first(u32::MAX - 10);
        let after = before + 100;
        assert!(wire(after) < wire(before));
        assert_eq!(unwrap(before, wire(after)), after);
        assert_eq!(unwrap(after, wire(before)), before);
    }

    /// RFC 9293 3.4, for numbers from half a sequence space below the reference to half a space above.
    #[test]
    fn a_number_means_the_position_nearest_to_the_reference() {
        for reference in [first(0), first(u32::MAX), first(7) + (5 << 32)] {
            let half = 1 << 31;
            for position in [
                reference - half,
                reference - 1,
                reference,
                reference + 1,
                reference + half - 1,
            ] {
                assert_eq!(unwrap(reference, wire(position)), position);
            }
            assert_eq!(unwrap(reference, wire(reference + half)), reference - half);
        }
        assert_eq!((first(5), wire(first(5))), ((1 << 32) + 5, 5));
    }

    #[test]
    fn half_the_sequence_space_before_the_first_number_is_a_position() {
        assert_eq!(unwrap(first(0), 1 << 31), (1 << 32) - (1 << 31));
    }
}
