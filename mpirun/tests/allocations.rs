//! Jobs in allocations of batch systems. The systems are environment variables and files, and their launchers are scripts that check
//! how they are called, and run the command here.

mod common;

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use common::{Folder, Outcome, command, start};

/// An allocation, with the launchers in a folder that comes first in `PATH`.
struct Cluster {
    folder: Folder,
    variables: Vec<(String, String)>,
}

/// Variables by which another run of these tests could be disturbed.
const CLEARED: [&str; 12] = [
    "SLURM_JOB_NODELIST",
    "SLURM_NODELIST",
    "SLURM_TASKS_PER_NODE",
    "SLURM_JOB_CPUS_PER_NODE",
    "PBS_NODEFILE",
    "LSB_DJOB_HOSTFILE",
    "LSB_MCPU_HOSTS",
    "LSB_HOSTS",
    "PE_HOSTFILE",
    "COBALT_NODEFILE",
    "OAR_NODEFILE",
    "HYDRA_HOST_FILE",
];

impl Cluster {
    fn new(variables: &[(&str, &str)]) -> Cluster {
        let folder = Folder::new("allocations");
        let of = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let cluster = Cluster { folder, variables: variables.iter().map(of).collect() };
        // Programs that all launchers' machines have, and that must not be called where a test does not expect it.
        cluster.script("ssh", "echo 'ssh was called' >&2; exit 3");
        cluster
    }

    /// A variable that names a file with this text.
    fn with_file(variable: &str, text: &str) -> Cluster {
        let mut cluster = Cluster::new(&[]);
        let path = cluster.folder.path("hosts");
        std::fs::write(&path, text).unwrap();
        cluster.variables.push((variable.into(), path));
        cluster
    }

    fn script(&self, name: &str, body: &str) -> &Cluster {
        let path = self.folder.path(name);
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        self
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(arguments);
        CLEARED.iter().for_each(|name| {
            command.env_remove(name);
        });
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.folder.0.display()));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        start(self.command(arguments)).finish()
    }

    /// Where ranks would run, a host in each line.
    fn map(&self, arguments: &[&str]) -> String {
        let outcome = self.run(&[&["--dry-run"], arguments, &["true"]].concat());
        assert_eq!(outcome.status, 0, "{}", outcome.stderr);
        outcome.stderr.replace("mpirun: host ", "").trim_end().replace('\n', "; ")
    }
}

/// What ranks print: the host that their launcher was called with.
const WHERE: [&str; 3] = ["sh", "-c", "echo on $AT"];

fn hosts_of(outcome: &Outcome) -> String {
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    outcome.sorted().join("; ")
}

#[test]
fn hosts_and_slots_come_from_the_batch_system() {
    let slurm = [("SLURM_JOB_NODELIST", "n[08-10]"), ("SLURM_TASKS_PER_NODE", "2(x2),1")];
    assert_eq!(Cluster::new(&slurm).map(&[]), "n08: ranks 0-1; n09: ranks 2-3; n10: rank 4");
    assert_eq!(Cluster::new(&[("LSB_MCPU_HOSTS", "a 1 b 2")]).map(&[]), "a: rank 0; b: ranks 1-2");
    for (variable, text) in [
        ("PBS_NODEFILE", "a\nb\na\n"),
        ("COBALT_NODEFILE", "a\nb\na\n"),
        ("LSB_DJOB_HOSTFILE", "a\na\nb\n"),
        ("PE_HOSTFILE", "a 2 q@a UNDEFINED\nb 1 q@b UNDEFINED\n"),
        ("HYDRA_HOST_FILE", "a:2\nb:1\n"),
        ("I_MPI_HYDRA_HOST_FILE", "a:2\nb\n"),
        ("OMPI_MCA_orte_default_hostfile", "a slots=2\nb slots=1\n"),
    ] {
        assert_eq!(Cluster::with_file(variable, text).map(&[]), "a: ranks 0-1; b: rank 2", "{variable}");
    }
}

#[test]
fn options_cut_the_allocation_down() {
    let cluster = Cluster::new(&[("SLURM_JOB_NODELIST", "n[1-4]"), ("SLURM_TASKS_PER_NODE", "2(x4)")]);
    assert_eq!(cluster.map(&["--host", "n2,n4"]), "n2: ranks 0-1; n4: ranks 2-3");
    assert_eq!(cluster.map(&["--host", "n2:1"]), "n2: rank 0");
    assert_eq!(cluster.map(&["-n", "3"]), "n1: ranks 0-1; n2: rank 2");
    assert_eq!(cluster.map(&["-ppn", "1"]), "n1: rank 0; n2: rank 1; n3: rank 2; n4: rank 3");
    let outside = cluster.run(&["--host", "n7", "true"]);
    assert!(
        outside.status != 0 && outside.stderr.contains("'n7' is none of those that Slurm gave"),
        "{}",
        outside.stderr
    );
    let damaged = Cluster::new(&[("SLURM_JOB_NODELIST", "n[1-")]).run(&["true"]);
    assert!(damaged.status != 0 && damaged.stderr.contains("SLURM_JOB_NODELIST"), "{}", damaged.stderr);
}

