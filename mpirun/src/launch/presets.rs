//! Launchers that are known by name, and which one is taken where the user names none.

use crate::launch::launcher;
use crate::plan::PlanSettings;
use crate::plan::allocation::{Allocation, System};

/// Stands for the host in the words of a launcher; without it, the host follows them.
pub(crate) const HOST: &str = "{host}";

/// What is called where nothing says otherwise. A question for a password could not be answered, since many
/// may come at once; a host that does not answer shall not hold the job for minutes.
pub(crate) const SSH: &[&str] =
    &["ssh", "-x", "-oBatchMode=yes", "-oConnectTimeout=10", "-oServerAliveInterval=5"];

/// Unbuffered: the agent's messages are not lines.
const SRUN: &[&str] = &["srun", "-Q", "-u", "-N1", "-n1", "--mpi=none", "--cpu-bind=none", "-w"];

/// Another host is this one under another name: a shell gets the command, and its first word, the host, changes nothing.
const FORK: &[&str] = &["sh", "-c", "exec sh -c \"$*\""];

/// Names, what MPICH calls the same, and the words.
const PRESETS: [(&str, &str, &[&str]); 7] = [
    ("ssh", "ssh", SSH),
    ("rsh", "rsh", &["rsh"]),
    ("srun", "slurm", SRUN),
    ("pbsdsh", "pbs", &["pbsdsh", "-o", "-h"]),
    ("blaunch", "lsf", &["blaunch"]),
    ("qrsh", "sge", &["qrsh", "-inherit"]),
    ("kubectl", "k8s", &["kubectl", "exec", "-i", HOST, "--"]),
];

/// Launchers that run words as they are. The others hand them to a shell.
const WITHOUT_SHELL: [&str; 4] = ["srun", "kubectl", "pbsdsh", "blaunch"];

/// Variables with which `srun` would give an agent less than all of its node, or change its output.
const NOT_FOR_AGENTS: [&str; 24] = [
    "SLURM_CPUS_PER_TASK",
    "SRUN_CPUS_PER_TASK",
    "SLURM_NTASKS",
    "SLURM_NPROCS",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_NTASKS_PER_SOCKET",
    "SLURM_NTASKS_PER_CORE",
    "SLURM_NTASKS_PER_GPU",
    "SLURM_GPUS_PER_TASK",
    "SLURM_GPU_BIND",
    "SLURM_TRES_PER_TASK",
    "SLURM_DISTRIBUTION",
    "SLURM_HOSTFILE",
    "SLURM_EXACT",
    "SLURM_EXCLUSIVE",
    "SLURM_CPU_BIND",
    "SLURM_HINT",
    "SLURM_THREADS_PER_CORE",
    "SLURM_LABELIO",
    "SLURM_STDINMODE",
    "SLURM_STDOUTMODE",
    "SLURM_STDERRMODE",
    "SLURM_MPI_TYPE",
    "SLURM_EXPORT_ENV",
];

/// Where the operator of Kubernetes, or a user, has put further words for `ssh`.
pub(crate) const EXTRA_WORDS: [&str; 3] =
    ["HYDRA_LAUNCH_EXTRA_ARGS", "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", "OMPI_MCA_plm_rsh_args"];

/// Where the operator puts a launcher of its own.
pub(crate) const AGENT_VARIABLES: [&str; 3] =
    ["OMPI_MCA_plm_rsh_agent", "PRTE_MCA_plm_ssh_agent", "I_MPI_HYDRA_BOOTSTRAP_EXEC"];

/// The words of a launcher that is known by this name.
pub(crate) fn named(name: &str) -> Option<Vec<String>> {
    let (_, _, words) = PRESETS.iter().find(|(own, other, _)| *own == name || *other == name)?;
    Some(strings(words))
}

/// All names, for messages.
pub(crate) fn names() -> String {
    PRESETS.map(|(name, _, _)| name).join(", ")
}

/// `ssh` as it is called here.
pub(crate) fn ssh() -> Vec<String> {
    strings(SSH)
}

/// The launcher that MPICH calls `fork`.
pub(crate) fn fork() -> Vec<String> {
    strings(FORK)
}

