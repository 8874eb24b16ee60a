//! Time of a collective against the number of hosts, one rank on each (MPI for the T3D section 4.2 has it against
//! processes). Whoever adds another one adds its loop to `netpipe.c`, a [`JobWork`], and a study like this.

use tern_coll::table::HEADING;
use tern_coll::{Algorithm, Collective, Query, algorithms};

use super::samples::MetricCurve;
use super::section::{Chart, Section, SectionTable, Trace, Unit};
use super::sizes;
use super::systems::{JobWork, SystemJob};
use super::turns::{Entrant, Lab, Study};
use super::words::{self, time};
use crate::installation::ScratchFolder;
use crate::tune::jobs::row_for_all;

/// Broadcasts over all numbers of hosts that are asked for: what the library chooses, multicast whether it pays or not, what it
/// chooses without multicast, and algorithms that are asked for by name. One copy between two hosts over raw TCP is what the wire
/// takes.
pub(super) fn bcast(lab: &Lab, scratch: &ScratchFolder) -> Result<Study, String> {
    let (least, most) = lab.options.host_range();
    let variants = variants(&lab.options.algorithms, scratch)?;
    let job = |work, ranks, settings| SystemJob {
        work,
        ranks,
        sizes: lab.options.bytes.clone(),
        point_s: lab.options.point_s,
        settings,
    };
    let mut entrants: Vec<Entrant> = lab.raw(&job(JobWork::PingPong, 2, vec![])).into_iter().collect();
    for hosts in sizes::doublings(least, most) {
        let everyone = lab.everyone(&job(JobWork::Bcast, hosts, vec![]));
        entrants.extend(everyone.into_iter().map(|entrant| Entrant { parameter: hosts.into(), ..entrant }));
        let query = Query { nodes: hosts, multicast: true, ..Query::new(Collective::Bcast, 0, hosts) };
        for variant in variants.iter().filter(|variant| variant.suits(&query)) {
            let named = |entrant| Entrant { system: format!("tern, {}", variant.name), ..entrant };
            let job = job(JobWork::Bcast, hosts, vec![variant.setting.clone()]);
            entrants.extend(lab.tern(hosts.into(), &job).map(named));
        }
    }
    let conclude = Box::new(move |curves| section(curves, (least, most)));
    Ok(Study { name: "bcast", entrants, turns: lab.options.turns, conclude })
}

/// Tern with a setting of its own.
struct Variant {
    name: &'static str,
    setting: (String, String),
    algorithm: Option<Algorithm>,
}

impl Variant {
    fn suits(&self, query: &Query) -> bool {
        self.algorithm.is_none_or(|algorithm| algorithm.suits(query))
    }
}

