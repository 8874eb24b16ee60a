//! What messages at once were measured to take, size by size: where a machine carries messages of different lengths in
//! different ways, no line through the origin says it.

use serde::{Deserialize, Serialize};

use super::{LevelCosts, ParamsError};
use crate::{Picos, picos};
use tern_transport::AM_INLINE_BYTES_MAX;

/// Sizes of a level at most: more than a curve needs.
const SIZES_MAX: usize = 64;

/// What the bytes of a message take that is so long, nanoseconds: beside what one line takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SizeCosts {
    /// Bytes of the message.
    pub bytes: u64,
    /// From sender to receiver.
    pub way_ns: f64,
    /// For which the sender's core is busy.
    pub send_ns: f64,
    /// For which the receiver's core is, if it comes late.
    pub receive_ns: f64,
}

impl SizeCosts {
    /// Its times.
    pub(super) fn times(&self) -> [f64; 3] {
        [self.way_ns, self.send_ns, self.receive_ns]
    }
}

/// Whether sizes follow each other.
pub(super) fn check(level: &LevelCosts) -> Result<(), ParamsError> {
    let ascend = level.size.windows(2).all(|two| two[0].bytes < two[1].bytes);
    let is_well = ascend && level.size.len() <= SIZES_MAX;
    let wrong = || ParamsError::Sizes(level.name.clone(), SIZES_MAX);
    is_well.then_some(()).ok_or_else(wrong)
}

/// What bytes of a message cost.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cost {
    /// On their way.
    Way,
    /// The sender's core.
    Send,
    /// The receiver's core.
    Receive,
}

/// The prices of the bytes of messages at a level.
#[derive(Clone, Debug)]
pub(crate) struct PriceCurve {
    /// Bytes, and what they cost, in the order of [`Cost`].
    points: Vec<(u64, [Picos; 3])>,
    /// Of each byte where there are no points, and beyond the last.
    per_byte: [f64; 3],
    /// Where there are none, what a message of several lines takes on its way beside its bytes.
    lines: Picos,
}

impl PriceCurve {
    /// That of a level.
    pub(crate) fn of(level: &LevelCosts) -> PriceCurve {
        let per_byte = [level.gap_per_byte_ns, level.send_per_byte_ns, level.receive_per_byte_ns];
        PriceCurve {
            points: level.size.iter().map(|size| (size.bytes, size.times().map(picos))).collect(),
            per_byte: per_byte.map(|ns| ns * 1000.0),
            lines: picos(level.lines_ns),
        }
    }

    /// What a message of so many bytes costs of something. What fits into one line is on its way with it; between two sizes, the
    /// straight line counts.
    pub(crate) fn cost(&self, cost: Cost, bytes: u64) -> Picos {
        let (which, is_line) = (cost as usize, bytes <= AM_INLINE_BYTES_MAX as u64);
        let Some(&(first, at_first)) = self.points.first() else {
            let lines = if matches!(cost, Cost::Way) && !is_line { self.lines } else { 0 };
            return lines + self.beyond(which, bytes);
        };
        if is_line {
            return 0;
        }
        if bytes <= first {
            return at_first[which];
        }
        let next = self.points.partition_point(|(known, _)| *known < bytes);
        let (below, at_below) = self.points[next - 1];
        match self.points.get(next) {
            None => at_below[which] + self.beyond(which, bytes - below),
            Some((above, at_above)) => {
                let part = (bytes - below) as f64 / (above - below) as f64;
                let (low, high) = (at_below[which] as f64, at_above[which] as f64);
                (low + part * (high - low)) as Picos
            }
        }
    }

    fn beyond(&self, which: usize, bytes: u64) -> Picos {
        super::times(bytes, self.per_byte[which])
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Distance, Params};
    use super::*;

    fn level(sizes: &[(u64, f64)]) -> LevelCosts {
        let size = |&(bytes, way_ns)| SizeCosts { bytes, way_ns, send_ns: way_ns / 2.0, receive_ns: 1.0 };
        let mut params = Params::default();
        let level = params.level(Distance::Host);
        (level.gap_per_byte_ns, level.send_per_byte_ns, level.lines_ns) = (2.0, 1.0, 5.0);
        level.size = sizes.iter().map(size).collect();
        level.clone()
    }

    #[test]
    fn without_sizes_each_byte_has_its_price() {
        let curve = PriceCurve::of(&level(&[]));
        assert_eq!([0, 40, 41].map(|bytes| curve.cost(Cost::Way, bytes)), [0, 80_000, 87_000]);
        assert_eq!([0, 40, 41].map(|bytes| curve.cost(Cost::Send, bytes)), [0, 40_000, 41_000]);
    }

    #[test]
    fn between_sizes_there_is_a_straight_line() {
        let curve = PriceCurve::of(&level(&[(100, 10.0), (200, 30.0), (400, 20.0)]));
        let bytes = [0, 40, 41, 100, 150, 200, 300, 400, 500];
        let way = [0, 0, 10, 10, 20, 30, 25, 20, 220].map(|ns| ns * 1000);
        assert_eq!(bytes.map(|bytes| curve.cost(Cost::Way, bytes)), way);
        assert_eq!(curve.cost(Cost::Send, 300), 12_500);
        assert_eq!(curve.cost(Cost::Receive, 300), 1000);
    }

    #[test]
    fn sizes_are_read_and_have_to_ascend() {
        let sizes = |second: u64| {
            let size = |bytes| {
                format!("[[level.size]]\nbytes = {bytes}\nway_ns = 7\nsend_ns = 1.5\nreceive_ns = 0\n")
            };
            Params::parse(&format!("[[level]]\nname = \"host\"\n{}{}", size(64), size(second)))
        };
        let params = sizes(65).unwrap();
        assert_eq!(
            params.levels[1].size[1],
            SizeCosts { bytes: 65, way_ns: 7.0, send_ns: 1.5, receive_ns: 0.0 }
        );
        assert_eq!(Params::parse(&params.to_toml()).unwrap(), params);
        assert!(sizes(64).unwrap_err().to_string().contains("host"));
        let negative = "[[level]]\nname = \"far\"\n[[level.size]]\nbytes = 9\nway_ns = -1\nsend_ns = 0\nreceive_ns = 0\n";
        assert!(Params::parse(negative).unwrap_err().to_string().contains("far"));
    }
}
