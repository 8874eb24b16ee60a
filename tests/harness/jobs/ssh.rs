//! Jobs started by ssh itself: a server of the test's own, on a loop-back port, with throw-away keys.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::common::{
    JOB_LIMIT, Jobs, Test, Verdict, expect, expect_code, expect_said, passed, run_command, skip,
};
use crate::process::{GONE_WITHIN, Outcome, Running, marked_processes, send, wait_until_gone};

/// A job comes up by ssh within this time, even on a busy machine.
const START_LIMIT: Duration = Duration::from_secs(20);
/// Where servers are installed, if not in `PATH`.
const SERVERS: [&str; 3] = ["/usr/sbin/sshd", "/usr/local/sbin/sshd", "/sbin/sshd"];
/// As root the server wants this folder, which its service makes.
const EMPTY_FOLDER: &str = "/run/sshd";

/// The tests of this file.
pub(super) const TESTS: &[Test] = &[
    Test { name: "hosts by ssh", run: hosts },
    Test { name: "what ssh hands over", run: handed_over },
    Test { name: "ends by ssh", run: ends },
    Test { name: "mpirun killed, by ssh", run: mpirun_killed },
    Test { name: "ssh killed", run: ssh_killed },
    Test { name: "a host that ssh cannot reach", run: unreachable },
];

/// A server that lets this user in. Its folder is readable by nobody else, and goes with it.
struct Server {
    folder: PathBuf,
    child: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
        let _gone = fs::remove_dir_all(&self.folder);
    }
}

impl Server {
    /// Starts it; `Err` with the reason where it cannot be tested here.
    fn start(jobs: &Jobs<'_>) -> Result<Server, String> {
        let sshd = SERVERS.into_iter().find(|path| Path::new(path).exists());
        let sshd = sshd.ok_or("no sshd (openssh-server)")?;
        if rustix::process::geteuid().is_root() {
            fs::create_dir_all(EMPTY_FOLDER).map_err(|error| format!("{EMPTY_FOLDER}: {error}"))?;
        }
        let folder = jobs.options.programs().join(format!("ssh-{}", std::process::id()));
        let make = || -> std::io::Result<Server> {
            let _old = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder)?;
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
            for key in ["host", "user"] {
                make_key(&folder.join(key))?;
            }
            // The port is free now, and nobody else wants it so soon.
            let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
            fs::write(folder.join("server"), server_settings(&folder, port))?;
            fs::write(folder.join("client"), client_settings(&folder, port))?;
            write_wrapper(&folder)?;
            let log = fs::File::create(folder.join("log"))?;
            let mut command = Command::new(sshd);
            command.args(["-D", "-e", "-f"]).arg(folder.join("server")).stderr(log).stdin(Stdio::null());
            let server = Server { folder: folder.clone(), child: command.spawn()? };
            wait_for(port)?;
            Ok(server)
        };
        make().map_err(|error| {
            let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
            format!("ssh does not work here: {error} {}", log.lines().last().unwrap_or_default())
        })
    }

    /// `mpirun` on hosts behind the server, with the launcher in so many words.
    fn mpirun(&self, jobs: &Jobs<'_>, hosts: &str) -> Command {
        let mut command = jobs.bare_mpirun();
        command.arg("--launcher").arg(format!("ssh -F {}", self.folder.join("client").display()));
        command.args(["--host", hosts]);
        command
    }

    /// The same by the launcher that is used where none is named: the `ssh` that is found first.
    fn plain_mpirun(&self, jobs: &Jobs<'_>, hosts: &str) -> Command {
        let mut command = jobs.bare_mpirun();
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.folder.join("bin").display()));
        command.args(["--host", hosts]);
        command
    }
}

fn make_key(path: &Path) -> std::io::Result<()> {
    let mut command = Command::new("ssh-keygen");
    let status = command.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path).status()?;
    if status.success() { Ok(()) } else { Err(std::io::Error::other("ssh-keygen fails")) }
}

