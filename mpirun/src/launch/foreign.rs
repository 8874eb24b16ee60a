//! Programs of other MPI libraries. What cannot find the other ranks here would run as so many worlds of one, and succeed.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::time::{Duration, Instant};

use tern_job::procfs::environment_of;

use crate::launch::abi::{self, ProgramAbi};
use crate::launch::family::{Abi, Family};
use crate::launch::loader;
use crate::plan::{App, JobPlan};
use crate::watch::exit_cause::Refusal;

/// When ranks are looked at first: what Python and scripts start has loaded its libraries by then, or soon.
const LOOK_FIRST: Duration = Duration::from_millis(30);
/// From then on after this part of the time that has passed: a library that is there for as long, until its rank ends, is seen.
const LOOK_PART: u32 = 8;
/// The longest pause, which is the last.
const LOOK_LAST: Duration = Duration::from_secs(8);
/// Processes below a rank that are looked at.
const PROCESSES_MAX: usize = 64;
/// What other launchers give their ranks, and this one does not.
const SIGNS: [&[u8]; 2] = [b"PMIX_RANK=", b"OMPI_UNIVERSE_SIZE="];

/// Refuses programs of this host that the loader cannot start, or that would run with a library whose ranks cannot find each other here.
pub(crate) fn refuse(plan: &JobPlan) -> Result<(), Refusal> {
    let apps: BTreeSet<usize> = plan.own_ranks().iter().map(|&rank| plan.app_of[rank as usize]).collect();
    let programs = apps.into_iter().map(|app| &plan.settings.apps[app]);
    for app in programs {
        if let Some(why) = loader::unstartable(plan, app) {
            return Err(Refusal::usage(why));
        }
        let seen = loader::seen(plan, app);
        // On its own libraries, a program is its owner's affair.
        if let Some(why) = abi::two_mpis(&seen).filter(|_| app.abi != Abi::Standard) {
            return Err(Refusal::usage(format!("'{}' cannot run: {why}", app.program.to_string_lossy())));
        }
        if let Some(why) = contrary(app, &seen) {
            return Err(Refusal::usage(why));
        }
        if plan.size() < 2 {
            continue;
        }
        let Some((library, Family::OpenMpi)) = &seen.library else { continue };
        if let Some(why) = not_served(app, &seen) {
            let program = app.program.to_string_lossy();
            let what = format!("'{program}' {} {library}", verb(&seen, app));
            return Err(Refusal::usage(format!("{}. {why}", words(&what, Family::OpenMpi.name()))));
        }
    }
    Ok(())
}

/// What to say of a program of one MPI that is to run on the libraries for another's programs.
fn contrary(app: &App, seen: &ProgramAbi) -> Option<String> {
    let (asked, own) = match (app.abi, seen.library.as_ref()?) {
        (Abi::Mpich, (_, Family::OpenMpi)) => ("mpich", "openmpi"),
        (Abi::OpenMpi, (_, Family::Mpich)) => ("openmpi", "mpich"),
        _ => return None,
    };
    let (library, family) = seen.library.as_ref()?;
    Some(format!(
        "'{}' {} {library}, a library of {}: --abi {asked} is not for it. Say --abi {own}, or nothing",
        app.program.to_string_lossy(),
        verb(seen, app),
        family.name()
    ))
}

fn verb(seen: &ProgramAbi, app: &App) -> String {
    if seen.needed_by.file_name() == Path::new(&app.program).file_name() {
        return "is linked with".into();
    }
    format!("needs, through {},", seen.needed_by.display())
}

/// Why Tern's own libraries do not serve a program of Open MPI's; none if they do.
fn not_served(app: &App, seen: &ProgramAbi) -> Option<String> {
    if matches!(app.abi, Abi::Standard) {
        return Some("--abi auto runs it on Tern's library for programs of Open MPI".into());
    }
    let folder = loader::folder_of(Abi::OpenMpi);
    let Some(folder) = folder else {
        return Some("This installation has no library for such programs".into());
    };
    if let Some(name) = abi::lacking(seen, &folder).first() {
        return Some(format!("Tern's libraries for programs of Open MPI lack {name}"));
    }
    let (library, _) = seen.library.as_ref()?;
    let fixed = seen.fixed.iter().find(|folder| folder.join(library).exists())?;
    Some(format!(
        "It takes the library from {} whatever LD_LIBRARY_PATH says: 'chrpath -d' or 'patchelf --remove-rpath' lets it \
         run on Tern's",
        fixed.display()
    ))
}

/// What is said, after who uses the library and how.
fn words(who: &str, maker: &str) -> String {
    format!(
        "{who}, a library of {maker}: its ranks cannot find each other under Tern's mpirun, and each would be a world of one. \
         Compile the program with Tern's mpicc, or start it with the mpirun of {maker}"
    )
}

/// The first of these libraries that cannot be served, unless one of the standard ABI is there, too.
fn foreign<'a>(libraries: impl Iterator<Item = &'a str> + Clone) -> Option<(&'a str, &'static str)> {
    if libraries.clone().any(|name| Family::of(name) == Some(Family::Standard)) {
        return None;
    }
    libraries.into_iter().find_map(|name| match Family::of(name)? {
        family @ Family::OpenMpi => Some((name, family.name())),
        _ => None,
    })
}

