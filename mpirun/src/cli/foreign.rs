//! Variables with which other launchers and libraries are set, and what a user says here instead. `docs/user/moving.md` and
//! `docs/user/moving-mpich.md` have the same rows; a test compares.

/// Families of variables of which each is told, known or not: nothing but a user's wish sets them.
const FAMILIES: [(&str, &str); 5] = [
    ("HYDRA_", "MPICH's mpiexec"),
    ("I_MPI_", "Intel MPI"),
    ("OMPI_MCA_", "Open MPI"),
    ("PRTE_MCA_", "Open MPI"),
    ("PMIX_MCA_", "Open MPI"),
];

/// Makers of variables outside of the families. They are told only where they are known: installations set others.
const MAKERS: [(&str, &str); 5] = [
    ("OMPI_", "Open MPI"),
    ("MPICH_", "MPICH"),
    ("MPIR_CVAR_", "MPICH"),
    ("MPIEXEC_PORT_RANGE", "MPICH"),
    ("UCX_", "UCX"),
];

/// What installations set for everybody, and what the compiler wrappers read.
const UNTOLD: [&str; 5] = ["I_MPI_ROOT", "I_MPI_LIBRARY_KIND", "I_MPI_CC", "I_MPI_CXX", "I_MPI_FC"];

/// Variables of Open MPI, and what does the same here.
const OPEN_MPI: &[(&str, &str)] = &[
    ("OMPI_MCA_pml", "TERN_TRANSPORT=shm, tcp, ofi; usually nothing"),
    ("OMPI_MCA_btl", "TERN_TRANSPORT=shm, tcp, ofi; usually nothing"),
    ("OMPI_MCA_mtl", "TERN_TRANSPORT=shm, tcp, ofi; usually nothing"),
    ("OMPI_MCA_btl_tcp_if_include", "TERN_INTERFACE"),
    ("OMPI_MCA_btl_tcp_if_exclude", "TERN_INTERFACE"),
    ("OMPI_MCA_oob_tcp_if_include", "TERN_INTERFACE"),
    ("PRTE_MCA_oob_tcp_if_include", "TERN_INTERFACE"),
    ("PRTE_MCA_prte_if_include", "TERN_INTERFACE"),
    ("OMPI_MCA_btl_tcp_port_min_v4", "TERN_PORTS=FIRST-LAST"),
    ("OMPI_MCA_btl_tcp_port_range_v4", "TERN_PORTS=FIRST-LAST"),
    ("OMPI_MCA_btl_tcp_eager_limit", "TERN_TCP_EAGER_BYTES"),
    ("OMPI_MCA_btl_vader_eager_limit", "TERN_EAGER_MAX"),
    ("OMPI_MCA_btl_sm_eager_limit", "TERN_EAGER_MAX"),
    ("OMPI_MCA_coll_tuned_use_dynamic_rules", "TERN_COLL_TABLE, written by 'tern tune'"),
    ("OMPI_MCA_coll_tuned_dynamic_rules_filename", "TERN_COLL_TABLE, written by 'tern tune'"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "nothing: ranks may be more than cores"),
    ("PRTE_MCA_rmaps_default_mapping_policy", "mpirun --map-by"),
    ("OMPI_MCA_rmaps_base_mapping_policy", "mpirun --map-by"),
    ("OMPI_MCA_hwloc_base_binding_policy", "mpirun --bind-to"),
    ("PRTE_MCA_hwloc_default_binding_policy", "mpirun --bind-to"),
    ("OMPI_MCA_mpi_yield_when_idle", "nothing: a rank that waits sleeps"),
    ("OMPI_MCA_mpi_abort_print_stack", "nothing: an error names the call and its arguments"),
    ("OMPI_MCA_mpi_warn_on_fork", "nothing: ranks may fork"),
    ("OMPI_MCA_mpi_show_mca_params", "tern info"),
    ("OMPI_MCA_mpi_leave_pinned", "nothing: Tern decides by the length of a message"),
    ("OMPI_MCA_opal_cuda_support", "copy buffers of a device to the processor's memory first"),
    ("OMPI_MCA_io", "hints of MPI_File_open"),
    ("OMPI_MCA_orte_tmpdir_base", "TMPDIR"),
    ("PRTE_MCA_prte_tmpdir_base", "TMPDIR"),
    ("OMPI_MCA_plm_base_verbose", "mpirun -v"),
    ("PRTE_MCA_plm_base_verbose", "mpirun -v"),
    ("UCX_TLS", "TERN_TRANSPORT=shm, tcp, ofi; usually nothing"),
    ("UCX_NET_DEVICES", "TERN_INTERFACE"),
    ("OMPI_ALLOW_RUN_AS_ROOT", "nothing: root may start jobs"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "nothing: root may start jobs"),
];

