//! Which rank runs on which host.

use std::collections::HashMap;
use std::path::Path;

use tern_job::limits::{HOSTS_MAX, RANKS_MAX};

use crate::plan::allocation::Allocation;
use crate::plan::host_table::HostTable;
use crate::plan::hosts::{self, Host, is_local, is_own_address, slots, take_slots};
use crate::plan::map_by::MapBy;
use crate::plan::rankfile::{self, RankPlace};
use crate::plan::{App, PlanSettings};
use crate::watch::exit_cause::Refusal;

/// In which order ranks are numbered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RankBy {
    /// As they are placed.
    #[default]
    Place,
    /// All of the first host, then those of the next.
    Slot,
    /// One of each host in turn.
    Node,
}

impl RankBy {
    /// Gives the ranks of one program, placed on these hosts, other numbers.
    fn number(self, hosts: &mut [u32]) {
        if self == RankBy::Place {
            return;
        }
        let (mut counts, mut place_of) = (Vec::<(u32, usize)>::new(), HashMap::new());
        for &host in &*hosts {
            let place = *place_of.entry(host).or_insert(counts.len());
            if place == counts.len() {
                counts.push((host, 0));
            }
            counts[place].1 += 1;
        }
        let in_order: Vec<u32> = match self {
            RankBy::Place => return,
            RankBy::Slot => {
                counts.into_iter().flat_map(|(host, count)| std::iter::repeat_n(host, count)).collect()
            }
            RankBy::Node => {
                let most = counts.iter().map(|(_, count)| *count).max().unwrap_or_default();
                let turn =
                    |turn| counts.iter().filter(move |(_, count)| turn < *count).map(|(host, _)| *host);
                (0..most).flat_map(turn).collect()
            }
        };
        hosts.copy_from_slice(&in_order);
    }
}

/// The hosts of a job, and how its ranks are spread over them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    /// Names of the hosts that run ranks.
    pub hosts: Vec<String>,
    /// The host of each rank.
    pub host_of: Vec<u32>,
    /// Slots of all hosts that were named.
    pub slots: u32,
    /// All hosts that were named, with their slots.
    pub allocation: Vec<(String, u32)>,
}

/// A host with the ranks that it has been given.
struct PlacedHost {
    host: Host,
    taken: u32,
}

/// Fills in how many ranks each program has, and places them.
pub(crate) fn place(settings: &mut PlanSettings, cores: u32) -> Result<Placement, Refusal> {
    let given = settings.allocation.as_ref();
    let common = match settings.hostfile.as_deref() {
        Some(path) => Some(read(path, given)?),
        None => given.map(|allocation| allocation.hosts.clone()),
    };
    // A launcher of the user's may reach any host.
    let bounds = given.filter(|_| !settings.launcher_is_users);
    check_hosts(bounds, &settings.apps, settings.hostfile.is_some().then_some(common.as_deref()).flatten())?;
    let mut file = settings.rankfile.as_deref().map(rankfile::read).transpose()?;
    // Another launcher may reach something else by an address of this machine: a container, or another port.
    let is_usual = settings.launcher.is_empty();
    if is_usual {
        file.iter_mut().flatten().for_each(|place| place.rename(|name| is_own_address(name).then_some(HERE)));
    }
    let mut builder = Builder { map_by: settings.map_by, ..Builder::default() };
    for app in &mut settings.apps {
        let mut pool = pool(app, common.as_deref())?;
        if is_usual {
            pool = pool.map(|hosts| hosts::merge(hosts.into_iter().map(at_home)));
        }
        if settings.nolocal {
            pool = Some(elsewhere(pool)?);
        }
        builder.named |= pool.is_some();
        let first = builder.host_of.len();
        let offered = match (&file, &pool, settings.map_by) {
            (Some(file), ..) => file.len().saturating_sub(first) as u32,
            (_, Some(pool), map_by) => offered(pool, map_by),
            (_, None, MapBy::PerNode(number) | MapBy::PerPart(number, _)) => number,
            (_, None, _) => cores,
        };
        let count = *app.count.get_or_insert(offered.min(RANKS_MAX));
        if settings.per_node_is_limit && count > offered {
            settings.remarks.push(format!(
                "{count} ranks are more than the hosts get at so many on each, which are {offered}: each gets as many again"
            ));
        }
        if first + count as usize > RANKS_MAX as usize {
            return Err(Refusal::usage(format!("a job has at most {RANKS_MAX} ranks")));
        }
        if let Some(file) = &file {
            builder.place_by(file, pool, count)?;
        } else {
            builder.place(pool, count);
            settings.rank_by.number(&mut builder.host_of[first..]);
        }
    }
    let ranks = builder.host_of.len() as u32;
    if let Some(file) = file {
        bind_by(file, ranks, settings);
    }
    let placement = builder.finish(cores)?;
    let slots = placement.allocation.iter().map(|(_, slots)| *slots).fold(0, u32::saturating_add);
    if settings.slots_bind && ranks > slots {
        return Err(Refusal::usage(format!(
            "--nooversubscribe: {ranks} ranks are more than there are slots, which are {slots}"
        )));
    }
    Ok(placement)
}

