//! What MPICH's ABI looks like, as `tern-bridge` wants to know it.

use std::ffi::{c_int, c_void};

use tern_bridge::foreign::ForeignAbi;
use tern_bridge::number::ConstantPair;
use tern_bridge::values::mpich as values;

use crate::{addresses, handles, status};

/// Families of constants.
pub(crate) mod numbers {
    tern_bridge::families!(mpich);
}

/// The ABI of MPICH.
pub(crate) struct Mpich;

impl ForeignAbi for Mpich {
    const NAME: &'static str = "MPICH or Intel MPI";
    const LIBRARY: &'static str = "libmpi.so.12";
    const RELEASE: &'static str = "MPICH Version:      5.0.2\n";
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
    type File = handles::MpichFile;
    type Status = status::MpichStatus;

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
    const BUFFER_AUTOMATIC: Option<usize> = Some(values::MPI_BUFFER_AUTOMATIC as usize);
    const ANY_SOURCE: c_int = values::MPI_ANY_SOURCE as c_int;
    const PROC_NULL: c_int = values::MPI_PROC_NULL as c_int;
    const ROOT: c_int = values::MPI_ROOT as c_int;
    const ANY_TAG: c_int = values::MPI_ANY_TAG as c_int;

    fn unweighted() -> *const c_void {
        addresses::MPI_UNWEIGHTED.0
    }

    fn weights_empty() -> *const c_void {
        addresses::MPI_WEIGHTS_EMPTY.0
    }

    fn all_pvars() -> *const c_void {
        addresses::MPI_T_PVAR_ALL_HANDLES.0
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
