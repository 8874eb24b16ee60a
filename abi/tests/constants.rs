//! The Rust constants against the ABI table: the same names, types and values, none missing, none too many.

use std::collections::BTreeMap;

use tern_abi::*;

/// Name -> (C type, value). The C type is the table's; families with one Rust type and several C types
/// (addresses, functions) leave it empty.
type Known = BTreeMap<&'static str, (&'static str, i64)>;

trait Value: Copy {
    fn number(self) -> i64;
}

macro_rules! value_of_handles {
    ($($ty:ident)*) => {$(impl Value for $ty { fn number(self) -> i64 { self.0 as i64 } })*};
}
macro_rules! value_of_integers {
    ($($ty:ident)*) => {$(impl Value for $ty { fn number(self) -> i64 { self as i64 } })*};
}
value_of_handles! { MPI_Op MPI_Comm MPI_Group MPI_Win MPI_File MPI_Session MPI_Message MPI_Info
MPI_Errhandler MPI_Request MPI_Datatype MPI_T_enum MPI_T_cvar_handle MPI_T_pvar_handle MPI_T_pvar_session }
value_of_integers! { i32 u32 usize }

fn add<T: Value>(known: &mut Known, ctype: &'static str, family: &[(T, &'static str)]) {
    for &(value, name) in family {
        assert!(known.insert(name, (ctype, value.number())).is_none(), "{name} is defined twice");
    }
}

fn handles(known: &mut Known) {
    add(known, "MPI_Op", OP_NAMES);
    add(known, "MPI_Comm", COMM_NAMES);
    add(known, "MPI_Group", GROUP_NAMES);
    add(known, "MPI_Win", WIN_NAMES);
    add(known, "MPI_File", FILE_NAMES);
    add(known, "MPI_Session", SESSION_NAMES);
    add(known, "MPI_Message", MESSAGE_NAMES);
    add(known, "MPI_Info", INFO_NAMES);
    add(known, "MPI_Errhandler", ERRHANDLER_NAMES);
    add(known, "MPI_Request", REQUEST_NAMES);
    add(known, "MPI_Datatype", DATATYPE_NAMES);
    add(known, "MPI_T_enum", T_ENUM_NAMES);
    add(known, "MPI_T_cvar_handle", T_CVAR_HANDLE_NAMES);
    add(known, "MPI_T_pvar_handle", T_PVAR_HANDLE_NAMES);
    add(known, "MPI_T_pvar_session", T_PVAR_SESSION_NAMES);
}

fn integers(known: &mut Known) {
    for family in [
        KEYVAL_NAMES,
        SPECIAL_NAMES,
        THREAD_LEVEL_NAMES,
        F_STATUS_NAMES,
        COMPARISON_NAMES,
        TOPOLOGY_NAMES,
        SPLIT_TYPE_NAMES,
        ARRAY_NAMES,
        COMBINER_NAMES,
        TYPECLASS_NAMES,
        WIN_VALUE_NAMES,
        ASSERTION_NAMES,
        AMODE_NAMES,
        SEEK_NAMES,
        VERSION_NAMES,
        LENGTH_NAMES,
        T_VERBOSITY_NAMES,
        T_BIND_NAMES,
        T_SCOPE_NAMES,
        T_PVAR_CLASS_NAMES,
    ] {
        add(known, "int", family);
    }
    for class in ERROR_CLASSES {
        add(known, "int", &[(class.class, class.name)]);
    }
    add(known, "enum MPI_T_cb_safety", T_CB_SAFETY_NAMES);
    add(known, "enum MPI_T_source_order", T_SOURCE_ORDER_NAMES);
    known.insert("MPI_DISPLACEMENT_CURRENT", ("MPI_Offset", MPI_DISPLACEMENT_CURRENT));
}

fn all_known() -> Known {
    let mut known = Known::new();
    handles(&mut known);
    integers(&mut known);
    add(&mut known, "", ADDRESS_NAMES);
    add(&mut known, "", PREDEFINED_FUNCTION_NAMES);
    known
}

#[test]
fn every_constant_of_the_table_has_its_type_and_value() {
    let mut known = all_known();
    for constant in tables::constants().iter().filter(|constant| !constant.is_alias()) {
        let (ctype, value) =
            known.remove(constant.name).unwrap_or_else(|| panic!("{} is missing", constant.name));
        assert_eq!(Some(value), constant.value(), "{}", constant.name);
        let pointer = constant.ctype.ends_with('*');
        assert!(if ctype.is_empty() { pointer } else { ctype == constant.ctype }, "{}", constant.name);
    }
    assert!(known.is_empty(), "not in the table: {known:?}");
}

#[test]
fn aliases_name_their_originals() {
    assert_eq!(MPI_LONG_LONG_INT, MPI_LONG_LONG);
    assert_eq!(MPI_C_COMPLEX, MPI_C_FLOAT_COMPLEX);
    let aliases: Vec<_> =
        tables::constants().into_iter().filter(|c| c.is_alias()).map(|c| (c.name, c.text)).collect();
    assert_eq!(
        aliases,
        [
            ("MPI_ABI_Count", "MPI_ABI_Offset"),
            ("MPI_LONG_LONG_INT", "MPI_LONG_LONG"),
            ("MPI_C_COMPLEX", "MPI_C_FLOAT_COMPLEX"),
        ]
    );
}

#[test]
fn handle_and_callback_types_are_those_of_the_tables() {
    let handles: Vec<_> = tables::handle_types().iter().map(|handle| handle.name).collect();
    assert_eq!(handles, HANDLE_TYPE_NAMES);
    let callbacks: Vec<_> = tables::callbacks().iter().map(|callback| callback.name).collect();
    assert_eq!(callbacks, CALLBACK_TYPE_NAMES);
}

#[test]
fn fixed_size_datatypes_tell_their_size() {
    let bytes = |datatype: MPI_Datatype| 1usize << (datatype.0 >> 3 & 7);
    assert_eq!([MPI_BYTE, MPI_INT16_T, MPI_REAL4, MPI_UINT64_T].map(bytes), [1, 2, 4, 8]);
    assert_eq!([MPI_REAL16, MPI_COMPLEX32].map(bytes), [16, 32]);
}
