//! Signs of other launchers.
//!
//! A process that another launcher started as one of several must not believe that it is alone: it would
//! compute the whole answer once per rank, silently. Where a launcher has left neither a socket of PMI-1 nor a server of PMIx, it
//! refuses and says how to start the program.

use crate::bootstrap::JoinError;
use crate::bootstrap::way::{Bootstrap, EnvironmentReader, text};
use crate::job::Job;
use crate::pmi::LOCAL_SIZE_VARIABLE;

/// One of several ranks of a launcher that has left nothing by which Tern could find the others.
pub(super) struct Unserved;

impl Bootstrap for Unserved {
    fn join(&self, environment: EnvironmentReader<'_>) -> Option<Result<Job, JoinError>> {
        let found = find(|name| text(environment, name))?;
        let ForeignLauncher { name, evidence, advice, variables } = found;
        Some(Err(JoinError::Foreign { launcher: name, evidence, advice, variables }))
    }
}

/// How one kind of launcher shows itself in the environment of a rank.
struct Sign {
    launcher: &'static str,
    /// One of these is there.
    ranks: &'static [&'static str],
    /// The first of these that is a number is that of ranks. Where none is, only a rank above 0 is sure to be one of several.
    sizes: &'static [&'static str],
    /// A variable without which the other two are only left over, as in a Slurm batch script.
    also: Option<&'static str>,
    /// How to start a program of Tern there.
    advice: &'static str,
}

const BY_MPIRUN: &str = "Start the program with Tern's own mpirun instead";
const BY_SRUN: &str = "Start it with 'srun --mpi=pmi2' or 'srun --mpi=pmix' ('srun --mpi=list' says which of them are there), or with \
    Tern's own mpirun, which uses the job's nodes";

const SIGNS: &[Sign] = &[
    Sign {
        launcher: "Open MPI's mpirun",
        ranks: &["OMPI_COMM_WORLD_RANK"],
        sizes: &["OMPI_COMM_WORLD_SIZE"],
        also: None,
        advice: BY_MPIRUN,
    },
    Sign {
        launcher: "a PMI launcher (as MPICH's or Intel's mpiexec)",
        ranks: &["PMI_RANK", "PMI_ID"],
        sizes: &["PMI_SIZE", LOCAL_SIZE_VARIABLE],
        also: None,
        advice: BY_MPIRUN,
    },
    Sign {
        launcher: "MVAPICH's mpirun_rsh",
        ranks: &["MV2_COMM_WORLD_RANK", "MPIRUN_RANK"],
        sizes: &["MV2_COMM_WORLD_SIZE"],
        also: None,
        advice: BY_MPIRUN,
    },
    // `srun` sets the step; the script of `sbatch` itself has a SLURM_PROCID but is no rank of anything.
    Sign {
        launcher: "Slurm's srun",
        ranks: &["SLURM_PROCID"],
        sizes: &["SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"],
        also: Some("SLURM_STEP_ID"),
        advice: BY_SRUN,
    },
    Sign {
        launcher: "Flux",
        ranks: &["FLUX_TASK_RANK"],
        sizes: &["FLUX_JOB_SIZE"],
        also: None,
        advice: "Start it with 'flux run -o pmi=simple', or with Tern's own mpirun",
    },
    Sign {
        launcher: "PALS's mpiexec",
        ranks: &["PALS_RANKID"],
        sizes: &["PALS_SIZE"],
        also: None,
        advice: "Start it with 'mpiexec --pmi=pmix', or with Tern's own mpirun",
    },
    Sign {
        launcher: "Cray's aprun",
        ranks: &["ALPS_APP_PE"],
        sizes: &["ALPS_APP_NPES"],
        also: None,
        advice: BY_MPIRUN,
    },
    Sign {
        launcher: "IBM's jsrun",
        ranks: &["JSM_NAMESPACE_RANK"],
        sizes: &["JSM_NAMESPACE_SIZE"],
        also: None,
        advice: BY_MPIRUN,
    },
];

/// A launcher that started this process as one of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignLauncher {
    /// Who it is.
    pub name: &'static str,
    /// The variable that says so, with its value.
    pub evidence: String,
    /// What to do.
    pub advice: &'static str,
    /// The variables that make this process a rank, also that of a launcher further up.
    pub variables: String,
}

/// Looks for a launcher that says this process is one of several. `get` reads the environment.
pub(crate) fn find(get: impl Fn(&str) -> Option<String>) -> Option<ForeignLauncher> {
    let mut several: Vec<ForeignLauncher> =
        SIGNS.iter().filter_map(|sign| one_of_several(sign, &get)).collect();
    several.extend(pmix_of_unknown_size(&get));
    let variables: Vec<String> = several.iter().map(|found| found.variables.clone()).collect();
    let first = several.into_iter().next()?;
    Some(ForeignLauncher { variables: variables.join(" and "), ..first })
}

/// Whether the launcher says that the world has one rank.
pub(crate) fn says_alone(get: impl Fn(&str) -> Option<String>) -> bool {
    let sizes = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"];
    first_number(&sizes, &get).is_some_and(|(_, size)| size == 1)
}

