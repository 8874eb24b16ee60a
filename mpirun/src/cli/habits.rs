//! What users of other launchers are used to write, and what becomes of it here: done, refused, or told to change nothing.

use std::ffi::OsString;

use tern_job::limits::PROCESSORS_MAX;
use tern_job::ranges;

use super::foreign;
use crate::launch::presets;
use crate::plan::PlanSettings;
use crate::plan::allocation::OPERATOR_FILES;
use crate::plan::bind::{BindOrder, names_of_parts, parse_part};
use crate::plan::map_by::parse_count;
use crate::plan::placement::RankBy;
use crate::watch::exit_cause::Refusal;

/// Whether a variable of another launcher is heeded here.
fn is_heeded(name: &str) -> bool {
    [&OPERATOR_FILES[..], &presets::EXTRA_WORDS, &presets::AGENT_VARIABLES].concat().contains(&name)
}

/// Reads the value of `--map-by`.
pub(crate) fn map_by(settings: &mut PlanSettings, value: &str) -> Result<(), Refusal> {
    let mut words: Vec<&str> = value.split(':').collect();
    let first = words[0].to_ascii_lowercase();
    let length = match first.as_str() {
        "ppr" => 3,
        "dist" => 2,
        _ => 1,
    };
    let way = words.drain(..words.len().min(length)).collect::<Vec<_>>().join(":");
    // The name of a device is as it is.
    let way = if first == "dist" { first + &way["dist".len()..] } else { way.to_ascii_lowercase() };
    if way == "rankfile" {
        return rankfile(settings, &words, value);
    }
    if let Some(list) = way.strip_prefix("pe-list=") {
        return pe_list(settings, list, &words, value);
    }
    // MPICH's list of parts: ranks go round the first of them.
    let (way, narrower) = way.split_once(',').map_or((way.as_str(), None), |(way, rest)| (way, Some(rest)));
    let (map_by, order) = BindOrder::parse(way).map_err(|refusal| in_whole(refusal, way, value))?;
    settings.remarks.extend(narrower.map(|part| changes_nothing(&format!(",{part}"), value)));
    settings.map_by = map_by;
    settings.per_node_is_limit = way.starts_with("ppr:");
    settings.bind.set_order(order);
    words.into_iter().try_for_each(|word| modifier(settings, word, value))
}

/// Reads `rankfile:file=FILE`.
fn rankfile(settings: &mut PlanSettings, words: &[&str], value: &str) -> Result<(), Refusal> {
    let (files, others): (Vec<&str>, Vec<&str>) = words.iter().partition(|word| is_file(word));
    if let Some(file) = files.first() {
        settings.rankfile = Some(file["file=".len()..].into());
    }
    if settings.rankfile.is_none() {
        return Err(Refusal::usage(format!(
            "option --map-by: '{value}' does not name its file, as in rankfile:file=FILE"
        )));
    }
    others.into_iter().try_for_each(|word| modifier(settings, word, value))
}

fn is_file(word: &str) -> bool {
    word.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("file="))
}

/// Reads `pe-list=0,2,4`: ranks share these processors, or, in order, each has one.
fn pe_list(settings: &mut PlanSettings, list: &str, words: &[&str], value: &str) -> Result<(), Refusal> {
    let cpus = ranges::parse(list, PROCESSORS_MAX).ok_or_else(|| {
        Refusal::usage(format!(
            "option --map-by: '{list}' in '{value}' is no list of processors such as 0-3,8"
        ))
    })?;
    let is_ordered = |word: &&str| word.eq_ignore_ascii_case("ordered");
    if words.iter().any(is_ordered) {
        settings.bind.lists = cpus.iter().map(|&number| vec![number]).collect();
    } else {
        settings.bind.cpus = cpus;
    }
    words.iter().filter(|word| !is_ordered(word)).try_for_each(|word| modifier(settings, word, value))
}