/// Variables of MPICH and Intel MPI, and what does the same here.
const MPICH: &[(&str, &str)] = &[
    ("HYDRA_LAUNCHER", "mpirun --launcher"),
    ("HYDRA_BOOTSTRAP", "mpirun --launcher"),
    ("HYDRA_LAUNCHER_EXEC", "mpirun --launcher CMD"),
    ("HYDRA_RMK", "nothing: the batch system is found"),
    ("HYDRA_IFACE", "TERN_INTERFACE"),
    ("HYDRA_DEBUG", "mpirun -v"),
    ("HYDRA_ENV", "nothing: all variables are passed on"),
    ("HYDRA_BINDING", "mpirun --bind-to"),
    ("HYDRA_TOPOLIB", "nothing: hwloc says where cores are, or Linux"),
    ("HYDRA_PROXY_RETRY_COUNT", "nothing: ssh decides how long it tries"),
    ("MPICH_ASYNC_PROGRESS", "TERN_PROGRESS=thread"),
    ("MPIR_CVAR_ASYNC_PROGRESS", "TERN_PROGRESS=thread"),
    ("MPICH_PORT_RANGE", "TERN_PORTS=FIRST-LAST"),
    ("MPIR_CVAR_CH3_PORT_RANGE", "TERN_PORTS=FIRST-LAST"),
    ("MPIEXEC_PORT_RANGE", "TERN_PORTS=FIRST-LAST"),
    ("MPIR_CVAR_CH3_INTERFACE_HOSTNAME", "TERN_INTERFACE"),
    ("MPICH_INTERFACE_HOSTNAME", "TERN_INTERFACE"),
    ("MPIR_CVAR_CH4_NETMOD", "TERN_TRANSPORT=shm, tcp, ofi; usually nothing"),
    ("MPICH_NEMESIS_NETMOD", "TERN_TRANSPORT=shm, tcp, ofi; usually nothing"),
    ("MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE", "TERN_EAGER_MAX"),
    ("MPIR_CVAR_CH4_OFI_EAGER_MAX_MSG_SIZE", "TERN_EAGER_MAX"),
    ("MPIR_CVAR_NOLOCAL", "TERN_TRANSPORT=tcp"),
    ("MPIR_CVAR_ODD_EVEN_CLIQUES", "TERN_TRANSPORT=tcp"),
    ("MPIR_CVAR_ERROR_CHECKING", "TERN_CHECK"),
    ("MPICH_ERROR_CHECKING", "TERN_CHECK"),
    ("MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE", "TERN_COLL_TABLE, written by 'tern tune'"),
    ("MPIR_CVAR_ENABLE_GPU", "copy buffers of a device to the processor's memory first"),
    ("MPICH_GPU_SUPPORT_ENABLED", "copy buffers of a device to the processor's memory first"),
    ("MPICH_DBG", "mpirun -v"),
    ("I_MPI_HYDRA_BOOTSTRAP", "mpirun --launcher"),
    ("I_MPI_HYDRA_IFACE", "TERN_INTERFACE"),
    ("I_MPI_HYDRA_RMK", "nothing: the batch system is found"),
    ("I_MPI_HYDRA_DEBUG", "mpirun -v"),
    ("I_MPI_FABRICS", "TERN_TRANSPORT=shm, tcp, ofi; usually nothing"),
    ("I_MPI_OFI_PROVIDER", "TERN_OFI_PROVIDER"),
    ("I_MPI_DEBUG", "mpirun -v"),
    ("I_MPI_PIN", "mpirun --bind-to core, or none"),
    ("I_MPI_PIN_DOMAIN", "mpirun --map-by slot:PE=N"),
    ("I_MPI_PIN_ORDER", "mpirun --map-by"),
    ("I_MPI_PIN_CELL", "mpirun --bind-to core"),
    ("I_MPI_PIN_PROCESSOR_LIST", "mpirun --cpu-set"),
    ("I_MPI_PERHOST", "mpirun -ppn N"),
    ("I_MPI_JOB_TIMEOUT", "mpirun --timeout S"),
    ("I_MPI_EAGER_THRESHOLD", "TERN_EAGER_MAX"),
    ("I_MPI_WAIT_MODE", "nothing: a rank that waits sleeps"),
    ("I_MPI_THREAD_YIELD", "nothing: a rank that waits sleeps"),
    ("I_MPI_ASYNC_PROGRESS", "TERN_PROGRESS=thread"),
    ("I_MPI_STATS", "TERN_STATS"),
    ("I_MPI_TUNING_BIN", "TERN_COLL_TABLE, written by 'tern tune'"),
    ("I_MPI_OUTPUT_CHUNK_SIZE", "nothing: lines stay whole"),
    ("I_MPI_TMPDIR", "TMPDIR"),
    ("I_MPI_PORT_RANGE", "TERN_PORTS=FIRST-LAST"),
    ("I_MPI_TCP_NETMASK", "TERN_INTERFACE"),
    ("I_MPI_HYDRA_ENV", "nothing: all variables are passed on"),
    ("I_MPI_SHM", "nothing: ranks of a host share memory"),
    ("I_MPI_SPAWN", "nothing: ranks may spawn others"),
];

