//! Time of a collective against the number of hosts, one rank on each (MPI for the T3D section 4.2 has it against
//! processes). Whoever adds another one adds its loop to `netpipe.c`, a [`Work`], and a study like this.

use tern_coll::table::HEADING;
use tern_coll::{Algorithm, Collective, Query, algorithms};

use super::limits::POINT_S;
use super::samples::Curve;
use super::section::{Chart, Grid, Section, Trace, Unit};
use super::sizes;
use super::systems::{Job, Work};
use super::turns::{Entrant, Lab, Study};
use super::words::{size, time};
use crate::installation::Scratch;
use crate::tune::jobs::row_for_all;

/// Broadcasts over all numbers of hosts that are asked for.
pub fn bcast(lab: &Lab, scratch: &Scratch) -> Result<Study, String> {
    let (least, most) = lab.options.host_range();
    let chosen = chosen(Collective::Bcast, &lab.options.algorithms)?;
    let mut entrants = Vec::new();
    for hosts in sizes::doublings(least, most) {
        let job = |settings| Job {
            work: Work::Bcast,
            ranks: hosts,
            sizes: &lab.options.bytes,
            point_s: lab.options.point_s.min(POINT_S),
            settings,
        };
        let everyone = lab.everyone(&job(vec![]));
        entrants.extend(everyone.into_iter().map(|entrant| Entrant { parameter: hosts.into(), ..entrant }));
        let query = Query { machines: hosts, multicast: true, ..Query::new(Collective::Bcast, 0, hosts) };
        for algorithm in chosen.iter().filter(|algorithm| algorithm.suits(&query)) {
            let settings = vec![("TERN_COLL_TABLE".into(), table(*algorithm, scratch)?)];
            let named = |entrant| Entrant { system: format!("tern, {}", algorithm.name()), ..entrant };
            entrants.extend(lab.tern(hosts.into(), &job(settings)).map(named));
        }
    }
    Ok(Study { name: "bcast", entrants, trials: lab.options.trials, conclude: Box::new(section) })
}

/// The algorithms that are asked for by name.
fn chosen(collective: Collective, names: &[String]) -> Result<Vec<Algorithm>, String> {
    if names.iter().any(|name| name == "all") {
        return Ok(algorithms(collective).to_vec());
    }
    let find = |name: &String| {
        Algorithm::named(collective, name).ok_or_else(|| {
            let known: Vec<_> = algorithms(collective).iter().map(|algorithm| algorithm.name()).collect();
            format!("{collective} has no algorithm '{name}'; it has {}", known.join(", "))
        })
    };
    names.iter().map(find).collect()
}

/// A file for `TERN_COLL_TABLE` that names an algorithm for all broadcasts. All hosts must see it.
fn table(algorithm: Algorithm, scratch: &Scratch) -> Result<String, String> {
    let file = scratch.file(&format!("bcast-{}.table", algorithm.name()));
    let row = row_for_all(Collective::Bcast, algorithm.into());
    std::fs::write(&file, format!("{HEADING}\n{row}\n"))
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    Ok(file.display().to_string())
}

fn section(curves: Vec<Curve>) -> Section {
    let mut sizes: Vec<u64> =
        curves.iter().flat_map(|curve| curve.points().map(|(bytes, _)| bytes)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let charts = sizes.iter().map(|&bytes| chart(&curves, bytes)).collect();
    let tables = sizes.iter().map(|&bytes| grid(&curves, bytes)).collect();
    let finding = |curve: &Curve| {
        let name = format!("{}.{}", curve.system, curve.parameter);
        curve.points().map(|(bytes, point)| (format!("{name}.{bytes}_s"), point.best_s)).collect::<Vec<_>>()
    };
    let findings = curves.iter().flat_map(finding).collect();
    let notes = vec![
        "One rank on each host; the root goes round; a batch counts as long as the rank takes that takes longest.".into(),
    ];
    let title = "Broadcast against the number of hosts".into();
    Section { name: "bcast", title, notes, tables, findings, charts, curves }
}

fn systems(curves: &[Curve]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for curve in curves {
        if !names.contains(&curve.system.as_str()) {
            names.push(&curve.system);
        }
    }
    names
}

fn chart(curves: &[Curve], bytes: u64) -> Chart {
    let line = |system: &str| {
        let own = curves.iter().filter(|curve| curve.system == system);
        let mut points: Vec<(f64, f64)> =
            own.filter_map(|curve| Some((curve.parameter as f64, curve.at(bytes)?.best_s))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Trace { label: system.into(), system: system.into(), points }
    };
    Chart {
        file: format!("bcast-{bytes}"),
        title: format!("Broadcast of {} B", size(bytes)),
        axes: (Unit::Hosts, Unit::Seconds),
        lines: systems(curves).into_iter().map(line).collect(),
    }
}

fn grid(curves: &[Curve], bytes: u64) -> Grid {
    let names = systems(curves);
    let mut head = vec!["hosts".to_owned()];
    head.extend(names.iter().map(|name| String::from(*name)));
    let mut hosts: Vec<u64> = curves.iter().map(|curve| curve.parameter).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let cell = |system: &str, hosts: u64| {
        let own = curves.iter().find(|curve| curve.system == system && curve.parameter == hosts);
        let point = own.and_then(|curve| curve.at(bytes));
        point.map_or("-".into(), |point| format!("{} / {}", time(point.best_s), time(point.median_s)))
    };
    let row = |hosts: u64| {
        std::iter::once(hosts.to_string()).chain(names.iter().map(|name| cell(name, hosts))).collect()
    };
    let rows = std::iter::once(head).chain(hosts.iter().map(|hosts| row(*hosts))).collect();
    Grid { title: format!("{} B, best / median", size(bytes)), rows }
}

#[cfg(test)]
mod tests {
    use super::super::samples::tests::curve;
    use super::*;

    #[test]
    fn a_line_goes_over_the_hosts() {
        let curves = vec![
            curve("tern", 4, "bcast", &[(8, 4e-6), (1024, 8e-6)]),
            curve("tern", 2, "bcast", &[(8, 2e-6)]),
            curve("mpich", 2, "bcast", &[(8, 5e-6)]),
        ];
        let section = section(curves);
        assert_eq!(section.charts.len(), 2);
        assert_eq!(section.charts[0].lines[0].points, [(2.0, 2e-6), (4.0, 4e-6)]);
        let rows: Vec<String> = section.tables[0].rows.iter().map(|row| row.join(" | ")).collect();
        let expected = [
            "hosts | tern | mpich",
            "2 | 2.00 us / 2.00 us | 5.00 us / 5.00 us",
            "4 | 4.00 us / 4.00 us | -",
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn algorithms_are_found_by_name() {
        assert!(chosen(Collective::Bcast, &["all".into()]).unwrap().len() > 2);
        assert_eq!(chosen(Collective::Bcast, &["chain".into()]).unwrap()[0].name(), "chain");
        assert!(chosen(Collective::Bcast, &["bruck".into()]).unwrap_err().contains("binomial"));
        assert!(chosen(Collective::Bcast, &[]).unwrap().is_empty());
    }
}
