//! Jobs on several hosts. The hosts are this machine under other names: the launcher of these tests is a script that
//! hands its command to a shell, as `ssh` does on the other side.

mod common;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use common::{
    Folder, LONG_BEFORE_THEIR_SLEEP_ENDS, Outcome, Running, TO_A_SHELL, command, eventually, is_alive, start,
};
use rustix::process::{Pid, Signal, kill_process};

/// All is over this soon after anything has died.
const GONE_WITHIN: Duration = Duration::from_secs(2);

/// A launcher, and a folder in which its hosts leave what the tests look at.
struct Net {
    folder: Folder,
    launcher: String,
}

impl Net {
    fn new(name: &str) -> Net {
        Net::with_launcher(name, TO_A_SHELL)
    }

    fn with_launcher(name: &str, last: &str) -> Net {
        let folder = Folder::new(&format!("hosts-{name}"));
        let launcher = common::launcher(&folder, last);
        Net { folder, launcher }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(&[&["--launcher", self.launcher.as_str()], arguments].concat());
        command.env("FOLDER", self.folder.0.join("out"));
        std::fs::create_dir_all(self.folder.0.join("out")).unwrap();
        command
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        start(self.command(arguments)).finish()
    }

    /// Starts a job whose processes write their numbers into files, and waits for `count` of them.
    fn start(&self, arguments: &[&str], count: usize) -> (Running, Vec<u32>) {
        let running = start(self.command(arguments));
        let folder = self.folder.0.join("out");
        let read = || -> Vec<u32> {
            let files = std::fs::read_dir(&folder).unwrap().flatten();
            files.filter_map(|file| std::fs::read_to_string(file.path()).ok()?.trim().parse().ok()).collect()
        };
        assert!(eventually(Duration::from_secs(20), || read().len() == count), "the ranks have not started");
        (running, read())
    }
}

/// A rank that writes its number and its parent's, the agent's, and then sleeps.
const SLEEPER: &str = "echo $$ > $FOLDER/rank$$; echo $PPID > $FOLDER/agent$PPID; exec sleep 50";

/// Expects that all these processes are gone soon.
fn expect_gone(pids: &[u32]) {
    let left = || pids.iter().copied().filter(|&pid| is_alive(pid)).collect::<Vec<_>>();
    assert!(eventually(GONE_WITHIN, || left().is_empty()), "{:?} are still there", left());
}

fn kill(pid: u32) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), Signal::KILL).unwrap();
}

/// The agents of the job whose ranks are sleepers.
fn agents(net: &Net) -> Vec<u32> {
    let files = std::fs::read_dir(net.folder.0.join("out")).unwrap().flatten();
    let names = files.filter_map(|file| file.file_name().into_string().ok());
    let mut agents: Vec<u32> =
        names.filter_map(|name| name.strip_prefix("agent").and_then(|pid| pid.parse().ok())).collect();
    agents.sort_unstable();
    agents
}

