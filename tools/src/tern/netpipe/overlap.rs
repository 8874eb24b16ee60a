//! The progress modes (MPICH on MP_Lite chapter 5): how much of a transfer hides behind computation, how soon a message is
//! there while its receiver computes (MPI-LAPI section 6.1), and what the thread costs where there is nothing to hide.

use super::fit;
use super::limits::{INTERRUPT_BYTES, OVERLAP_BYTES, OVERLAP_POINT_S, QUICK_OVERLAP_POINT_S};
use super::samples::{MetricCurve, find};
use super::section::{Chart, Section, SectionTable};
use super::systems::{JobWork, SystemJob};
use super::turns::{Entrant, Lab, Study};
use super::words::{percent, size, time};

/// A name for each value of `TERN_PROGRESS`.
const MODES: [(&str, &str); 2] = [("tern, poll", "poll"), ("tern, thread", "thread")];

/// Both modes take turns.
pub(super) fn study(lab: &Lab) -> Study {
    let point_s = if lab.options.quick { QUICK_OVERLAP_POINT_S } else { OVERLAP_POINT_S };
    let entrant = |(name, mode): (&str, &str), work, sizes: &[u64], point_s| {
        let settings = vec![("TERN_PROGRESS".into(), mode.into())];
        let job = SystemJob { work, ranks: 2, sizes: sizes.to_vec(), point_s, settings };
        lab.tern(0, &job).map(|entrant| Entrant { system: name.into(), ..entrant })
    };
    let mut entrants = Vec::new();
    for mode in MODES {
        entrants.extend(entrant(mode, JobWork::Overlap, OVERLAP_BYTES, point_s));
        entrants.extend(entrant(mode, JobWork::PingPong, INTERRUPT_BYTES, lab.options.point_s));
    }
    // Without the thread nothing would come while the receiver computes.
    entrants.extend(entrant(MODES[1], JobWork::Interrupt, INTERRUPT_BYTES, lab.options.point_s));
    Study { name: "overlap", entrants, turns: lab.options.turns, conclude: Box::new(section) }
}

fn section(curves: Vec<MetricCurve>) -> Section {
    let title = "Progress modes: time of one way";
    let charts = vec![Chart::times("overlap-time", title, curves.iter().filter_map(labeled))];
    let (hidden, mut findings) = hidden(&curves);
    let (latencies, more) = latencies(&curves);
    findings.extend(more);
    let notes = vec![
        "Overlap is the part of a transfer (of the shorter, transfer or computation) that both at once take less than one \
         after the other; computation takes 1.5 times the transfer; medians."
            .into(),
        "Where the ranks and their threads outnumber the cores, a transfer takes the time of a core that computes, and \
         cannot hide wholly."
            .into(),
    ];
    Section {
        name: "overlap",
        title: "Overlap, and messages to a rank that computes".into(),
        notes,
        tables: vec![hidden, latencies],
        findings,
        charts,
        curves,
    }
}

/// What of the curves is drawn, and as what.
fn labeled(curve: &MetricCurve) -> Option<(&MetricCurve, String)> {
    let metrics = [("pingpong", "the receiver waits"), ("interrupt", "the receiver computes")];
    let (_, what) = metrics.iter().find(|(metric, _)| *metric == curve.metric)?;
    Some((curve, format!("{}: {what}", curve.system)))
}

type OverlapFindings = Vec<(String, f64)>;

fn hidden(curves: &[MetricCurve]) -> (SectionTable, OverlapFindings) {
    let head = ["bytes", "progress", "transfer", "computation", "both", "overlap"];
    let mut rows = vec![head.map(String::from).to_vec()];
    let mut findings = OverlapFindings::new();
    for &bytes in OVERLAP_BYTES {
        for (system, mode) in MODES {
            let median =
                |metric: &str| Some(find(curves, system, &format!("overlap-{metric}"))?.at(bytes)?.median_s);
            let times = ["none", "transfer", "compute", "both"].map(median);
            let [Some(none), Some(transfer), Some(compute), Some(both)] = times else { continue };
            let part = fit::overlap(none, transfer, compute, both);
            let shown = [transfer, compute, both].map(|seconds| time((seconds - none).max(0.0)));
            let mut row = vec![size(bytes), mode.into()];
            row.extend(shown);
            row.push(percent(part));
            rows.push(row);
            findings.push((format!("overlap_{mode}_{bytes}"), part));
        }
    }
    (SectionTable { title: "what computation hides".into(), rows }, findings)
}

fn latencies(curves: &[MetricCurve]) -> (SectionTable, OverlapFindings) {
    let columns = [(0, "pingpong"), (1, "pingpong"), (1, "interrupt")];
    let head = ["bytes", "waiting, poll", "waiting, thread", "computing, thread"];
    let mut rows = vec![head.map(String::from).to_vec()];
    let mut findings = OverlapFindings::new();
    for &bytes in INTERRUPT_BYTES {
        let mut row = vec![size(bytes)];
        for (mode, metric) in columns {
            let (system, name) = MODES[mode];
            let point = find(curves, system, metric).and_then(|curve| curve.at(bytes));
            row.push(
                point
                    .map_or("-".into(), |point| format!("{} / {}", time(point.best_s), time(point.median_s))),
            );
            findings.extend(point.map(|point| (format!("{metric}_{name}_{bytes}_s"), point.median_s)));
        }
        rows.push(row);
    }
    (
        SectionTable { title: "time of one way, best / median, by what the receiver does".into(), rows },
        findings,
    )
}

#[cfg(test)]
mod tests {
    use super::super::samples::tests::curve;
    use super::*;

    #[test]
    fn the_hidden_part_is_found() {
        let bytes = 4 << 20;
        let of = |system: &str, both: f64| {
            let times =
                [("none", 1e-5), ("transfer", 1e-3 + 1e-5), ("compute", 1.5e-3 + 1e-5), ("both", both)];
            times.map(|(metric, time)| curve(system, 0, &format!("overlap-{metric}"), &[(bytes, time)]))
        };
        let mut curves = of("tern, poll", 2.5e-3 + 1e-5).to_vec();
        curves.extend(of("tern, thread", 1.6e-3 + 1e-5));
        curves.push(curve("tern, thread", 0, "interrupt", &[(8, 7e-6)]));
        let section = section(curves);
        let rows: Vec<String> = section.tables[0].rows.iter().map(|row| row.join(" ")).collect();
        assert_eq!(
            rows[1..],
            ["4m poll 1.00 ms 1.50 ms 2.50 ms 0.0 %", "4m thread 1.00 ms 1.50 ms 1.60 ms 90.0 %"]
        );
        assert_eq!(section.tables[1].rows[1].join(" "), "8 - - 7.00 us / 7.00 us");
        assert_eq!(section.charts[0].lines.len(), 1);
    }
}
