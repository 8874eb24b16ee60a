//! How steady figures are: what the turns of each size differ by, and what that comes to.

use super::limits::{STEADY_SPREAD, STEADY_TRIALS};
use super::samples::{MetricCurve, SizeSamples, shown};
use super::section::SectionTable;
use super::words::{percent, size};

/// What a report says of it.
#[derive(Debug, Default)]
pub(super) struct Steadiness {
    /// A sentence for each system.
    pub notes: Vec<String>,
    /// The same for programs.
    pub findings: Vec<(String, f64)>,
}

/// Of each system in total: how many of its figures are steady, and the one that is least so.
pub(super) fn of_curves(curves: &[MetricCurve]) -> Steadiness {
    let mut told = Steadiness::default();
    let mut systems: Vec<&str> = curves.iter().map(|curve| curve.system.as_str()).collect();
    systems.sort_unstable();
    systems.dedup();
    // In the order of the report.
    systems.sort_by_key(|system| curves.iter().position(|curve| curve.system == *system));
    for system in systems {
        let own = curves.iter().filter(|curve| curve.system == system);
        let points: Vec<(u64, SizeSamples)> = own.flat_map(MetricCurve::points).collect();
        let spreads = points.iter().filter_map(|(bytes, point)| Some((*bytes, point.spread?)));
        let Some((bytes, worst)) = spreads.max_by(|(_, a), (_, b)| a.total_cmp(b)) else {
            told.notes.push(format!(
                "{system}: fewer than {STEADY_TRIALS} turns do not tell how steady figures are"
            ));
            continue;
        };
        let (steady, all) = (points.iter().filter(|(_, point)| point.is_steady()).count(), points.len());
        let mut note = format!(
            "{system}: {steady} of {all} figures are steady: the best {STEADY_TRIALS} turns differ by at most {}",
            percent(STEADY_SPREAD)
        );
        if worst > STEADY_SPREAD {
            note += &format!("; at {} they differ by {}", size(bytes), percent(worst));
        }
        told.notes.push(note);
        told.findings.push((format!("{system}.steady_part"), steady as f64 / all as f64));
        told.findings.push((format!("{system}.spread_max"), worst));
    }
    told
}

/// The same of each size.
pub(super) fn grid(curves: &[MetricCurve]) -> SectionTable {
    let mut head = vec!["bytes".to_owned()];
    head.extend(curves.iter().map(|curve| curve.system.clone()));
    let cell = |point: Option<SizeSamples>| match point {
        Some(SizeSamples { spread: Some(spread), trials, .. }) => format!("{}, {trials}", percent(spread)),
        Some(SizeSamples { trials, .. }) => format!("-, {trials}"),
        None => "-".into(),
    };
    let row = |bytes: u64| {
        let cells = curves.iter().map(|curve| cell(curve.at(bytes)));
        std::iter::once(size(bytes)).chain(cells).collect()
    };
    let rows = std::iter::once(head).chain(shown(curves).into_iter().map(row)).collect();
    SectionTable { title: format!("what the best {STEADY_TRIALS} turns differ by, and turns"), rows }
}
