//! Datatypes: the objects behind the handles of chapter 5 (MPI 5.0). What they are is in `tern_mem::datatype`; the
//! entry points are in `make.rs`, `query.rs`, `pack.rs` and `elements.rs`.

use crate::comm::attribute_values::Attributes;
use crate::core::engine::ProcessEngine;
use crate::core::error::{Error, Result, fail};
use crate::core::given;
use crate::core::handle::HandleKind;
use crate::core::table::Table;
use std::collections::BTreeMap;
use std::sync::Arc;
use tern_abi::*;
use tern_mem::basic::Basic;
use tern_mem::datatype::{Arg, Combiner};
use tern_mem::{Datatype, TypeError};

/// A datatype as a handle names it.
#[derive(Debug)]
pub(crate) struct TypeObject {
    /// The type itself.
    pub datatype: Arc<Datatype>,
    /// Set by `MPI_Type_set_name`, or the predefined name.
    pub name: String,
    /// Cached attributes.
    pub attributes: Attributes,
}

impl TypeObject {
    fn new(datatype: Arc<Datatype>) -> Self {
        let name = datatype.named().map_or_else(String::new, |basic| basic.name().to_owned());
        TypeObject { datatype, name, attributes: Attributes::default() }
    }
}

/// All datatypes.
pub(crate) struct Datatypes {
    /// The program's.
    pub table: Table<TypeObject>,
    /// The predefined ones that were given a name or attributes, by handle.
    predefined: BTreeMap<usize, TypeObject>,
    /// The types of Fortran 90, by constructor and arguments: calls with equal arguments get equal handles
    /// (section 19.1.9).
    f90: BTreeMap<(i32, Vec<i32>), MPI_Datatype>,
    /// Handles that collectives under way give to functions of the program's.
    lent: BTreeMap<usize, LentHandle>,
}

/// A handle that stays valid for functions of the program's, also when the program has freed it.
#[derive(Debug, Default)]
struct LentHandle {
    /// To so many collectives.
    times: usize,
    is_freed: bool,
}

impl Datatypes {
    /// None but the predefined.
    pub(crate) const fn new() -> Self {
        Datatypes {
            table: Table::new(HandleKind::Datatype),
            predefined: BTreeMap::new(),
            f90: BTreeMap::new(),
            lent: BTreeMap::new(),
        }
    }

    /// A collective may call a function of the program's with this handle, until it [gives it back](Datatypes::give_back).
    pub(crate) fn lend(&mut self, datatype: MPI_Datatype) {
        if Basic::from_handle(datatype.0).is_none() {
            self.lent.entry(datatype.0).or_default().times += 1;
        }
    }

    /// A collective with this handle has ended.
    pub(crate) fn give_back(&mut self, datatype: MPI_Datatype) {
        let Some(lent) = self.lent.get_mut(&datatype.0) else { return };
        lent.times -= 1;
        if lent.times == 0 && self.lent.remove(&datatype.0).is_some_and(|lent| lent.is_freed) {
            self.table.remove(datatype.0);
        }
    }

    /// The datatype of a handle.
    pub(crate) fn get(&self, datatype: MPI_Datatype) -> Result<&Arc<Datatype>> {
        if let Some(basic) = Basic::from_handle(datatype.0) {
            return Ok(Datatype::predefined(basic));
        }
        self.table.get(datatype.0).map(|object| &object.datatype).ok_or_else(|| no_type(datatype))
    }

    /// The datatype of a handle, which may be used in communication.
    pub(crate) fn committed(&self, datatype: MPI_Datatype) -> Result<&Arc<Datatype>> {
        let found = self.get(datatype)?;
        if !found.is_committed() {
            return Err(fail(MPI_ERR_TYPE, "the datatype is not committed: call MPI_Type_commit first"));
        }
        Ok(found)
    }

    /// The object of a handle, to change its name or attributes.
    pub(crate) fn object_mut(&mut self, datatype: MPI_Datatype) -> Result<&mut TypeObject> {
        if let Some(basic) = Basic::from_handle(datatype.0) {
            let object = || TypeObject::new(Datatype::predefined(basic).clone());
            return Ok(self.predefined.entry(datatype.0).or_insert_with(object));
        }
        self.table.get_mut(datatype.0).ok_or_else(|| no_type(datatype))
    }

