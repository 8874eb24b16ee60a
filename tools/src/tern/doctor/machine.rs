//! What of this machine a job needs.

use std::path::Path;

use rustix::process::{Resource, getrlimit};
use tern_job::cores;

use super::finding::Finding;
use crate::features::{self, Feature};
use crate::installation::Installation;

/// Open files that a job of one rank for each core needs, with room for the program's own.
const FILES_PER_RANK: u64 = 16;
/// What any program needs.
const FILES_BASE: u64 = 256;

/// One finding for each point.
pub(super) fn findings() -> Vec<Finding> {
    let mut findings = vec![version(), proc_is_mounted(), temporary_folder()];
    findings.extend(features::features(features::memory_can_be_read()).iter().map(feature));
    findings.extend([open_files(), processes(), cores_granted()]);
    findings
}

fn version() -> Finding {
    let words = format!("tern {} with {}", env!("CARGO_PKG_VERSION"), rustix_release());
    match Installation::find().and_then(|here| here.file("lib/libmpi_abi.so.1")) {
        Ok(library) => Finding::ok("version", format!("{words}; the library is {}", library.display())),
        Err(why) => Finding::bad("version", format!("{words}; {why}")),
    }
}

fn rustix_release() -> String {
    let name = rustix::system::uname();
    format!("{} {}", name.sysname().to_string_lossy(), name.release().to_string_lossy())
}

fn proc_is_mounted() -> Finding {
    if Path::new("/proc/self/maps").exists() && Path::new("/proc/self/fd").exists() {
        return Finding::ok("/proc", "is mounted");
    }
    Finding::bad(
        "/proc",
        "is not mounted: jobs find their descriptors and their cores there. Mount it (mount -t proc proc /proc)",
    )
}

fn temporary_folder() -> Finding {
    let folder = std::env::temp_dir();
    let file = folder.join(format!("tern-doctor-{}", std::process::id()));
    let tried = std::fs::write(&file, "x").and_then(|()| std::fs::remove_file(&file));
    match tried {
        Ok(()) => Finding::ok("temporary files", format!("{} can be written", folder.display())),
        Err(error) => Finding::note(
            "temporary files",
            format!("{}: {error}; TMPDIR names another folder", folder.display()),
        ),
    }
}

/// Without shared memory there are no jobs; without the others they are slower.
fn feature(feature: &Feature) -> Finding {
    let what = match feature.name {
        "memfd" => "shared memory",
        "process_vm_readv" => "one-copy messages",
        name => name,
    };
    match &feature.found {
        Ok(()) => Finding::ok(what, "works"),
        Err(why) if feature.name == "memfd" => Finding::bad(what, format!("{why}: {}", feature.meaning)),
        Err(why) => Finding::note(what, format!("{why}: {}", feature.meaning)),
    }
}

fn open_files() -> Finding {
    let limit = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX);
    let need = FILES_BASE + FILES_PER_RANK * u64::from(tern_job::cores());
    if limit >= need {
        return Finding::ok("open files", format!("{} allowed", limit_in_words(limit)));
    }
    Finding::note(
        "open files",
        format!("{limit} allowed, but a job with a rank on each core needs {need}: raise 'ulimit -Hn'"),
    )
}

fn processes() -> Finding {
    let limit = getrlimit(Resource::Nproc).current.unwrap_or(u64::MAX);
    let need = u64::from(tern_job::cores()) + 1;
    if limit > need {
        return Finding::ok("processes", format!("{} allowed", limit_in_words(limit)));
    }
    Finding::bad(
        "processes",
        format!("{limit} allowed, but a rank on each core are {need}: raise 'ulimit -u'"),
    )
}

fn limit_in_words(limit: u64) -> String {
    if limit == u64::MAX { "any number".into() } else { limit.to_string() }
}

fn cores_granted() -> Finding {
    let allowed = cores::affinity_cores();
    match cores::quota_cores() {
        Some(quota) if quota < allowed => Finding::note(
            "cores",
            format!(
                "{allowed} in the affinity mask, but control groups grant the time of {quota}: more ranks wait for each other"
            ),
        ),
        _ => Finding::ok("cores", format!("{allowed}")),
    }
}