/// What a user says here instead of a variable, if it is known.
fn instead(name: &str) -> Option<&'static str> {
    let known = OPEN_MPI.iter().chain(MPICH).find(|known| known.0 == name).map(|known| known.1);
    known.or_else(|| chooses_algorithms(name).then_some(ALGORITHMS))
}

/// The same for a setting of `--mca`, which is that of a variable.
pub(super) fn instead_of_mca(name: &str) -> Option<&'static str> {
    ["OMPI_MCA_", "PRTE_MCA_"].iter().find_map(|family| instead(&format!("{family}{name}")))
}

const ALGORITHMS: &str = "TERN_COLL_TABLE, written by 'tern tune'";

/// Whether a variable chooses how collectives are done: there is one for each call.
fn chooses_algorithms(name: &str) -> bool {
    name.starts_with("OMPI_MCA_coll_tuned_")
        || (name.starts_with("MPIR_CVAR_") && name.ends_with("_ALGORITHM"))
        || name.starts_with("I_MPI_ADJUST_")
}

/// Whose variable it is, if it is to be told.
fn maker(name: &str) -> Option<&'static str> {
    let of = |makers: &[(&str, &'static str)]| {
        makers.iter().find(|(prefix, _)| name.starts_with(prefix)).map(|(_, maker)| *maker)
    };
    of(&FAMILIES).or_else(|| instead(name).and_then(|_| of(&MAKERS)))
}

/// One line for all variables of other libraries, but those that are heeded. Those for which nothing is to be done here, as images of
/// containers have them, are told if `all` are.
pub(super) fn told(mut names: Vec<String>, all: bool, is_heeded: impl Fn(&str) -> bool) -> Option<String> {
    names.sort_unstable();
    let is_done = |name: &str| instead(name).is_some_and(|instead| instead.starts_with("nothing: "));
    let told: Vec<String> = names
        .iter()
        .filter(|name| !UNTOLD.contains(&name.as_str()) && !is_heeded(name) && (all || !is_done(name)))
        .filter_map(|name| {
            let maker = maker(name)?;
            Some(match instead(name) {
                Some(instead) => format!("{name} ({maker}; here: {instead})"),
                None => format!("{name} ({maker})"),
            })
        })
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

    #[test]
    fn the_manual_has_every_variable_and_no_others() {
        let pages = [
            (OPEN_MPI, include_str!("../../../docs/user/moving.md")),
            (MPICH, include_str!("../../../docs/user/moving-mpich.md")),
        ];
        for (table, page) in pages {
            let section = page.split("\n## ").find(|part| part.starts_with("Variables")).expect("a section");
            for (name, instead) in table {
                let row = format!("| `{name}` | {instead} |");
                assert!(section.contains(&row), "the page lacks: {row}");
            }
            let rows =
                section.lines().filter(|line| line.starts_with("| `") && !line.contains("| the same |"));
            assert_eq!(rows.count(), table.len(), "a row of the page is not in the table");
        }
    }

    #[test]
    fn a_variable_is_told_with_what_to_say_instead() {
        let said = |names: &[&str]| {
            told(names.iter().map(ToString::to_string).collect(), true, |name| name == "HYDRA_HOST_FILE")
        };
        let root = vec!["OMPI_ALLOW_RUN_AS_ROOT".to_string()];
        assert_eq!(told(root, false, |_| false), None, "nothing is to be done");
        assert_eq!(
            said(&["PATH", "I_MPI_ROOT", "MPICH_DIR", "OMPI_COMM_WORLD_RANK", "HYDRA_HOST_FILE"]),
            None
        );
        let line = said(&["OMPI_MCA_btl_base", "PATH", "HYDRA_DEBUG"]).unwrap();
        assert!(
            line.starts_with(
                "HYDRA_DEBUG (MPICH's mpiexec; here: mpirun -v), OMPI_MCA_btl_base (Open MPI) in"
            ),
            "{line}"
        );
        for name in
            ["MPIR_CVAR_BCAST_INTRA_ALGORITHM", "OMPI_MCA_coll_tuned_bcast_algorithm", "I_MPI_ADJUST_BCAST"]
        {
            assert!(said(&[name]).is_some_and(|line| line.contains(ALGORITHMS)), "{name}");
        }
        for (name, instead) in OPEN_MPI.iter().chain(MPICH) {
            let line = said(&[name]).unwrap_or_else(|| panic!("{name} is not told"));
            assert!(line.contains(name) && line.contains(instead), "{line}");
        }
    }
}
