//! Datatypes (MPI 5.0, chapter 5): the tree for the standard's inquiries, the layout for moving data.
//!
//! A [`Datatype`] never changes after it was built, except that it gets committed. Its bounds, typemap and
//! layout are computed on construction from those of the types it is made of, in time and memory
//! proportional to the arguments: a vector of 2^31 blocks costs as much as one of two.

mod bounds;
mod construct;
mod contents;
mod core;
mod count;
mod error;
mod fortran;
mod grid;
mod in_file;
mod pack;
mod signature;
#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

pub use contents::{Combiner, ConstructorForm, Contents};
pub use error::{Any, Arg, TypeError};
pub use grid::{ArrayOrder, DEFAULT_DARG, Darray, Distribution, Subarray};
pub use in_file::BytesInFile;
pub use pack::PackedBuf;

use self::core::{Contains, DatatypeCore};
use crate::basic::{BASIC_COUNT, Basic};
use crate::buf::UserBuf;
use crate::layout::Layout;

/// A datatype.
#[derive(Debug)]
pub struct Datatype {
    contents: Contents,
    core: DatatypeCore,
    layout: Arc<Layout>,
    committed: AtomicBool,
}

static PREDEFINED: LazyLock<[Arc<Datatype>; BASIC_COUNT]> = LazyLock::new(|| {
    Basic::ALL.map(|basic| {
        let contents = Contents::new(Combiner::Named, ConstructorForm::Int);
        Arc::new(Datatype::committed(contents, DatatypeCore::basic(basic)))
    })
});

impl Datatype {
    /// The named predefined type.
    pub fn predefined(basic: Basic) -> &'static Arc<Datatype> {
        &PREDEFINED[basic as usize]
    }

    fn new(contents: Contents, core: DatatypeCore) -> Arc<Self> {
        let datatype = Datatype::committed(contents, core);
        datatype.committed.store(false, Ordering::Relaxed);
        Arc::new(datatype)
    }

    fn committed(contents: Contents, core: DatatypeCore) -> Self {
        let layout = Arc::new(core.layout());
        Datatype { contents, core, layout, committed: AtomicBool::new(true) }
    }

    /// A copy with its own identity, committed if this one is (`MPI_Type_dup`). The attributes are the
    /// caller's business.
    pub fn dup(self: &Arc<Self>) -> Arc<Self> {
        Arc::new(Datatype {
            contents: Contents::new(Combiner::Dup, ConstructorForm::Int).of(self),
            core: self.core.clone(),
            layout: self.layout.clone(),
            committed: AtomicBool::new(self.is_committed()),
        })
    }

    /// Allows use in communication.
    pub fn commit(&self) {
        self.committed.store(true, Ordering::Relaxed);
    }

    /// Whether it may be used in communication.
    #[inline]
    pub fn is_committed(&self) -> bool {
        self.committed.load(Ordering::Relaxed)
    }

    /// How it was constructed.
    pub fn contents(&self) -> &Contents {
        &self.contents
    }

    /// Where its bytes lie.
    #[inline]
    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// `count` elements at `base`, as a message sees them.
    ///
    /// # Safety
    /// As [`UserBuf::typed`].
    #[inline]
    pub unsafe fn buffer(&self, base: *mut u8, count: u64) -> UserBuf {
        // SAFETY: handed on to the caller.
        unsafe { UserBuf::typed(base, count, &self.layout) }
    }

    /// Packed bytes of one element.
    #[inline]
    pub fn size(&self) -> i64 {
        self.core.bounds.size
    }

    /// Lower bound in bytes.
    pub fn lb(&self) -> i64 {
        self.core.bounds.lb
    }

    /// Bytes between consecutive elements.
    #[inline]
    pub fn extent(&self) -> i64 {
        self.core.bounds.extent()
    }

    /// Displacement of the lowest byte of data.
    pub fn true_lb(&self) -> i64 {
        self.core.bounds.true_lb
    }

    /// Bytes from the lowest to just past the highest byte of data.
    pub fn true_extent(&self) -> i64 {
        self.core.bounds.true_ub - self.core.bounds.true_lb
    }

    /// The strictest alignment of its basic types in bytes.
    pub fn align(&self) -> i64 {
        self.core.bounds.align
    }

    /// The basic type, if it consists of one kind only (pairs count as one). Predefined reductions on derived
    /// types go by it.
    #[inline]
    pub fn uniform(&self) -> Option<Basic> {
        match self.core.contains {
            Contains::Only(basic) => Some(basic),
            _ => None,
        }
    }

    /// The basic type, if it is a predefined one or behaves like one (the Fortran 90 types, copies of them).
    #[inline]
    pub fn basic(&self) -> Option<Basic> {
        let basic = self.uniform()?;
        let lies_so = self.core.bounds.lb == 0 && self.core.bounds.true_lb == 0;
        let is_as_long = self.size() == basic.size() as i64 && self.extent() == basic.extent() as i64;
        (lies_so && is_as_long).then_some(basic)
    }
}

/// Types refer to the types they were made of. A chain of a million of them must not unwind on the stack.
impl Drop for Datatype {
    fn drop(&mut self) {
        let mut orphans = std::mem::take(&mut self.contents.datatypes);
        while let Some(datatype) = orphans.pop() {
            if let Some(mut last) = Arc::into_inner(datatype) {
                orphans.append(&mut last.contents.datatypes);
            }
        }
    }
}