/// Multicast and its counterpart, and then what is asked for.
fn variants(names: &[String], scratch: &ScratchFolder) -> Result<Vec<Variant>, String> {
    let without = Variant { name: "TCP", setting: ("TERN_MULTICAST".into(), "0".into()), algorithm: None };
    let multicast = Algorithm::named(Collective::Bcast, Algorithm::Multicast.name());
    let asked = chosen(Collective::Bcast, names)?;
    let other = asked.into_iter().filter(|algorithm| Some(*algorithm) != multicast);
    let forced = |algorithm: Algorithm| -> Result<Variant, String> {
        let setting = ("TERN_COLL_TABLE".into(), table(algorithm, scratch)?);
        Ok(Variant { name: algorithm.name(), setting, algorithm: Some(algorithm) })
    };
    let mut all = multicast.into_iter().map(forced).collect::<Result<Vec<_>, _>>()?;
    all.push(without);
    for algorithm in other {
        all.push(forced(algorithm)?);
    }
    Ok(all)
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
fn table(algorithm: Algorithm, scratch: &ScratchFolder) -> Result<String, String> {
    let file = scratch.file(&format!("bcast-{}.table", algorithm.name()));
    let row = row_for_all(Collective::Bcast, algorithm.into());
    std::fs::write(&file, format!("{HEADING}\n{row}\n"))
        .map_err(|error| format!("cannot write {}: {error}", file.display()))?;
    Ok(file.display().to_string())
}

fn section(curves: Vec<MetricCurve>, hosts: (u32, u32)) -> Section {
    let mut sizes: Vec<u64> =
        curves.iter().flat_map(|curve| curve.points().map(|(bytes, _)| bytes)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let charts = sizes.iter().map(|&bytes| chart(&curves, bytes, hosts)).collect();
    let tables = sizes.iter().map(|&bytes| grid(&curves, bytes)).collect();
    let finding = |curve: &MetricCurve| {
        let name = match curve.parameter {
            ANY => curve.system.clone(),
            hosts => format!("{}.{hosts}", curve.system),
        };
        curve.points().map(|(bytes, point)| (format!("{name}.{bytes}_s"), point.best_s)).collect::<Vec<_>>()
    };
    let findings = curves.iter().flat_map(finding).collect();
    let notes = vec![
        "One rank on each host; the root goes round; a batch counts as long as the rank takes that takes longest.".into(),
        "raw: one copy between two hosts over TCP, which is what the wire takes; multicast: by it at all sizes; TCP: with TERN_MULTICAST=0."
            .into(),
    ];
    let title = "Broadcast against the number of hosts".into();
    Section { name: "bcast", title, notes, tables, findings, charts, curves }
}

/// The parameter of what has nothing to do with the number of hosts.
const ANY: u64 = 0;

fn systems(curves: &[MetricCurve]) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for curve in curves {
        if !names.contains(&curve.system.as_str()) {
            names.push(&curve.system);
        }
    }
    names
}

fn chart(curves: &[MetricCurve], bytes: u64, (least, most): (u32, u32)) -> Chart {
    let line = |system: &str| {
        let own = curves.iter().filter(|curve| curve.system == system);
        let across = |curve: &MetricCurve| match curve.parameter {
            ANY => vec![f64::from(least), f64::from(most)],
            hosts => vec![hosts as f64],
        };
        let points = own.filter_map(|curve| Some((across(curve), curve.at(bytes)?.best_s)));
        let mut points: Vec<(f64, f64)> = points
            .flat_map(|(across, best_s)| across.into_iter().map(move |hosts| (hosts, best_s)))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Trace { label: system.into(), system: system.into(), points }
    };
    Chart {
        file: format!("bcast-{bytes}"),
        title: format!("Broadcast of {}", words::bytes(bytes)),
        axes: (Unit::Hosts, Unit::Seconds),
        lines: systems(curves).into_iter().map(line).collect(),
    }
}

fn grid(curves: &[MetricCurve], bytes: u64) -> SectionTable {
    let names = systems(curves);
    let mut head = vec!["hosts".to_owned()];
    head.extend(names.iter().map(|name| String::from(*name)));
    let mut hosts: Vec<u64> =
        curves.iter().map(|curve| curve.parameter).filter(|hosts| *hosts != ANY).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let cell = |system: &str, hosts: u64| {
        let is_it = |curve: &&MetricCurve| {
            curve.system == system && (curve.parameter == hosts || curve.parameter == ANY)
        };
        let own = curves.iter().find(is_it);
        let point = own.and_then(|curve| curve.at(bytes));
        point.map_or("-".into(), |point| format!("{} / {}", time(point.best_s), time(point.median_s)))
    };
    let row = |hosts: u64| {
        std::iter::once(hosts.to_string()).chain(names.iter().map(|name| cell(name, hosts))).collect()
    };
    let rows = std::iter::once(head).chain(hosts.iter().map(|hosts| row(*hosts))).collect();
    SectionTable { title: format!("{}, best / median", words::bytes(bytes)), rows }
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
            curve("raw", ANY, "raw-polled", &[(8, 1e-6)]),
        ];
        let section = section(curves, (2, 4));
        assert_eq!(section.charts.len(), 2);
        assert_eq!(section.charts[0].lines[0].points, [(2.0, 2e-6), (4.0, 4e-6)]);
        assert_eq!(section.charts[0].lines[2].points, [(2.0, 1e-6), (4.0, 1e-6)], "whatever the hosts");
        let rows: Vec<String> = section.tables[0].rows.iter().map(|row| row.join(" | ")).collect();
        let expected = [
            "hosts | tern | mpich | raw",
            "2 | 2.00 us / 2.00 us | 5.00 us / 5.00 us | 1.00 us / 1.00 us",
            "4 | 4.00 us / 4.00 us | - | 1.00 us / 1.00 us",
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn multicast_and_no_multicast_are_always_there_and_once() {
        let scratch = ScratchFolder::new("tern-netpipe-variants-test").unwrap();
        let names = |asked: &[&str]| {
            let asked: Vec<String> = asked.iter().map(|name| String::from(*name)).collect();
            let all = variants(&asked, &scratch).unwrap();
            all.iter().map(|variant| variant.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), ["multicast", "TCP"]);
        assert_eq!(names(&["chain", "multicast"]), ["multicast", "TCP", "chain"]);
    }

    #[test]
    fn algorithms_are_found_by_name() {
        assert!(chosen(Collective::Bcast, &["all".into()]).unwrap().len() > 2);
        assert_eq!(chosen(Collective::Bcast, &["chain".into()]).unwrap()[0].name(), "chain");
        assert!(chosen(Collective::Bcast, &["bruck".into()]).unwrap_err().contains("binomial"));
        assert!(chosen(Collective::Bcast, &[]).unwrap().is_empty());
    }
}
