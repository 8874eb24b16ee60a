//! The library under `mpirun`: this test program starts itself as the ranks of a job.

mod common;

use std::os::fd::AsFd;
use std::process::Command;
use std::time::Duration;

use common::{Folder, LONG_BEFORE_THEIR_SLEEP_ENDS, Outcome, command, eventually, start};
use tern_job::{Blocked, Job, RankState, join, now_ns};

/// What a rank does, by name.
const ROLE: &str = "TERN_TEST_ROLE";

/// Runs `ranks` ranks that play `role`, as `mpirun OPTIONS this-program`.
fn play(role: &str, ranks: &str, options: &[&str]) -> Outcome {
    start(cast(role, ranks, options, &own_words())).finish()
}

fn cast(role: &str, ranks: &str, options: &[&str], program: &[&str]) -> Command {
    let mut command = command(&[options, &["-n", ranks, "-env", ROLE, role], program].concat());
    command.env_remove("PMI_RANK");
    command
}

/// The command that makes this program play the role of its environment.
fn own_words() -> [&'static str; 4] {
    static PATH: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    let path = PATH.get_or_init(|| std::env::current_exe().unwrap().to_str().unwrap().to_owned());
    [path, "--exact", "act", "--nocapture"]
}

/// The lines that roles print begin with this, unlike those of the test harness.
fn spoken(outcome: &Outcome) -> Vec<&str> {
    let mut lines: Vec<_> =
        outcome.stdout.lines().filter_map(|line| line.split_once("# ")).map(|(_, text)| text).collect();
    lines.sort_unstable();
    lines
}

/// What the ranks play that the other tests start. Without a role there is nothing to do.
#[test]
fn act() {
    match std::env::var(ROLE).unwrap_or_default().as_str() {
        "" => {}
        "count" => count(),
        "share" => share(),
        "abort" => abort(),
        "forget" => drop(enter()),
        "wait" => wait(),
        "parent" => parent(),
        "descriptors" => descriptors(),
        "endpoint_addresses" => endpoint_addresses(),
        "secret" => secret(),
        "place" => place(),
        "alone" => {
            let job = join().unwrap();
            println!("# alone: rank {} of {}", job.rank, job.size);
        }
        "fail" => println!("# {}", join().unwrap_err()),
        other => panic!("there is no role {other}"),
    }
}

fn enter() -> Job {
    let job = join().unwrap();
    job.status_page.as_ref().unwrap().state(RankState::Running);
    job
}

fn leave(job: &Job) {
    job.status_page.as_ref().unwrap().state(RankState::Finalized);
}

fn count() {
    let job = enter();
    println!(
        "# rank {} of {}, program {:?}, on {} cores",
        job.rank,
        job.size,
        job.appnum(),
        job.cores.usable
    );
    leave(&job);
}

#[test]
fn ranks_know_their_numbers() {
    let program = own_words();
    let two = [&program[..], &[":", "-n", "1", "-env", ROLE, "count"], &program[..]].concat();
    let outcome = start(cast("count", "2", &[], &two)).finish();
    let cores = tern_job::cores();
    let expected: Vec<_> = (0..3)
        .map(|rank| format!("rank {rank} of 3, program Some({}), on {cores} cores", rank / 2))
        .collect();
    assert_eq!(spoken(&outcome), expected, "{}", outcome.stderr);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
}

/// Rank 0 sizes the segment and leaves a number there; the others wait for it.
fn share() {
    let job = enter();
    let segment = job.segment.as_ref().unwrap().as_fd();
    let read = || {
        let mut byte = [0];
        rustix::io::pread(segment, &mut byte, 4095).is_ok_and(|count| count == 1 && byte[0] == 42)
    };
    if job.rank == 0 {
        rustix::fs::ftruncate(segment, 4096).unwrap();
        rustix::io::pwrite(segment, &[42], 4095).unwrap();
    }
    println!("# {}", eventually(Duration::from_secs(10), read));
    leave(&job);
}

#[test]
fn ranks_share_the_segment() {
    assert_eq!(spoken(&play("share", "3", &[])), ["true"; 3]);
}

/// Every rank asks for everybody's endpoint address, its own too, half of them before anybody can have published one.
fn endpoint_addresses() {
    let mut job = enter();
    let mut link = job.link.take().unwrap();
    let (rank, size) = (job.rank, job.size);
    let card_of = |rank: u32| vec![rank as u8; 1 + rank as usize * 60];
    if rank % 2 == 0 {
        (0..size).for_each(|peer| link.ask(peer));
        std::thread::sleep(Duration::from_millis(100));
    }
    link.ask(size);
    link.publish(&card_of(rank)).unwrap();
    if rank % 2 == 1 {
        (0..size).for_each(|peer| link.ask(peer));
    }
    let mut answers = std::collections::BTreeMap::new();
    let start = std::time::Instant::now();
    while answers.len() < size as usize && start.elapsed() < Duration::from_secs(10) {
        match link.answer() {
            Some((peer, endpoint_address)) => assert!(answers.insert(peer, endpoint_address).is_none()),
            None => std::thread::sleep(Duration::from_millis(1)),
        }
    }
    println!("# {}", answers.into_iter().eq((0..size).map(|peer| (peer, card_of(peer)))));
    leave(&job);
}

