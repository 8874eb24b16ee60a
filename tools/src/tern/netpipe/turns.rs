//! Systems take turns: what disturbs the machine for a while disturbs all of them, and ratios are of one run.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::rc::Rc;
use std::time::Instant;

use super::options::{MeasurementTurns, NetpipeOptions};
use super::samples::{MetricCurve, OutputSample};
use super::section::Section;
use super::steadiness;
use super::systems::{JobStarter, MeasuredSystem, SystemJob};
use crate::tune::progress::JobProgress;

/// All that takes part, and what is asked for.
pub(super) struct Lab {
    /// Tern first.
    pub systems: Vec<MeasuredSystem>,
    /// How they are started.
    pub starter: JobStarter,
    /// The command line.
    pub options: NetpipeOptions,
}

/// One of those that take turns.
#[derive(Clone, Debug)]
pub(super) struct Entrant {
    /// Whose its curves are.
    pub system: String,
    /// What else tells them from others of the system.
    pub parameter: u64,
    /// What it runs.
    pub runs: Rc<dyn Measure>,
}

/// What has a time for each of some sizes.
pub(super) trait Measure: Debug {
    /// All of them.
    fn sizes(&self) -> &[u64];
    /// Measures at some of them.
    fn measure(&self, sizes: Vec<u64>) -> Result<Vec<OutputSample>, String>;
}

/// A job of a system.
#[derive(Debug)]
struct StartedJob {
    starter: JobStarter,
    system: MeasuredSystem,
    job: SystemJob,
}

/// What is measured in turns, and what is made of it.
pub(super) struct Study {
    /// What it is called while it runs.
    pub name: &'static str,
    /// Who takes part.
    pub entrants: Vec<Entrant>,
    /// How often each has its turn.
    pub turns: MeasurementTurns,
    /// Makes a part of the report of all curves.
    pub conclude: Box<dyn Fn(Vec<MetricCurve>) -> Section>,
}

impl Lab {
    /// A system that does a job, if it can.
    pub(super) fn entrant(
        &self,
        system: &MeasuredSystem,
        parameter: u64,
        job: &SystemJob,
    ) -> Option<Entrant> {
        self.starter.invocation(system, job)?;
        let started = StartedJob { starter: self.starter.clone(), system: system.clone(), job: job.clone() };
        Some(Entrant { system: system.name().into(), parameter, runs: Rc::new(started) })
    }

    /// Tern itself, if it takes part, with settings of its own.
    pub(super) fn tern(&self, parameter: u64, job: &SystemJob) -> Option<Entrant> {
        let tern = self.systems.iter().find(|system| matches!(system, MeasuredSystem::Tern))?;
        self.entrant(tern, parameter, job)
    }

    /// Sockets that are polled, if they take part.
    pub(super) fn raw(&self, job: &SystemJob) -> Option<Entrant> {
        let raw = self.systems.iter().find(|system| matches!(system, MeasuredSystem::RawPolled))?;
        self.entrant(raw, 0, job)
    }

    /// All systems that can do a job.
    pub(super) fn everyone(&self, job: &SystemJob) -> Vec<Entrant> {
        self.systems.iter().filter_map(|system| self.entrant(system, 0, job)).collect()
    }
}

impl Measure for StartedJob {
    fn sizes(&self) -> &[u64] {
        &self.job.sizes
    }

    fn measure(&self, sizes: Vec<u64>) -> Result<Vec<OutputSample>, String> {
        let job = SystemJob { sizes, ..self.job.clone() };
        let run = self.starter.invocation(&self.system, &job).ok_or("it cannot do this")?;
        let output = run.run()?;
        let readings: Vec<OutputSample> = output.lines().filter_map(OutputSample::parse).collect();
        if readings.is_empty() { Err(format!("{run} printed no result")) } else { Ok(readings) }
    }
}

impl Study {
    /// How many jobs it takes at least.
    pub(super) fn jobs(&self) -> u64 {
        self.entrants.len() as u64 * u64::from(self.turns.least)
    }

    /// Runs all of them. Who fails is left out from then on, with a note; Tern must not fail.
    pub(super) fn run(&self, progress: &JobProgress) -> Result<Section, String> {
        let is_out = vec![false; self.entrants.len()];
        let mut rounds =
            MeasuredTurns { study: self, started: Instant::now(), curves: vec![], notes: vec![], is_out };
        for round in 0..self.turns.least {
            rounds.all_measure(round, None, progress)?;
        }
        let mut round = self.turns.least;
        while round < self.turns.most && rounds.left_s() > 0.0 {
            let sizes = rounds.unsteady();
            let jobs = rounds.entrants_at(&sizes);
            if jobs == 0 {
                break;
            }
            progress.extend(jobs);
            rounds.all_measure(round, Some(&sizes), progress)?;
            round += 1;
        }
        let MeasuredTurns { curves, notes, .. } = rounds;
        let steadiness = steadiness::of_curves(&curves);
        let mut section = (self.conclude)(curves);
        section.notes.extend(steadiness.notes.into_iter().chain(notes));
        section.findings.extend(steadiness.findings);
        Ok(section)
    }
}

