//! What curves come to: the straight line of COMMS1 and COMMS2, and dips.

/// The time of a message as a straight line over its length, as the GENESIS suite (MPI for the T3D section 4.1) and others
/// after Hockney describe networks: t = t0 + n / r_inf.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FittedLine {
    /// Time of a message of no bytes, seconds.
    pub t0_s: f64,
    /// Bytes a second of an endless message.
    pub r_inf: f64,
    /// The length at which half of that is reached, bytes.
    pub n_half: f64,
    /// How far the line is from the farthest point, as a part of its time.
    pub error_max: f64,
}

/// The line with the least sum of squares of relative errors: so small messages count as much as large ones. None where the
/// time does not grow with the length.
pub(super) fn line(points: &[(f64, f64)]) -> Option<FittedLine> {
    let mut sums = [0.0; 5];
    for &(bytes, time) in points {
        let weight = 1.0 / (time * time);
        let terms = [1.0, bytes, bytes * bytes, time, bytes * time];
        sums.iter_mut().zip(terms).for_each(|(sum, term)| *sum += weight * term);
    }
    let [one, n, nn, t, nt] = sums;
    let determinant = one * nn - n * n;
    let slope = (one * nt - n * t) / determinant;
    let t0_s = (t * nn - n * nt) / determinant;
    let is_line = points.len() >= 2 && slope.is_finite() && slope > 0.0;
    let error = |&(bytes, time): &(f64, f64)| ((t0_s + slope * bytes) / time - 1.0).abs();
    is_line.then(|| FittedLine {
        t0_s,
        r_inf: 1.0 / slope,
        n_half: t0_s / slope,
        error_max: points.iter().map(error).fold(0.0, f64::max),
    })
}

/// A place where throughput is less than at a smaller size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Dip {
    /// The size, bytes.
    pub bytes: u64,
    /// What is missing to the highest throughput of smaller sizes, as a part of it; 0 where there is no dip.
    pub depth: f64,
}

/// The deepest dip in (after, until], in sizes with throughputs, ascending.
pub(super) fn deepest_dip(curve: &[(u64, f64)], after: u64, until: u64) -> Option<Dip> {
    let mut highest = 0.0_f64;
    let mut deepest: Option<Dip> = None;
    for &(bytes, throughput) in curve {
        highest = highest.max(throughput);
        let dip = Dip { bytes, depth: 1.0 - throughput / highest };
        let is_deeper = deepest.is_none_or(|deepest| dip.depth > deepest.depth);
        if bytes > after && bytes <= until && is_deeper {
            deepest = Some(dip);
        }
    }
    deepest
}

/// Which part of a transfer is hidden behind computation, of the times of the barrier before, of a transfer, of
/// computation, and of both at once: 0, if both take as long as one after the other, 1, if the transfer costs nothing.
pub(super) fn overlap(none_s: f64, transfer_s: f64, compute_s: f64, both_s: f64) -> f64 {
    let (transfer, compute, both) = (transfer_s - none_s, compute_s - none_s, both_s - none_s);
    (transfer + compute - both) / transfer.min(compute)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_is_found() {
        let points: Vec<_> =
            [1.0, 64.0, 4096.0, 1e6].iter().map(|&bytes| (bytes, 5e-6 + bytes / 2e9)).collect();
        let line = line(&points).unwrap();
        assert!((line.t0_s / 5e-6 - 1.0).abs() < 1e-9 && (line.r_inf / 2e9 - 1.0).abs() < 1e-9, "{line:?}");
        assert!((line.n_half / 1e4 - 1.0).abs() < 1e-9 && line.error_max < 1e-9, "{line:?}");
    }

    #[test]
    fn relative_errors_count() {
        // One large message that is half as fast again must not move the latency away.
        let mut points: Vec<_> =
            [1.0, 2.0, 4.0, 8.0, 1e6].iter().map(|&bytes| (bytes, 1e-6 + bytes / 1e9)).collect();
        points[4].1 *= 1.5;
        let line = line(&points).unwrap();
        assert!((line.t0_s / 1e-6 - 1.0).abs() < 0.01, "{line:?}");
    }

    #[test]
    fn no_line_where_time_does_not_grow() {
        assert_eq!(line(&[(1.0, 1.0)]), None);
        assert_eq!(line(&[(1.0, 2.0), (2.0, 1.0)]), None);
        assert_eq!(line(&[(8.0, 1.0), (8.0, 1.0)]), None);
        assert_eq!(line(&[]), None);
    }

    #[test]
    fn a_dip_is_what_is_missing_to_the_peak_before_it() {
        let curve = [(1, 10.0), (2, 40.0), (3, 30.0), (4, 20.0), (8, 50.0), (16, 25.0)];
        assert_eq!(deepest_dip(&curve, 2, 8), Some(Dip { bytes: 4, depth: 0.5 }));
        assert_eq!(deepest_dip(&curve, 4, 8), Some(Dip { bytes: 8, depth: 0.0 }));
        assert_eq!(deepest_dip(&curve, 16, 64), None);
    }

    #[test]
    fn overlap_is_a_part_of_the_shorter() {
        // The barrier takes 1, a transfer 10, computation 15.
        assert_eq!(overlap(1.0, 11.0, 16.0, 16.0), 1.0);
        assert_eq!(overlap(1.0, 11.0, 16.0, 26.0), 0.0);
        assert_eq!(overlap(1.0, 11.0, 16.0, 21.0), 0.5);
    }
}