/// The name of this host where it has none, or an address.
const HERE: &str = "localhost";

/// An address of this machine is this machine.
fn at_home(host: Host) -> Host {
    if is_own_address(&host.name) { Host { name: HERE.into(), ..host } } else { host }
}

/// Ranks are bound as the rank file says, unless the user wants them to be free.
fn bind_by(file: Vec<RankPlace>, ranks: u32, settings: &mut PlanSettings) {
    let lines = file.len();
    if lines > ranks as usize {
        settings.remarks.push(format!("the rank file places {lines} ranks; only {ranks} are started"));
    }
    let bind = &mut settings.bind;
    if bind.is_refused() {
        return;
    }
    if bind.is_said {
        settings.remarks.push("option --bind-to changes nothing beside --rankfile".into());
    }
    bind.by_rank = file.into_iter().map(|place| place.slots).take(ranks as usize).collect();
}

/// Hosts that the user names must be among those of the allocation.
fn check_hosts(bounds: Option<&Allocation>, apps: &[App], file: Option<&[Host]>) -> Result<(), Refusal> {
    let Some(allocation) = bounds else { return Ok(()) };
    let named = apps.iter().flat_map(|app| &app.hosts).map(|text| Host::parse(text));
    allocation.check(named.chain(file.into_iter().flatten().cloned().map(Ok)))
}

/// The hosts of a file, with the slots of the allocation where only that has any.
fn read(path: &Path, given: Option<&Allocation>) -> Result<Vec<Host>, Refusal> {
    let mut hosts = hosts::merge(hosts::read(path)?.into_iter());
    if let Some(allocation) = given {
        take_slots(&mut hosts, &allocation.hosts);
    }
    if hosts.is_empty() {
        return Err(Refusal::usage(format!("the host file '{}' names no host", path.display())));
    }
    Ok(hosts)
}

/// The hosts that may run a program: those of its own option, with the slots of the host file where only that has any,
/// or all of the host file. `None` is this machine.
fn pool(app: &App, common: Option<&[Host]>) -> Result<Option<Vec<Host>>, Refusal> {
    if app.hosts.is_empty() {
        return Ok(common.map(<[_]>::to_vec));
    }
    let parsed: Result<Vec<_>, _> = app.hosts.iter().map(|text| Host::parse(text)).collect();
    let mut pool = hosts::merge(parsed?.into_iter());
    take_slots(&mut pool, common.unwrap_or_default());
    Ok(Some(pool))
}

/// The hosts but this one.
fn elsewhere(pool: Option<Vec<Host>>) -> Result<Vec<Host>, Refusal> {
    let far: Vec<Host> = pool.into_iter().flatten().filter(|host| !is_local(&host.name)).collect();
    if far.is_empty() {
        return Err(Refusal::usage("--nolocal: no other host is named, so that no rank can run".into()));
    }
    Ok(far)
}