/// What has been measured until now.
struct MeasuredTurns<'a> {
    study: &'a Study,
    started: Instant,
    curves: Vec<MetricCurve>,
    notes: Vec<String>,
    /// Which entrants have failed.
    is_out: Vec<bool>,
}

impl MeasuredTurns<'_> {
    /// Each entrant has its turn, at these of its sizes.
    fn all_measure(
        &mut self,
        round: u32,
        sizes: Option<&BTreeSet<u64>>,
        progress: &JobProgress,
    ) -> Result<(), String> {
        let number = self.study.entrants.len();
        for turn in 0..number {
            // Each has another neighbor before it every time.
            let index = (turn + round as usize) % number;
            let entrant = &self.study.entrants[index];
            let own = entrant.sizes_among(sizes);
            if sizes.is_none() || !own.is_empty() {
                progress.step(&self.what(entrant, round, own.len()));
            }
            if self.is_out[index] || own.is_empty() {
                continue;
            }
            match entrant.runs.measure(own) {
                Ok(readings) => collect(&mut self.curves, entrant, readings),
                Err(error) if entrant.is_tern() => return Err(error),
                Err(error) => {
                    self.is_out[index] = true;
                    self.notes.push(format!("{} is left out: {error}", entrant.system));
                }
            }
        }
        Ok(())
    }

    /// How long there may be further turns, seconds.
    fn left_s(&self) -> f64 {
        self.study.turns.limit_s - self.started.elapsed().as_secs_f64()
    }

    /// What is done, for the bar, which does not know of turns that may follow.
    fn what(&self, entrant: &Entrant, round: u32, sizes: usize) -> String {
        let (name, least, turn) = (self.study.name, self.study.turns.least, round + 1);
        match turn <= least {
            true => format!("{name}, {}, turn {turn} of {least}", entrant.system),
            false => {
                let all = entrant.runs.sizes().len();
                let (system, left_s) = (&entrant.system, self.left_s().max(0.0));
                format!(
                    "{name}, {system}, turn {turn}: {sizes} of {all} sizes not steady, {left_s:.0} s left at most"
                )
            }
        }
    }

    /// Sizes at which some figure is not steady. All have a further turn there: ratios are of one run.
    fn unsteady(&self) -> BTreeSet<u64> {
        let points = self.curves.iter().flat_map(MetricCurve::points);
        points.filter(|(_, point)| !point.is_steady()).map(|(bytes, _)| bytes).collect()
    }

    /// How many entrants have any of these sizes.
    fn entrants_at(&self, sizes: &BTreeSet<u64>) -> u64 {
        let entrants = self.study.entrants.iter().zip(&self.is_out);
        let at =
            |(entrant, is_out): &(&Entrant, &bool)| !**is_out && !entrant.sizes_among(Some(sizes)).is_empty();
        entrants.filter(at).count() as u64
    }
}

impl Entrant {
    /// Whatever its settings are.
    fn is_tern(&self) -> bool {
        self.system == "tern" || self.system.starts_with("tern, ")
    }

    fn sizes_among(&self, sizes: Option<&BTreeSet<u64>>) -> Vec<u64> {
        let is_asked = |bytes: &u64| sizes.is_none_or(|sizes| sizes.contains(bytes));
        self.runs.sizes().iter().copied().filter(is_asked).collect()
    }
}

