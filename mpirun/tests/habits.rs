//! What users of other launchers write, and what batch systems give: done, refused or told, and never swallowed.

mod common;

use common::{Folder, command, mpirun, start};

/// `mpirun -n 1 true` with one variable; what it says must be one line, or nothing.
fn said_with(variable: &str, value: &str, options: &[&str]) -> String {
    let mut command = command(&[options, &["-n", "1", "true"]].concat());
    command.env(variable, value);
    let outcome = start(command).finish();
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.lines().count() <= 1, "{}", outcome.stderr);
    outcome.stderr
}

#[test]
fn several_hosts_of_a_batch_system_are_told() {
    let folder = Folder::new("allocation");
    let file = folder.path("hosts");
    std::fs::write(&file, "n1 2 q x\nn1 2 q x\nn2 2 q x\n").unwrap();
    for (variable, value, words) in [
        ("SLURM_JOB_NODELIST", "node[01-03]", "3 hosts"),
        ("PBS_NODEFILE", file.as_str(), "--hostfile $PBS_NODEFILE"),
        ("LSB_MCPU_HOSTS", "a 4 b 4", "--hostfile $LSB_DJOB_HOSTFILE"),
        ("PE_HOSTFILE", file.as_str(), "--host $(awk"),
    ] {
        let said = said_with(variable, value, &[]);
        assert!(said.contains(words) && said.contains("all ranks run on this one"), "{variable}: {said}");
        assert_eq!(said_with(variable, value, &["--host", "localhost"]), "", "{variable}");
    }
    assert_eq!(said_with("SLURM_JOB_NODELIST", "node01", &[]), "");
}

#[test]
fn variables_of_other_launchers_are_told() {
    for name in ["HYDRA_HOST_FILE", "OMPI_MCA_btl", "PRTE_MCA_plm", "I_MPI_PIN"] {
        let said = said_with(name, "x", &[]);
        assert!(said.contains(name) && said.contains("nothing here"), "{said}");
    }
    assert_eq!(said_with("I_MPI_ROOT", "/opt/intel", &[]), "");
}

#[test]
fn options_that_change_nothing_are_told() {
    for (options, words) in [
        (&["--map-by", "core"][..], "--map-by core"),
        (&["--map-by", "l3cache"], "--bind-to core, socket or numa"),
        (&["--map-by", "slot:SPAN"], "'SPAN'"),
        (&["--rank-by", "node"], "--rank-by node"),
        (&["--mca", "btl", "self"], "--mca btl self"),
        (&["--use-hwthread-cpus"], "--use-hwthread-cpus"),
        (&["--map-by", "slot:PE=2", "--bind-to", "none"], "PE="),
    ] {
        let outcome = mpirun(&[options, &["-n", "1", "true"]].concat());
        assert_eq!(
            (outcome.status, outcome.stderr.lines().count()),
            (0, 1),
            "{options:?}: {}",
            outcome.stderr
        );
        assert!(outcome.stderr.contains(words), "{options:?}: {}", outcome.stderr);
    }
}

#[test]
fn options_that_make_no_sense_are_refused() {
    for options in [
        ["--rank-by", "nonsense"],
        ["--map-by", "slot:nonsense"],
        ["--map-by", "slot:PE=x"],
        ["--map-by", "ppr:2:l3cache"],
        ["--bind-to", "core:nonsense"],
    ] {
        let outcome = mpirun(&[&options[..], &["-n", "1", "true"]].concat());
        let words = outcome.stderr.contains(options[0]);
        assert_eq!(
            (outcome.status, words, outcome.stderr.lines().count()),
            (1, true, 1),
            "{}",
            outcome.stderr
        );
    }
}

#[test]
fn a_rank_gets_the_cores_that_it_asks_for() {
    let own = rustix::thread::sched_getaffinity(None).unwrap().count();
    let show = "grep Cpus_allowed_list /proc/self/status";
    let processors = |options: &[&str]| {
        let outcome = mpirun(&[options, &["-n", "1", "sh", "-c", show]].concat());
        assert_eq!(outcome.stderr, "");
        outcome.stdout
    };
    let one = processors(&["--bind-to", "hwthread"]);
    let two = processors(&["--bind-to", "hwthread", "--map-by", "slot:PE=2"]);
    assert_eq!(one == two, own == 1, "{one} {two}");
    assert!(two.contains([',', '-']) || own == 1, "{two}");
}

#[test]
fn more_ranks_than_cores_to_bind_them_to_are_told() {
    let ranks = (rustix::thread::sched_getaffinity(None).unwrap().count() + 1).to_string();
    let outcome = mpirun(&["--bind-to", "core", "-n", &ranks, "true"]);
    assert!(outcome.stderr.contains(&format!("{ranks} ranks are bound to")), "{}", outcome.stderr);
    assert_eq!((outcome.status, outcome.stderr.lines().count()), (0, 1), "{}", outcome.stderr);
    for options in [["--bind-to", "core:overload-allowed"], ["--bind-to", "none"], ["--bind-to", "socket"]] {
        assert_eq!(mpirun(&[&options[..], &["-n", &ranks, "true"]].concat()).stderr, "", "{options:?}");
    }
}
