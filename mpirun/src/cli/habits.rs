//! What users of other launchers are used to write, and what becomes of it here: done, refused, or told to change nothing.

use std::ffi::OsString;

use crate::plan::Settings;
use crate::plan::allocation::Allocation;
use crate::plan::placement::{RankBy, parse_count};
use crate::plan::topology::{BindTo, Order, Part};
use crate::watch::exit_cause::Refusal;

/// Families of variables with which other launchers and libraries are set.
const FOREIGN: [(&str, &str); 5] = [
    ("HYDRA_", "MPICH's mpiexec"),
    ("I_MPI_", "Intel MPI"),
    ("OMPI_MCA_", "Open MPI"),
    ("PRTE_MCA_", "Open MPI"),
    ("PMIX_MCA_", "Open MPI"),
];

/// What installations set for everybody.
const FOREIGN_ALWAYS_SET: [&str; 2] = ["I_MPI_ROOT", "I_MPI_LIBRARY_KIND"];

/// Reads the value of `--map-by`.
pub fn map_by(settings: &mut Settings, value: &str) -> Result<(), Refusal> {
    let mut words: Vec<&str> = value.split(':').collect();
    let way = if words[0] == "ppr" { words.drain(..words.len().min(3)) } else { words.drain(..1) };
    let way = way.collect::<Vec<_>>().join(":");
    let (map_by, order) = Order::parse(&way).map_err(|refusal| in_whole(refusal, &way, value))?;
    settings.map_by = map_by;
    settings.bind.set_order(order);
    words.into_iter().try_for_each(|word| modifier(settings, word, value))
}

/// A refusal shows what the user wrote.
fn in_whole(refusal: Refusal, way: &str, value: &str) -> Refusal {
    if way == value { refusal } else { Refusal::usage(format!("{refusal} (in '{value}')")) }
}

/// What may stand behind a colon.
fn modifier(settings: &mut Settings, word: &str, value: &str) -> Result<(), Refusal> {
    let name = word.to_ascii_lowercase();
    if let Some(number) = name.strip_prefix("pe=") {
        let width = parse_count(number).ok_or_else(|| {
            Refusal::usage(format!("option --map-by: '{number}' in '{value}' is no number of cores from 1"))
        })?;
        settings.bind.widen(width);
        return Ok(());
    }
    match name.as_str() {
        // What happens anyway.
        "" | "oversubscribe" | "inherit" => {}
        "nooversubscribe" => settings.slots_bind = true,
        "span" | "noinherit" | "nolocal" | "hwtcpus" | "corecpus" | "ordered" => {
            settings.remarks.push(format!("'{word}' in option --map-by {value} changes nothing"));
        }
        _ => {
            return Err(Refusal::usage(format!(
                "option --map-by: '{word}' in '{value}' is none of PE=N, OVERSUBSCRIBE, SPAN, NOOVERSUBSCRIBE, NOLOCAL, ORDERED"
            )));
        }
    }
    Ok(())
}

/// Reads the value of `--rank-by`.
pub fn rank_by(settings: &mut Settings, value: &str) -> Result<(), Refusal> {
    let way = value.split(':').next().unwrap_or_default();
    let part = Part::parse(way);
    (settings.rank_by, settings.bind.rank_by) = match way {
        "slot" | "fill" => (RankBy::Slot, None),
        "node" | "span" => (RankBy::Node, None),
        _ if part.is_some() => (RankBy::Slot, part),
        _ => {
            return Err(Refusal::usage(format!(
                "option --rank-by: '{value}' is none of slot, node, fill, span, {}",
                Part::names()
            )));
        }
    };
    Ok(())
}

/// Reads the value of `--output`, as Open MPI has it.
pub fn output(settings: &mut Settings, value: &str) -> Result<(), Refusal> {
    let output = &mut settings.output;
    for word in value.split(',') {
        let (name, folder) = word.split_once('=').unwrap_or((word, ""));
        match name.to_ascii_lowercase().as_str() {
            "tag" | "tag-detailed" | "tag-fullname" | "rank" => output.tag = true,
            "timestamp" => output.timestamp = true,
            "merge" | "merge-stderr-to-stdout" => output.merge = true,
            "dir" | "directory" if !folder.is_empty() => output.set_folder(folder),
            "file" | "filename" if !folder.is_empty() => output.set_file(folder),
            _ if !word.is_empty() && !word.contains('=') => output.set_folder(word),
            _ => {
                return Err(Refusal::usage(format!(
                    "option --output: '{word}' is none of tag, timestamp, merge, dir=DIR, file=NAME"
                )));
            }
        }
    }
    Ok(())
}

/// Names of launchers that `-launcher` of MPICH takes, and that are no commands here.
const BOOTSTRAPS: [&str; 8] = ["fork", "slurm", "ll", "lsf", "sge", "pbs", "manual", "persist"];

/// The launcher that a word of MPICH means; none, if it is a command.
pub fn known_launcher(value: &str) -> Option<Result<Vec<String>, Refusal>> {
    BOOTSTRAPS.contains(&value).then(|| bootstrap(value))
}

/// Reads the value of `-bootstrap`, which names a launcher; `fork` is for this host, where none is needed.
pub fn bootstrap(value: &str) -> Result<Vec<String>, Refusal> {
    match value {
        "ssh" | "fork" => Ok(Vec::new()),
        "rsh" => Ok(vec!["rsh".into()]),
        _ => Err(Refusal::usage(format!(
            "option --bootstrap or --launcher: '{value}' is none of ssh, rsh, fork; --launcher CMD takes any command that is called as \
             'CMD HOST COMMAND', such as 'srun -N 1 -n 1 -w'"
        ))),
    }
}