fn collect(curves: &mut Vec<MetricCurve>, entrant: &Entrant, readings: Vec<OutputSample>) {
    for reading in readings {
        // What sockets and libraries call their loops is no difference of the metric.
        let is_it = |curve: &MetricCurve| {
            curve.system == entrant.system
                && curve.parameter == entrant.parameter
                && curve.metric == reading.metric
        };
        let index = curves.iter().position(is_it).unwrap_or_else(|| {
            curves.push(MetricCurve::new(&entrant.system, entrant.parameter, &reading.metric));
            curves.len() - 1
        });
        curves[index].add(reading);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// What each turn is asked for, and the seconds that each size then takes.
    type Asked = Rc<RefCell<Vec<Vec<u64>>>>;

    struct Model<F> {
        sizes: Vec<u64>,
        asked: Asked,
        time_s: F,
    }

    impl<F> Debug for Model<F> {
        fn fmt(&self, text: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(text, "{:?}", self.sizes)
        }
    }

    impl<F: Fn(usize, u64) -> Result<f64, String>> Measure for Model<F> {
        fn sizes(&self) -> &[u64] {
            &self.sizes
        }

        fn measure(&self, sizes: Vec<u64>) -> Result<Vec<OutputSample>, String> {
            let turn = self.asked.borrow().len();
            self.asked.borrow_mut().push(sizes.clone());
            let reading = |bytes| {
                let best_s = (self.time_s)(turn, bytes)?;
                Ok(OutputSample { metric: "a".into(), bytes, best_s, median_s: best_s })
            };
            sizes.into_iter().map(reading).collect()
        }
    }

    fn entrant(
        system: &str,
        time_s: impl Fn(usize, u64) -> Result<f64, String> + 'static,
    ) -> (Entrant, Asked) {
        let asked = Asked::default();
        let runs = Rc::new(Model { sizes: vec![1, 2, 4], asked: asked.clone(), time_s });
        (Entrant { system: system.into(), parameter: 0, runs }, asked)
    }

    const STEADY: MeasurementTurns = MeasurementTurns { least: 3, most: 20, limit_s: 100.0 };

    fn study(entrants: Vec<Entrant>, turns: MeasurementTurns) -> Study {
        let conclude = |curves| Section { curves, ..Section::default() };
        Study { name: "test", entrants, turns, conclude: Box::new(conclude) }
    }

    fn run(entrants: Vec<Entrant>, turns: MeasurementTurns) -> Result<Section, String> {
        study(entrants, turns).run(&JobProgress::new(6))
    }

    fn trials(section: &Section, system: &str) -> Vec<(u64, usize)> {
        let curve = section.curves.iter().find(|curve| curve.system == system).expect("a curve");
        curve.points().map(|(bytes, point)| (bytes, point.trials)).collect()
    }

    #[test]
    fn steady_figures_take_the_least_turns() {
        let (tern, _) = entrant("tern", |_, bytes| Ok(bytes as f64));
        let (raw, _) = entrant("raw", |turn, bytes| Ok(bytes as f64 + turn as f64 * 0.01));
        let section = run(vec![tern, raw], STEADY).unwrap();
        for system in ["tern", "raw"] {
            assert_eq!(trials(&section, system), [(1, 3), (2, 3), (4, 3)]);
        }
    }

    #[test]
    fn a_size_that_is_disturbed_gets_further_turns_of_all() {
        // Something else runs in two of three turns, and makes messages of 2 bytes slow.
        let (tern, asked) = entrant("tern", |turn, bytes| {
            Ok(if bytes == 2 && turn % 3 != 0 { 9.0 + turn as f64 } else { 1.0 })
        });
        let (raw, of_raw) = entrant("raw", |_, _| Ok(1.0));
        let section = run(vec![tern, raw], STEADY).unwrap();
        assert_eq!(trials(&section, "tern"), [(1, 3), (2, 7), (4, 3)]);
        assert_eq!(trials(&section, "raw"), [(1, 3), (2, 7), (4, 3)]);
        assert_eq!(asked.borrow()[3..], vec![vec![2u64]; 4]);
        assert_eq!(asked, of_raw);
        assert!(section.curves.iter().all(|curve| curve.at(2).unwrap().best_s == 1.0));
    }

    #[test]
    fn turns_end_where_nothing_becomes_steady() {
        let noise = |turn: usize, _| Ok(1.0 / (turn + 1) as f64);
        for (turns, expected) in [
            (STEADY, STEADY.most as usize),
            (MeasurementTurns { limit_s: 0.0, ..STEADY }, 3),
            (MeasurementTurns { least: 2, most: 2, limit_s: 0.0 }, 2),
        ] {
            let section = run(vec![entrant("tern", noise).0], turns).unwrap();
            assert_eq!(trials(&section, "tern")[0], (1, expected));
        }
    }

    #[test]
    fn a_report_says_how_steady_it_is() {
        let (tern, _) =
            entrant("tern", |turn, bytes| Ok(if bytes == 4 { 1.0 + turn as f64 * 0.1 } else { 1.0 }));
        let section = run(vec![tern], MeasurementTurns { most: 4, ..STEADY }).unwrap();
        let expected = "tern: 2 of 3 figures are steady: the best 3 turns differ by at most 3.0 %; at 4 they differ by 20.0 %";
        assert_eq!(section.notes, [expected]);
        assert!(
            section.findings.iter().any(|(name, value)| name == "tern.steady_part" && *value == 2.0 / 3.0)
        );
    }

    #[test]
    fn a_peer_that_fails_is_left_out_and_tern_must_not_fail() {
        let (tern, _) = entrant("tern", |_, _| Ok(1.0));
        let (broken, asked) = entrant("broken", |_, _| Err("no such host".into()));
        let section = run(vec![tern, broken.clone()], STEADY).unwrap();
        assert!(section.notes.contains(&"broken is left out: no such host".into()), "{:?}", section.notes);
        assert_eq!(asked.borrow().len(), 1);
        let broken = Entrant { system: "tern, thread".into(), ..broken };
        assert!(run(vec![broken], STEADY).is_err());
    }

    #[test]
    fn a_job_that_prints_no_result_has_failed() {
        let place = super::super::options::RankPlacement::default();
        let starter = JobStarter {
            mpirun: "/bin/true".into(),
            program: "/t/netpipe".into(),
            place,
            remote_shell: None,
        };
        let work = super::super::systems::JobWork::PingPong;
        let job = SystemJob { work, ranks: 2, sizes: vec![1], point_s: 0.01, settings: vec![] };
        let silent = StartedJob { starter, system: MeasuredSystem::Tern, job };
        assert!(silent.measure(vec![1]).unwrap_err().contains("printed no result"));
    }
}