/// Reads the value of `--bind-to`; Open MPI's `REPORT` behind a colon is an option here.
pub(crate) fn bind_to(settings: &mut PlanSettings, value: &str) -> Result<(), Refusal> {
    let is_report = |word: &&str| word.eq_ignore_ascii_case("report");
    settings.report_bindings |= value.split(':').skip(1).any(|word| is_report(&word));
    let rest: Vec<&str> = value
        .split(':')
        .enumerate()
        .filter(|(nth, word)| *nth == 0 || !is_report(word))
        .map(|(_, word)| word)
        .collect();
    settings.bind.take(&rest.join(":"))
}

/// A refusal shows what the user wrote.
fn in_whole(refusal: Refusal, way: &str, value: &str) -> Refusal {
    if way == value { refusal } else { Refusal::usage(format!("{refusal} (in '{value}')")) }
}

/// What may stand behind a colon.
fn modifier(settings: &mut PlanSettings, word: &str, value: &str) -> Result<(), Refusal> {
    let name = word.to_ascii_lowercase();
    if let Some(number) = name.strip_prefix("pe=") {
        let width = parse_count(number).ok_or_else(|| {
            Refusal::usage(format!("option --map-by: '{number}' in '{value}' is no number of cores from 1"))
        })?;
        settings.bind.widen(width);
        return Ok(());
    }
    // MPICH's number of parts behind their name.
    if parse_count(word).is_some() {
        settings.remarks.push(format!("{}; ':PE=N' gives each rank N cores", changes_nothing(word, value)));
        return Ok(());
    }
    match name.as_str() {
        // What happens anyway.
        "" | "oversubscribe" | "inherit" => {}
        "nooversubscribe" => settings.slots_bind = true,
        "nolocal" => settings.nolocal = true,
        "hwtcpus" => settings.bind.threads = true,
        "corecpus" => settings.bind.threads = false,
        "span" | "noinherit" | "ordered" => {
            settings.remarks.push(changes_nothing(word, value));
        }
        _ => {
            return Err(Refusal::usage(format!(
                "option --map-by: '{word}' in '{value}' is none of PE=N, OVERSUBSCRIBE, SPAN, NOOVERSUBSCRIBE, NOLOCAL, HWTCPUS, ORDERED"
            )));
        }
    }
    Ok(())
}

fn changes_nothing(word: &str, value: &str) -> String {
    format!("'{word}' in option --map-by {value} changes nothing")
}

/// Reads the value of `--rank-by`.
pub(crate) fn rank_by(settings: &mut PlanSettings, value: &str) -> Result<(), Refusal> {
    let way = value.split(':').next().unwrap_or_default();
    let part = parse_part(way);
    (settings.rank_by, settings.bind.rank_by) = match way.to_ascii_lowercase().as_str() {
        "slot" | "fill" => (RankBy::Slot, None),
        "node" | "span" => (RankBy::Node, None),
        _ if part.is_some() => (RankBy::Slot, part),
        _ => {
            return Err(Refusal::usage(format!(
                "option --rank-by: '{value}' is none of slot, node, fill, span, {}",
                names_of_parts()
            )));
        }
    };
    Ok(())
}

