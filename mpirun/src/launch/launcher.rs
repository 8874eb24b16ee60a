//! The command that starts an agent on another host.

use std::path::PathBuf;
use std::process::Command;

use crate::launch::presets;
use crate::launch::watchdog::LAUNCHER_VARIABLE;

/// The hidden option that makes `mpirun` an agent.
pub(crate) const AGENT_OPTION: &str = "--tern-agent";

/// `LAUNCHER HOST /path/of/mpirun --tern-agent`.
pub(crate) fn command(launcher: &[String], host: &str, program: &str) -> Command {
    let usual = presets::ssh();
    let words = if launcher.is_empty() { &usual[..] } else { launcher };
    let program = if presets::runs_without_shell(words) { program.into() } else { quote(program) };
    let mut command = Command::new(words.first().map_or("ssh", String::as_str));
    command.args(with_host(&words[1.min(words.len())..], host)).arg(program).arg(AGENT_OPTION);
    command.env(LAUNCHER_VARIABLE, std::process::id().to_string());
    presets::prepare(&mut command, words);
    command
}

/// The host stands where the words say, or behind them.
fn with_host(words: &[String], host: &str) -> Vec<String> {
    let mut filled: Vec<String> = words.iter().map(|word| word.replace(presets::HOST, host)).collect();
    if !words.iter().any(|word| word.contains(presets::HOST)) {
        filled.push(host.into());
    }
    filled
}

/// The words of `--launcher`, such as `ssh -p 2222`, with quotes as a shell has them; `None` if a quote is left open or there
/// is no word.
pub(crate) fn words(text: &str) -> Option<Vec<String>> {
    shlex::split(text).filter(|words| !words.is_empty())
}

/// The launcher's name, for messages.
pub(crate) fn name(launcher: &[String]) -> String {
    if launcher.is_empty() { presets::SSH[0].into() } else { launcher.join(" ") }
}

/// The program of the agents: that of the installation under `prefix`, or at the same place as this one.
pub(crate) fn program(prefix: Option<&str>) -> std::io::Result<String> {
    match prefix {
        Some(prefix) => Ok(format!("{}/bin/mpirun", prefix.trim_end_matches('/'))),
        None => own_program(),
    }
}

fn own_program() -> std::io::Result<String> {
    let path: PathBuf = std::env::current_exe()?;
    path.into_os_string().into_string().map_err(|path| {
        std::io::Error::other(format!("the path of mpirun, {path:?}, cannot be written for a remote shell"))
    })
}

/// As one word for the shell that reads it on the other side, as `ssh` hands it over.
fn quote(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+=,@%".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_reach_a_shell_whole() {
        assert_eq!(quote("/usr/bin/mpirun"), "/usr/bin/mpirun");
        for odd in ["a b", "a'b", "$HOME;x", "", "ü\n*"] {
            let script = format!("printf %s {}", quote(odd));
            let output = Command::new("sh").args(["-c", &script]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), odd);
        }
    }

    #[test]
    fn agents_lie_where_the_prefix_says() {
        assert_eq!(program(Some("/opt/tern/")).unwrap(), "/opt/tern/bin/mpirun");
        assert_eq!(program(None).unwrap(), own_program().unwrap());
    }

    #[test]
    fn a_launcher_may_be_quoted() {
        let found = |text: &str| words(text).map(|words| words.join("|"));
        for (text, expected) in [
            (" ssh  -p 22 ", "ssh|-p|22"),
            ("'/a b/ssh' -o'X=y z'", "/a b/ssh|-oX=y z"),
            (r#""/a 'b'/\"c" d\ e ''"#, r#"/a 'b'/"c|d e|"#),
        ] {
            assert_eq!(found(text).as_deref(), Some(expected), "{text}");
        }
        for bad in ["", "  ", "'a b", "a\"", "a\\"] {
            assert_eq!(found(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_host_follows_the_launchers_own_options() {
        let words = |command: &Command| {
            let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
            format!("{} {}", command.get_program().to_string_lossy(), words.join(" "))
        };
        let launcher = ["ssh", "-p", "22"].map(String::from);
        assert_eq!(words(&command(&launcher, "b", "/x y")), "ssh -p 22 b '/x y' --tern-agent");
        assert!(words(&command(&[], "b", "/x")).ends_with(" b /x --tern-agent"));
        let kubectl = presets::named("kubectl").unwrap();
        assert_eq!(words(&command(&kubectl, "b", "/x y")), "kubectl exec -i b -- /x y --tern-agent");
        let srun = presets::named("srun").unwrap();
        assert!(words(&command(&srun, "b", "/x")).ends_with(" -w b /x --tern-agent"));
    }
}
