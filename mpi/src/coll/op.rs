//! Operations of reductions (MPI 5.0 section 6.9). What they do to elements is in `coll/operation.rs`.

mod object;

pub(crate) use object::{Ops, UserFunction, UserOp};

use crate::coll::operation::Operation;
use crate::core::arguments::{count, present};
use crate::core::boundary::{ChoiceBuf, ChoiceBufMut, Out};
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::given;
use crate::core::process::{Process, enter};
use std::ffi::c_int;
use tern_abi::*;
use tern_mem::op::PredefinedOp;

impl Process {
    fn new_op(&mut self, function: Option<UserFunction>, commute: c_int) -> Result<MPI_Op> {
        self.engine()?;
        let function = function.ok_or_else(|| fail(MPI_ERR_ARG, "user_fn is a null pointer"))?;
        let handle = self.objects.ops.0.insert(UserOp { function, commutative: commute != 0 });
        handle.map(MPI_Op).ok_or_else(|| fail(MPI_ERR_NO_MEM, "2^18 operations exist: free some"))
    }
}

#[cold]
fn no_op(op: MPI_Op) -> Box<Error> {
    if op == MPI_OP_NULL {
        return fail(MPI_ERR_OP, "the operation is MPI_OP_NULL");
    }
    fail(MPI_ERR_OP, format!("{:#x} is no operation: it was freed or never was one", given::handle(op.0)))
}

entry! {
    /// An operation of the program's (section 6.9.5).
    safe fn MPI_Op_create(user_fn: Option<MPI_User_function>, commute: c_int, op: Out<'_, MPI_Op>) {
        op.set(enter().new_op(user_fn.map(UserFunction::Small), commute)?);
        Ok(())
    }

    /// An operation whose function takes large counts.
    safe fn MPI_Op_create_c(user_fn: Option<MPI_User_function_c>, commute: c_int, op: Out<'_, MPI_Op>) {
        op.set(enter().new_op(user_fn.map(UserFunction::Large), commute)?);
        Ok(())
    }

    /// Gives an operation back; reductions under way go on with it.
    safe fn MPI_Op_free(op: &mut MPI_Op) {
        if let Some(predefined) = PredefinedOp::from_handle(op.0) {
            return Err(fail(MPI_ERR_OP, format!("{predefined} is predefined and cannot be freed")));
        }
        enter().objects.ops.0.remove(op.0).ok_or_else(|| no_op(*op))?;
        *op = MPI_OP_NULL;
        Ok(())
    }

    /// Whether the order of operands may be changed.
    safe fn MPI_Op_commutative(op: MPI_Op, commute: Out<'_, c_int>) {
        let mut process = enter();
        process.engine()?;
        commute.set(c_int::from(match PredefinedOp::from_handle(op.0) {
            Some(predefined) => predefined.is_commutative(),
            None => process.objects.ops.0.get(op.0).ok_or_else(|| no_op(op))?.commutative,
        }));
        Ok(())
    }

    /// `inoutbuf = inbuf OP inoutbuf` in this process alone (section 6.9.7).
    safe fn MPI_Reduce_local, MPI_Reduce_local_c<W>(inbuf: ChoiceBuf, inoutbuf: ChoiceBufMut, count: W::Count, datatype: MPI_Datatype, op: MPI_Op) {
        let count = self::count("count", count.into())?;
        let (operation, bytes, true_lb) = {
            let mut process = enter();
            process.engine()?;
            match Operation::predefined_by(op, datatype) {
                // Elements of these have bytes, and no others before them.
                Some(operation) => (operation, count, 0),
                None => {
                    let found = process.objects.types.committed(datatype)?;
                    let (bytes, true_lb) = (count.saturating_mul(found.size() as u64), found.true_lb());
                    (Operation::of(&process, op, datatype)?, bytes, true_lb)
                }
            }
        };
        let inoutbuf = ChoiceBuf::from(inoutbuf);
        if bytes > 0 {
            present("inbuf", inbuf.address(), bytes, true_lb)?;
            present("inoutbuf", inoutbuf.address(), bytes, true_lb)?;
            check_apart(inbuf, inoutbuf)?;
        }
        if count > 0 {
            operation.combine_buffers(inbuf, inoutbuf, count);
        }
        Ok(())
    }
}

fn check_apart(inbuf: ChoiceBuf, inoutbuf: ChoiceBuf) -> Result {
    if inbuf == inoutbuf {
        return Err(fail(MPI_ERR_BUFFER, "inbuf and inoutbuf are the same memory"));
    }
    Ok(())
}
