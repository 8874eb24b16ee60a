//! One-sided communication: put, get and accumulate over their size, each completed at the target, beside what the machine allows: a
//! copy or atomic instructions where memory is mapped, a transfer that is answered over TCP.

use super::samples::{MetricCurve, SizeSamples, shown};
use super::section::{Chart, Section, SectionTable};
use super::steadiness;
use super::systems::{JobWork, RemoteAccess, SystemJob};
use super::turns::{Lab, Study};
use super::words::{size, time};

/// Each access, what it is called in files, and the metrics of those that make it.
const ACCESSES: [(RemoteAccess, &str, &[&str]); 3] = [
    (RemoteAccess::Put, "put", &["rma-put", "memory-put", "raw-answered"]),
    (RemoteAccess::Get, "get", &["rma-get", "memory-get", "raw-answered"]),
    (RemoteAccess::Atomic, "accumulate", &["rma-atomic", "memory-atomic"]),
];

/// All accesses of all systems take turns.
pub(super) fn study(lab: &Lab) -> Study {
    let job = |access| SystemJob {
        work: JobWork::Rma(access),
        ranks: 2,
        sizes: sizes(lab, access),
        point_s: lab.options.point_s,
        settings: vec![],
    };
    // A socket makes the same of a put and of a get.
    let raw = lab.raw(&job(RemoteAccess::Put));
    let of = |access| lab.everyone(&job(access)).into_iter().filter(|entrant| entrant.system != "raw");
    let entrants = ACCESSES.iter().flat_map(|(access, ..)| of(*access)).chain(raw).collect();
    Study { name: "rma", entrants, turns: lab.options.turns, conclude: Box::new(section) }
}

/// Sums are of whole numbers of eight bytes.
fn sizes(lab: &Lab, access: RemoteAccess) -> Vec<u64> {
    let mut sizes = lab.bases();
    if access == RemoteAccess::Atomic {
        sizes.iter_mut().for_each(|bytes| *bytes = (*bytes).next_multiple_of(8));
        sizes.dedup();
    }
    sizes
}

fn section(curves: Vec<MetricCurve>) -> Section {
    let title = "One-sided communication: one access, completed at the target";
    let (mut tables, mut charts, mut findings) = (Vec::new(), Vec::new(), Vec::new());
    for (_, name, metrics) in ACCESSES {
        let of: Vec<&MetricCurve> =
            curves.iter().filter(|curve| metrics.contains(&curve.metric.as_str())).collect();
        tables.push(grid(name, &of));
        let labeled = || of.iter().map(|curve| (*curve, curve.system.clone()));
        charts.push(Chart::times(&format!("rma-{name}-time"), &format!("{name}: time"), labeled()));
        let file = format!("rma-{name}-throughput");
        charts.push(Chart::throughputs(&file, &format!("{name}: throughput"), labeled()));
        for curve in &of {
            let first = curve.points().next().map(|(_, point)| point.best_s);
            let highest = curve.throughputs().into_iter().map(|(_, rate)| rate).fold(0.0, f64::max);
            findings.extend(first.map(|seconds| (format!("{name}.{}.latency_s", curve.system), seconds)));
            findings.push((format!("{name}.{}.throughput_max_bytes_per_s", curve.system), highest));
        }
    }
    tables.push(steadiness::grid(&curves));
    let notes = vec![
        "An access is MPI_Put, MPI_Get or MPI_Accumulate (MPI_SUM of MPI_INT64_T), and MPI_Win_flush; the target is in MPI_Barrier.".into(),
        "memory: memcpy, or an atomic instruction for each number, and a fence. raw: a transfer over TCP that one byte answers.".into(),
    ];
    Section { name: "rma", title: title.into(), notes, findings, tables, charts, curves }
}

/// Best and median times of all systems.
fn grid(name: &str, curves: &[&MetricCurve]) -> SectionTable {
    let mut head = vec!["bytes".to_owned()];
    head.extend(curves.iter().map(|curve| curve.system.clone()));
    let all: Vec<MetricCurve> = curves.iter().map(|curve| (*curve).clone()).collect();
    let cell = |point: Option<SizeSamples>| {
        point.map_or("-".into(), |point| format!("{} / {}", time(point.best_s), time(point.median_s)))
    };
    let row = |bytes: u64| {
        std::iter::once(size(bytes)).chain(curves.iter().map(|curve| cell(curve.at(bytes)))).collect()
    };
    let rows = std::iter::once(head).chain(shown(&all).into_iter().map(row)).collect();
    SectionTable { title: format!("{name}: time, best / median"), rows }
}

#[cfg(test)]
mod tests {
    use super::super::samples::tests::curve;
    use super::*;

    #[test]
    fn each_access_has_its_table_with_what_the_machine_allows() {
        let section = section(vec![
            curve("tern", 0, "rma-put", &[(8, 2e-8), (1024, 4e-8)]),
            curve("memory", 0, "memory-put", &[(8, 1e-8)]),
            curve("raw", 0, "raw-answered", &[(8, 1e-5)]),
            curve("tern", 0, "rma-atomic", &[(8, 3e-8)]),
        ]);
        let rows: Vec<String> = section.tables[0].rows.iter().map(|row| row.join(", ")).collect();
        assert_eq!(rows[0], "bytes, tern, memory, raw");
        assert_eq!(section.tables[1].rows[0].join(", "), "bytes, raw");
        assert_eq!(section.tables[2].rows[0].join(", "), "bytes, tern");
        assert!(rows[2].ends_with("-, -"), "{rows:?}");
        assert!(section.findings.contains(&("accumulate.tern.latency_s".into(), 3e-8)));
        assert_eq!(section.charts[0].lines.len(), 3);
    }
}
