//! Ranks end together: whoever fails, is killed, or kills.

mod common;

use std::time::Duration;

use common::{Folder, LONG_BEFORE_THEIR_SLEEP_ENDS, command, eventually, is_alive, mpirun, start};
use rustix::process::{Pid, Signal, kill_process};

const TWO_SECONDS: Duration = Duration::from_secs(2);

/// A program that writes its process id into the folder and then waits.
fn waiting(folder: &Folder, how: &str) -> String {
    format!("echo $$ > {}/$$; {how}", folder.0.display())
}

fn kill(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid as i32).unwrap(), signal).unwrap();
}

fn all_gone(pids: &[u32]) -> bool {
    eventually(TWO_SECONDS, || !pids.iter().any(|&pid| is_alive(pid)))
}

#[test]
fn success_is_silent() {
    let outcome = mpirun(&["-n", "4", "true"]);
    assert_eq!((outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str()), (0, "", ""));
}

#[test]
fn the_first_failure_decides_and_ends_the_others() {
    let outcome = mpirun(&["-n", "2", "sleep", "50", ":", "-n", "1", "sh", "-c", "exit 7"]);
    assert_eq!(outcome.status, 7);
    assert!(outcome.took < TWO_SECONDS, "{:?}", outcome.took);
    assert!(outcome.stderr.contains("rank 2 (sh, process "), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("ended with exit status 7; the other ranks are ended"));
    assert_eq!(outcome.stderr.lines().count(), 1);
}

/// Then the kernel would forget ranks as they end.
#[test]
fn who_starts_mpirun_may_ignore_the_ends_of_its_children() {
    for _ in 0..3 {
        let mut command = std::process::Command::new("env");
        command.args(["--ignore-signal=CHLD", env!("CARGO_BIN_EXE_mpirun"), "-n", "8", "sh", "-c", "exit 3"]);
        command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
        let outcome = start(command).finish();
        assert_eq!(outcome.status, 3, "{}", outcome.stderr);
        assert!(outcome.stderr.contains("ended with exit status 3"), "{}", outcome.stderr);
    }
}

#[test]
fn ranks_that_ignore_sigterm_are_killed() {
    let stubborn = "trap '' TERM; while :; do sleep 0.05; done";
    let outcome = mpirun(&["-n", "2", "sh", "-c", stubborn, ":", "-n", "1", "sh", "-c", "sleep 0.3; exit 7"]);
    assert_eq!(outcome.status, 7);
    assert!(outcome.took < TWO_SECONDS + Duration::from_millis(500), "{:?}", outcome.took);
}

#[test]
fn a_killed_rank_is_named_with_its_signal() {
    let folder = Folder::new("killed");
    let running = start(command(&["-n", "3", "sh", "-c", &waiting(&folder, "exec sleep 50")]));
    let pids = folder.pids(3);
    kill(pids[1], Signal::KILL);
    assert!(all_gone(&pids));
    let outcome = running.finish();
    assert_eq!(outcome.status, 137);
    assert!(outcome.stderr.contains(&format!("process {}", pids[1])), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("killed by signal 9 (SIGKILL)") && outcome.stderr.lines().count() == 1);
}

#[test]
fn children_of_wrappers_go_with_the_rank() {
    let folder = Folder::new("wrappers");
    let wrapped = format!("sh -c '{}'; true", waiting(&folder, "sleep 50; true"));
    let running =
        start(command(&["-n", "2", "sh", "-c", &wrapped, ":", "-n", "1", "sh", "-c", "sleep 0.5; exit 1"]));
    let pids = folder.pids(2);
    assert_eq!(running.finish().status, 1);
    assert!(all_gone(&pids));
}

#[test]
fn a_killed_mpirun_takes_its_ranks_along() {
    let folder = Folder::new("watchdog");
    // Programs that never call MPI_Init, in wrappers: only the watchdog can end them.
    let wrapped = format!("sh -c '{}'; true", waiting(&folder, "sleep 50; true"));
    let running = start(command(&["-n", "3", "sh", "-c", &wrapped]));
    let pids = folder.pids(3);
    let watchdog = watchdog_of(running.pid());
    running.signal(Signal::KILL);
    assert!(all_gone(&pids));
    assert!(all_gone(&[watchdog]));
    assert_eq!(running.finish().status, 137);
}

/// The watchdog is the child of `mpirun` in a group of its own that has its name.
fn watchdog_of(mpirun: u32) -> u32 {
    let find = || {
        let children = std::fs::read_to_string(format!("/proc/{mpirun}/task/{mpirun}/children")).ok()?;
        let mut pids = children.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok());
        pids.find(|pid| {
            std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "tern-watchdog\n")
        })
    };
    assert!(eventually(TWO_SECONDS, || find().is_some()), "there is no watchdog");
    find().unwrap()
}

#[test]
fn no_guard_is_left_over() {
    let folder = Folder::new("noguard");
    let running = start(command(&["-n", "1", "sh", "-c", &waiting(&folder, "sleep 0.5")]));
    folder.pids(1);
    let watchdog = watchdog_of(running.pid());
    assert_eq!(running.finish().status, 0);
    assert!(!is_alive(watchdog));
}

#[test]
fn an_interrupt_reaches_all_ranks() {
    let folder = Folder::new("int");
    let running = start(command(&["-n", "2", "sh", "-c", &waiting(&folder, "exec sleep 50")]));
    let pids = folder.pids(2);
    running.signal(Signal::INT);
    assert!(all_gone(&pids));
    let outcome = running.finish();
    assert_eq!((outcome.status, outcome.stderr.as_str()), (130, ""));
}