#[test]
fn ranks_go_where_they_belong() {
    let net = Net::new("places");
    let places = |options: &[&str]| {
        let outcome = net.run(&[options, &["sh", "-c", "echo $TEST_HOST $TERN_JOB"]].concat());
        assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
        let mut places: Vec<(u32, String)> = outcome.stdout.lines().map(rank_and_host).collect();
        places.sort();
        places.into_iter().map(|(_, host)| host).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(places(&["--host", "a:2,b"]), "a a b");
    assert_eq!(places(&["--host", "a:2,b:2", "-n", "3", "--map-by", "node"]), "a b a");
    assert_eq!(places(&["-hosts", "a,b,c", "-ppn", "2"]), "a a b b c c");
    let file = net.folder.path("hostfile");
    std::fs::write(&file, "# two hosts\na:1\n\nb slots=2 # the larger one\n").unwrap();
    assert_eq!(places(&["--hostfile", &file]), "a b b");
    assert_eq!(places(&["-f", &file, "--host", "b", "-n", "2"]), "b b");
    let two =
        ["-host", "a", "-n", "1", "sh", "-c", "echo $TEST_HOST $TERN_JOB", ":", "-host", "b", "-n", "2"];
    assert_eq!(places(&two), "a b b");
}

/// From the host's name and the job descriptor.
fn rank_and_host(line: &str) -> (u32, String) {
    let mut words = line.split(' ');
    let host = words.next().unwrap().to_owned();
    let rank = words.find_map(|word| word.strip_prefix("rank=")).unwrap();
    (rank.parse().unwrap(), host)
}

#[test]
fn a_tree_of_agents_reaches_every_host() {
    let net = Net::new("tree");
    let outcome = net.run(&[
        "--tree",
        "2",
        "--host",
        "a,b,c,d,e,f,g,h,i",
        "-n",
        "18",
        "--tag-output",
        "sh",
        "-c",
        "echo $TEST_HOST; echo error >&2",
    ]);
    let mut expected: Vec<String> =
        (0..18).map(|rank| format!("[{rank}] {}", (b'a' + rank % 9) as char)).collect();
    expected.sort();
    assert_eq!((outcome.status, outcome.sorted()), (0, expected.iter().map(String::as_str).collect()));
    assert_eq!(outcome.stderr.lines().count(), 18);
}

#[test]
fn this_machine_needs_no_launcher() {
    let net = Net::new("local");
    let outcome = net.run(&["--host", "localhost,b", "-n", "2", "sh", "-c", "echo \"<$TEST_HOST>\""]);
    assert_eq!(outcome.sorted(), ["<>", "<b>"]);
}

#[test]
fn mpich_s_fork_starts_all_hosts_here() {
    let outcome = common::mpirun(&["-bootstrap", "fork", "--host", "a,b", "-n", "2", "echo", "here"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, "here\nhere\n"), "{}", outcome.stderr);
}

#[test]
fn directory_environment_and_arguments_arrive() {
    let net = Net::new("environment");
    let mut command = net.command(&[
        "--host",
        "b",
        "-genv",
        "A",
        "1 2",
        "-x",
        "B=ü",
        "-env",
        "C",
        "'",
        "sh",
        "-c",
        "echo \"$PWD|$A|$B|$C|$D|$1|$HOME\"",
        "-",
        "a  'b'\"$c",
    ]);
    command.current_dir(&net.folder.0).env("D", "own").env("HOME", "/mine");
    let outcome = start(command).finish();
    let expected = format!("{}|1 2|ü|'|own|a  'b'\"$c|", net.folder.0.display());
    assert!(outcome.stdout.starts_with(&expected), "{outcome:?}");
}

#[test]
fn a_rank_file_places_and_binds_ranks() {
    let net = Net::new("rankfile");
    let file = net.folder.path("ranks");
    let first = rustix::thread::sched_getaffinity(None).unwrap();
    let first = (0..rustix::thread::CpuSet::MAX_CPU).find(|&number| first.is_set(number)).unwrap();
    std::fs::write(&file, format!("rank 0=b slot=p{first}\nrank 1=a slot=0\nrank 2=+n1\n")).unwrap();
    let script = "echo $PMI_RANK $(grep Cpus_allowed_list /proc/self/status)";
    let bound = |options: &[&str]| {
        let outcome = net.run(&[options, &["--host", "a,b", "sh", "-c", script]].concat());
        assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
        outcome.sorted().into_iter().map(String::from).collect::<Vec<_>>()
    };
    let ranks = bound(&["--rankfile", &file]);
    assert_eq!(ranks.len(), 3);
    assert_eq!(ranks[0], format!("0 Cpus_allowed_list: {first}"));
    assert_eq!(bound(&["--map-by", &format!("rankfile:file={file}")]), ranks);
    let free = bound(&["--rankfile", &file, "--bind-to", "none"]);
    assert_eq!(free[0][1..], ranks[2][1..]);
    let map = net.run(&["--rf", &file, "--host", "a,b", "--dry-run", "true"]).stderr;
    assert_eq!(map, "mpirun: host b: ranks 0,2\nmpirun: host a: rank 1\n");
    for (text, words) in [
        ("rank 0=c\n", "'c' of rank 0 is none of the hosts of the job: a, b"),
        ("rank 0=a\nrank 1=b core=1\n", "line 2: 'rank 1=b core=1' is not understood"),
        ("rank 0=a slot=4096\n", "rank 0: this host has no core 4096 that may be used: there are"),
    ] {
        std::fs::write(&file, text).unwrap();
        let outcome = net.run(&["--rankfile", &file, "--host", "a,b", "true"]);
        assert!(outcome.status != 0 && outcome.stderr.contains(words), "{outcome:?}");
    }
}

#[test]
fn standard_input_reaches_ranks_of_other_hosts() {
    let net = Net::new("stdin");
    let input: String = (0..50_000).map(|number| format!("{number}\n")).collect();
    let run = |options: &[&str], script: &str| {
        let arguments = [&["--launcher", net.launcher.as_str()], options, &["sh", "-c", script]].concat();
        common::mpirun_with_input(&arguments, input.as_bytes())
    };
    let hosts = ["--host", "a,b", "-n", "2"];
    assert_eq!(run(&hosts, "wc -l").sorted(), ["0", "50000"]);
    assert_eq!(run(&[&hosts[..], &["--stdin", "all"]].concat(), "wc -l").sorted(), ["50000", "50000"]);
    assert_eq!(run(&[&hosts[..], &["--stdin", "none"]].concat(), "wc -l").sorted(), ["0", "0"]);
    // A reader that stops early holds nobody.
    let outcome = run(&[&hosts[..], &["--stdin", "1"]].concat(), "head -n 1");
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, "0\n"));
}

