//! Hosts that a batch system has given to this job: all that are used where the user names none, and all that may be named.

pub(crate) mod nodelist;

use std::cell::LazyCell;
use std::fmt;
use std::path::Path;

use crate::plan::host_table::HostTable;
use crate::plan::hosts::{self, Host, is_local, merge, slots, text_at};
use crate::watch::exit_cause::Refusal;

/// Hosts of a batch system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Allocation {
    /// Who gave them.
    pub system: System,
    /// The hosts with their slots.
    pub hosts: Vec<Host>,
    /// What the user should know of it.
    pub remark: Option<String>,
}

/// Who gives hosts to jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    /// Slurm.
    Slurm,
    /// PBS Pro, OpenPBS and Torque.
    Pbs,
    /// LSF.
    Lsf,
    /// Grid Engine.
    GridEngine,
    /// Cobalt and OAR, which leave a file of hosts.
    HostFile,
    /// An operator of Kubernetes, which leaves one, too.
    Kubernetes,
}

impl System {
    fn name(self) -> &'static str {
        match self {
            System::Slurm => "Slurm",
            System::Pbs => "PBS",
            System::Lsf => "LSF",
            System::GridEngine => "Grid Engine",
            System::HostFile => "the batch system",
            System::Kubernetes => "Kubernetes' MPI operator",
        }
    }
}

/// Variables that name a file with a host in each line, as often as it has slots.
const HOST_FILES: [(&str, System); 4] = [
    ("PBS_NODEFILE", System::Pbs),
    ("LSB_DJOB_HOSTFILE", System::Lsf),
    ("COBALT_NODEFILE", System::HostFile),
    ("OAR_NODEFILE", System::HostFile),
];

/// Variables with the host file of an operator of Kubernetes, each of which one library reads.
pub(crate) const OPERATOR_FILES: [&str; 4] = [
    "HYDRA_HOST_FILE",
    "I_MPI_HYDRA_HOST_FILE",
    "OMPI_MCA_orte_default_hostfile",
    "PRTE_MCA_prte_default_hostfile",
];

type FoundAllocation = Result<Option<Allocation>, Refusal>;

impl Allocation {
    /// What the environment, read by `get`, says of hosts. Host files that a user or an operator has set come first.
    pub(crate) fn find(get: &impl Fn(&str) -> Option<String>) -> FoundAllocation {
        let ways: [&dyn Fn() -> FoundAllocation; 5] =
            [&|| of_operator(get), &|| of_slurm(get), &|| of_host_files(get), &|| of_lsf(get), &|| {
                of_grid_engine(get)
            }];
        for way in ways {
            if let Some(found) = way()? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// What options or files of the user's name must be among the hosts, or be this machine.
    pub(crate) fn check(
        &self,
        mut named: impl Iterator<Item = Result<Host, Refusal>>,
    ) -> Result<(), Refusal> {
        let table = LazyCell::new(|| HostTable::of(&self.hosts));
        named.try_for_each(|host| {
            let name = host?.name;
            if is_local(&name) || table.find(&name).is_some() {
                return Ok(());
            }
            let (system, hosts) = (self.system.name(), listed(&self.hosts));
            Err(Refusal::usage(format!(
                "host '{name}' is none of those that {system} gave this job: {hosts}; --launcher CMD reaches others"
            )))
        })
    }
}

impl fmt::Display for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.hosts.len() == 1 { "" } else { "s" };
        write!(
            f,
            "{} gave this job {} host{s}: {}",
            self.system.name(),
            self.hosts.len(),
            listed(&self.hosts)
        )
    }
}

/// Names with slots, not too many of them.
fn listed(hosts: &[Host]) -> String {
    const SHOWN: usize = 8;
    let shown: Vec<String> =
        hosts.iter().take(SHOWN).map(|host| format!("{}:{}", host.name, slots(host))).collect();
    let more = if hosts.len() > SHOWN { ",..." } else { "" };
    shown.join(",") + more
}

/// The hosts that a variable lists, or its file. A host may be in a list with no slots, which is to say that it is not for ranks. What is
/// no name would be an option of the launcher. Without any host the whole job would run on this one, and look as if it had its hosts.
fn allocation(system: System, (variable, value): (&str, &str), mut hosts: Vec<Host>) -> FoundAllocation {
    hosts.retain(|host| host.slots != Some(0));
    if hosts.is_empty() {
        return Err(Refusal::usage(format!("{variable}='{value}' names no host; {}", advice(variable))));
    }
    for host in &hosts {
        Host::named(&host.name, None).map_err(|refusal| {
            Refusal::usage(format!("the hosts that {} gave in {variable}: {refusal}", system.name()))
        })?;
    }
    Ok(Some(Allocation { system, hosts: merge(hosts.into_iter()), remark: None }))
}

fn advice(variable: &str) -> String {
    format!("unset {variable} to use this host alone, or name hosts with --host")
}