/// Reads the value of `--output`, as Open MPI has it.
pub(crate) fn output(settings: &mut PlanSettings, value: &str) -> Result<(), Refusal> {
    let output = &mut settings.output;
    for word in value.split(',') {
        let (name, folder) = word.split_once('=').unwrap_or((word, ""));
        match name.to_ascii_lowercase().as_str() {
            "tag" | "tag-detailed" | "tag-fullname" | "rank" => output.tag = true,
            "timestamp" => output.timestamp = true,
            "merge" | "merge-stderr-to-stdout" => output.merge = true,
            "dir" | "directory" if !folder.is_empty() => output.set_folder(folder),
            "file" | "filename" if !folder.is_empty() => output.set_file(folder),
            "xml" | "json" => {
                return Err(Refusal::usage(format!(
                    "option --output: '{word}' is not built here: lines stay as they are"
                )));
            }
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

/// Names of launchers that MPICH takes, and that are not here.
const BOOTSTRAPS: [&str; 3] = ["ll", "manual", "persist"];

/// The launcher that a name means; none, if it is a command.
pub(crate) fn known_launcher(value: &str) -> Option<Result<Vec<String>, Refusal>> {
    let known = BOOTSTRAPS.contains(&value) || value == "fork" || presets::named(value).is_some();
    known.then(|| bootstrap(value))
}

/// Reads the value of `--display`, as Open MPI 5 has it.
pub(crate) fn display(settings: &mut PlanSettings, value: &str) -> Result<(), Refusal> {
    for word in value.split([',', ':']) {
        match word.to_ascii_lowercase().as_str() {
            "map" | "map-devel" => settings.show_map = true,
            "bind" | "bindings" => settings.report_bindings = true,
            "allocation" | "alloc" => settings.show_allocation = true,
            "topo" | "topology" => settings.remarks.push(format!(
                "'{word}' in option --display changes nothing: 'tern info' shows this machine"
            )),
            _ => {
                return Err(Refusal::usage(format!(
                    "option --display: '{word}' in '{value}' is none of map, bind, allocation, topo"
                )));
            }
        }
    }
    Ok(())
}

/// Reads the value of `-bootstrap`, which names a launcher; `fork` starts all on this host, whatever hosts are named.
pub(crate) fn bootstrap(value: &str) -> Result<Vec<String>, Refusal> {
    match presets::named(value) {
        Some(words) => Ok(words),
        None if value == "fork" => Ok(presets::fork()),
        None => Err(Refusal::usage(format!(
            "option --bootstrap or --launcher: '{value}' is none of {}, fork; --launcher CMD takes any command that is called as \
             'CMD HOST COMMAND', or that has {{host}} where the host belongs",
            presets::names()
        ))),
    }
}

/// Notes a setting of Open MPI, with what to say instead, as for the variable that does the same.
pub(crate) fn mca(settings: &mut PlanSettings, option: &str, name: &str, value: &str) {
    let instead = match name {
        "btl_tcp_if_include" => format!("say -iface {value}, or TERN_INTERFACE={value}"),
        "plm_rsh_agent" => format!("say --launcher '{value}'"),
        _ => match foreign::instead_of_mca(name) {
            Some(instead) => format!("here: {instead}"),
            None => "'tern info' lists Tern's settings".into(),
        },
    };
    settings.remarks.push(format!(
        "option --{option} {name} {value} changes nothing: it is a setting of Open MPI; {instead}"
    ));
}

/// Notes what of the environment and of the options as a whole does less than the user may think.
pub(crate) fn remark_on(settings: &mut PlanSettings, variables: impl Iterator<Item = (OsString, OsString)>) {
    let names: Vec<String> = variables.filter_map(|(name, _)| name.into_string().ok()).collect();
    settings.remarks.extend(foreign::told(names, settings.verbose, is_heeded));
    if let Some(allocation) = settings.allocation.as_ref().filter(|_| settings.verbose) {
        settings.remarks.push(allocation.to_string());
    }
    if let Some(part) = settings.bind.ineffective_order() {
        settings.remarks.push(format!(
            "option --map-by {part} changes nothing where ranks are not bound: --bind-to core, socket or numa binds them"
        ));
    }
    if settings.bind.width > 1 && settings.bind.to.is_none() {
        settings.remarks.push("':PE=' in option --map-by changes nothing with --bind-to none".into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::map_by::MapBy;
    use tern_job::topology::Level;

    fn mapped(value: &str) -> Result<PlanSettings, Refusal> {
        let mut settings = PlanSettings::default();
        map_by(&mut settings, value).map(|()| settings)
    }

    #[test]
    fn cores_of_a_rank_are_bound() {
        let settings = mapped("ppr:2:node:PE=3").unwrap();
        assert_eq!(
            (settings.map_by, settings.bind.to, settings.bind.width),
            (MapBy::PerNode(2), Some(Level::Core), 3)
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
    fn values_may_be_in_capitals() {
        assert_eq!(mapped("NODE").unwrap().map_by, MapBy::Node);
        assert_eq!(mapped("PPR:2:Socket").unwrap().bind.to, Some(Level::Socket));
        assert_eq!(mapped("Dist:Eth0").unwrap().bind.order, BindOrder::Near("Eth0".into()));
        assert_eq!(mapped("PE-LIST=0,1").unwrap().bind.cpus, [0, 1]);
    }

    #[test]
    fn values_of_mpich() {
        for (value, part) in [("core:2", Level::Core), ("socket,core", Level::Socket)] {
            let settings = mapped(value).unwrap();
            assert_eq!((settings.bind.order, settings.remarks.len()), (BindOrder::Round(part), 1), "{value}");
        }
    }

    #[test]
    fn settings_of_open_mpi_are_told_as_they_are_typed() {
        let told = |option: &str, name: &str| {
            let mut settings = PlanSettings::default();
            mca(&mut settings, option, name, "x");
            settings.remarks.remove(0)
        };
        let said = told("gmca", "pml");
        assert!(said.starts_with("option --gmca pml x") && said.contains("TERN_TRANSPORT"), "{said}");
        assert!(told("prtemca", "prte_if_include").contains("TERN_INTERFACE"));
        assert!(told("mca", "btl_tcp_port_min_v4").contains("TERN_PORTS"));
        assert!(told("mca", "nonsense").contains("tern info"));
    }

    #[test]
    fn what_changes_nothing_is_told() {
        assert_eq!(mapped("slot:SPAN").unwrap().remarks.len(), 1);
        assert_eq!(mapped("ppr:2:socket").unwrap().bind.to, Some(Level::Socket));
        assert!(mapped("node:OVERSUBSCRIBE").unwrap().remarks.is_empty());
    }

    #[test]
    fn words_behind_colons_do_what_they_say() {
        assert!(mapped("core:HWTCPUS").unwrap().bind.threads && mapped("node:NOLOCAL").unwrap().nolocal);
        assert_eq!(mapped("pe-list=0,2-3").unwrap().bind.cpus, [0, 2, 3]);
        assert_eq!(mapped("pe-list=0,2:ordered").unwrap().bind.lists, [vec![0], vec![2]]);
        assert!(mapped("pe-list=x").unwrap_err().to_string().contains("'x' in 'pe-list=x'"));
        assert_eq!(mapped("rankfile:FILE=x/y:OVERSUBSCRIBE").unwrap().rankfile, Some("x/y".into()));
        assert!(mapped("rankfile").unwrap_err().to_string().contains("rankfile:file=FILE"));
        assert_eq!(mapped("dist:eth0:PE=2").unwrap().bind.order, BindOrder::Near("eth0".into()));
        let mut settings = PlanSettings::default();
        bind_to(&mut settings, "core:REPORT:overload-allowed").unwrap();
        assert!(settings.report_bindings && settings.bind.to == Some(Level::Core));
    }

    #[test]
    fn ranks_can_be_numbered_otherwise() {
        let numbered = |value: &str| {
            let mut settings = PlanSettings::default();
            rank_by(&mut settings, value).map(|()| (settings.rank_by, settings.bind.rank_by))
        };
        assert_eq!(numbered("SLOT").unwrap(), numbered("slot").unwrap());
        assert!(numbered("nonsense").unwrap_err().to_string().contains("'nonsense'"));
        assert_eq!(numbered("slot").unwrap(), (RankBy::Slot, None));
        assert_eq!(numbered("node").unwrap(), (RankBy::Node, None));
        assert_eq!(numbered("socket").unwrap(), (RankBy::Slot, Some(Level::Socket)));
    }

    #[test]
    fn words_of_output() {
        let mut settings = PlanSettings::default();
        output(&mut settings, "tag,TIMESTAMP,dir=/tmp/x").unwrap();
        assert!(settings.output.tag && settings.output.timestamp && settings.output.files[1].is_some());
        assert!(output(&mut settings, "dri=/tmp/x").unwrap_err().to_string().contains("'dri=/tmp/x'"));
        assert!(known_launcher("srun -N 1").is_none() && known_launcher("fork").unwrap().unwrap()[0] == "sh");
        assert!(mapped("slot:NOOVERSUBSCRIBE").unwrap().slots_bind);
        assert_eq!(bootstrap("slurm").unwrap()[0], "srun");
        assert!(bootstrap("ll").unwrap_err().to_string().contains("kubectl"));
    }
}