#[test]
fn much_output_arrives_whole() {
    let net = Net::new("output");
    let outcome = net.run(&["--host", "a,b,c", "--tree", "1", "-n", "3", "sh", "-c", "seq 1 100000"]);
    let mut counts = std::collections::HashMap::new();
    outcome.stdout.lines().for_each(|line| *counts.entry(line).or_insert(0) += 1);
    assert_eq!((counts.len(), counts.values().all(|&count| count == 3)), (100_000, true));
}

/// The rank ends while output lies in its pipe, in the agent, and unacknowledged in mpirun.
#[test]
fn output_of_other_hosts_waits_for_a_reader_that_pauses() {
    let net = Net::new("paused");
    let mpirun = env!("CARGO_BIN_EXE_mpirun");
    for end in ["exit 0", "exit 3"] {
        let rank = format!("seq 1 230000; {end}");
        let job = format!("timeout 30 {mpirun} -q --launcher {} --host a -n 1 sh -c '{rank}'", net.launcher);
        let output =
            Command::new("sh").args(["-c", &format!("{job} | (sleep 1.2; wc -l)")]).output().unwrap();
        let (lines, errors) = (&output.stdout, &output.stderr);
        let said = String::from_utf8_lossy(errors);
        assert_eq!(String::from_utf8_lossy(lines).trim(), "230000", "{end}: {said}");
    }
}

#[test]
fn a_dead_rank_ends_the_job_everywhere() {
    let net = Net::new("rank");
    let hosts = ["--host", "a,b,c,d", "--tree", "1", "-n", "4"];
    let (running, pids) = net.start(&[&hosts[..], &["sh", "-c", SLEEPER]].concat(), 8);
    let rank = pids.iter().copied().find(|pid| !agents(&net).contains(pid)).unwrap();
    kill(rank);
    let killed = Instant::now();
    let outcome = running.finish();
    assert!(killed.elapsed() < GONE_WITHIN);
    expect_gone(&pids);
    assert_eq!(outcome.status, 137);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    let expected = format!("(sh, process {rank} on ");
    assert!(outcome.stderr.contains(&expected) && outcome.stderr.contains("SIGKILL"), "{}", outcome.stderr);
}