/// Notes a setting of Open MPI.
pub fn mca(settings: &mut Settings, name: &str, value: &str) {
    let instead = match name {
        "btl_tcp_if_include" => format!("say -iface {value}, or TERN_INTERFACE={value}"),
        "btl_tcp_port_min_v4" | "btl_tcp_port_range_v4" => "say TERN_PORTS=FIRST-LAST".into(),
        "plm_rsh_agent" => format!("say --launcher '{value}'"),
        _ => "'tern info' lists Tern's settings".into(),
    };
    settings
        .remarks
        .push(format!("option --mca {name} {value} changes nothing: it is a setting of Open MPI; {instead}"));
}

/// Notes what of the environment and of the options as a whole does less than the user may think.
pub fn remark_on(settings: &mut Settings, variables: impl Iterator<Item = (OsString, OsString)>) {
    let names: Vec<String> = variables.filter_map(|(name, _)| name.into_string().ok()).collect();
    settings.remarks.extend(foreign_variables(names));
    let named = settings.hostfile.is_some() || settings.apps.iter().any(|app| !app.hosts.is_empty());
    if !named && let Some(allocation) = Allocation::find(|name| std::env::var(name).ok()) {
        settings.remarks.push(allocation.to_string());
    }
    if let Some(part) = settings.bind.ineffective_order() {
        settings.remarks.push(format!(
            "option --map-by {part} changes nothing where ranks are not bound: --bind-to core, socket or numa binds them"
        ));
    }
    if settings.bind.width > 1 && matches!(settings.bind.to, BindTo::None) {
        settings.remarks.push("':PE=' in option --map-by changes nothing with --bind-to none".into());
    }
}

/// One line for all variables of other libraries.
fn foreign_variables(mut names: Vec<String>) -> Option<String> {
    names.sort_unstable();
    let maker =
        |name: &str| FOREIGN.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, maker)| *maker);
    let told: Vec<String> = names
        .iter()
        .filter(|name| !FOREIGN_ALWAYS_SET.contains(&name.as_str()))
        .filter_map(|name| Some(format!("{name} ({})", maker(name)?)))
        .collect();
    if told.is_empty() {
        return None;
    }
    let verb = if told.len() == 1 { "changes" } else { "change" };
    Some(format!(
        "{} in the environment {verb} nothing here; 'tern info' lists Tern's settings",
        told.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::placement::MapBy;

    fn mapped(value: &str) -> Result<Settings, Refusal> {
        let mut settings = Settings::default();
        map_by(&mut settings, value).map(|()| settings)
    }

    #[test]
    fn cores_of_a_rank_are_bound() {
        let settings = mapped("ppr:2:node:PE=3").unwrap();
        assert_eq!(
            (settings.map_by, settings.bind.to, settings.bind.width),
            (MapBy::PerNode(2), BindTo::Core, 3)
        );
        assert!(settings.remarks.is_empty());
        assert_eq!(mapped(":pe=2").unwrap().bind.width, 2);
        assert!(
            mapped("slot:PE=0").is_err()
                && mapped("slot:nonsense").is_err()
                && mapped("ppr:2:nonsense").is_err()
        );
    }

    #[test]
    fn what_changes_nothing_is_told() {
        assert_eq!(mapped("slot:SPAN").unwrap().remarks.len(), 1);
        assert_eq!(mapped("l3cache").unwrap().bind.ineffective_order(), Some("l3cache"));
        assert_eq!(mapped("ppr:2:socket").unwrap().bind.to, BindTo::Socket);
        assert!(mapped("node:OVERSUBSCRIBE").unwrap().remarks.is_empty());
    }

    #[test]
    fn ranks_can_be_numbered_otherwise() {
        let numbered = |value: &str| {
            let mut settings = Settings::default();
            rank_by(&mut settings, value).map(|()| (settings.rank_by, settings.bind.rank_by))
        };
        assert!(numbered("nonsense").unwrap_err().to_string().contains("'nonsense'"));
        assert_eq!(numbered("slot").unwrap(), (RankBy::Slot, None));
        assert_eq!(numbered("node").unwrap(), (RankBy::Node, None));
        assert_eq!(numbered("socket").unwrap(), (RankBy::Slot, Some(Part(BindTo::Socket))));
    }

    #[test]
    fn words_of_output() {
        let mut settings = Settings::default();
        output(&mut settings, "tag,TIMESTAMP,dir=/tmp/x").unwrap();
        assert!(settings.output.tag && settings.output.timestamp && settings.output.files[1].is_some());
        assert!(output(&mut settings, "dri=/tmp/x").unwrap_err().to_string().contains("'dri=/tmp/x'"));
        assert!(known_launcher("srun -N 1").is_none() && known_launcher("fork").unwrap().unwrap().is_empty());
        assert!(mapped("slot:NOOVERSUBSCRIBE").unwrap().slots_bind);
        assert!(bootstrap("slurm").unwrap_err().to_string().contains("srun"));
    }

    #[test]
    fn variables_of_others_are_one_line() {
        let said = |names: &[&str]| foreign_variables(names.iter().map(ToString::to_string).collect());
        assert_eq!(said(&["PATH", "I_MPI_ROOT"]), None);
        let line = said(&["OMPI_MCA_btl", "PATH", "HYDRA_HOST_FILE"]).unwrap();
        assert!(line.starts_with("HYDRA_HOST_FILE (MPICH's mpiexec), OMPI_MCA_btl (Open MPI) in"), "{line}");
    }
}