/// The mark comes along, so that the processes on the other side are found.
fn server_settings(folder: &Path, port: u16) -> String {
    let folder = folder.display();
    format!(
        "Port {port}\nListenAddress 127.0.0.1\nListenAddress 127.0.0.2\nHostKey \"{folder}/host\"\n\
         AuthorizedKeysFile \"{folder}/user.pub\"\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n\
         PidFile none\nAcceptEnv TERN_TEST_MARK\n"
    )
}

fn client_settings(folder: &Path, port: u16) -> String {
    let folder = folder.display();
    format!(
        "Host closed\n Port 1\n\
         Host locked\n User nobody-has-this-name\n\
         Host first second third closed locked\n HostName 127.0.0.1\n\
         Host *\n Port {port}\n IdentityFile \"{folder}/user\"\n IdentitiesOnly yes\n LogLevel ERROR\n\
         UserKnownHostsFile \"{folder}/known\"\n StrictHostKeyChecking no\n SendEnv TERN_TEST_MARK\n"
    )
}

/// What is called `ssh` reads the test's settings: those of the user are none of its business.
fn write_wrapper(folder: &Path) -> std::io::Result<()> {
    let (bin, ssh) = (folder.join("bin"), std::env::var("PATH").unwrap_or_default());
    let ssh = ssh.split(':').map(|path| Path::new(path).join("ssh")).find(|path| path.exists());
    let ssh = ssh.ok_or_else(|| std::io::Error::other("no ssh in PATH"))?;
    fs::create_dir_all(&bin)?;
    let script = format!("#!/bin/sh\nexec {} -F '{}/client' \"$@\"\n", ssh.display(), folder.display());
    fs::write(bin.join("ssh"), script)?;
    fs::set_permissions(bin.join("ssh"), fs::Permissions::from_mode(0o700))
}

fn wait_for(port: u16) -> std::io::Result<()> {
    let start = Instant::now();
    loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Err(error) if start.elapsed() > START_LIMIT => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(20)),
            Ok(_) => return Ok(()),
        }
    }
}

/// Runs a test with a server, if there can be one.
fn with_server(jobs: &Jobs<'_>, test: impl FnOnce(&Server) -> Result<(), String>) -> Verdict {
    match Server::start(jobs) {
        Err(why) => skip(why),
        Ok(server) => test(&server).and_then(|()| passed()),
    }
}

/// Conformance programs: on this machine and behind ssh, on hosts behind ssh that start each other, and by the launcher that
/// is used unless another is named.
fn hosts(jobs: &Jobs<'_>) -> Verdict {
    with_server(jobs, |server| {
        let program = jobs.conformance("p2p_blocking")?;
        expect_code(&run_command(server.mpirun(jobs, "localhost:2,127.0.0.2:2").arg(&program))?, 0)?;
        let mut chain = server.mpirun(jobs, "first:2,second,third");
        expect_code(&run_command(chain.args(["--tree", "1"]).arg(&program))?, 0)?;
        expect_code(&run_command(server.plain_mpirun(jobs, "first:2,second:2").arg(&program))?, 0)
    })
}

/// Words, variables, the working directory and the standard input come through whole, whatever is in them.
fn handed_over(jobs: &Jobs<'_>) -> Verdict {
    with_server(jobs, |server| {
        let place = server.folder.join("a place; with 'quotes' $HOME");
        fs::create_dir_all(&place).map_err(|error| error.to_string())?;
        let mut command = server.mpirun(jobs, "localhost,first");
        let value = "two\nlines; 'quotes' \"$HOME\" \\";
        command.env("ODD", value).arg("-wdir").arg(&place).args(["--stdin", "1"]);
        let script = "read line; pwd; printf '%s|%s|%s\\n' \"$ODD\" \"$1\" \"$line\"";
        command.args(["sh", "-c", script, "sh", "it's $HOME"]).stdin(Stdio::from(input(server, "in put\n")?));
        let outcome = run_command(&mut command)?;
        expect_code(&outcome, 0)?;
        let line = format!("{}\n{value}|it's $HOME|in put\n", place.display());
        expect(outcome.stdout.contains(&line), &format!("a rank says {line:?}"), &outcome)
    })
}