#[test]
fn an_exit_status_comes_back() {
    let net = Net::new("status");
    let outcome = net.run(&["--host", "a,b", "sh", "-c", "test $TEST_HOST = a || exit 7; exec sleep 50"]);
    assert_eq!(outcome.status, 7);
    assert!(outcome.stderr.contains(" on b) ended with exit status 7"), "{}", outcome.stderr);
}

#[test]
fn a_lost_agent_ends_the_job_everywhere() {
    let net = Net::new("agent");
    let hosts = ["--host", "a,b,c", "--tree", "1", "-n", "3"];
    let (running, pids) = net.start(&[&hosts[..], &["sh", "-c", SLEEPER]].concat(), 6);
    kill(agents(&net)[1]);
    let outcome = running.finish();
    expect_gone(&pids);
    assert_eq!(outcome.status, 1);
    assert!(outcome.stderr.starts_with("mpirun: host "), "{}", outcome.stderr);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
}

#[test]
fn a_killed_mpirun_ends_the_job_everywhere() {
    let net = Net::new("mpirun");
    let hosts = ["--host", "a,b,localhost,c", "--tree", "2", "-n", "4"];
    let (running, pids) = net.start(&[&hosts[..], &["sh", "-c", SLEEPER]].concat(), 8);
    let own = running.pid();
    running.signal(Signal::KILL);
    running.finish();
    expect_gone(&pids.into_iter().filter(|&pid| pid != own).collect::<Vec<_>>());
}

/// A launcher that hangs on its way to host b, as `ssh` does where nobody answers, with a child of its own. All that it knows
/// of it tells.
const HANGS_FOR_B: &str = "[ $TEST_HOST = b ] || exec sh -c \"$*\"
    sleep 50 & echo $! > $FOLDER/child; echo $$ > $FOLDER/launcher; echo $PPID > $FOLDER/agent$PPID; wait";

#[test]
fn a_killed_mpirun_takes_a_launcher_along_that_has_no_agent_yet() {
    for hosts in ["b", "localhost,b"] {
        let net = Net::with_launcher("hanging", HANGS_FOR_B);
        let (running, pids) = net.start(&["--host", hosts, "sleep", "50"], 3);
        let own = running.pid();
        running.signal(Signal::KILL);
        running.finish();
        assert!(pids.contains(&own), "{own} has started the launcher");
        expect_gone(&pids.into_iter().filter(|&pid| pid != own).collect::<Vec<_>>());
    }
}

#[test]
fn a_killed_agent_takes_its_launchers_along() {
    let net = Net::with_launcher("hanging-behind", HANGS_FOR_B);
    let hosts = ["--host", "a,b", "--tree", "1", "-n", "2"];
    let (running, pids) = net.start(&[&hosts[..], &["sh", "-c", SLEEPER]].concat(), 4);
    let [agent] = agents(&net)[..] else { panic!("the rank of a and the launcher for b have one parent") };
    kill(agent);
    assert_eq!(running.finish().status, 1);
    expect_gone(&pids);
}

#[test]
fn signals_reach_all_hosts() {
    let net = Net::new("signals");
    let script = "trap 'echo got it; exit 0' USR2; echo $$ > $FOLDER/$$; while :; do sleep 0.02; done";
    let (running, _) = net.start(&["--host", "a,b", "--tree", "1", "sh", "-c", script], 2);
    running.signal(Signal::USR2);
    let outcome = running.finish();
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, "got it\ngot it\n"));
    let (running, pids) = Net::new("interrupt").start(&["--host", "a,b", "sh", "-c", SLEEPER], 4);
    running.signal(Signal::INT);
    assert_eq!(running.finish().status, 130);
    expect_gone(&pids);
}

