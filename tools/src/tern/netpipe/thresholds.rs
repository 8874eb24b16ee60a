//! The sweep of the thesis's section 7.4 (MPICH on MP_Lite): throughput over size with several thresholds between eager and
//! rendezvous, and how deep it dips where the protocol changes.

use super::fit::{Dip, deepest_dip};
use super::limits::{CELL_BYTES, DIP_REACH, SHM_THRESHOLDS, TCP_THRESHOLDS, THRESHOLD_STEPS};
use super::samples::MetricCurve;
use super::section::{Chart, Section, SectionTable};
use super::sizes;
use super::systems::{JobWork, SystemJob};
use super::turns::{Lab, Study};
use super::words::{percent, size};

/// The change comes elsewhere over the network than over shared memory.
pub(super) fn study(lab: &Lab) -> Study {
    let is_network = lab.options.place.is_network();
    let thresholds = if is_network { TCP_THRESHOLDS } else { SHM_THRESHOLDS };
    let steps = if lab.options.quick { THRESHOLD_STEPS / 2 } else { THRESHOLD_STEPS };
    let sizes = sizes::around(thresholds, DIP_REACH, steps);
    let job = |settings| SystemJob {
        work: JobWork::PingPong,
        ranks: 2,
        sizes: sizes.clone(),
        point_s: lab.options.point_s,
        settings,
    };
    let with = |threshold: &u64| lab.tern(*threshold, &job(settings(*threshold, is_network)));
    let mut entrants: Vec<_> = thresholds.iter().filter_map(with).collect();
    // What the machine itself does at these sizes is no dip of the protocol's.
    entrants.extend(lab.raw(&job(vec![])).filter(|_| is_network));
    Study { name: "thresholds", entrants, turns: lab.options.turns, conclude: Box::new(section) }
}

/// Makes this the largest message that is sent at once.
fn settings(threshold: u64, is_network: bool) -> Vec<(String, String)> {
    let network = [("TERN_EAGER_MAX", threshold), ("TERN_TCP_EAGER_BYTES", threshold)];
    // A message that is sent at once must fit a cell, and must not be fetched instead.
    let memory = [
        ("TERN_EAGER_MAX", threshold),
        ("TERN_GET_MIN", threshold + 1),
        ("TERN_CELL_BYTES", threshold.max(CELL_BYTES)),
    ];
    let settings = if is_network { network.to_vec() } else { memory.to_vec() };
    settings.into_iter().map(|(name, value)| (name.into(), value.to_string())).collect()
}

fn section(curves: Vec<MetricCurve>) -> Section {
    let title = "Thresholds between eager and rendezvous";
    let label = |curve: &MetricCurve| match curve.parameter {
        0 => curve.system.clone(),
        threshold => format!("eager up to {}", size(threshold)),
    };
    let labeled = curves.iter().map(|curve| (curve, label(curve)));
    let charts = vec![Chart::throughputs("thresholds", title, labeled)];
    let (table, findings, note) = dips(&curves);
    let notes = vec![
        format!(
            "A dip is what is missing to the highest throughput of smaller sizes, from the threshold to {DIP_REACH} times it."
        ),
        note,
    ];
    Section { name: "thresholds", title: title.into(), notes, tables: vec![table], findings, charts, curves }
}

fn dips(curves: &[MetricCurve]) -> (SectionTable, Vec<(String, f64)>, String) {
    let raw = curves.iter().find(|curve| curve.parameter == 0).map(MetricCurve::throughputs);
    let mut rows = vec![["threshold", "deepest dip", "at", "raw TCP's there"].map(String::from).to_vec()];
    let mut findings = Vec::new();
    let mut deepest: Option<(u64, Dip)> = None;
    for curve in curves.iter().filter(|curve| curve.parameter != 0) {
        let (after, until) = (curve.parameter, curve.parameter * DIP_REACH);
        let Some(dip) = deepest_dip(&curve.throughputs(), after, until) else { continue };
        let beside = raw.as_ref().and_then(|raw| deepest_dip(raw, after, until));
        let beside = beside.map_or("-".into(), |dip| percent(dip.depth));
        rows.push(vec![size(after), percent(dip.depth), size(dip.bytes), beside]);
        findings.push((format!("dip_{after}"), dip.depth));
        if deepest.is_none_or(|(_, known)| dip.depth > known.depth) {
            deepest = Some((after, dip));
        }
    }
    let note = deepest.map_or("No dip was measured.".into(), |(threshold, dip)| {
        let (depth, at, threshold) = (percent(dip.depth), size(dip.bytes), size(threshold));
        format!("The deepest dip of all is {depth}, at {at} with a threshold of {threshold}.")
    });
    (SectionTable { title: "dips".into(), rows }, findings, note)
}

#[cfg(test)]
mod tests {
    use super::super::samples::tests::curve;
    use super::*;

    #[test]
    fn dips_are_found_behind_their_thresholds() {
        let kib = 1u64 << 10;
        // 64 MB/s up to 64 KiB, 48 at 96 KiB, 80 at 256 KiB.
        let times = [(16, 64e6), (64, 64e6), (96, 48e6), (256, 80e6)]
            .map(|(size, rate): (u64, f64)| (size * kib, (size * kib) as f64 / rate));
        let raw = curve("raw", 0, "raw-polled", &times.map(|(size, _)| (size, size as f64 / 90e6)));
        let section = section(vec![
            curve("tern", 64 * kib, "pingpong", &times),
            curve("tern", 128 * kib, "pingpong", &times),
            raw,
        ]);
        let rows: Vec<String> = section.tables[0].rows.iter().map(|row| row.join(" ")).collect();
        assert_eq!(rows[1..], ["64k 25.0 % 96k 0.0 %", "128k 0.0 % 256k 0.0 %"]);
        assert!(section.notes[1].contains("25.0 %, at 96k with a threshold of 64k"), "{:?}", section.notes);
        assert_eq!(section.charts[0].lines[0].label, "eager up to 64k");
    }

    #[test]
    fn messages_up_to_the_threshold_fit_what_carries_them() {
        let value = |settings: &[(String, String)], name: &str| {
            settings.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
        };
        let memory = settings(32 << 10, false);
        assert_eq!(value(&memory, "TERN_GET_MIN").as_deref(), Some("32769"));
        assert_eq!(value(&memory, "TERN_CELL_BYTES").as_deref(), Some("32768"));
        assert_eq!(value(&settings(1024, false), "TERN_CELL_BYTES").as_deref(), Some("16384"));
        assert_eq!(value(&settings(1024, true), "TERN_TCP_EAGER_BYTES").as_deref(), Some("1024"));
    }
}
