//! Systems take turns: what disturbs the machine for a while disturbs all of them, and ratios are of one run.

use super::options::Options;
use super::samples::{Curve, Reading};
use super::section::Section;
use super::systems::{Job, Starter, System};
use crate::run::Invocation;
use crate::tune::progress::Progress;

/// All that takes part, and what is asked for.
pub struct Lab {
    /// Tern first.
    pub systems: Vec<System>,
    /// How they are started.
    pub starter: Starter,
    /// The command line.
    pub options: Options,
}

/// One of those that take turns.
#[derive(Clone, Debug)]
pub struct Entrant {
    /// Whose its curves are.
    pub system: String,
    /// What else tells them from others of the system.
    pub parameter: u64,
    /// What it runs.
    pub run: Invocation,
}

/// What is measured in turns, and what is made of it.
pub struct Study {
    /// What it is called while it runs.
    pub name: &'static str,
    /// Who takes part.
    pub entrants: Vec<Entrant>,
    /// How often each has its turn.
    pub trials: u32,
    /// Makes a part of the report of all curves.
    pub conclude: Box<dyn Fn(Vec<Curve>) -> Section>,
}

impl Lab {
    /// A system that does a job, if it can.
    pub fn entrant(&self, system: &System, parameter: u64, job: &Job<'_>) -> Option<Entrant> {
        let run = self.starter.invocation(system, job)?;
        Some(Entrant { system: system.name().into(), parameter, run })
    }

    /// Tern itself, if it takes part, with settings of its own.
    pub fn tern(&self, parameter: u64, job: &Job<'_>) -> Option<Entrant> {
        let tern = self.systems.iter().find(|system| matches!(system, System::Tern))?;
        self.entrant(tern, parameter, job)
    }

    /// Sockets that are polled, if they take part.
    pub fn raw(&self, job: &Job<'_>) -> Option<Entrant> {
        let raw = self.systems.iter().find(|system| matches!(system, System::RawPolled))?;
        self.entrant(raw, 0, job)
    }

    /// All systems that can do a job.
    pub fn everyone(&self, job: &Job<'_>) -> Vec<Entrant> {
        self.systems.iter().filter_map(|system| self.entrant(system, 0, job)).collect()
    }
}

impl Study {
    /// How many jobs it takes.
    pub fn jobs(&self) -> u64 {
        self.entrants.len() as u64 * u64::from(self.trials)
    }

    /// Runs all of them. Who fails is left out from then on, with a note; Tern must not fail.
    pub fn run(&self, progress: &Progress) -> Result<Section, String> {
        let number = self.entrants.len();
        let (mut curves, mut notes) = (Vec::new(), Vec::new());
        let mut is_out = vec![false; number];
        for trial in 0..self.trials as usize {
            for turn in 0..number {
                // Each has another neighbour before it every time.
                let index = (turn + trial) % number;
                let entrant = &self.entrants[index];
                progress.step(&format!(
                    "{}, {}, turn {} of {}",
                    self.name,
                    entrant.system,
                    trial + 1,
                    self.trials
                ));
                if is_out[index] {
                    continue;
                }
                match entrant.measure() {
                    Ok(readings) => collect(&mut curves, entrant, readings),
                    Err(error) if entrant.is_tern() => return Err(error),
                    Err(error) => {
                        is_out[index] = true;
                        notes.push(format!("{} is left out: {error}", entrant.system));
                    }
                }
            }
        }
        let mut section = (self.conclude)(curves);
        section.notes.extend(notes);
        Ok(section)
    }
}

impl Entrant {
    /// Whatever its settings are.
    fn is_tern(&self) -> bool {
        self.system == "tern" || self.system.starts_with("tern, ")
    }

    fn measure(&self) -> Result<Vec<Reading>, String> {
        let output = self.run.run()?;
        let readings: Vec<Reading> = output.lines().filter_map(Reading::parse).collect();
        if readings.is_empty() { Err(format!("{} printed no result", self.run)) } else { Ok(readings) }
    }
}

fn collect(curves: &mut Vec<Curve>, entrant: &Entrant, readings: Vec<Reading>) {
    for reading in readings {
        // What sockets and libraries call their loops is no difference of the metric.
        let is_it = |curve: &Curve| {
            curve.system == entrant.system
                && curve.parameter == entrant.parameter
                && curve.metric == reading.metric
        };
        let index = curves.iter().position(is_it).unwrap_or_else(|| {
            curves.push(Curve::new(&entrant.system, entrant.parameter, &reading.metric));
            curves.len() - 1
        });
        curves[index].add(reading);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entrant(system: &str, script: &str) -> Entrant {
        let words = vec!["-c".into(), script.into()];
        let run = Invocation { program: "/bin/sh".into(), words, settings: vec![], limit_s: 20.0 };
        Entrant { system: system.into(), parameter: 0, run }
    }

    fn study(entrants: Vec<Entrant>) -> Study {
        let conclude = |curves| Section { curves, ..Section::default() };
        Study { name: "test", entrants, trials: 3, conclude: Box::new(conclude) }
    }

    #[test]
    fn readings_of_all_turns_come_together() {
        let tern =
            entrant("tern", "echo result a 1 2 3; echo noise; echo result b 1 4 5; echo result a 2 6 7");
        let section =
            study(vec![tern, entrant("raw", "echo result a 1 1 1")]).run(&Progress::new(6)).unwrap();
        let found: Vec<_> = section.curves.iter().map(|curve| (&*curve.system, &*curve.metric)).collect();
        assert_eq!(found.len(), 3, "{found:?}");
        let a = section.curves.iter().find(|curve| curve.system == "tern" && curve.metric == "a").unwrap();
        assert_eq!(
            a.points().map(|(bytes, point)| (bytes, point.trials)).collect::<Vec<_>>(),
            [(1, 3), (2, 3)]
        );
    }

    #[test]
    fn a_peer_that_fails_is_left_out_and_tern_must_not_fail() {
        let tern = entrant("tern", "echo result a 1 2 3");
        let broken = entrant("broken", "echo no such host >&2; exit 1");
        let silent = entrant("silent", "true");
        let section = study(vec![tern, broken.clone(), silent]).run(&Progress::new(9)).unwrap();
        let notes = section.notes.join("; ");
        assert!(notes.contains("broken is left out") && notes.contains("no such host"), "{notes}");
        assert!(notes.contains("silent is left out") && notes.contains("printed no result"), "{notes}");
        let broken = Entrant { system: "tern, thread".into(), ..broken };
        assert!(study(vec![broken]).run(&Progress::new(3)).is_err());
    }
}
