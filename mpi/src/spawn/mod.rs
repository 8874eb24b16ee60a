//! Sections 11.8 to 11.10: processes that start or meet later, which Tern does not have yet.

use std::ffi::{c_char, c_int};

use tern_abi::*;

use crate::core::arguments::out;
use crate::core::entry::entry;
use crate::core::error::{Error, fail};
use crate::core::process::{self, Phase, phase};
use crate::core::unsupported::{mark, unsupported};
use crate::env::init;

entry! {
    /// The communicator with the processes that started this one (section 11.8.2): nobody starts any.
    fn MPI_Comm_get_parent(parent: *mut MPI_Comm) {
        *out("parent", parent)? = MPI_COMM_NULL;
        Ok(())
    }
}

entry! {
    // Starting processes (section 11.8).

    /// Not in this version.
    fn MPI_Comm_spawn(
        command: *const c_char, argv: *mut *mut c_char, maxprocs: c_int, info: MPI_Info, root: c_int,
        comm: MPI_Comm, intercomm: *mut MPI_Comm, array_of_errcodes: *mut c_int,
    ) on comm {
        let _ = (command, argv, maxprocs, info, root, comm, intercomm, array_of_errcodes);
        Err(not_started("MPI_Comm_spawn"))
    }

    /// Not in this version.
    fn MPI_Comm_spawn_multiple(
        count: c_int, array_of_commands: *mut *mut c_char, array_of_argv: *mut *mut *mut c_char,
        array_of_maxprocs: *const c_int, array_of_info: *const MPI_Info, root: c_int, comm: MPI_Comm,
        intercomm: *mut MPI_Comm, array_of_errcodes: *mut c_int,
    ) on comm {
        let _ = (
            count, array_of_commands, array_of_argv, array_of_maxprocs, array_of_info, root, comm, intercomm,
            array_of_errcodes,
        );
        Err(not_started("MPI_Comm_spawn_multiple"))
    }
}

mark!(MPI_Comm_spawn);
mark!(MPI_Comm_spawn_multiple);

/// What does without these calls.
const INSTEAD: &str = "this version of Tern cannot start processes while a job runs; start all ranks at once, and programs of \
    mpi4py.futures with: mpirun -n 4 python3 -m mpi4py.futures PROGRAM";

/// The error of both calls. A helper thread that gets it ends with it, and the others wait for ever for what it was to bring, as
/// in mpi4py.futures: there the job ends.
#[cold]
fn not_started(call: &str) -> Box<Error> {
    if phase() == Phase::Running && !init::is_main() {
        process::die(
            MPI_ERR_UNSUPPORTED_OPERATION,
            &format!("{call}, called by a thread that is not the main one: {INSTEAD}"),
            false,
        );
    }
    fail(MPI_ERR_UNSUPPORTED_OPERATION, INSTEAD)
}

unsupported! {
    // Connecting (section 11.9).
    fn MPI_Open_port(info: MPI_Info, port_name: *mut c_char);
    fn MPI_Close_port(port_name: *const c_char);
    fn MPI_Comm_accept(
        port_name: *const c_char, info: MPI_Info, root: c_int, comm: MPI_Comm, newcomm: *mut MPI_Comm,
    ) on comm;
    fn MPI_Comm_connect(
        port_name: *const c_char, info: MPI_Info, root: c_int, comm: MPI_Comm, newcomm: *mut MPI_Comm,
    ) on comm;
    fn MPI_Comm_join(fd: c_int, intercomm: *mut MPI_Comm);
    fn MPI_Lookup_name(service_name: *const c_char, info: MPI_Info, port_name: *mut c_char);
    fn MPI_Publish_name(service_name: *const c_char, info: MPI_Info, port_name: *const c_char);
    fn MPI_Unpublish_name(service_name: *const c_char, info: MPI_Info, port_name: *const c_char);
}