fn strings(words: &[&str]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

/// Chooses a launcher where the user has named none: that of the batch system if it is there, or `ssh`. `get` reads the
/// environment, `is_there` looks for programs.
pub(crate) fn choose(
    settings: &mut PlanSettings,
    get: impl Fn(&str) -> Option<String>,
    is_there: impl Fn(&str) -> bool,
) {
    if !settings.launcher.is_empty() {
        return;
    }
    let own = match settings.allocation.as_ref().map(|allocation| allocation.system) {
        Some(System::Slurm) => Some("srun"),
        Some(System::Lsf) => Some("blaunch"),
        Some(System::GridEngine) => Some("qrsh"),
        _ => None,
    };
    let nonempty = |name: &&str| get(name).filter(|value| !value.trim().is_empty());
    if let Some(words) = own.filter(|name| is_there(name)).and_then(named) {
        settings.launcher = words;
        return;
    }
    let mut words =
        AGENT_VARIABLES.iter().find_map(nonempty).and_then(|text| launcher::words(&text)).unwrap_or_default();
    let extra = EXTRA_WORDS.iter().find_map(nonempty).and_then(|text| launcher::words(&text));
    if let Some(extra) = extra {
        words = if words.is_empty() { ssh() } else { words };
        words.extend(extra);
    }
    settings.launcher = words;
}

/// Whether hosts are names that Kubernetes will know in a while, and `ssh` has to find.
pub(crate) fn awaits_names(allocation: Option<&Allocation>, launcher: &[String]) -> bool {
    let by_ssh = launcher.first().is_none_or(|program| base(program) == "ssh");
    by_ssh && allocation.is_some_and(|allocation| allocation.system == System::Kubernetes)
}

/// Whether the launcher runs words as they are.
pub(crate) fn runs_without_shell(launcher: &[String]) -> bool {
    launcher.first().is_some_and(|program| WITHOUT_SHELL.contains(&base(program)))
}

/// What the launcher itself must see of the environment, and what not.
pub(crate) fn prepare(command: &mut std::process::Command, launcher: &[String]) {
    if launcher.first().is_some_and(|program| base(program) == "srun") {
        for name in NOT_FOR_AGENTS {
            command.env_remove(name);
        }
        // Several jobs share an allocation, and the user's own steps. Older versions, which do not know this, share anyway.
        command.env("SLURM_OVERLAP", "1");
    }
}

fn base(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(system: Option<System>, variables: &[(&str, &str)], there: bool) -> String {
        let allocation = system.map(|system| Allocation { system, hosts: Vec::new(), remark: None });
        let mut settings = PlanSettings { allocation, ..PlanSettings::default() };
        let get =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into());
        choose(&mut settings, get, |_| there);
        settings.launcher.join(" ")
    }

    #[test]
    fn batch_systems_have_launchers_of_their_own() {
        assert!(chosen(Some(System::Slurm), &[], true).starts_with("srun -Q -u"));
        assert_eq!(chosen(Some(System::Lsf), &[], true), "blaunch");
        assert_eq!(chosen(Some(System::GridEngine), &[], true), "qrsh -inherit");
        assert_eq!(chosen(Some(System::Slurm), &[], false), "", "ssh");
        assert_eq!(chosen(Some(System::Pbs), &[], true), "");
        assert_eq!(chosen(None, &[], true), "");
    }

    #[test]
    fn operators_have_words_for_ssh() {
        let extra = ("HYDRA_LAUNCH_EXTRA_ARGS", "-o ConnectionAttempts=10");
        assert_eq!(
            chosen(Some(System::Kubernetes), &[extra], true),
            format!("{} -o ConnectionAttempts=10", SSH.join(" "))
        );
        let agent = ("OMPI_MCA_plm_rsh_agent", "/etc/mpi/kubexec.sh");
        assert_eq!(chosen(Some(System::Kubernetes), &[agent], true), "/etc/mpi/kubexec.sh");
        assert_eq!(chosen(None, &[("HYDRA_LAUNCH_EXTRA_ARGS", " ")], true), "");
    }

    #[test]
    fn names_of_others_mean_the_same() {
        assert_eq!(named("slurm"), named("srun"));
        assert_eq!(named("kubectl").unwrap().join(" "), "kubectl exec -i {host} --");
        assert_eq!(named("frobnicate"), None);
    }
}
