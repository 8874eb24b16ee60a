//! What users of other launchers are used to write, and what becomes of it here: done, refused, or told to change nothing.

use std::ffi::OsString;

use crate::plan::Settings;
use crate::plan::allocation::Allocation;
use crate::plan::placement::{MapBy, parse_count};
use crate::plan::topology::BindTo;
use crate::watch::exit_cause::Refusal;

/// About `--use-hwthread-cpus`.
pub const HWTHREAD_CPUS: &str = "option --use-hwthread-cpus changes nothing: every hardware thread counts anyway, and --bind-to hwthread binds to one";

/// Parts of a host, between which `--map-by` and `--rank-by` choose elsewhere.
const PARTS: [&str; 9] =
    ["core", "hwthread", "socket", "package", "numa", "board", "l1cache", "l2cache", "l3cache"];

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
    settings.map_by = MapBy::parse(&way).map_err(|refusal| in_whole(refusal, &way, value))?;
    if PARTS.contains(&way.as_str()) {
        settings.remarks.push(format!(
            "option --map-by {way} does what --map-by slot does: ranks fill one host after the other; \
             --bind-to core, socket or numa binds them to these in turn"
        ));
    }
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
        "span" | "nooversubscribe" | "noinherit" | "nolocal" | "hwtcpus" | "corecpus" | "ordered" => {
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

/// Reads the value of `--rank-by`. Ranks are numbered in the order of their places.
pub fn rank_by(settings: &mut Settings, value: &str) -> Result<(), Refusal> {
    let way = value.split(':').next().unwrap_or_default();
    match way {
        "slot" | "fill" => {}
        way if way == "node" || way == "span" || PARTS.contains(&way) => settings.remarks.push(format!(
            "option --rank-by {value} changes nothing: ranks are numbered in the order of their places; --map-by node \
             numbers them round the hosts"
        )),
        _ => {
            return Err(Refusal::usage(format!(
                "option --rank-by: '{value}' is none of slot, node, fill, span, {}",
                PARTS.join(", ")
            )));
        }
    }
    Ok(())
}

/// Notes a setting of Open MPI.
pub fn mca(settings: &mut Settings, name: &str, value: &str) {
    settings.remarks.push(format!(
        "option --mca {name} {value} changes nothing: it is a setting of Open MPI; 'tern info' lists Tern's settings"
    ));
}

/// Notes what of the environment and of the options as a whole does less than the user may think.
pub fn remark_on(settings: &mut Settings, variables: impl Iterator<Item = (OsString, OsString)>) {
    let names: Vec<String> = variables.filter_map(|(name, _)| name.into_string().ok()).collect();
    settings.remarks.extend(foreign_variables(names));
    let named = settings.hostfile.is_some() || settings.apps.iter().any(|app| !app.hosts.is_empty());
    if !named && let Some(allocation) = Allocation::find(|name| std::env::var(name).ok()) {
        settings.remarks.push(allocation.to_string());
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
            mapped("slot:PE=0").is_err() && mapped("slot:nonsense").is_err() && mapped("ppr:2:core").is_err()
        );
    }

    #[test]
    fn what_changes_nothing_is_told() {
        for value in ["core", "socket", "numa", "l3cache", "slot:SPAN"] {
            assert_eq!(mapped(value).unwrap().remarks.len(), 1, "{value}");
        }
        assert!(mapped("node:OVERSUBSCRIBE").unwrap().remarks.is_empty());
        let mut settings = Settings::default();
        assert!(rank_by(&mut settings, "nonsense").unwrap_err().to_string().contains("'nonsense'"));
        rank_by(&mut settings, "slot").unwrap();
        assert!(settings.remarks.is_empty());
        rank_by(&mut settings, "node").unwrap();
        assert_eq!(settings.remarks.len(), 1);
    }

    #[test]
    fn variables_of_others_are_one_line() {
        let said = |names: &[&str]| foreign_variables(names.iter().map(ToString::to_string).collect());
        assert_eq!(said(&["PATH", "I_MPI_ROOT"]), None);
        let line = said(&["OMPI_MCA_btl", "PATH", "HYDRA_HOST_FILE"]).unwrap();
        assert!(line.starts_with("HYDRA_HOST_FILE (MPICH's mpiexec), OMPI_MCA_btl (Open MPI) in"), "{line}");
    }
}
