//! What a rank asks its launcher to start, in the words of PMI-1.

use serde::{Deserialize, Serialize};

use crate::pmi::escape;

/// So many processes of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// The program.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Processes.
    pub count: u32,
    /// Keys of `MPI_Comm_spawn`'s info argument, with their values.
    pub hints: Vec<(String, String)>,
}

/// A world that is to be started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpawnRequest {
    /// What it runs.
    pub programs: Vec<Program>,
    /// What its ranks find in their store of keys.
    pub pairs: Vec<(String, String)>,
}

impl SpawnRequest {
    /// The commands of PMI-1. For Tern's own launcher values are escaped, so that they may hold anything.
    pub fn text(&self, escapes: bool) -> Result<String, String> {
        let mut text = String::new();
        let value = |value: &str| match escapes {
            true => Ok(escape(value)),
            false if value.contains('\n') => {
                Err(format!("'{}' has several lines, which this launcher cannot pass on", escape(value)))
            }
            false => Ok(value.to_owned()),
        };
        for (at, program) in self.programs.iter().enumerate() {
            let (total, so_far) = (self.programs.len(), at + 1);
            text += &format!("mcmd=spawn\nnprocs={}\nexecname={}\n", program.count, value(&program.command)?);
            text += &format!("totspawns={total}\nspawnssofar={so_far}\n");
            for (number, argument) in (1..).zip(&program.arguments) {
                text += &format!("arg{number}={}\n", value(argument)?);
            }
            text += &format!("argcnt={}\npreput_num={}\n", program.arguments.len(), self.pairs.len());
            for (number, (key, found)) in self.pairs.iter().enumerate() {
                text += &format!("preput_key_{number}={key}\npreput_val_{number}={}\n", value(found)?);
            }
            text += &format!("info_num={}\n", program.hints.len());
            for (number, (key, hint)) in program.hints.iter().enumerate() {
                text += &format!("info_key_{number}={key}\ninfo_val_{number}={}\n", value(hint)?);
            }
            if escapes {
                text += "tern_escaped=1\n";
            }
            text += "endcmd\n";
        }
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_lines_that_hold_anything() {
        let program = Program {
            command: "./a b".into(),
            arguments: vec!["x=1".into(), "two\nlines".into()],
            count: 3,
            hints: vec![("wdir".into(), "/tmp".into())],
        };
        let request = SpawnRequest { programs: vec![program], pairs: vec![("key".into(), "v".into())] };
        let text = request.text(true).unwrap();
        for line in
            ["nprocs=3", "execname=./a%20b", "arg1=x%3d1", "arg2=two%0alines", "argcnt=2", "info_val_0=/tmp"]
        {
            assert!(text.lines().any(|found| found == line), "{line} in {text}");
        }
        assert!(request.text(false).unwrap_err().contains("several lines"));
    }
}
