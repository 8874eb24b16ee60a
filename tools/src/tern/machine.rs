//! What of this machine matters to MPI jobs.

use rustix::system::uname;
use tern_job::cores;

use crate::features::Feature;
use crate::table::TextTable;

/// The machine, in lines.
pub(crate) fn describe(features: &[Feature]) -> String {
    let mut table = TextTable::default();
    table.row(["system", &system()]);
    table.row(["cores", &cores_in_words()]);
    table.row(["oversubscribed", &oversubscribed_in_words()]);
    table.row(["topology", &format!("told by {}", tern_job::topology::told_by())]);
    for feature in features {
        let found = match &feature.found {
            Ok(()) => "yes".into(),
            Err(reason) => format!("no: {reason}"),
        };
        table.row([feature.name, &format!("{found} ({})", feature.meaning)]);
    }
    table.text()
}

fn system() -> String {
    let name = uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    format!("{} {} {}", text(name.sysname()), text(name.release()), text(name.machine()))
}

fn cores_in_words() -> String {
    let allowed = cores::affinity_cores();
    let quota = match cores::quota_cores() {
        Some(cores) => format!("control groups grant the time of {cores}"),
        None => "no control group sets a quota".into(),
    };
    format!("{} usable: {allowed} in the affinity mask, {quota}", tern_job::cores())
}

fn oversubscribed_in_words() -> String {
    format!(
        "jobs of more than {} ranks: who waits gives way at once, instead of spinning first",
        tern_job::cores()
    )
}
