//! NetPIPE's curves: time and throughput of a ping-pong over its size (MPICH on MP_Lite section 7.2), and throughput over
//! time, which NetPIPE calls the signature of a network.

use super::limits::THROUGHPUT_FROM_BYTES;
use super::samples::{MetricCurve, SizeSamples, shown};
use super::section::{Chart, Section, SectionTable, Trace, Unit, mbps};
use super::sizes;
use super::steadiness;
use super::systems::{JobWork, SystemJob};
use super::turns::{Lab, Study};
use super::words::{percent, size, time};

/// What the curves are made of.
pub(super) fn study(lab: &Lab) -> Study {
    let sizes = lab.sizes();
    let job = SystemJob {
        work: JobWork::PingPong,
        ranks: 2,
        sizes,
        point_s: lab.options.point_s,
        settings: vec![],
    };
    let conclude =
        |curves: Vec<MetricCurve>| section("curves", "One message back and forth (ping-pong)", curves);
    Study {
        name: "ping-pong",
        entrants: lab.everyone(&job),
        turns: lab.options.turns,
        conclude: Box::new(conclude),
    }
}

impl Lab {
    /// The sizes that are asked for.
    pub(super) fn sizes(&self) -> Vec<u64> {
        let options = &self.options;
        if options.quick && options.perturbation == 0 {
            return sizes::quick(options.from, options.to);
        }
        sizes::series(options.from, options.to, options.perturbation)
    }

    /// The same without neighbors.
    pub(super) fn bases(&self) -> Vec<u64> {
        let options = &self.options;
        if options.quick {
            sizes::quick(options.from, options.to)
        } else {
            sizes::bases(options.from, options.to)
        }
    }
}

/// Tables, pictures and findings of curves over sizes.
pub(super) fn section(name: &'static str, title: &str, curves: Vec<MetricCurve>) -> Section {
    let labeled = || curves.iter().map(|curve| (curve, curve.system.clone()));
    let charts = vec![
        Chart::throughputs(&format!("{name}-throughput"), &format!("{title}: throughput"), labeled()),
        Chart::times(&format!("{name}-time"), &format!("{title}: time of one way"), labeled()),
        signature(name, title, &curves),
    ];
    let tables = vec![times(&curves), throughputs(&curves), steadiness::grid(&curves)];
    let (notes, findings) = against_raw(&curves);
    Section { name, title: title.into(), notes, findings, tables, charts, curves }
}

fn signature(name: &str, title: &str, curves: &[MetricCurve]) -> Chart {
    let point = |(bytes, point): (u64, SizeSamples)| (point.best_s, mbps(bytes as f64 / point.best_s));
    let line = |curve: &MetricCurve| Trace {
        label: curve.system.clone(),
        system: curve.system.clone(),
        points: curve.points().map(point).collect(),
    };
    Chart {
        file: format!("{name}-signature"),
        title: format!("{title}: signature"),
        axes: (Unit::Seconds, Unit::Mbps),
        lines: curves.iter().map(line).collect(),
    }
}

/// Best and median times, and how Tern's compare with those of polled sockets.
fn times(curves: &[MetricCurve]) -> SectionTable {
    let cell = |point: Option<SizeSamples>| {
        point.map_or("-".into(), |point| format!("{} / {}", time(point.best_s), time(point.median_s)))
    };
    let ratio = |tern: SizeSamples, raw: SizeSamples| {
        format!("{:.2} / {:.2}", tern.best_s / raw.best_s, tern.median_s / raw.median_s)
    };
    grid("time of one way, best / median", "tern / raw", curves, |curve, bytes| cell(curve.at(bytes)), ratio)
}

fn throughputs(curves: &[MetricCurve]) -> SectionTable {
    let cell = |curve: &MetricCurve, bytes| {
        curve.throughput(bytes).map_or("-".into(), |rate| format!("{:.0}", mbps(rate)))
    };
    let ratio = |tern: SizeSamples, raw: SizeSamples| {
        format!("{:.3} / {:.3}", raw.best_s / tern.best_s, raw.median_s / tern.median_s)
    };
    grid("throughput, Mbps, best; the ratio best / median", "tern / raw", curves, cell, ratio)
}

fn grid(
    title: &str,
    compared: &str,
    curves: &[MetricCurve],
    cell: impl Fn(&MetricCurve, u64) -> String,
    ratio: impl Fn(SizeSamples, SizeSamples) -> String,
) -> SectionTable {
    let pair = tern_and_raw(curves);
    let mut head = vec!["bytes".to_owned()];
    head.extend(curves.iter().map(|curve| curve.system.clone()));
    head.extend(pair.map(|_| compared.to_owned()));
    let row = |bytes: u64| {
        let mut row = vec![size(bytes)];
        row.extend(curves.iter().map(|curve| cell(curve, bytes)));
        let points = pair.map(|(tern, raw)| tern.at(bytes).zip(raw.at(bytes)));
        row.extend(points.map(|points| points.map_or("-".into(), |(tern, raw)| ratio(tern, raw))));
        row
    };
    let rows = std::iter::once(head).chain(shown(curves).into_iter().map(row)).collect();
    SectionTable { title: title.into(), rows }
}