/// The first of these variables that has a value.
fn first_of(names: &[&'static str], get: &impl Fn(&str) -> Option<String>) -> Option<(&'static str, String)> {
    names.iter().find_map(|name| Some((*name, get(name).filter(|value| !value.trim().is_empty())?)))
}

/// Nodes with the tasks that the job asked for, or with their processors.
fn of_slurm(get: &impl Fn(&str) -> Option<String>) -> FoundAllocation {
    let lists = ["SLURM_JOB_NODELIST", "SLURM_NODELIST"];
    let Some((variable, list)) = first_of(&lists, get) else { return Ok(None) };
    let names = nodelist::nodes(&list)
        .ok_or_else(|| Refusal::usage(format!("{variable}='{list}' is no list of Slurm's nodes")))?;
    let of = |name: &'static str| first_of(&[name], get);
    let numbers = |(_, list): &(&str, String)| nodelist::repeated(list, names.len());
    let (tasks, processors) = (of("SLURM_TASKS_PER_NODE"), of("SLURM_JOB_CPUS_PER_NODE"));
    // Within a step they may be the step's, while the nodes are the job's.
    let unfit = tasks.as_ref().filter(|tasks| numbers(tasks).is_none());
    let remark = unfit.map(|(name, value)| {
        format!(
            "{name}='{value}' does not fit {variable}='{list}', and is not used: --host NODE:SLOTS says more"
        )
    });
    let counts = tasks.iter().chain(&processors).find_map(numbers);
    let counts = counts.unwrap_or_else(|| vec![1; names.len()]);
    let host = |(name, slots): (String, u32)| Host { name, slots: Some(slots.max(1)), most: None };
    let hosts = names.into_iter().zip(counts).map(host).collect();
    let found = allocation(System::Slurm, (variable, &list), hosts)?;
    Ok(found.map(|found| Allocation { remark, ..found }))
}

fn of_host_files(get: &impl Fn(&str) -> Option<String>) -> FoundAllocation {
    let file = |&(variable, system): &(&'static str, System)| Some((first_of(&[variable], get)?, system));
    let Some(((variable, path), system)) = HOST_FILES.iter().find_map(file) else { return Ok(None) };
    let text = read(variable, &path)?;
    let hosts = lines(&text).filter_map(|line| line.split_whitespace().next()).map(one).collect();
    allocation(system, (variable, &path), hosts)
}

/// Lines without comments, as far as anything is left of them.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| line.split('#').next()).map(str::trim).filter(|line| !line.is_empty())
}

fn one(name: &str) -> Host {
    Host { name: name.into(), slots: Some(1), most: None }
}

/// `a 2 b 4`, or `a a b`.
fn of_lsf(get: &impl Fn(&str) -> Option<String>) -> FoundAllocation {
    if let Some((variable, list)) = first_of(&["LSB_MCPU_HOSTS"], get) {
        let words: Vec<&str> = list.split_whitespace().collect();
        let host = |pair: &[&str]| match pair {
            [name, slots] => {
                Some(Host { name: (*name).into(), slots: Some(slots.parse().ok()?), most: None })
            }
            _ => None,
        };
        let hosts: Option<Vec<Host>> = words.chunks(2).map(host).collect();
        let hosts = hosts
            .ok_or_else(|| Refusal::usage(format!("{variable}='{list}' is no list of hosts with slots")))?;
        return allocation(System::Lsf, (variable, &list), hosts);
    }
    let Some((variable, list)) = first_of(&["LSB_HOSTS"], get) else { return Ok(None) };
    allocation(System::Lsf, (variable, &list), list.split_whitespace().map(one).collect())
}

/// Lines of host, slots, queue, processors.
fn of_grid_engine(get: &impl Fn(&str) -> Option<String>) -> FoundAllocation {
    let Some((variable, path)) = first_of(&["PE_HOSTFILE"], get) else { return Ok(None) };
    let host = |line: &str| {
        let mut words = line.split_whitespace();
        Some(Host { name: words.next()?.into(), slots: Some(words.next()?.parse().ok()?), most: None })
    };
    let text = read(variable, &path)?;
    let hosts: Option<Vec<Host>> = lines(&text).map(host).collect();
    let hosts = hosts.ok_or_else(|| {
        Refusal::usage(format!("{variable}='{path}': a line is not HOST SLOTS QUEUE PROCESSORS"))
    })?;
    allocation(System::GridEngine, (variable, &path), hosts)
}

/// A host file in either syntax.
fn of_operator(get: &impl Fn(&str) -> Option<String>) -> FoundAllocation {
    let Some((variable, path)) = first_of(&OPERATOR_FILES, get) else { return Ok(None) };
    // Without the file the whole job would run on this host, and look as if it had its hosts.
    if !Path::new(&path).exists() {
        read(variable, &path)?;
    }
    allocation(System::Kubernetes, (variable, &path), hosts::read(Path::new(&path))?)
}

fn read(variable: &str, path: &str) -> Result<String, Refusal> {
    text_at(Path::new(path)).map_err(|error| {
        let advice = advice(variable);
        Refusal::usage(format!("cannot read the hosts of this job, {variable}='{path}': {error}; {advice}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Result<String, Refusal> {
        let get =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).into());
        Ok(Allocation::find(&get)?.map(|found| listed(&found.hosts)).unwrap_or_default())
    }

    #[test]
    fn slots_are_tasks_or_processors() {
        let list = ("SLURM_JOB_NODELIST", "n[1-3]");
        let cpus = ("SLURM_JOB_CPUS_PER_NODE", "16(x2),8");
        assert_eq!(of(&[list]).unwrap(), "n1:1,n2:1,n3:1");
        assert_eq!(of(&[list, cpus]).unwrap(), "n1:16,n2:16,n3:8");
        assert_eq!(of(&[list, cpus, ("SLURM_TASKS_PER_NODE", "2(x3)")]).unwrap(), "n1:2,n2:2,n3:2");
        assert_eq!(of(&[("LSB_MCPU_HOSTS", "a 2 b 4")]).unwrap(), "a:2,b:4");
        assert_eq!(of(&[("LSB_MCPU_HOSTS", "login 0 b 4")]).unwrap(), "b:4");
        assert_eq!(of(&[("LSB_HOSTS", "a a b")]).unwrap(), "a:2,b:1");
        assert_eq!(of(&[]).unwrap(), "");
        assert_eq!(of(&[("SLURM_JOB_NODELIST", ""), ("SLURM_NODELIST", "n4")]).unwrap(), "n4:1");
        assert_eq!(of(&[("LSB_MCPU_HOSTS", ""), ("LSB_HOSTS", "a")]).unwrap(), "a:1");
        assert_eq!(of(&[("PBS_NODEFILE", ""), ("PE_HOSTFILE", "")]).unwrap(), "");
    }

    #[test]
    fn tasks_that_do_not_fit_the_nodes_are_told_of() {
        let remark = |tasks: &str| {
            let get = |name: &str| match name {
                "SLURM_JOB_NODELIST" => Some("n[1-3]".into()),
                "SLURM_TASKS_PER_NODE" => Some(tasks.into()),
                _ => None,
            };
            Allocation::find(&get).unwrap().unwrap().remark
        };
        assert!(remark("4").unwrap().contains("SLURM_TASKS_PER_NODE='4' does not fit"));
        assert_eq!((remark("4(x3)"), remark("")), (None, None));
    }

    #[test]
    fn a_file_without_hosts_is_refused_and_comments_are_none() {
        let file = std::env::temp_dir().join(format!("tern-nodes-{}", std::process::id()));
        let path = file.to_str().unwrap();
        for variable in ["PBS_NODEFILE", "OAR_NODEFILE", "PE_HOSTFILE", "HYDRA_HOST_FILE"] {
            for text in ["", "# nothing\n\n"] {
                std::fs::write(&file, text).unwrap();
                let refusal = of(&[(variable, path)]).unwrap_err().to_string();
                assert!(refusal.contains(variable) && refusal.contains("names no host"), "{refusal}");
            }
        }
        std::fs::write(&file, "\u{feff}# of two\na # one\na\n").unwrap();
        assert_eq!(of(&[("PBS_NODEFILE", path)]).unwrap(), "a:2");
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (variable, value) in [
            ("SLURM_JOB_NODELIST", "n[1-"),
            ("SLURM_NODELIST", "(null)"),
            ("LSB_MCPU_HOSTS", "a 2 b"),
            ("LSB_MCPU_HOSTS", "login 0"),
            ("LSB_HOSTS", "(null)"),
            ("PBS_NODEFILE", "/nonexistent"),
            ("PE_HOSTFILE", "/nonexistent"),
            ("HYDRA_HOST_FILE", "/nonexistent"),
            ("I_MPI_HYDRA_HOST_FILE", "/nonexistent"),
            ("OMPI_MCA_orte_default_hostfile", "/nonexistent"),
        ] {
            assert!(of(&[(variable, value)]).unwrap_err().to_string().contains(variable), "{variable}");
        }
    }

    #[test]
    fn options_are_no_hosts() {
        for variable in ["LSB_HOSTS", "LSB_MCPU_HOSTS"] {
            let refusal = of(&[(variable, "-oProxyCommand=x 1")]).unwrap_err().to_string();
            assert!(refusal.contains("LSF gave") && refusal.contains("no name of a host"), "{refusal}");
        }
    }

    #[test]
    fn hosts_outside_are_refused() {
        let hosts = ["a.site.org:2", "b"].map(|text| Host::parse(text).unwrap()).into();
        let allocation = Allocation { system: System::Pbs, hosts, remark: None };
        let check = |name: &str| allocation.check(std::iter::once(Host::parse(name)));
        assert!(check("a").is_ok() && check("b:4").is_ok() && check("localhost").is_ok());
        assert!(check("c").unwrap_err().to_string().contains("a.site.org:2,b:1"));
    }
}