#[test]
fn ranks_may_handle_a_termination_themselves() {
    let folder = Folder::new("term");
    let script = waiting(&folder, "trap 'echo saved; exit 0' TERM; while :; do sleep 0.05; done");
    let running = start(command(&["-n", "2", "sh", "-c", &script]));
    folder.pids(2);
    std::thread::sleep(Duration::from_millis(100));
    running.signal(Signal::TERM);
    let outcome = running.finish();
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, "saved\nsaved\n"));
}

/// `timeout` signals `mpirun` and then the process group, `mpirun` with it; the ranks keep their time to save.
#[test]
fn a_termination_that_comes_twice_at_once_counts_once() {
    let folder = Folder::new("echo");
    let script = waiting(&folder, "trap 'sleep 0.5; echo saved; exit 0' TERM; while :; do sleep 0.05; done");
    let running = start(command(&["-n", "2", "sh", "-c", &script]));
    folder.pids(2);
    std::thread::sleep(Duration::from_millis(100));
    running.signal(Signal::TERM);
    std::thread::sleep(Duration::from_millis(5));
    running.signal(Signal::TERM);
    let outcome = running.finish();
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, "saved\nsaved\n"), "{}", outcome.stderr);
}

#[test]
fn a_second_interrupt_kills() {
    let folder = Folder::new("twice");
    let running = start(command(&[
        "-n",
        "2",
        "sh",
        "-c",
        &waiting(&folder, "trap '' INT; while :; do sleep 0.05; done"),
    ]));
    let pids = folder.pids(2);
    std::thread::sleep(Duration::from_millis(100));
    running.signal(Signal::INT);
    // Longer than it takes to read what is said of it.
    std::thread::sleep(Duration::from_secs(4));
    assert!(pids.iter().all(|&pid| is_alive(pid)));
    running.signal(Signal::INT);
    assert!(all_gone(&pids));
    let outcome = running.finish();
    assert_eq!(outcome.status, 130);
    let said: Vec<&str> = outcome.stderr.lines().collect();
    let first =
        "mpirun: SIGINT was passed on, and 2 of 2 ranks still run; a second one within 10 s kills all";
    assert_eq!(said, [first, "mpirun: SIGINT again: all ranks are killed"]);
}

/// Where a shell without job control has started the tests with `&`, they inherit that interrupts are ignored.
#[test]
fn tests_of_interrupts_pass_in_the_background_of_a_script() {
    let script =
        "trap '' INT QUIT; exec \"$0\" --exact an_interrupt_reaches_all_ranks a_second_interrupt_kills";
    let mut command = std::process::Command::new("sh");
    command.args(["-c", script]).arg(std::env::current_exe().unwrap());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("2 passed"), "{said}");
}

#[test]
fn user_signals_are_passed_on() {
    let folder = Folder::new("usr2");
    let script = waiting(&folder, "trap 'echo caught; exit 0' USR2; while :; do sleep 0.05; done");
    let running = start(command(&["-n", "2", "sh", "-c", &script]));
    folder.pids(2);
    std::thread::sleep(Duration::from_millis(100));
    running.signal(Signal::USR2);
    assert_eq!(running.finish().stdout, "caught\ncaught\n");
}

#[test]
fn an_ignored_hangup_stays_ignored() {
    let folder = Folder::new("nohup");
    let shell = format!(
        "trap '' HUP; exec {} -n 1 sh -c '{}'",
        env!("CARGO_BIN_EXE_mpirun"),
        waiting(&folder, "sleep 0.6; echo done")
    );
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &shell]).stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let running = start(command);
    folder.pids(1);
    running.signal(Signal::HUP);
    assert_eq!(running.finish().stdout, "done\n");
}

#[test]
fn a_stop_reaches_the_ranks_and_they_continue() {
    let folder = Folder::new("stop");
    let running = start(command(&["-n", "2", "sh", "-c", &waiting(&folder, "exec sleep 1")]));
    let pids = folder.pids(2);
    let state = |pid: u32| tern_job::procfs::ProcessStat::of(pid).map(|stat| stat.state);
    let stopped = |pids: &[u32]| pids.iter().all(|&pid| state(pid) == Some('T'));
    running.signal(Signal::TSTP);
    // A group that is orphaned, as under some test runners, does not stop for SIGTSTP; mpirun always does.
    assert!(eventually(TWO_SECONDS, || state(running.pid()) == Some('T')));
    running.signal(Signal::CONT);
    assert!(eventually(TWO_SECONDS, || !stopped(&pids)));
    assert_eq!(running.finish().status, 0);
}

#[test]
fn a_timeout_says_where_the_ranks_stand() {
    let outcome = mpirun(&["--timeout", "0.5", "-n", "3", "sleep", "50", ":", "-n", "1", "true"]);
    assert_eq!(outcome.status, 124);
    assert!(outcome.took < LONG_BEFORE_THEIR_SLEEP_ENDS);
    assert!(outcome.stderr.contains("ranks 0-2: MPI_Init not called yet (sleeping)"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("rank 3: ended with exit status 0"));
    assert!(outcome.stderr.contains("the time of 0.5 s is up"));
}

#[test]
fn a_question_is_answered_and_the_job_goes_on() {
    let folder = Folder::new("usr1");
    let running = start(command(&["-n", "2", "sh", "-c", &waiting(&folder, "sleep 0.8; echo done")]));
    folder.pids(2);
    running.signal(Signal::USR1);
    let outcome = running.finish();
    assert_eq!((outcome.status, outcome.stdout.as_str()), (0, "done\ndone\n"));
    assert!(outcome.stderr.contains("the 2 ranks stand here:"), "{}", outcome.stderr);
}
