//! `tern info --host`: what only a job can find out, and does at its start.

use crate::installation::Installation;
use crate::run::Invocation;

/// When the job is ended, seconds.
const LIMIT_S: u32 = 60;
/// What `mpirun` has besides that to say where ranks stand, seconds.
const EXTRA_S: f64 = 10.0;

/// Whether multicast works among hosts, as the ranks of a job see it. `place` are the options of `mpirun` that name them.
pub(crate) fn ask(place: &[String]) -> Result<String, String> {
    let here = Installation::find()?;
    let words = ["--verbose", "--timeout", &LIMIT_S.to_string()].map(String::from);
    let program = [here.file("libexec/tern/netpipe")?.display().to_string(), "version".into()];
    let job = Invocation {
        program: here.file("bin/mpirun")?,
        words: [&words, place, &program].concat(),
        settings: Vec::new(),
        limit_s: f64::from(LIMIT_S) + EXTRA_S,
    };
    let (_, said) = job.run_and_listen()?;
    Ok(format!("{}\n", verdict(&said).unwrap_or("multicast is not used: there is one rank")))
}

/// What rank 0 told.
fn verdict(said: &str) -> Option<&str> {
    let mut words = said.lines().filter_map(|line| line.strip_prefix("mpirun: "));
    words.find(|words| words.starts_with("multicast "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_is_one_line_of_many() {
        let said = "mpirun: rank 0 is process 7 (x)\nmpirun: multicast works among all hosts; rank 0 uses 10.0.0.1\n";
        assert_eq!(verdict(said), Some("multicast works among all hosts; rank 0 uses 10.0.0.1"));
        assert_eq!(verdict("mpirun: rank 0 is process 7 (multicast)\n"), None);
    }
}