fn offered(pool: &[Host], map_by: MapBy) -> u32 {
    match map_by {
        MapBy::PerNode(number) | MapBy::PerPart(number, _) => number.saturating_mul(pool.len() as u32),
        _ => pool.iter().map(slots).fold(0, u32::saturating_add),
    }
}

#[derive(Default)]
struct Builder {
    hosts: Vec<PlacedHost>,
    table: HostTable,
    host_of: Vec<u32>,
    map_by: MapBy,
    /// Whether the user has named hosts.
    named: bool,
}

impl Builder {
    fn place(&mut self, pool: Option<Vec<Host>>, count: u32) {
        let here = || vec![Host { name: HERE.into(), slots: None, most: None }];
        let pool: Vec<usize> =
            pool.unwrap_or_else(here).into_iter().map(|host| self.host_index(host)).collect();
        let mut left = count;
        while left > 0 {
            // Whoever is behind the others, perhaps since another program came first, has its turn; when all slots are
            // taken, they are taken again.
            let Some(lap) = pool.iter().map(|&host| self.lap(host)).min() else { return };
            for &host in &pool {
                if self.lap(host) == lap {
                    let quota = self.quota(host).min(left);
                    self.host_of.extend(std::iter::repeat_n(host as u32, quota as usize));
                    self.hosts[host].taken += quota;
                    left -= quota;
                }
            }
        }
    }

    /// Places the next `count` ranks where a rank file says.
    fn place_by(&mut self, file: &[RankPlace], pool: Option<Vec<Host>>, count: u32) -> Result<(), Refusal> {
        let (first, last) = (self.host_of.len(), self.host_of.len() + count as usize);
        let Some(places) = file.get(first..last).filter(|places| !places.is_empty()) else {
            let ranks = last.max(first + 1);
            return Err(Refusal::usage(format!(
                "the rank file places {} ranks, and there are {ranks}",
                file.len()
            )));
        };
        for host in pool.iter().flatten() {
            self.host_index(host.clone());
        }
        let table = HostTable::of(pool.as_deref().unwrap_or_default());
        for (rank, place) in (first..).zip(places) {
            let host = self.host_index(place.host(rank, pool.as_deref(), &table)?);
            self.host_of.push(host as u32);
            self.hosts[host].taken += 1;
        }
        Ok(())
    }

    /// How often a host has been full, and where hosts have one rank at a turn, how many it has had since.
    fn lap(&self, host: usize) -> (u32, u32) {
        let (taken, slots) = (self.hosts[host].taken, slots(&self.hosts[host].host));
        match self.map_by {
            MapBy::Node => (taken / slots, taken % slots),
            MapBy::PerNode(number) | MapBy::PerPart(number, _) => (taken / number, 0),
            MapBy::Slot => (taken / slots, 0),
        }
    }

    /// Ranks that a host gets at its turn: what is left of its quota.
    fn quota(&self, host: usize) -> u32 {
        let rest = |of: u32| of - self.hosts[host].taken % of;
        match self.map_by {
            MapBy::Node => 1,
            MapBy::PerNode(number) | MapBy::PerPart(number, _) => rest(number),
            MapBy::Slot => rest(slots(&self.hosts[host].host)),
        }
    }

    fn host_index(&mut self, host: Host) -> usize {
        match self.table.find(&host.name) {
            Some(index) => index,
            None => {
                self.table.add(&host.name, self.hosts.len());
                self.hosts.push(PlacedHost { host, taken: 0 });
                self.hosts.len() - 1
            }
        }
    }