#[test]
fn ranks_exchange_endpoint_addresses() {
    assert_eq!(spoken(&play("endpoint_addresses", "5", &[])), ["true"; 5]);
}

#[test]
fn ranks_of_several_hosts_exchange_endpoint_addresses_and_know_their_places() {
    let folder = Folder::new("endpoint_addresses");
    let launcher = common::launcher(&folder, common::TO_A_SHELL);
    for tree in ["1", "2", "16"] {
        let hosts = "a,localhost,b,c:2,d,e,f:2";
        let options = ["--launcher", launcher.as_str(), "--host", hosts, "--tree", tree];
        let outcome = play("endpoint_addresses", "9", &options);
        assert_eq!(spoken(&outcome), ["true"; 9], "in a tree of {tree}: {}", outcome.stderr);
    }
    let options = ["--launcher", launcher.as_str(), "--host", "a:2,b", "--tree", "1"];
    let outcome = play("place", "4", &options);
    let expected = (0..4).map(|rank| {
        format!("rank {rank}: hosts [0, 0, 1, 0], 2 of them, {} local ranks", [3, 3, 1, 3][rank])
    });
    assert_eq!(spoken(&outcome), expected.collect::<Vec<_>>(), "{}", outcome.stderr);
    let secrets =
        spoken(&play("secret", "4", &options)).iter().map(|&line| line.to_owned()).collect::<Vec<_>>();
    assert!(secrets.len() == 4 && secrets.iter().all(|line| *line == secrets[0]), "{secrets:?}");
}

fn place() {
    let job = enter();
    let hosts: Vec<_> = (0..job.size).map(|rank| job.host_of(rank)).collect();
    println!("# rank {}: hosts {hosts:?}, {} of them, {} local ranks", job.rank, job.hosts, job.cores.ranks);
    leave(&job);
}

/// The secret in the notation of a file that a shell could look at.
fn secret() {
    let job = enter();
    let secret = job.secret().unwrap();
    let holds = |file: &str| {
        let bytes = std::fs::read(file).unwrap();
        bytes.windows(secret.len()).any(|window| window == secret)
    };
    let text: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    println!("# {text} {} {}", holds("/proc/self/environ"), holds("/proc/self/cmdline"));
    leave(&job);
}

#[test]
fn ranks_of_a_job_have_one_secret_and_jobs_have_different_ones() {
    let secrets = [0, 1].map(|_| spoken(&play("secret", "3", &[])).join("|"));
    for line in &secrets {
        let (first, rest) = line.split_once('|').unwrap();
        assert!(first.len() == 64 + 12 && first.ends_with(" false false"), "{line}");
        assert!(rest.split('|').all(|other| other == first), "{line}");
    }
    assert_ne!(secrets[0], secrets[1]);
}

fn abort() {
    let job = enter();
    if job.rank == 1 {
        job.abort(42, "no input file");
    }
    std::thread::sleep(Duration::from_secs(50));
}

#[test]
fn an_abort_ends_the_job_with_one_message() {
    let outcome = play("abort", "3", &[]);
    assert_eq!(outcome.status, 42);
    assert!(outcome.took < LONG_BEFORE_THEIR_SLEEP_ENDS);
    assert!(outcome.stderr.contains("rank 1 (") && outcome.stderr.lines().count() == 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("aborted the job with code 42: no input file"));
}

#[test]
fn an_abort_behind_a_wrapper_ends_the_job_too() {
    let words = own_words().join(" ");
    let outcome = start(cast("abort", "2", &[], &["sh", "-c", &format!("{words}; sleep 50")])).finish();
    assert_eq!(outcome.status, 42);
    assert!(outcome.took < LONG_BEFORE_THEIR_SLEEP_ENDS);
}

#[test]
fn who_forgets_to_finalize_is_told() {
    let outcome = play("forget", "2", &[]);
    assert_eq!(outcome.status, 1);
    assert!(outcome.stderr.contains("without calling MPI_Finalize"), "{}", outcome.stderr);
}

fn wait() {
    let job = enter();
    let blocked = Blocked {
        comm: "MPI_COMM_WORLD",
        comm_size: job.size,
        since_ns: now_ns(),
        ..Blocked::on("MPI_Barrier")
    };
    if job.rank > 0 {
        job.status_page.as_ref().unwrap().publish(&blocked);
    }
    std::thread::sleep(Duration::from_secs(50));
}

#[test]
fn a_timeout_names_the_calls() {
    let outcome = play("wait", "4", &["--timeout", "1"]);
    assert_eq!(outcome.status, 124);
    let line = "ranks 1-3: in MPI_Barrier, on MPI_COMM_WORLD of 4 ranks, for ";
    assert!(outcome.stderr.contains(line), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("rank 0: outside MPI, or in a call for less than 50 ms (sleeping)"));
}