#[test]
fn agents_are_steps_in_slurm() {
    let cluster = Cluster::new(&[
        ("SLURM_JOB_NODELIST", "n[1-2]"),
        ("SLURM_TASKS_PER_NODE", "2(x2)"),
        ("SLURM_CPUS_PER_TASK", "1"),
    ]);
    // What would make the step smaller than the node is gone; several steps share the node.
    cluster.script(
        "srun",
        "[ \"$SLURM_OVERLAP\" = 1 ] && [ -z \"$SLURM_CPUS_PER_TASK\" ] || exit 9\nwhile [ \"$1\" != -w ]; do shift; done\nexport AT=$2\nshift 2\nexec \"$@\"",
    );
    let outcome = cluster.run(&WHERE);
    assert_eq!(hosts_of(&outcome), "on n1; on n1; on n2; on n2");
}

#[test]
fn launchers_are_known_by_name() {
    let shift =
        |options: &str| format!("for word in {options}; do [ \"$1\" = \"$word\" ] || exit 9; shift; done");
    let at = "export AT=$1\nshift";
    for (name, options, rest) in [
        ("rsh", "", format!("{at}\nexec sh -c \"$*\"")),
        ("pbsdsh", "-o -h", format!("{at}\nexec \"$@\"")),
        ("blaunch", "", format!("{at}\nexec \"$@\"")),
        ("qrsh", "-inherit", format!("{at}\nexec sh -c \"$*\"")),
        ("kubectl", "exec -i", format!("{at}\n[ \"$1\" = -- ] || exit 9\nshift\nexec \"$@\"")),
    ] {
        let cluster = Cluster::new(&[]);
        cluster.script(name, &format!("{}\n{rest}", shift(options)));
        let outcome = cluster.run(&[&["--launcher", name, "--host", "a,b"][..], &WHERE].concat());
        assert_eq!(hosts_of(&outcome), "on a; on b", "{name}");
    }
}

#[test]
fn batch_systems_have_launchers_of_their_own() {
    let lsf = Cluster::new(&[("LSB_MCPU_HOSTS", "a 1 b 1")]);
    lsf.script("blaunch", "export AT=$1\nshift\nexec \"$@\"");
    assert_eq!(hosts_of(&lsf.run(&WHERE)), "on a; on b");
    let pbs = Cluster::with_file("PBS_NODEFILE", "a\nb\n");
    pbs.script(
        "ssh",
        "while [ \"${1#-}\" != \"$1\" ]; do shift; done\nexport AT=$1\nshift\nexec sh -c \"$*\"",
    );
    assert_eq!(hosts_of(&pbs.run(&WHERE)), "on a; on b");
}

#[test]
fn an_operator_of_kubernetes_is_heeded() {
    // Names that are known at once: nobody waits for these.
    let mut cluster =
        Cluster::with_file("OMPI_MCA_orte_default_hostfile", "127.0.0.2 slots=1\n127.0.0.3 slots=1\n");
    cluster.variables.push(("HYDRA_LAUNCH_EXTRA_ARGS".into(), "-o ConnectionAttempts=10".into()));
    cluster.script(
        "ssh",
        "case \"$*\" in *ConnectionAttempts=10*) ;; *) exit 9 ;; esac\nwhile [ \"${1#127}\" = \"$1\" ]; do shift; done\nexport AT=$1\nshift\nexec sh -c \"$*\"",
    );
    let outcome = cluster.run(&WHERE);
    assert_eq!(hosts_of(&outcome), "on 127.0.0.2; on 127.0.0.3");
    assert_eq!(outcome.stderr, "", "nothing is said of variables that are heeded");
    cluster.variables.push(("OMPI_MCA_plm_rsh_agent".into(), cluster.folder.path("kubexec")));
    cluster.variables.retain(|(name, _)| name != "HYDRA_LAUNCH_EXTRA_ARGS");
    cluster.script("kubexec", "export AT=pod-$1\nshift\nexec sh -c \"$*\"");
    assert_eq!(hosts_of(&cluster.run(&WHERE)), "on pod-127.0.0.2; on pod-127.0.0.3");
}