/// Looks at what ranks have loaded until one of them has joined the job.
#[derive(Debug)]
pub(crate) struct Lookout {
    /// The first rank of each program, with its process.
    ranks: Vec<(u32, u32)>,
    began: Instant,
    next: Option<Instant>,
}

impl Lookout {
    /// For these ranks of this host, each with its process.
    pub(crate) fn new(plan: &JobPlan, ranks: impl Iterator<Item = (u32, u32)>) -> Lookout {
        let mut apps = BTreeSet::new();
        let ranks: Vec<_> = ranks.filter(|&(rank, _)| apps.insert(plan.app_of[rank as usize])).collect();
        let some = plan.size() > 1 && !ranks.is_empty();
        let began = Instant::now();
        Lookout { ranks, began, next: some.then(|| began + LOOK_FIRST) }
    }

    /// When to call [`Lookout::look`] next.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.next
    }

    /// A rank has joined the job.
    pub(crate) fn stop(&mut self) {
        self.next = None;
    }

    /// A rank that is of another library, and what to say about it.
    pub(crate) fn look(&mut self, now: Instant) -> Option<(u32, String)> {
        let pause = (now.duration_since(self.began) / LOOK_PART).max(LOOK_FIRST);
        self.next = (pause < LOOK_LAST).then(|| now + pause);
        let found = self.ranks.iter().find_map(|&(rank, pid)| Some((rank, strange(pid)?)));
        if found.is_some() {
            self.stop();
        }
        found
    }
}

/// What to say about a process or one below it.
fn strange(pid: u32) -> Option<String> {
    let mut pids = vec![pid];
    let mut next = 0;
    while next < pids.len().min(PROCESSES_MAX) {
        if !is_of_another_launcher(pids[next]) {
            if let Some(said) = strange_alone(pids[next]) {
                return Some(said);
            }
            pids.extend(children(pids[next]));
        }
        next += 1;
    }
    None
}

/// A rank may be a script that runs a whole job of the other library.
fn is_of_another_launcher(pid: u32) -> bool {
    let environment = environment_of(pid).unwrap_or_default();
    let mut variables = environment.split(|&byte| byte == 0);
    variables.any(|variable| SIGNS.iter().any(|sign| variable.starts_with(sign)))
}

fn strange_alone(pid: u32) -> Option<String> {
    let mut loaded = loaded(&std::fs::read_to_string(format!("/proc/{pid}/maps")).ok()?);
    // Tern's own for programs of the other MPI: what serves it may not be loaded yet.
    if let Some(own) = loader::own_folder() {
        loaded.retain(|path| !Path::new(path).starts_with(&own));
    }
    let names = loaded.iter().filter_map(|path| Path::new(path).file_name().and_then(OsStr::to_str));
    let (library, maker) = foreign(names)?;
    let path = loaded.iter().find(|path| path.ends_with(library))?;
    let said = words(&format!("process {pid} has loaded {path}"), maker);
    Some(match preload() {
        Some(advice) => format!("{said}. {advice}"),
        None => said,
    })
}

/// What helps where a script puts other folders before those of `mpirun`, as that of R does: a library of the wanted name is there already.
fn preload() -> Option<String> {
    let library = loader::folder_of(Abi::OpenMpi)?.join("libmpi.so.40");
    let advice =
        format!("Or let it have Tern's before any other: 'mpirun -x LD_PRELOAD={} ...'", library.display());
    library.exists().then_some(advice)
}

/// The shared libraries in the text of `/proc/PID/maps`.
fn loaded(maps: &str) -> BTreeSet<String> {
    let paths = maps.lines().filter_map(|line| line.find('/').map(|at| &line[at..]));
    paths.filter(|path| path.contains(".so")).map(String::from).collect()
}

fn children(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let texts = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    texts
        .flat_map(|text| text.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<_>>())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_found_among_what_is_loaded() {
        let maps =
            "7f00-7f01 r-xp 00000000 08:01 77 /opt/a b/libmpi.so.40.30.1\n7f02-7f03 rw-p 00 00:00 0 [heap]\n";
        let loaded = loaded(maps);
        assert_eq!(loaded.iter().collect::<Vec<_>>(), ["/opt/a b/libmpi.so.40.30.1"]);
        let foreign = |names: &[&'static str]| foreign(names.iter().copied());
        assert_eq!(foreign(&["libc.so.6", "libmpi.so.40"]), Some(("libmpi.so.40", "Open MPI")));
        assert_eq!(foreign(&["libmpi_abi.so.1", "libmpi.so.40"]), None);
        assert_eq!(foreign(&["libmpi.so.12"]), None);
    }

    #[test]
    fn pauses_between_looks_grow_with_the_time_that_has_passed() {
        let began = Instant::now();
        let mut lookout = Lookout { ranks: Vec::new(), began, next: None };
        let mut next = |after_ms: u64| {
            let now = began + Duration::from_millis(after_ms);
            assert_eq!(lookout.look(now), None);
            lookout.due().map(|next| next.duration_since(now).as_millis())
        };
        assert_eq!([30, 200, 800, 8000].map(&mut next), [30, 30, 100, 1000].map(Some));
        assert_eq!(next(64_000), None);
    }

    #[test]
    fn this_process_is_a_child_of_its_parent() {
        assert!(children(std::os::unix::process::parent_id()).contains(&std::process::id()));
        assert_eq!(strange(std::process::id()), None);
    }
}
