//! Which sizes are measured.

/// NetPIPE's series: powers of two and what lies in the middle between them, each with its neighbors at a distance of
/// `perturbation` bytes, if it is larger than that.
pub(super) fn series(from: u64, to: u64, perturbation: u64) -> Vec<u64> {
    let bases = bases(from, to);
    let around = |&base: &u64| match perturbation {
        0 => vec![base],
        _ if base <= perturbation => vec![base],
        _ => vec![base - perturbation, base, base + perturbation],
    };
    let mut all: Vec<u64> = bases.iter().flat_map(around).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The series without neighbors: 1, 2, 3, 4, 6, 8, 12, 16 ... and both ends.
pub(super) fn bases(from: u64, to: u64) -> Vec<u64> {
    let powers = (0..u64::BITS - 1).map(|bit| 1u64 << bit);
    let inside = |bytes: &u64| (from..=to).contains(bytes);
    let mut all: Vec<u64> = powers.flat_map(|power| [power, power + power / 2]).filter(inside).collect();
    all.extend([from, to]);
    all.sort_unstable();
    all.dedup();
    all
}

/// Every second power of two, for a quick look.
pub(super) fn quick(from: u64, to: u64) -> Vec<u64> {
    let powers = (0..u64::BITS - 1).step_by(2).map(|bit| 1u64 << bit);
    let mut all: Vec<u64> = powers.filter(|bytes| (from..=to).contains(bytes)).collect();
    all.extend([from, to]);
    all.sort_unstable();
    all.dedup();
    all
}

/// Sizes from half the least threshold to `reach` times the largest, so many for each doubling, with both sides of every
/// threshold.
pub(super) fn around(thresholds: &[u64], reach: u64, steps: u32) -> Vec<u64> {
    let (Some(least), Some(most)) = (thresholds.iter().min(), thresholds.iter().max()) else { return vec![] };
    let (from, to) = ((least / 2).max(1), most * reach);
    let doublings = (to as f64 / from as f64).log2();
    let count = (doublings * f64::from(steps)).round() as u32;
    let step = |index: u32| (from as f64 * (f64::from(index) / f64::from(steps)).exp2()).round() as u64;
    let mut all: Vec<u64> = (0..=count).map(step).collect();
    all.extend(thresholds.iter().flat_map(|threshold| [*threshold, threshold + 1]));
    all.sort_unstable();
    all.dedup();
    all
}

/// Powers of two from `from` to `to`, and both ends.
pub(super) fn doublings(from: u32, to: u32) -> Vec<u32> {
    let powers = (0..u32::BITS - 1).map(|bit| 1u32 << bit).filter(|n| (from..=to).contains(n));
    let mut all: Vec<u32> = powers.chain([from, to]).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_series_is_netpipes() {
        assert_eq!(bases(1, 16), [1, 2, 3, 4, 6, 8, 12, 16]);
        assert_eq!(series(1, 16, 0), bases(1, 16));
        assert_eq!(series(1, 16, 3), [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 19]);
        assert_eq!(series(1 << 20, 1 << 20, 3), [(1 << 20) - 3, 1 << 20, (1 << 20) + 3]);
    }

    #[test]
    fn both_ends_are_measured_whatever_they_are() {
        assert_eq!(bases(5, 13), [5, 6, 8, 12, 13]);
        assert_eq!(quick(1, 100), [1, 4, 16, 64, 100]);
        assert_eq!(doublings(2, 12), [2, 4, 8, 12]);
        assert_eq!(doublings(3, 3), [3]);
    }

    #[test]
    fn every_threshold_has_both_sides_in_the_sweep() {
        let sizes = around(&[1024, 4096], 4, 4);
        for bytes in [512, 1024, 1025, 2048, 4096, 4097, 16384] {
            assert!(sizes.contains(&bytes), "{bytes} in {sizes:?}");
        }
        assert_eq!((sizes[0], sizes[sizes.len() - 1]), (512, 16384));
        assert!(around(&[], 4, 4).is_empty());
    }
}
