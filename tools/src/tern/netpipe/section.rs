//! What one part of the report has: curves, findings, tables, pictures.

use super::samples::MetricCurve;

/// A part of the report.
#[derive(Debug, Default)]
pub(super) struct Section {
    /// One word, for files.
    pub name: &'static str,
    /// Its heading.
    pub title: String,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Everything that was measured.
    pub curves: Vec<MetricCurve>,
    /// What it comes to: a name, a value in SI units or a ratio.
    pub findings: Vec<(String, f64)>,
    /// The same for people.
    pub tables: Vec<SectionTable>,
    /// And to look at.
    pub charts: Vec<Chart>,
}

/// A table.
#[derive(Debug, Default)]
pub(super) struct SectionTable {
    /// What it shows.
    pub title: String,
    /// The first row is its heading.
    pub rows: Vec<Vec<String>>,
}

/// What an axis counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Bytes, by powers of two.
    Bytes,
    /// Seconds, by powers of ten.
    Seconds,
    /// Bits a second, in megabits; not logarithmic.
    Mbps,
    /// Hosts, by powers of two.
    Hosts,
}

/// A picture of lines.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Chart {
    /// The name of its files, without the ending.
    pub file: String,
    /// What it shows.
    pub title: String,
    /// What its axes count.
    pub axes: (Unit, Unit),
    /// Its lines.
    pub lines: Vec<Trace>,
}

/// One line of a picture.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trace {
    /// What it is.
    pub label: String,
    /// Whose it is: a system has one color in all pictures.
    pub system: String,
    /// From left to right.
    pub points: Vec<(f64, f64)>,
}

impl Chart {
    /// Time over size.
    pub(super) fn times<'a>(
        file: &str,
        title: &str,
        curves: impl Iterator<Item = (&'a MetricCurve, String)>,
    ) -> Chart {
        let line = |(curve, label): (&MetricCurve, String)| Trace {
            label,
            system: curve.system.clone(),
            points: curve.points().map(|(bytes, point)| (bytes as f64, point.best_s)).collect(),
        };
        let axes = (Unit::Bytes, Unit::Seconds);
        Chart { file: file.into(), title: title.into(), axes, lines: curves.map(line).collect() }
    }

    /// Throughput over size.
    pub(super) fn throughputs<'a>(
        file: &str,
        title: &str,
        curves: impl Iterator<Item = (&'a MetricCurve, String)>,
    ) -> Chart {
        let point = |(bytes, rate): (u64, f64)| (bytes as f64, mbps(rate));
        let line = |(curve, label): (&MetricCurve, String)| Trace {
            label,
            system: curve.system.clone(),
            points: curve.throughputs().into_iter().map(point).collect(),
        };
        let axes = (Unit::Bytes, Unit::Mbps);
        Chart { file: file.into(), title: title.into(), axes, lines: curves.map(line).collect() }
    }
}

/// Megabits a second, in which NetPIPE counts, of bytes a second.
pub(super) fn mbps(bytes_per_second: f64) -> f64 {
    bytes_per_second * 8.0 / 1e6
}
