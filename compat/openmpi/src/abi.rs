//! What Open MPI's ABI looks like, as `tern-bridge` wants to know it.

use std::ffi::{CStr, c_int, c_void};

use tern_bridge::foreign::ForeignAbi;
use tern_bridge::number::ConstantPair;
use tern_bridge::values::openmpi as values;

use crate::{cxx, handles, status};

/// Families of constants.
pub(crate) mod numbers {
    tern_bridge::families!(openmpi);
}

/// The ABI of Open MPI.
pub(crate) struct OpenMpi;

impl ForeignAbi for OpenMpi {
    const NAME: &'static str = "Open MPI";
    const LIBRARY: &'static str = "libmpi.so.40";
    const RELEASE: &'static str = "Open MPI v5.0.11, ";
    const LIBRARY_VERSION_MAX: usize = values::MPI_MAX_LIBRARY_VERSION_STRING as usize;

    type Comm = handles::Comm;
    type Group = handles::Group;
    type Datatype = handles::Datatype;
    type Op = handles::Op;
    type Info = handles::Info;
    type Errhandler = handles::Errhandler;
    type Request = handles::Request;
    type Message = handles::Message;
    type Session = handles::Session;
    type Win = handles::Win;
    type File = handles::File;
    type Status = status::OpenMpiStatus;

    type ErrorCode = numbers::ErrorCode;
    type SplitType = numbers::SplitType;
    type Keyval = numbers::Keyval;
    type ThreadLevel = numbers::ThreadLevel;
    type Combiner = numbers::Combiner;
    type Order = numbers::Order;
    type Distribution = numbers::Distribution;
    type DistributionArgument = numbers::DistributionArgument;

    const FLAVORS: &'static [(c_int, c_int)] = &narrow::<4>(numbers::Flavor::PAIRS);
    const MODELS: &'static [(c_int, c_int)] = &narrow::<2>(numbers::Model::PAIRS);

    const STATUS_IGNORE: usize = values::MPI_STATUS_IGNORE as usize;
    const IN_PLACE: usize = values::MPI_IN_PLACE as usize;
    const BUFFER_AUTOMATIC: Option<usize> = None;
    const ANY_SOURCE: c_int = values::MPI_ANY_SOURCE as c_int;
    const PROC_NULL: c_int = values::MPI_PROC_NULL as c_int;
    const ROOT: c_int = values::MPI_ROOT as c_int;
    const ANY_TAG: c_int = values::MPI_ANY_TAG as c_int;

    fn calls_another(function: *const c_void) -> bool {
        cxx::is_intercept(function)
    }

    /// `OMPI_COMM_TYPE_HWTHREAD` to `OMPI_COMM_TYPE_HOST`. Nothing here is known of those above hosts.
    fn resource_of_split(split_type: c_int) -> Option<&'static CStr> {
        const NAMES: [&CStr; 9] = [
            c"hwloc://PU",
            c"hwloc://Core",
            c"hwloc://L1Cache",
            c"hwloc://L2Cache",
            c"hwloc://L3Cache",
            c"hwloc://Package",
            c"hwloc://NUMANode",
            c"hwloc://Machine",
            c"hwloc://Machine",
        ];
        NAMES.get(usize::try_from(split_type).ok()?.checked_sub(1)?).copied()
    }

    fn unweighted() -> *const c_void {
        values::MPI_UNWEIGHTED as usize as *const c_void
    }

    fn weights_empty() -> *const c_void {
        values::MPI_WEIGHTS_EMPTY as usize as *const c_void
    }

    fn all_pvars() -> *const c_void {
        values::MPI_T_PVAR_ALL_HANDLES as usize as *const c_void
    }
}

/// Pairs of numbers whose addresses programs get.
const fn narrow<const N: usize>(pairs: &[ConstantPair]) -> [(c_int, c_int); N] {
    let mut narrow = [(0, 0); N];
    let mut index = 0;
    while index < N {
        narrow[index] = (pairs[index].0 as c_int, pairs[index].1);
        index += 1;
    }
    narrow
}