fn tern_and_raw(curves: &[MetricCurve]) -> Option<(&MetricCurve, &MetricCurve)> {
    let of = |system: &str| curves.iter().find(|curve| curve.system == system);
    of("tern").zip(of("raw"))
}

type CurveFindings = Vec<(String, f64)>;

/// In words and numbers: latency and the highest throughput of all, and of Tern against raw TCP the ratio of latencies and
/// the least ratio of throughputs.
fn against_raw(curves: &[MetricCurve]) -> (Vec<String>, CurveFindings) {
    let (mut notes, mut findings) = (Vec::new(), CurveFindings::new());
    for curve in curves {
        let Some((bytes, first)) = curve.points().next() else { continue };
        let highest = curve.throughputs().into_iter().map(|(_, rate)| rate).fold(0.0, f64::max);
        let (latency, rate) = (time(first.best_s), mbps(highest));
        notes.push(format!("{}: {latency} for {} B, at most {rate:.0} Mbps", curve.system, size(bytes)));
        findings.push((format!("{}.latency_s", curve.system), first.best_s));
        findings.push((format!("{}.throughput_max_bytes_per_s", curve.system), highest));
    }
    if let Some((tern, raw)) = tern_and_raw(curves) {
        let (words, numbers) = compare(tern, raw);
        notes.extend(words);
        findings.extend(numbers);
    }
    (notes, findings)
}

fn compare(tern: &MetricCurve, raw: &MetricCurve) -> (Vec<String>, CurveFindings) {
    let (mut notes, mut findings) = (Vec::new(), CurveFindings::new());
    let both = |bytes: u64| tern.at(bytes).zip(raw.at(bytes));
    let sizes: Vec<u64> = tern.points().map(|(bytes, _)| bytes).collect();
    // 8 bytes are what latencies are told of; without them the smallest size is.
    let small = sizes.iter().copied().find(|bytes| *bytes == 8).or(sizes.first().copied());
    if let Some((bytes, (tern, raw))) = small.and_then(|bytes| Some((bytes, both(bytes)?))) {
        let (best, median) = (tern.best_s / raw.best_s, tern.median_s / raw.median_s);
        notes.push(format!(
            "tern takes {best:.2} / {median:.2} times raw TCP for {} B (best / median)",
            size(bytes)
        ));
        findings.push(("tern_over_raw.latency_best".into(), best));
        findings.push(("tern_over_raw.latency_median".into(), median));
    }
    for (what, of) in [("best", best_of as fn(SizeSamples) -> f64), ("median", median_of)] {
        let large = sizes.iter().filter(|bytes| **bytes >= THROUGHPUT_FROM_BYTES);
        let ratios = large.filter_map(|&bytes| both(bytes).map(|(tern, raw)| (bytes, of(raw) / of(tern))));
        let Some((bytes, ratio)) = ratios.min_by(|(_, a), (_, b)| a.total_cmp(b)) else { continue };
        let (from, at) = (size(THROUGHPUT_FROM_BYTES), size(bytes));
        notes.push(format!(
            "from {from} on tern has at least {} of raw TCP's throughput, {what} (at {at})",
            percent(ratio)
        ));
        findings.push((format!("tern_over_raw.throughput_{what}_min"), ratio));
    }
    (notes, findings)
}

fn best_of(point: SizeSamples) -> f64 {
    point.best_s
}

fn median_of(point: SizeSamples) -> f64 {
    point.median_s
}

#[cfg(test)]
mod tests {
    use super::super::samples::tests::curve;
    use super::*;

    #[test]
    fn tern_is_compared_with_raw_tcp_at_every_size() {
        let tern =
            curve("tern", 0, "pingpong", &[(8, 12e-6), (11, 5e-6), (1 << 16, 40e-6), (1 << 20, 500e-6)]);
        let raw =
            curve("raw", 0, "raw-polled", &[(8, 10e-6), (11, 5e-6), (1 << 16, 36e-6), (1 << 20, 490e-6)]);
        let section = section("curves", "title", vec![tern, raw]);
        let finding = |name: &str| section.findings.iter().find(|(known, _)| known == name).unwrap().1;
        assert!((finding("tern_over_raw.latency_best") - 1.2).abs() < 1e-9);
        assert!((finding("tern_over_raw.throughput_best_min") - 0.9).abs() < 1e-9);
        assert!((finding("tern.latency_s") - 12e-6).abs() < 1e-12);
        // The neighbor is drawn, but not listed.
        let sizes: Vec<_> = section.tables[0].rows.iter().map(|row| row[0].clone()).collect();
        assert_eq!(sizes, ["bytes", "8", "64k", "1m"]);
        assert_eq!(section.tables[0].rows[1][3], "1.20 / 1.20");
        assert_eq!(section.charts[0].lines[0].points.len(), 4);
    }

    #[test]
    fn without_raw_tcp_nothing_is_compared() {
        let section = section("curves", "title", vec![curve("tern", 0, "pingpong", &[(7, 1e-6)])]);
        assert_eq!(section.tables[0].rows, [["bytes", "tern"], ["7", "1.00 us / 1.00 us"]]);
        assert_eq!(section.notes, ["tern: 1.00 us for 7 B, at most 56 Mbps"]);
    }
}
