//! COMMS1 and COMMS2 of the GENESIS suite, as MPI for the T3D measures them (section 4.1): one message at a time there and
//! back, and both ranks at once; each told as the straight line that fits best.

use super::fit;
use super::samples::MetricCurve;
use super::section::{Chart, Section, SectionTable, mbps};
use super::steadiness;
use super::systems::{JobWork, SystemJob};
use super::turns::{Lab, Study};
use super::words::{percent, size, time};

/// One way at a time.
pub(super) fn comms1(lab: &Lab) -> Study {
    study(lab, JobWork::PingPong, "COMMS1", |curves| {
        section("comms1", "COMMS1: one way at a time, half a round trip", curves)
    })
}

/// Both ways at once.
pub(super) fn comms2(lab: &Lab) -> Study {
    study(lab, JobWork::Exchange, "COMMS2", |curves| {
        let mut section = section("comms2", "COMMS2: both ways at once, time of one exchange", curves);
        section
            .notes
            .push("Throughput is that of one direction; as much goes the other way meanwhile.".into());
        section
    })
}

fn study(lab: &Lab, work: JobWork, name: &'static str, conclude: fn(Vec<MetricCurve>) -> Section) -> Study {
    let sizes = lab.bases();
    let job = SystemJob { work, ranks: 2, sizes, point_s: lab.options.point_s, settings: vec![] };
    Study { name, entrants: lab.everyone(&job), turns: lab.options.turns, conclude: Box::new(conclude) }
}

fn section(name: &'static str, title: &str, curves: Vec<MetricCurve>) -> Section {
    let labeled = || curves.iter().map(|curve| (curve, curve.system.clone()));
    let charts = vec![
        Chart::throughputs(&format!("{name}-throughput"), title, labeled()),
        Chart::times(&format!("{name}-time"), title, labeled()),
    ];
    let (lines, findings) = lines(&curves);
    let notes = vec![
        "t(n) = latency + n / r_inf, with the least relative errors; n_1/2 is the size that reaches half of r_inf."
            .into(),
    ];
    Section {
        name,
        title: title.into(),
        notes,
        tables: vec![lines, points(&curves), steadiness::grid(&curves)],
        findings,
        charts,
        curves,
    }
}

/// The best times of all sizes.
fn points(curves: &[MetricCurve]) -> SectionTable {
    let mut head = vec!["bytes".to_owned()];
    head.extend(curves.iter().map(|curve| curve.system.clone()));
    let sizes = curves.first().map(|curve| curve.points().map(|(bytes, _)| bytes).collect::<Vec<_>>());
    let cell = |curve: &MetricCurve, bytes| {
        curve.at(bytes).map_or("-".into(), |point| {
            format!("{}, {:.0} Mbps", time(point.best_s), mbps(bytes as f64 / point.best_s))
        })
    };
    let row = |bytes: u64| {
        std::iter::once(size(bytes)).chain(curves.iter().map(|curve| cell(curve, bytes))).collect()
    };
    let rows = std::iter::once(head).chain(sizes.unwrap_or_default().into_iter().map(row)).collect();
    SectionTable { title: "time and throughput, best".into(), rows }
}

/// The line of each system.
fn lines(curves: &[MetricCurve]) -> (SectionTable, Vec<(String, f64)>) {
    let head = ["system", "latency", "r_inf, Mbps", "n_1/2, bytes", "farthest point"];
    let mut rows = vec![head.map(String::from).to_vec()];
    let mut findings = Vec::new();
    for curve in curves {
        let points: Vec<_> = curve.points().map(|(bytes, point)| (bytes as f64, point.best_s)).collect();
        let Some(line) = fit::line(&points) else { continue };
        rows.push(vec![
            curve.system.clone(),
            time(line.t0_s),
            format!("{:.0}", mbps(line.r_inf)),
            format!("{:.0}", line.n_half),
            percent(line.error_max),
        ]);
        let names = ["latency_s", "r_inf_bytes_per_s", "n_half_bytes", "error_max"];
        let values = [line.t0_s, line.r_inf, line.n_half, line.error_max];
        findings.extend(
            names.iter().zip(values).map(|(name, value)| (format!("{}.{name}", curve.system), value)),
        );
    }
    (SectionTable { title: "the straight line".into(), rows }, findings)
}

#[cfg(test)]
mod tests {
    use super::super::samples::tests::curve;
    use super::*;

    #[test]
    fn a_system_is_three_numbers() {
        let times = [1u64, 1 << 10, 1 << 20].map(|bytes| (bytes, 2e-6 + bytes as f64 / 1e9));
        let section = section("comms1", "title", vec![curve("tern", 0, "pingpong", &times)]);
        let row = &section.tables[0].rows[1];
        assert_eq!(row[..4], ["tern", "2.00 us", "8000", "2000"]);
        assert_eq!(section.findings.len(), 4);
        assert_eq!(section.tables[1].rows.len(), 4);
    }
}
