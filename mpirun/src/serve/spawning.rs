//! Requests to start processes, as PMI-1 has them: a command of several lines for each program.

use tern_job::limits::RANKS_MAX;
use tern_job::pmi::unescape;
use tern_job::spawn_request::{Program, SpawnRequest};

use crate::limits::SPAWN_BYTES_MAX;

/// The programs of a request, and the lines of the command that is coming.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    lines: Vec<(String, String)>,
    bytes: usize,
    request: SpawnRequest,
}

impl Gathering {
    /// The next line of a command.
    pub(crate) fn add(&mut self, line: &str) {
        self.bytes += line.len();
        if let Some((key, value)) = line.split_once('=').filter(|_| self.bytes <= SPAWN_BYTES_MAX) {
            self.lines.push((key.into(), value.into()));
        }
    }

    /// The command has ended. The whole request if it was its last.
    pub(crate) fn end(&mut self) -> Result<Option<SpawnRequest>, String> {
        let lines = std::mem::take(&mut self.lines);
        if self.bytes > SPAWN_BYTES_MAX {
            *self = Gathering::default();
            return Err(format!("the request to start processes is longer than {SPAWN_BYTES_MAX} bytes"));
        }
        let command = Command(&lines);
        let program = command.program();
        let (last, pairs) = (command.is_last(), command.numbered("preput_key_", "preput_val_", "preput_num"));
        match program.zip(pairs) {
            Some((program, pairs)) => {
                self.request.programs.push(program);
                self.request.pairs = pairs;
            }
            None => {
                *self = Gathering::default();
                return Err("the request to start processes makes no sense".into());
            }
        }
        if !last {
            return Ok(None);
        }
        Ok(Some(std::mem::take(self).request))
    }
}

/// The lines of one command.
struct Command<'a>(&'a [(String, String)]);

impl Command<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// A value that may hold anything, if it was escaped.
    fn value(&self, key: &str) -> Option<String> {
        let value = self.get(key)?;
        if self.get("tern_escaped") == Some("1") { unescape(value) } else { Some(value.to_owned()) }
    }

    fn number(&self, key: &str) -> Option<u32> {
        self.get(key)?.trim().parse().ok().filter(|number| *number <= RANKS_MAX)
    }

    fn is_last(&self) -> bool {
        self.number("spawnssofar").unwrap_or(1) >= self.number("totspawns").unwrap_or(1)
    }

    fn program(&self) -> Option<Program> {
        let count = self.number("nprocs").filter(|count| *count > 0)?;
        let arguments = (1..=self.number("argcnt").unwrap_or(0)).map(|at| self.value(&format!("arg{at}")));
        Some(Program {
            command: self.value("execname")?,
            arguments: arguments.collect::<Option<_>>()?,
            count,
            hints: self.numbered("info_key_", "info_val_", "info_num")?,
        })
    }

    fn numbered(&self, key: &str, value: &str, count: &str) -> Option<Vec<(String, String)>> {
        let pair = |at: u32| {
            Some((self.get(&format!("{key}{at}"))?.to_owned(), self.value(&format!("{value}{at}"))?))
        };
        (0..self.number(count).unwrap_or(0)).map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gather(text: &str) -> Result<Option<SpawnRequest>, String> {
        let mut gathering = Gathering::default();
        let mut result = Ok(None);
        for line in text.lines() {
            if line == "endcmd" {
                result = gathering.end();
            } else {
                gathering.add(line);
            }
        }
        result
    }

    #[test]
    fn a_request_is_read_as_it_is_written() {
        let program = |command: &str| Program {
            command: command.into(),
            arguments: vec!["a=b c".into(), "two\nlines".into(), String::new()],
            count: 2,
            hints: vec![("host".into(), "a,b".into())],
        };
        let request = SpawnRequest {
            programs: vec![program("./one"), program("two")],
            pairs: vec![("PARENT_ROOT_PORT_NAME".into(), "10.0.0.1:3#ab".into())],
        };
        assert_eq!(gather(&request.text(true).unwrap()), Ok(Some(request)));
    }

    #[test]
    fn what_other_libraries_say_is_read_too() {
        let text = "mcmd=spawn\nnprocs=3\nexecname=./a b\ntotspawns=1\nspawnssofar=1\narg1=x y\nargcnt=1\npreput_num=0\ninfo_num=0\nendcmd";
        let request = gather(text).unwrap().unwrap();
        assert_eq!((request.programs[0].command.as_str(), request.programs[0].count), ("./a b", 3));
        assert_eq!(request.programs[0].arguments, ["x y"]);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "endcmd",
            "nprocs=0\nexecname=a\nendcmd",
            "nprocs=1\nendcmd",
            "nprocs=1\nexecname=a\nargcnt=2\narg1=x\nendcmd",
        ] {
            assert!(gather(text).is_err(), "{text}");
        }
        assert!(gather(&format!("execname={}\nendcmd", "x".repeat(SPAWN_BYTES_MAX))).is_err());
    }
}