fn one_of_several(sign: &Sign, get: &impl Fn(&str) -> Option<String>) -> Option<ForeignLauncher> {
    let rank = sign.ranks.iter().find(|name| get(name).is_some())?;
    let (variable, number, is_several) = match first_number(sign.sizes, get) {
        Some((variable, size)) => (variable, size, size > 1),
        None => first_number(&[*rank], get).map(|(variable, rank)| (variable, rank, rank > 0))?,
    };
    if !is_several || sign.also.is_some_and(|name| get(name).is_none()) {
        return None;
    }
    let (name, advice) = (sign.launcher, sign.advice);
    let (evidence, variables) = (format!("{variable}={number}"), (*rank).to_owned());
    Some(ForeignLauncher { name, evidence, advice, variables })
}

/// The first variable that is a number: one that is empty or damaged does not hide those after it.
fn first_number(
    names: &[&'static str],
    get: &impl Fn(&str) -> Option<String>,
) -> Option<(&'static str, u64)> {
    names.iter().find_map(|name| Some((*name, get(name)?.trim().parse().ok()?)))
}

/// PMIx puts no size into the environment. Where another variable says that the world has one rank, fine.
fn pmix_of_unknown_size(get: &impl Fn(&str) -> Option<String>) -> Option<ForeignLauncher> {
    let rank = get("PMIX_RANK")?;
    if says_alone(get) {
        return None;
    }
    let (name, evidence) = ("a PMIx launcher (as PRRTE's prterun)", format!("PMIX_RANK={rank}"));
    Some(ForeignLauncher { name, evidence, advice: BY_MPIRUN, variables: "PMIX_RANK".into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(environment: &[(&str, &str)]) -> Option<&'static str> {
        let get =
            |name: &str| environment.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into());
        find(get).map(|launcher| launcher.name)
    }

    #[test]
    fn one_of_several_is_found() {
        assert!(found(&[("PMI_RANK", "0"), ("PMI_SIZE", "2")]).unwrap().contains("MPICH"));
        assert!(
            found(&[("OMPI_COMM_WORLD_RANK", "1"), ("OMPI_COMM_WORLD_SIZE", "4")])
                .unwrap()
                .contains("Open MPI")
        );
        let step = [("SLURM_PROCID", "0"), ("SLURM_STEP_NUM_TASKS", "2"), ("SLURM_STEP_ID", "0")];
        assert!(found(&step).unwrap().contains("srun"));
        let old_step = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "2"), ("SLURM_STEP_ID", "0")];
        assert!(found(&old_step).unwrap().contains("srun"));
        assert!(found(&[("PMIX_RANK", "0")]).unwrap().contains("PMIx"));
        assert!(found(&[("PMI_ID", "0"), ("PMI_SIZE", "2")]).unwrap().contains("PMI launcher"));
        let get = |name: &str| step.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into());
        assert!(find(get).unwrap().advice.contains("--mpi=pmi2"));
    }

    #[test]
    fn all_that_must_be_unset_is_named() {
        let both = [
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
            ("PMI_RANK", "1"),
            ("PMI_SIZE", "4"),
        ];
        let get = |name: &str| both.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into());
        assert_eq!(find(get).unwrap().variables, "OMPI_COMM_WORLD_RANK and PMI_RANK");
    }

    #[test]
    fn a_size_that_is_missing_hides_nothing() {
        assert!(found(&[("PMI_ID", "0"), ("MPI_LOCALNRANKS", "2")]).unwrap().contains("PMI launcher"));
        assert!(found(&[("PMI_RANK", "1")]).unwrap().contains("PMI launcher"));
        assert!(found(&[("PALS_RANKID", "1")]).unwrap().contains("PALS"));
        let step = [
            ("SLURM_PROCID", "0"),
            ("SLURM_STEP_ID", "0"),
            ("SLURM_STEP_NUM_TASKS", ""),
            ("SLURM_NTASKS", "4"),
        ];
        assert!(found(&step).unwrap().contains("srun"));
        let size = |name: &str| (name == "PMI_SIZE").then(|| "2".into());
        let get = |name: &str| if name == "PMI_RANK" { Some("0".into()) } else { size(name) };
        assert_eq!(find(get).unwrap().variables, "PMI_RANK");
        assert_eq!(find(size), None, "a rank that the user has unset");
    }

    #[test]
    fn alone_is_alone() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]), None);
        assert_eq!(found(&[("PMIX_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "1")]), None);
        assert_eq!(found(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")]), None, "the script of sbatch");
        let shell = [
            ("SLURM_PROCID", "0"),
            ("SLURM_STEP_ID", "0"),
            ("SLURM_STEP_NUM_TASKS", "1"),
            ("SLURM_NTASKS", "4"),
        ];
        assert_eq!(found(&shell), None, "the shell of an interactive step");
        assert_eq!(found(&[("PMI_SIZE", "many"), ("PMI_RANK", "0")]), None);
    }
}
