//! What users of other launchers write, and what batch systems give: done, refused or told, and never swallowed.

mod common;

use std::fs;

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
        (&["-genvnone"], "--genvnone"),
        (&["--mca", "btl_tcp_if_include", "eth0"], "-iface eth0"),
        (&["--map-by", "slot:SPAN"], "'SPAN'"),
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
        ["--map-by", "ppr:2:nonsense"],
        ["--map-by", "ppr:x:l3cache"],
        ["--cpu-set", "3-1"],
        ["--outfile-pattern", "%x"],
        ["--bootstrap", "slurm"],
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

#[test]
fn what_others_do_is_named_with_what_to_use_instead() {
    for (options, words) in [
        (&["--xterm", "0"][..], "xterm -e"),
        (&["--preload-binary"], "scp"),
        (&["--debug"], "gdb"),
        (&["--rankfile", "x"], "-host A -n 1"),
        (&["-nolocal"], "--host"),
    ] {
        let outcome = mpirun(&[options, &["-n", "1", "true"]].concat());
        assert_eq!((outcome.status, outcome.stderr.lines().count()), (1, 1), "{}", outcome.stderr);
        assert!(outcome.stderr.contains(words), "{}", outcome.stderr);
    }
}

#[test]
fn what_tern_does_anyway_is_told_when_asked() {
    let options = ["-genvall", "-envlist", "HOME", "-disable-hostname-propagation"];
    assert_eq!(mpirun(&[&options[..], &["-n", "1", "true"]].concat()).stderr, "");
    let told = mpirun(&[&["-v"], &options[..], &["-n", "1", "true"]].concat()).stderr;
    assert!(told.contains("--genvall --envlist --disable-hostname-propagation"), "{told}");
    let quiet = mpirun(&["--quiet", "--mca", "btl", "self", "-n", "1", "true"]);
    assert_eq!((quiet.status, quiet.stderr.as_str()), (0, ""));
}

#[test]
fn a_dry_run_says_who_would_run_where() {
    let plan = |options: &[&str]| {
        let outcome = mpirun(&[&["--dry-run", "-host", "a:2,b:2"], options, &["/nonexistent"]].concat());
        assert_eq!((outcome.status, outcome.stdout.as_str()), (0, ""), "{}", outcome.stderr);
        outcome.stderr
    };
    assert_eq!(plan(&[]), "mpirun: host a: ranks 0-1\nmpirun: host b: ranks 2-3\n");
    assert_eq!(plan(&["--rank-by", "node"]), "mpirun: host a: ranks 0,2\nmpirun: host b: ranks 1,3\n");
    assert_eq!(plan(&["-bynode"]), plan(&["--rank-by", "node"]));
    assert_eq!(plan(&["--map-by", "node", "--rank-by", "slot"]), plan(&[]));
    assert!(
        plan(&["--display-allocation"]).starts_with("mpirun: host a: 2 slots\nmpirun: host b: 2 slots\n")
    );
    let many = mpirun(&["--nooversubscribe", "-host", "a:2", "-n", "3", "true"]);
    assert!(many.status == 1 && many.stderr.contains("which are 2"), "{}", many.stderr);
}

#[test]
fn programs_can_come_from_a_file() {
    let folder = Folder::new("configfile");
    let file = folder.path("programs");
    fs::write(&file, "# two\n-n 1 echo 'a  b'\n-n 1 echo \\\n  c\n").unwrap();
    for option in ["-configfile", "--app"] {
        assert_eq!(mpirun(&[option, &file]).sorted(), ["a  b", "c"]);
    }
    assert_eq!(mpirun(&["-configfile", &file, ":", "-n", "1", "echo", "d"]).sorted(), ["a  b", "c", "d"]);
    fs::write(&file, "-configfile ".to_owned() + &file).unwrap();
    assert!(mpirun(&["-configfile", &file]).stderr.contains("name each other"));
    assert!(mpirun(&["--app", "/nonexistent"]).stderr.contains("cannot be read"));
}

#[test]
fn output_can_go_to_files() {
    let folder = Folder::new("output");
    let speak = ["sh", "-c", "echo out; echo error >&2"];
    let read = |name: &str| fs::read_to_string(folder.path(name)).unwrap();
    for option in ["--output", "--output-filename"] {
        let outcome = mpirun(&[&["-n", "2", option, &folder.path("d")][..], &speak].concat());
        assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("out\nout\n", "error\nerror\n"));
        assert_eq!(
            (read("d/1/rank.0/stdout"), read("d/1/rank.1/stderr")),
            ("out\n".into(), "error\n".into())
        );
    }
    let (out, error) = (folder.path("o%r"), folder.path("e-%h"));
    let patterns = ["-outfile-pattern", &out, "-errfile-pattern", &error];
    let outcome = mpirun(&[&["-n", "2"], &patterns[..], &speak].concat());
    assert_eq!((outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str()), (0, "", ""));
    assert_eq!((read("o1"), read("e-localhost")), ("out\n".into(), "error\nerror\n".into()));
    let outcome = mpirun(&[&["-n", "1", "--output-filename", "/proc/x"][..], &speak].concat());
    assert!(outcome.status != 0 && outcome.stderr.contains("cannot write /proc/x/1/rank.0/stdout"));
}

#[test]
fn lines_get_the_time_and_streams_are_merged() {
    let outcome = mpirun(&["-n", "1", "--output", "tag,timestamp", "sh", "-c", "echo out"]);
    let (time, rest) = outcome.stdout.split_once(' ').unwrap();
    assert!(time.len() == 24 && time.ends_with('Z') && rest == "[0] out\n", "{}", outcome.stdout);
    let outcome = mpirun(&["-n", "1", "--merge-stderr-to-stdout", "sh", "-c", "echo error >&2"]);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("error\n", ""));
}

#[test]
fn processors_can_be_named() {
    let own = rustix::thread::sched_getaffinity(None).unwrap();
    let cpu = (0..rustix::thread::CpuSet::MAX_CPU).find(|&cpu| own.is_set(cpu)).unwrap().to_string();
    let show = "grep Cpus_allowed_list /proc/self/status";
    let outcome = mpirun(&["--cpu-set", &cpu, "-n", "1", "sh", "-c", show]);
    assert_eq!(outcome.stdout.split_whitespace().last(), Some(cpu.as_str()), "{}", outcome.stderr);
    let outcome = mpirun(&["--cpu-set", "1023", "-n", "1", "true"]);
    assert!(own.is_set(1023) || outcome.status == 1 && outcome.stderr.contains("--cpu-set 1023"));
}

#[test]
fn an_interface_reaches_the_ranks() {
    let outcome = mpirun(&["-iface", "lo", "-n", "1", "sh", "-c", "echo $TERN_INTERFACE"]);
    assert_eq!(outcome.stdout, "lo\n");
    assert!(mpirun(&["-info"]).stdout.contains("mpirun (Tern)"));
}