#[test]
fn a_timeout_says_where_the_ranks_of_all_hosts_stand() {
    let net = Net::new("timeout");
    let hosts = ["--host", "a,localhost,b", "--tree", "1", "-n", "3"];
    let outcome = net.run(&[&hosts[..], &["--timeout", "0.5", "sleep", "50"]].concat());
    assert_eq!(outcome.status, 124);
    assert!(outcome.stderr.contains("the 3 ranks stand here"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("ranks 0-2: MPI_Init not called yet (sleeping)"), "{}", outcome.stderr);
    assert!(outcome.took < LONG_BEFORE_THEIR_SLEEP_ENDS);
}

#[test]
fn a_host_that_cannot_be_reached_is_named_with_the_reason() {
    let net = Net::with_launcher("unreachable", "echo 'no route to it' >&2; exit 255");
    let outcome = net.run(&["--host", "b", "true"]);
    assert_eq!(outcome.status, 1);
    for word in ["host b", "exit status: 255", "no route to it"] {
        assert!(outcome.stderr.contains(word), "{word}: {}", outcome.stderr);
    }
    let outcome = net.run(&["--launcher", "surely-no-such-launcher", "--host", "b", "true"]);
    assert!(outcome.stderr.contains("'surely-no-such-launcher'"), "{}", outcome.stderr);
    // One that says something but is no agent.
    let net = Net::with_launcher("babble", "echo Welcome to $TEST_HOST");
    let outcome = net.run(&["--host", "b", "true"]);
    assert!(
        outcome.stderr.contains("host b") && outcome.stderr.contains("Welcome to b"),
        "{}",
        outcome.stderr
    );
}

/// What is said of other ranks is said only if there are some.
#[test]
fn ranks_that_were_not_started_are_not_ended() {
    let failing = Net::with_launcher("failing", "sleep 0.3; exit 255");
    let ended = "; the other ranks are ended";
    let said = |net: &Net, arguments: &[&str]| {
        let outcome = net.run(arguments);
        assert_eq!((outcome.status, outcome.stderr.lines().count()), (1, 1), "{}", outcome.stderr);
        assert!(outcome.stderr.starts_with("mpirun: host "), "{}", outcome.stderr);
        outcome.stderr
    };
    let none = said(&failing, &["--host", "b,c", "sleep", "50"]);
    assert!(!none.contains("other ranks"), "{none}");
    let some = said(&failing, &["--host", "localhost,b", "sleep", "50"]);
    assert!(some.trim_end().ends_with(ended), "{some}");

    // The same where the agent is reached, and has no such directory.
    let net = Net::with_launcher("reached", &format!("sleep 0.3; {TO_A_SHELL}"));
    let (other, lost) =
        (["-host", "localhost", "sleep", "50", ":"], ["-host", "b", "-wdir", "/surely/not/there", "true"]);
    let none = said(&net, &lost);
    assert!(none.contains("'/surely/not/there'") && !none.contains("other ranks"), "{none}");
    let some = said(&net, &[&other[..], &lost].concat());
    assert!(some.contains("'/surely/not/there'") && some.trim_end().ends_with(ended), "{some}");
}

#[test]
fn what_a_login_shell_says_is_no_output() {
    let net = Net::with_launcher("motd", "echo Welcome; echo 'Last login' >&2; exec sh -c \"$*\"");
    let outcome = net.run(&["--host", "b", "echo", "hi"]);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("hi\n", ""));
}

#[test]
fn a_program_that_a_host_does_not_have_is_named_with_the_host() {
    let net = Net::new("missing");
    let outcome = net.run(&["--host", "a,b", "--tree", "1", "./surely-not-there"]);
    assert_eq!(outcome.status, 127);
    assert!(
        outcome.stderr.contains("host ") && outcome.stderr.contains("no such file"),
        "{}",
        outcome.stderr
    );
    let outcome = net.run(&["--host", "b", "-wdir", "/surely/not/there", "true"]);
    assert!(
        outcome.stderr.contains("host b: the working directory '/surely/not/there'"),
        "{}",
        outcome.stderr
    );
    assert!(!Path::new("/surely/not/there").exists());
}