    /// Hosts without ranks take no part.
    fn finish(self, cores: u32) -> Result<Placement, Refusal> {
        for PlacedHost { host, taken } in &self.hosts {
            if let Some(most) = host.most.filter(|most| taken > most) {
                let name = &host.name;
                return Err(Refusal::usage(format!(
                    "host '{name}' has max_slots={most}, and {taken} ranks would run there: start fewer, or name other hosts"
                )));
            }
        }
        let slots_of = |host: &PlacedHost| (host.host.name.clone(), slots(&host.host));
        let allocation: Vec<(String, u32)> = match self.named {
            true => self.hosts.iter().map(slots_of).collect(),
            false => vec![("localhost".into(), cores)],
        };
        let slots = self.hosts.iter().map(|host| slots(&host.host)).fold(0, u32::saturating_add);
        let mut number_of = vec![None; self.hosts.len()];
        let mut hosts = Vec::new();
        let mut host_of = self.host_of;
        for host in &mut host_of {
            let number = number_of[*host as usize].get_or_insert_with(|| {
                hosts.push(self.hosts[*host as usize].host.name.clone());
                hosts.len() as u32 - 1
            });
            *host = *number;
        }
        if hosts.len() > HOSTS_MAX as usize {
            return Err(Refusal::usage(format!("a job has at most {HOSTS_MAX} hosts")));
        }
        Ok(Placement { hosts, host_of, slots, allocation })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::allocation::System;
    use crate::plan::bind::Bind;

    fn app(count: Option<u32>, hosts: &str) -> App {
        let hosts = hosts.split(',').filter(|host| !host.is_empty()).map(String::from).collect();
        App { count, hosts, ..App::default() }
    }

    fn placed(apps: Vec<App>, map_by: MapBy) -> (Vec<String>, Vec<u32>) {
        let mut settings = PlanSettings { apps, map_by, ..PlanSettings::default() };
        let placement = place(&mut settings, 2).unwrap();
        (placement.hosts, placement.host_of)
    }

    fn of(count: u32, hosts: &str, map_by: MapBy) -> Vec<u32> {
        placed(vec![app(Some(count), hosts)], map_by).1
    }

    #[test]
    fn addresses_of_this_host_are_it_unless_a_launcher_is_named() {
        let of = |launcher: &[&str]| {
            let apps = vec![app(Some(3), "127.0.0.2,127.0.0.3,b")];
            let launcher = launcher.iter().map(ToString::to_string).collect();
            place(&mut PlanSettings { apps, launcher, ..PlanSettings::default() }, 4).unwrap().hosts
        };
        assert_eq!(of(&[]), ["localhost", "b"]);
        assert_eq!(of(&["ssh"]), ["127.0.0.2", "127.0.0.3", "b"]);
    }

    #[test]
    fn this_host_can_be_left_out() {
        let of = |hosts: &str| {
            let apps = vec![app(Some(2), hosts)];
            place(&mut PlanSettings { apps, nolocal: true, ..PlanSettings::default() }, 4)
        };
        assert_eq!(of("localhost:4,b:4").unwrap().hosts, ["b"]);
        assert!(of("localhost").unwrap_err().to_string().contains("--nolocal"));
    }

    #[test]
    fn a_host_takes_no_more_ranks_than_its_file_allows() {
        let hosts = hosts::parse("a slots=1 max_slots=2\nb\n").unwrap();
        let of = |count: u32| {
            let mut builder = Builder { named: true, ..Builder::default() };
            builder.place(Some(hosts.clone()), count);
            builder.finish(2)
        };
        assert_eq!(of(4).unwrap().host_of, [0, 1, 0, 1]);
        let said = of(5).unwrap_err().to_string();
        assert!(said.contains("host 'a' has max_slots=2, and 3 ranks"), "{said}");
    }

    #[test]
    fn slots_are_filled_in_order_and_then_again() {
        assert_eq!(of(3, "a:2,b:2", MapBy::Slot), [0, 0, 1]);
        assert_eq!(of(6, "a:2,b", MapBy::Slot), [0, 0, 1, 0, 0, 1]);
        assert_eq!(of(5, "a:2,b:2", MapBy::Node), [0, 1, 0, 1, 0]);
        assert_eq!(of(5, "a:2,b:2", MapBy::PerNode(2)), [0, 0, 1, 1, 0]);
    }

    #[test]
    fn more_ranks_than_the_hosts_get_are_told_of() {
        let remarks = |per_node_is_limit, count| {
            let (apps, map_by) = (vec![app(Some(count), "a,b")], MapBy::PerNode(1));
            let mut settings = PlanSettings { apps, map_by, per_node_is_limit, ..PlanSettings::default() };
            place(&mut settings, 4).unwrap();
            settings.remarks.join(" ")
        };
        assert!(
            remarks(true, 3).contains("3 ranks are more than the hosts get at so many on each, which are 2")
        );
        assert_eq!((remarks(true, 2), remarks(false, 3)), (String::new(), String::new()));
    }

    #[test]
    fn without_a_number_all_slots_are_taken() {
        let (hosts, host_of) = placed(vec![app(None, "a:2,b")], MapBy::Slot);
        assert_eq!((hosts.join(" "), host_of), ("a b".into(), vec![0, 0, 1]));
        assert_eq!(placed(vec![app(None, "a,b")], MapBy::PerNode(3)).1.len(), 6);
        assert_eq!(placed(vec![app(None, "")], MapBy::Slot), (vec!["localhost".into()], vec![0, 0]));
    }

    #[test]
    fn programs_share_hosts_and_idle_hosts_take_no_part() {
        let apps = vec![app(Some(1), "c:4"), app(Some(2), "a:2,b:2"), app(Some(2), "c:4")];
        let (hosts, host_of) = placed(apps, MapBy::Slot);
        assert_eq!((hosts.join(" "), host_of), ("c a".into(), vec![0, 1, 1, 0, 0]));
        let (hosts, _) = placed(vec![app(Some(1), "localhost"), app(Some(1), "127.0.0.1")], MapBy::Slot);
        assert_eq!(hosts, ["localhost"]);
    }

    #[test]
    fn no_host_is_full_twice_while_another_has_room() {
        let both = |counts: [u32; 2], hosts: &str, map_by| {
            placed(counts.map(|count| app(Some(count), hosts)).to_vec(), map_by).1
        };
        assert_eq!(both([1, 1], "a,b", MapBy::Slot), [0, 1]);
        assert_eq!(both([2, 3], "a:2,b:2", MapBy::Slot), [0, 0, 1, 1, 0]);
        assert_eq!(both([1, 2], "a,b", MapBy::Node), [0, 1, 0]);
        assert_eq!(both([1, 3], "a,b", MapBy::PerNode(2)), [0, 0, 1, 1]);
        assert_eq!(of(4, "a,b:3", MapBy::Node), [0, 1, 1, 1]);
    }

    #[test]
    fn ranks_are_numbered_as_asked() {
        let numbered = |rank_by: RankBy, hosts: &[u32]| {
            let mut hosts = hosts.to_vec();
            rank_by.number(&mut hosts);
            hosts
        };
        assert_eq!(numbered(RankBy::Place, &[1, 0, 1]), [1, 0, 1]);
        assert_eq!(numbered(RankBy::Slot, &[0, 1, 0, 1, 0]), [0, 0, 0, 1, 1]);
        assert_eq!(numbered(RankBy::Node, &[0, 0, 0, 1, 2, 2]), [0, 1, 2, 0, 2, 0]);
    }

    #[test]
    fn a_rank_file_places_ranks() {
        let file = std::env::temp_dir().join(format!("tern-rankfile-{}", std::process::id()));
        std::fs::write(&file, "rank 0=b slot=0:1\nrank 1=a\nrank 2=b slot=2-3\n").unwrap();
        let placed = |apps, bind: Bind| {
            let rankfile = Some(file.clone());
            let mut settings = PlanSettings { apps, rankfile, bind, ..PlanSettings::default() };
            place(&mut settings, 2).map(|placement| (placement, settings))
        };
        let (placement, settings) = placed(vec![app(None, "a:2,b:2,c")], Bind::default()).unwrap();
        assert_eq!((placement.hosts.join(" "), placement.host_of), ("b a".into(), vec![0, 1, 0]));
        assert_eq!((placement.slots, settings.apps[0].count, settings.bind.by_rank.len()), (5, Some(3), 3));
        let (placement, settings) =
            placed(vec![app(Some(1), ""), app(Some(1), "")], Bind::default()).unwrap();
        assert_eq!(placement.hosts, ["b", "a"]);
        assert!(settings.remarks.concat().contains("places 3 ranks; only 2 are started"));
        let free = Bind { is_said: true, ..Bind::default() };
        assert!(placed(vec![app(None, "")], free).unwrap().1.bind.by_rank.is_empty());
        for (apps, words) in [
            (vec![app(Some(4), "")], "places 3 ranks, and there are 4"),
            (vec![app(None, ""), app(None, "")], "places 3 ranks, and there are 4"),
            (vec![app(None, "a")], "'b' of rank 0"),
        ] {
            let why = placed(apps, Bind::default()).unwrap_err().to_string();
            assert!(why.contains(words), "{why}");
        }
        std::fs::remove_file(&file).unwrap();
    }

    fn in_allocation(hosts: &str, listed: &str, count: Option<u32>) -> Result<Placement, Refusal> {
        let listed = hosts::parse(listed).unwrap();
        let allocation =
            Some(Allocation { system: System::Pbs, hosts: hosts::merge(listed.into_iter()), remark: None });
        let apps = vec![app(count, hosts)];
        place(&mut PlanSettings { apps, allocation, slots_bind: true, ..PlanSettings::default() }, 2)
    }

    #[test]
    fn a_host_has_its_slots_by_each_of_its_names() {
        let listed = format!("n1.site.org:2\nn2.site.org:2\n{}:2", hosts::own_name());
        for name in ["n2.site.org", "n2", "me@n2.site.org", "me@n2", "localhost"] {
            let placement = in_allocation(name, &listed, None).unwrap();
            assert_eq!((placement.hosts, placement.host_of), (vec![name.into()], vec![0, 0]));
        }
        assert_eq!(in_allocation("n2,n1", &listed, Some(4)).unwrap().host_of, [0, 0, 1, 1]);
        assert_eq!(in_allocation("n1,n1.site.org", &listed, Some(2)).unwrap().hosts, ["n1"]);
        assert!(in_allocation("n3", &listed, None).unwrap_err().to_string().contains("n1.site.org:2"));
    }

    #[test]
    fn files_of_hosts_and_ranks_may_shorten_names() {
        let file = std::env::temp_dir().join(format!("tern-part-{}", std::process::id()));
        let hosts = hosts::parse("n1.site.org:2\nn2.site.org:2").unwrap();
        let allocation = Some(Allocation { system: System::Pbs, hosts, remark: None });
        let settings = PlanSettings { apps: vec![app(None, "")], allocation, ..PlanSettings::default() };
        std::fs::write(&file, "n2.site.org\n").unwrap();
        let mut part = PlanSettings { hostfile: Some(file.clone()), ..settings.clone() };
        assert_eq!(place(&mut part, 2).unwrap().host_of, [0, 0]);
        std::fs::write(&file, "rank 0=n2\nrank 1=n1\n").unwrap();
        let mut by_rank = PlanSettings { rankfile: Some(file.clone()), ..settings };
        assert_eq!(place(&mut by_rank, 2).unwrap().hosts, ["n2.site.org", "n1.site.org"]);
        std::fs::remove_file(&file).unwrap();
    }

    #[test]
    fn many_hosts_are_placed_at_once() {
        let names: Vec<String> = (0..HOSTS_MAX).map(|number| format!("n{number}.site.org:2")).collect();
        let start = std::time::Instant::now();
        let placement = in_allocation("", &names.join("\n"), None).unwrap();
        assert_eq!((placement.hosts.len(), placement.host_of.len()), (1 << 16, 1 << 17));
        let mut numbered = placement.host_of;
        RankBy::Node.number(&mut numbered);
        assert_eq!(numbered[..3], [0, 1, 2]);
        assert!(start.elapsed().as_secs() < 20, "not as the square of their number");
    }

    #[test]
    fn slots_can_be_a_bound() {
        let placed = |count| {
            let mut settings = PlanSettings {
                apps: vec![app(Some(count), "a:2,b")],
                slots_bind: true,
                ..PlanSettings::default()
            };
            place(&mut settings, 2)
        };
        assert_eq!(placed(3).unwrap().allocation, [("a".into(), 2), ("b".into(), 1)]);
        assert!(placed(4).unwrap_err().to_string().contains("which are 3"));
    }
}