fn input(server: &Server, text: &str) -> Result<fs::File, String> {
    let path = server.folder.join("input");
    fs::write(&path, text).and_then(|()| fs::File::open(&path)).map_err(|error| error.to_string())
}

fn ends(jobs: &Jobs<'_>) -> Verdict {
    with_server(jobs, |server| {
        let outcome = run_command(server.mpirun(jobs, "first,second").arg(jobs.job()?).args(["abort", "7"]))?;
        expect_code(&outcome, 7)?;
        expect_said(&outcome, &["rank 1", " on second)", "code 7"])?;
        let outcome =
            run_command(server.mpirun(jobs, "first,second").arg(jobs.job()?).args(["signal", "11"]))?;
        expect_code(&outcome, 139)?;
        expect_said(&outcome, &["rank 1", "second", "signal 11"])?;
        expect(outcome.took < START_LIMIT, "it ends soon", &outcome)
    })
}

/// Starts traffic among four ranks on three hosts behind ssh, two of which start one another, and waits until all is there.
fn start(jobs: &Jobs<'_>, server: &Server) -> Result<Running, String> {
    let mut command = server.mpirun(jobs, "first,second,third:2");
    command.args(["--tree", "2"]).arg(jobs.job()?).arg("traffic");
    let running = Running::start(&mut command).map_err(|error| error.to_string())?;
    let start = Instant::now();
    while named(&running, "job").len() < 4 {
        if start.elapsed() > START_LIMIT {
            return Err(format!("only {} of 4 ranks came up", named(&running, "job").len()));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    std::thread::sleep(Duration::from_millis(300));
    Ok(running)
}

fn named(running: &Running, what: &str) -> Vec<u32> {
    let name = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    marked_processes(&running.mark()).into_iter().filter(|pid| name(pid).trim_end() == what).collect()
}

fn expect_gone(mark: &str) -> Result<(), String> {
    let left = wait_until_gone(mark, GONE_WITHIN);
    if left.is_empty() { Ok(()) } else { Err(format!("processes {left:?} are still there after 2 s")) }
}

fn mpirun_killed(jobs: &Jobs<'_>) -> Verdict {
    with_server(jobs, |server| {
        let running = start(jobs, server)?;
        let mark = running.mark();
        running.signal(Signal::KILL);
        expect_gone(&mark)?;
        running.wait(JOB_LIMIT).map_err(|error| error.to_string()).map(drop)
    })
}

/// A connection that breaks: its host is named, and all others end, too.
fn ssh_killed(jobs: &Jobs<'_>) -> Verdict {
    with_server(jobs, |server| {
        let running = start(jobs, server)?;
        let mark = running.mark();
        let ssh = named(&running, "ssh").into_iter().min().ok_or("no ssh is there")?;
        send(ssh, Signal::KILL);
        expect_gone(&mark)?;
        let outcome = running.wait(JOB_LIMIT).map_err(|error| error.to_string())?;
        expect(!outcome.success(), "it fails", &outcome)?;
        expect_said(&outcome, &["host ", "ssh -F "])
    })
}

/// ssh's own reason is in the message.
fn unreachable(jobs: &Jobs<'_>) -> Verdict {
    with_server(jobs, |server| {
        for (host, why) in [("closed", "Connection refused"), ("locked", "Permission denied")] {
            for mut command in [server.mpirun(jobs, host), server.plain_mpirun(jobs, host)] {
                let outcome: Outcome = run_command(command.arg(jobs.job()?).arg("hello"))?;
                expect_code(&outcome, 1)?;
                expect_said(&outcome, &[&format!("host {host}"), why])?;
            }
        }
        Ok(())
    })
}
