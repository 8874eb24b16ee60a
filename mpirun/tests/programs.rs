//! What is run: several programs, folders, variables, bindings, and mistakes on the command line.

mod common;

use common::{Folder, command, mpirun, start};

#[test]
fn several_programs_are_one_job() {
    let outcome =
        mpirun(&["-l", "-n", "2", "echo", "a", ":", "-n", "1", "echo", "b", ":", "-n", "1", "true"]);
    assert_eq!(outcome.sorted(), ["[0] a", "[1] a", "[2] b"]);
}

#[test]
fn the_default_is_as_many_ranks_as_cores() {
    let outcome = mpirun(&["echo", "x"]);
    assert_eq!(outcome.stdout.lines().count(), tern_job::cores() as usize);
}

#[test]
fn each_program_has_its_folder() {
    let folder = Folder::new("wdir");
    let path = folder.0.canonicalize().unwrap();
    let path = path.to_str().unwrap();
    let outcome = mpirun(&["-n", "1", "-wdir", path, "pwd", ":", "-n", "1", "--wdir", "/", "pwd"]);
    assert_eq!(outcome.sorted(), ["/", path]);
    let outcome = mpirun(&["-wdir", "/nonexistent", "pwd"]);
    assert_eq!(outcome.status, 1);
    assert!(outcome.stderr.contains("'/nonexistent' is not a directory"), "{}", outcome.stderr);
}

#[test]
fn variables_reach_whom_they_should() {
    let show = "echo $A-$B-$C";
    let outcome = mpirun(&[
        "-genv", "A", "1", "-x", "B=2", "-l", "-n", "1", "-env", "C", "3", "sh", "-c", show, ":", "-n", "1",
        "sh", "-c", show,
    ]);
    assert_eq!(outcome.sorted(), ["[0] 1-2-3", "[1] 1-2-"]);
}

#[test]
fn no_rank_is_bound_unless_asked() {
    let show = "grep Cpus_allowed_list /proc/self/status";
    let own = std::fs::read_to_string("/proc/self/status").unwrap();
    let own = own.lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap();
    let outcome = mpirun(&["-n", "2", "sh", "-c", show]);
    assert_eq!(outcome.sorted(), [own, own]);
    let outcome = mpirun(&["-n", "1", "--bind-to", "hwthread", "--report-bindings", "sh", "-c", show]);
    let bound = outcome.stdout.split_whitespace().next_back().unwrap();
    assert!(bound.parse::<u32>().is_ok(), "bound to {bound}");
    assert!(outcome.stderr.contains(&format!("(processor {bound})")), "{}", outcome.stderr);
}

#[test]
fn programs_that_cannot_run_have_the_statuses_of_a_shell() {
    let check = |program: &str, status: i32, words: &str| {
        let outcome = mpirun(&["-n", "2", program]);
        assert_eq!(outcome.status, status, "{program}");
        assert!(outcome.stderr.contains(words) && outcome.stderr.lines().count() == 1, "{}", outcome.stderr);
    };
    check("tern-surely-no-program", 127, "no directory of PATH");
    check("./tern-surely-no-program", 127, "no such file");
    // A path is looked up from the folder in which the program is to run.
    let elsewhere = mpirun(&["-n", "1", "-wdir", "/usr", "./Cargo.toml"]);
    assert_eq!(elsewhere.status, 127);
    assert!(elsewhere.stderr.contains("no such file as /usr/./Cargo.toml"), "{}", elsewhere.stderr);
    check("/etc/passwd", 126, "no permission");
    check("/", 126, "is a directory");
    let folder = Folder::new("scripts");
    let script = |name: &str, text: &str| {
        let path = folder.path(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        path
    };
    check(&script("headless", "echo hi\n"), 126, "#!/bin/sh");
    check(&script("orphan", "#!/nonexistent/sh\n"), 126, "interpreter");
}

#[test]
fn if_a_later_program_cannot_start_the_earlier_ranks_end() {
    let outcome = mpirun(&["-n", "1", "sleep", "50", ":", "-n", "1", "tern-surely-no-program"]);
    assert_eq!(outcome.status, 127);
    assert!(outcome.took.as_secs() < 5);
}

#[test]
fn mistakes_are_one_clear_line() {
    for (arguments, words) in [
        (&["--timout", "3", "a"][..], "did you mean --timeout?"),
        (&["-n", "0", "a"], "option -n: '0' is no number of ranks"),
        (&["-n", "2"], "which program"),
        (&["-host", "-oProxyCommand=x", "a"], "is no name of a host"),
        (&["--launcher", "false", "-host", "elsewhere.example", "a"], "host elsewhere.example"),
        (&["--stdin", "7", "-n", "2", "a"], "the ranks are 0 to 1"),
        (&["-n", "1", "a", ":"], "':' must be followed"),
    ] {
        let outcome = mpirun(arguments);
        assert_eq!(outcome.status, 1);
        assert!(outcome.stderr.contains(words) && outcome.stderr.lines().count() == 1, "{}", outcome.stderr);
    }
}

#[test]
fn help_and_version() {
    assert!(mpirun(&["--help"]).stdout.starts_with("Usage: mpirun"));
    assert!(mpirun(&["-V"]).stdout.contains(env!("CARGO_PKG_VERSION")));
}

#[test]
fn whoever_asks_may_stop_reading() {
    for question in ["--help", "--version", "-info"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let outcome = command(&[question]).stdout(writer).output().unwrap();
        assert!(outcome.status.success() && outcome.stderr.is_empty(), "{question}: {outcome:?}");
    }
}

#[test]
fn this_machine_may_be_named() {
    let outcome = mpirun(&["-host", "localhost:3", "echo", "x"]);
    assert_eq!(outcome.stdout, "x\n".repeat(3));
}

#[test]
fn options_without_effect_are_named_when_asked() {
    let outcome = mpirun(&["-v", "--allow-run-as-root", "--oversubscribe", "-n", "1", "true"]);
    assert!(
        outcome.stderr.contains("without effect: --allow-run-as-root --oversubscribe"),
        "{}",
        outcome.stderr
    );
    assert_eq!(mpirun(&["--oversubscribe", "-n", "9", "true"]).stderr, "");
}

#[test]
fn the_timeout_can_come_from_the_environment() {
    let mut command = command(&["-n", "1", "sleep", "50"]);
    command.env("MPIEXEC_TIMEOUT", "0.2");
    assert_eq!(start(command).finish().status, 124);
}