    /// Takes a datatype in and gives its handle.
    pub(crate) fn insert(&mut self, datatype: Arc<Datatype>) -> Result<MPI_Datatype> {
        let handle = self.table.insert(TypeObject::new(datatype)).map(MPI_Datatype);
        handle.ok_or_else(|| {
            let most = crate::core::handle::OBJECTS_MAX;
            fail(
                MPI_ERR_NO_MEM,
                format!("there are {most} datatypes already: free those that are not needed"),
            )
        })
    }

    /// Takes a Fortran 90 type in, unless there is an equal one, and gives its handle.
    pub(crate) fn insert_f90(&mut self, datatype: Arc<Datatype>) -> Result<MPI_Datatype> {
        let key = f90_key(&datatype);
        if let Some(&known) = self.f90.get(&key) {
            return Ok(known);
        }
        let handle = self.insert(datatype)?;
        self.f90.insert(key, handle);
        Ok(handle)
    }

    /// A handle of a type that another one was made of (`MPI_Type_get_contents`): that of a predefined type, a
    /// new one of a derived type.
    pub(crate) fn handle_of(&mut self, datatype: &Arc<Datatype>) -> Result<MPI_Datatype> {
        match datatype.named() {
            Some(basic) => Ok(MPI_Datatype(usize::from(basic.handle_value()))),
            None if is_f90(datatype) => self.insert_f90(datatype.clone()),
            None => self.insert(datatype.clone()),
        }
    }

    /// Whether a handle may be freed: predefined ones may not.
    pub(crate) fn check_freeable(&self, datatype: MPI_Datatype) -> Result {
        let found = self.get(datatype)?;
        if self.lent.get(&datatype.0).is_some_and(|lent| lent.is_freed) {
            return Err(no_type(datatype));
        }
        if found.named().is_some() || is_f90(found) {
            return Err(fail(MPI_ERR_TYPE, "a predefined datatype cannot be freed"));
        }
        Ok(())
    }

    /// Takes the object of a derived type out; its handle is invalid from now on, or once it is lent to no collective any more.
    pub(crate) fn remove(&mut self, datatype: MPI_Datatype) -> Result {
        self.check_freeable(datatype)?;
        if let Some(lent) = self.lent.get_mut(&datatype.0) {
            lent.is_freed = true;
            return Ok(());
        }
        self.table.remove(datatype.0).map(|_| ()).ok_or_else(|| no_type(datatype))
    }

    /// Packed bytes of one element, 0 for an invalid handle.
    pub(crate) fn size_of(&self, datatype: MPI_Datatype) -> u64 {
        self.get(datatype).map_or(0, |datatype| datatype.size() as u64)
    }

    /// The hash of the signature of so many elements, 0 if it is not compared.
    pub(crate) fn signature(&self, datatype: MPI_Datatype, count: u64) -> u64 {
        self.get(datatype).map_or(0, |datatype| datatype.signature(count))
    }
}

/// Lets the engine know the predefined types, where types are checked.
pub(crate) fn learn_predefined(engine: &mut ProcessEngine) {
    for basic in Basic::ALL {
        engine.learn_type(Datatype::predefined(basic));
    }
}

fn is_f90(datatype: &Datatype) -> bool {
    matches!(datatype.contents().combiner, Combiner::F90Real | Combiner::F90Complex | Combiner::F90Integer)
}

fn f90_key(datatype: &Datatype) -> (i32, Vec<i32>) {
    (datatype.contents().combiner as i32, datatype.contents().integers.clone())
}

#[cold]
fn no_type(datatype: MPI_Datatype) -> Box<Error> {
    if datatype == MPI_DATATYPE_NULL {
        return fail(MPI_ERR_TYPE, "the datatype is MPI_DATATYPE_NULL");
    }
    fail(
        MPI_ERR_TYPE,
        format!("{:#x} is no datatype: it was freed or never was one", given::datatype(datatype.0)),
    )
}

impl From<TypeError> for Box<Error> {
    fn from(error: TypeError) -> Self {
        let class = match &error {
            TypeError::Negative { arg: Arg("count" | "incount" | "outcount", _), .. } => MPI_ERR_COUNT,
            TypeError::NoRoom { .. } => MPI_ERR_TRUNCATE,
            _ => MPI_ERR_ARG,
        };
        fail(class, error.to_string())
    }
}
