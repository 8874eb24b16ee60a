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
fn variables_of_other_launchers_are_told() {
    for name in ["HYDRA_DEBUG", "OMPI_MCA_btl", "PRTE_MCA_plm", "I_MPI_PIN"] {
        let said = said_with(name, "x", &[]);
        assert!(said.contains(name) && said.contains("nothing here"), "{said}");
    }
    assert_eq!(said_with("I_MPI_ROOT", "/opt/intel", &[]), "");
}

#[test]
fn options_that_change_nothing_are_told() {
    for (options, words) in [
        (&["--bind-to", "none", "--map-by", "core"][..], "--map-by core"),
        (&["--bind-to", "none", "--map-by", "l3cache"], "where ranks are not bound"),
        (&["-genvnone"], "--genvnone"),
        (&["--mca", "btl_tcp_if_include", "eth0"], "-iface eth0"),
        (&["--map-by", "slot:SPAN"], "'SPAN'"),
        (&["--mca", "btl", "self"], "--mca btl self"),
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
        ["--bootstrap", "manual"],
        ["--bind-to", "core:nonsense"],
        ["--bind-to", "user:99999"],
        ["--map-by", "pe-list=x"],
        ["--map-by", "dist"],
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

/// What the kernel would tell of a machine with two sockets of one core each, in a folder.
struct TwoSockets(std::path::PathBuf);

impl TwoSockets {
    fn new(name: &str) -> TwoSockets {
        let root = std::env::temp_dir().join(format!("tern-sockets-{}-{name}", std::process::id()));
        for number in 0..2 {
            let folder = root.join(format!("cpu/cpu{number}/topology"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("physical_package_id"), format!("{number}\n")).unwrap();
        }
        TwoSockets(root)
    }
}

impl Drop for TwoSockets {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn ranks_are_where_the_options_say() {
    let own = tern_job::topology::own_processors();
    if own.len() < 2 || own[..2] != [0, 1] {
        eprintln!("skipped: this needs processors 0 and 1");
        return;
    }
    let machine = TwoSockets::new("options");
    let show = "sed -n 's/^Cpus_allowed_list:.//p' /proc/self/status";
    let lists = |options: &[&str]| {
        let mut command = command(&[options, &["-l", "-n", "4", "sh", "-c", show]].concat());
        command.env("TERN_TEST_TOPOLOGY", &machine.0);
        let outcome = start(command).finish();
        let mut lines: Vec<&str> = outcome.stdout.lines().collect();
        lines.sort_unstable();
        let lists = lines.iter().map(|line| line.split_once("] ").unwrap().1).collect::<Vec<_>>().join(" ");
        (lists, outcome.stderr)
    };
    for (options, expected) in [
        (&["--bind-to", "socket", "--cpu-set", "0-1"][..], "0 1 0 1"),
        (&["--bind-to", "socket", "--map-by", "ppr:2:socket"], "0 0 1 1"),
        (&["--bind-to", "socket", "--map-by", "ppr:2:socket", "--rank-by", "socket"], "0 1 0 1"),
        (&["--bind-to", "socket", "--map-by", "slot:PE=2"], "0-1 0-1 0-1 0-1"),
        (&["--bind-to", "user:1,0,0-1,1"], "1 0 0-1 1"),
        (&["--map-by", "pe-list=1,0:ordered", "--bind-to", "core:overload-allowed"], "0 1 0 1"),
        (&["--cpu-set", "1"], "1 1 1 1"),
        (&["--bind-to", "none"], "0-1 0-1 0-1 0-1"),
    ] {
        assert_eq!(lists(options).0, expected, "{options:?}");
    }
    let said = lists(&["--bind-to", "core:overload-allowed", "--report-bindings"]).1;
    assert!(said.contains("rank 1 is bound to socket 1, core 1 (processor 1)"), "{said}");
    let (unbound, said) = lists(&["--map-by", "core"]);
    assert!(unbound == "0-1 0-1 0-1 0-1" && said.contains("ranks are not bound"), "{unbound} {said}");
}

#[test]
fn more_ranks_than_cores_to_bind_them_to_are_told() {
    let ranks = (rustix::thread::sched_getaffinity(None).unwrap().count() + 1).to_string();
    let outcome = mpirun(&["--bind-to", "core", "-n", &ranks, "true"]);
    assert!(outcome.stderr.contains(&format!("{ranks} ranks have")), "{}", outcome.stderr);
    assert_eq!((outcome.status, outcome.stderr.lines().count()), (0, 1), "{}", outcome.stderr);
    for options in [["--bind-to", "core:overload-allowed"], ["--bind-to", "none"], ["--bind-to", "socket"]] {
        assert_eq!(mpirun(&[&options[..], &["-n", &ranks, "true"]].concat()).stderr, "", "{options:?}");
    }
}

#[test]
fn what_others_do_is_named_with_what_to_use_instead() {
    for (options, words) in
        [(&["--xterm", "0"][..], "xterm -e"), (&["--preload-binary"], "scp"), (&["--debug"], "gdb")]
    {
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
fn files_are_there_from_the_start() {
    let folder = Folder::new("begun");
    fs::create_dir_all(folder.path("1/rank.1")).unwrap();
    fs::write(folder.path("1/rank.1/stderr"), "of another job").unwrap();
    let job = ["-n", "2", "--output-filename", &folder.path("")];
    let count = format!("test $(cat {}/1/rank.?/std??? | wc -c) = 0", folder.path(""));
    assert_eq!(mpirun(&[&job[..], &["sh", "-c", &count]].concat()).status, 0);
    for rank in 0..2 {
        assert_eq!(fs::read_to_string(folder.path(&format!("1/rank.{rank}/stderr"))).unwrap(), "");
    }
    // Nothing has started where a file cannot be written, or would be written for nobody.
    let begun = folder.path("started");
    let fifo = folder.path("fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    for (name, words) in [("/proc/x", "cannot write /proc/x"), (&fifo, "no process reads this FIFO")] {
        let outcome = mpirun(&["-n", "1", "-outfile-pattern", name, "touch", &begun]);
        assert!(outcome.status == 1 && outcome.stderr.contains(words), "{}", outcome.stderr);
        assert!(!fs::exists(&begun).unwrap(), "{name}");
    }
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