#[test]
fn ranks_die_with_their_mpirun() {
    let folder = Folder::new("die");
    let words = own_words().join(" ");
    let script = format!("echo $$ > {}/$$; exec {words}", folder.0.display());
    let running = start(cast("wait", "2", &[], &["sh", "-c", &script]));
    let pids = folder.pids(2);
    running.signal(rustix::process::Signal::KILL);
    // That it takes no 2 s is for a job that has the machine for itself: here other tests share the cores.
    assert!(eventually(Duration::from_secs(20), || !pids.iter().any(|&pid| common::is_alive(pid))));
    running.finish();
}

/// Programs that are not of MPI, and ask nobody to end them: a watchdog does, from the first one on.
#[test]
fn ranks_die_with_their_mpirun_while_others_start() {
    let folder = Folder::new("die-early");
    let script = format!("echo $$ > {}/$$; exec sleep 50", folder.0.display());
    let running = start(common::command(&["-n", "24", "sh", "-c", &script]));
    folder.pids(1);
    running.signal(rustix::process::Signal::KILL);
    let gone = || !folder.pids(1).iter().any(|&pid| common::is_alive(pid));
    assert!(eventually(Duration::from_secs(20), gone));
    running.finish();
    assert!(gone());
}

/// Starts this program again, with the same environment.
fn run_child(role: &str) -> String {
    let output = Command::new(own_words()[0]).args(&own_words()[1..]).env(ROLE, role).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn parent() {
    let job = enter();
    leave(&job);
    print!("{}", run_child("descriptors"));
}

/// Says how many ranks it sees, and whether it inherited a memory file.
fn descriptors() {
    let files = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let inherited = files.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let inherited =
        inherited.filter(|path| path.to_str().is_some_and(|path| path.contains("memfd:tern"))).count();
    let job = join().unwrap();
    println!("# {inherited} memory files, {} ranks", job.size);
}

#[test]
fn a_program_that_a_rank_starts_is_a_world_of_one() {
    let outcome = play("parent", "2", &[]);
    assert_eq!(spoken(&outcome), ["0 memory files, 1 ranks"; 2], "{}", outcome.stderr);
}

#[test]
fn a_second_program_in_one_rank_is_refused() {
    let words = own_words().join(" ");
    let script = format!("{words}; {ROLE}=fail {words}");
    let outcome = start(cast("count", "1", &[], &["sh", "-c", &script])).finish();
    let last = spoken(&outcome)[0];
    assert!(last.contains("has already been rank 0") && last.contains("its own mpirun"), "{outcome:?}");
}

#[test]
fn closed_descriptors_are_found_again_at_the_launcher() {
    let words = own_words().join(" ");
    let script = format!("exec {words} 100>&- 101>&- 102>&- 103<&- 104<&-");
    let outcome = start(cast("endpoint_addresses", "2", &[], &["bash", "-c", &script])).finish();
    assert_eq!(spoken(&outcome), ["true"; 2], "{outcome:?}");
}

fn alone(variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(own_words()[0]);
    command.args(&own_words()[1..]).env(ROLE, "fail").env_remove("TERN_JOB");
    command.envs(variables.iter().copied());
    String::from_utf8_lossy(&command.output().unwrap().stdout).into_owned()
}

#[test]
fn a_stale_or_damaged_ticket_is_refused() {
    let stale = "3 rank=0 size=2 app=0 universe=2 cores=2 bound=0 local=2 hosts=1 launcher=2147483647 \
                 segment=100/1 status=101/1 control=102/1 answers=103/1 lifeline=104/1";
    let said = alone(&[("TERN_JOB", stale)]);
    assert!(said.contains("rank 0 of 2") && said.contains("unset TERN_JOB"), "{said}");
    let said = alone(&[("TERN_JOB", "3 rank=9 size=2")]);
    assert!(said.contains("damaged") && said.contains("'size'"), "{said}");
}

/// What the message tells a user to unset, for a second program of a rank, does it.
#[test]
fn a_second_program_of_a_rank_can_be_run_alone() {
    let [program, words @ ..] = own_words();
    let again = format!("{program} {}", words.join(" "));
    let script = format!("env {ROLE}=count {again}; {again}");
    let outcome = start(cast("fail", "2", &[], &["sh", "-c", &script])).finish();
    let said = outcome.stdout.lines().find(|line| line.contains("has already been rank")).expect("a refusal");
    let (_, signs) = said.split_once("run this one alone, unset ").unwrap();
    let unset: String =
        signs.replace(" and ", ", ").split(", ").map(|name| format!("-u {} ", name.trim())).collect();
    let script = format!("env {ROLE}=count {again}; env {unset} {again}");
    let outcome = start(cast("alone", "2", &[], &["sh", "-c", &script])).finish();
    let alone = spoken(&outcome).iter().filter(|line| **line == "alone: rank 0 of 1").count();
    assert_eq!((outcome.status, alone), (0, 2), "{outcome:?}");
}

#[test]
fn one_of_several_of_another_launcher_is_refused() {
    let said = alone(&[("PMI_RANK", "1"), ("PMI_SIZE", "4")]);
    assert!(said.contains("PMI_SIZE=4") && said.contains("Tern's own mpirun"), "{said}");
}
