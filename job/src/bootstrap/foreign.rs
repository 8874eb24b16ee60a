//! Signs of other launchers.
//!
//! A process that another launcher started as one of several must not believe that it is alone: it would
//! compute the whole answer once per rank, silently. Where a launcher has left no PMI-1 socket, which is the only protocol
//! of others that Tern speaks, it refuses and says how to start the program.

/// How one kind of launcher shows itself in the environment of a rank.
struct Sign {
    launcher: &'static str,
    rank: &'static str,
    size: &'static str,
    /// A variable without which the other two are only left over, as in a Slurm batch script.
    also: Option<&'static str>,
}

const SIGNS: &[Sign] = &[
    Sign {
        launcher: "Open MPI's mpirun",
        rank: "OMPI_COMM_WORLD_RANK",
        size: "OMPI_COMM_WORLD_SIZE",
        also: None,
    },
    Sign {
        launcher: "a PMI launcher (as MPICH's or Intel's mpiexec)",
        rank: "PMI_RANK",
        size: "PMI_SIZE",
        also: None,
    },
    // `srun` sets the step; the script of `sbatch` itself has a SLURM_PROCID but is no rank of anything.
    Sign {
        launcher: "Slurm's srun",
        rank: "SLURM_PROCID",
        size: "SLURM_STEP_NUM_TASKS",
        also: Some("SLURM_STEP_ID"),
    },
    Sign { launcher: "Flux", rank: "FLUX_TASK_RANK", size: "FLUX_JOB_SIZE", also: None },
    Sign { launcher: "PALS's mpiexec", rank: "PALS_RANKID", size: "PALS_SIZE", also: None },
];

/// A launcher that started this process as one of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignLauncher {
    /// Who it is.
    pub name: &'static str,
    /// The variable that says so, with its value.
    pub evidence: String,
}

/// Looks for a launcher that says this process is one of several. `get` reads the environment.
pub(crate) fn find(get: impl Fn(&str) -> Option<String>) -> Option<ForeignLauncher> {
    let several = SIGNS.iter().find_map(|sign| one_of_several(sign, &get));
    several.or_else(|| pmix_of_unknown_size(&get))
}

fn one_of_several(sign: &Sign, get: &impl Fn(&str) -> Option<String>) -> Option<ForeignLauncher> {
    let size: u64 = get(sign.size)?.trim().parse().ok()?;
    if size < 2 || get(sign.rank).is_none() || sign.also.is_some_and(|name| get(name).is_none()) {
        return None;
    }
    Some(ForeignLauncher { name: sign.launcher, evidence: format!("{}={size}", sign.size) })
}

/// PMIx puts no size into the environment. Where another variable says that the world has one rank, fine.
fn pmix_of_unknown_size(get: &impl Fn(&str) -> Option<String>) -> Option<ForeignLauncher> {
    let rank = get("PMIX_RANK")?;
    let sizes = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"];
    if sizes.iter().any(|name| get(name).is_some_and(|size| size.trim() == "1")) {
        return None;
    }
    Some(ForeignLauncher {
        name: "a PMIx launcher (as PRRTE's prterun)",
        evidence: format!("PMIX_RANK={rank}"),
    })
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
        assert!(found(&[("PMIX_RANK", "0")]).unwrap().contains("PMIx"));
    }

    #[test]
    fn alone_is_alone() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[("PMI_RANK", "0"), ("PMI_SIZE", "1")]), None);
        assert_eq!(found(&[("PMIX_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "1")]), None);
        assert_eq!(found(&[("SLURM_PROCID", "0"), ("SLURM_NTASKS", "4")]), None, "the script of sbatch");
        assert_eq!(found(&[("PMI_SIZE", "many"), ("PMI_RANK", "0")]), None);
    }
}
