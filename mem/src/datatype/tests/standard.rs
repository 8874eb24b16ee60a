//! What the standard says in words: bounds that stick, arguments handed back, counts, packing.

use super::*;

fn bounds(datatype: &Datatype) -> [i64; 4] {
    [datatype.lb(), datatype.extent(), datatype.true_lb(), datatype.true_extent()]
}

fn structure(fields: &[(i64, i64, Arc<Datatype>)]) -> Arc<Datatype> {
    let lens: Vec<_> = fields.iter().map(|field| field.0).collect();
    let disps: Vec<_> = fields.iter().map(|field| field.1).collect();
    let types: Vec<_> = fields.iter().map(|field| field.2.clone()).collect();
    Datatype::structure(ConstructorForm::Int, &lens, &disps, &types).unwrap()
}

/// The figures agree with what MPICH 5.0.2 and Open MPI 5.0.11 answer, except where these two differ: there
/// the standard's definitions decide, as they do in Open MPI.
#[test]
fn bounds_of_structures() {
    let (char, double) = (named(Basic::Char), named(Basic::Double));
    assert_eq!(
        bounds(&structure(&[(1, 0, char.clone()), (1, 8, double.clone()), (1, 16, char.clone())])),
        [0, 24, 0, 17]
    );
    assert_eq!(bounds(&structure(&[(1, 4, int()), (1, 1, char.clone())])), [1, 8, 1, 7]);
    assert_eq!(bounds(&structure(&[(1, -8, double), (1, 3, char.clone())])), [-8, 16, -8, 12]);
    assert_eq!(bounds(&structure(&[(0, 100, int()), (1, 0, char)])), [0, 1, 0, 1]);
    let pair = named(Basic::LongDoubleInt);
    assert_eq!(bounds(&structure(&[(1, 0, named(Basic::Short)), (1, 5, pair)])), [0, 48, 0, 25]);
}

#[test]
fn bounds_set_by_hand_stick() {
    let wide = Datatype::resized(ConstructorForm::Int, 0, 100, &int()).unwrap();
    assert_eq!(bounds(&structure(&[(1, 0, wide.clone()), (1, 200, int())])), [0, 100, 0, 204]);
    assert_eq!(bounds(&Datatype::contiguous(ConstructorForm::Int, 3, &wide).unwrap()), [0, 300, 0, 204]);
    let nothing = Datatype::contiguous(ConstructorForm::Int, 0, &int()).unwrap();
    let marks = Datatype::resized(ConstructorForm::Int, -3, 50, &nothing).unwrap();
    assert_eq!(bounds(&structure(&[(1, 10, marks), (1, 0, int())])), [7, 50, 0, 4]);
    let backwards = Datatype::resized(ConstructorForm::Int, 0, -8, &int()).unwrap();
    assert_eq!(
        bounds(&Datatype::contiguous(ConstructorForm::Int, 3, &backwards).unwrap()),
        [-16, 8, -16, 20]
    );
    assert_eq!(
        bounds(&Datatype::hindexed(ConstructorForm::Int, &[2], &[3], &backwards).unwrap()),
        [-5, 0, -5, 12]
    );
}

#[test]
fn bounds_of_other_constructors() {
    assert_eq!(
        bounds(&Datatype::vector(ConstructorForm::Int, 3, 2, -4, &int()).unwrap()),
        [-32, 40, -32, 40]
    );
    assert_eq!(bounds(&Datatype::hvector(ConstructorForm::Int, 2, 1, 6, &int()).unwrap()), [0, 12, 0, 10]);
    assert_eq!(bounds(&Datatype::contiguous(ConstructorForm::Int, 0, &int()).unwrap()), [0, 0, 0, 0]);
}

#[test]
fn elements_are_picked_in_the_order_of_the_arguments() {
    let picked = |datatype: Result<Arc<Datatype>, TypeError>, count| indices(&datatype.unwrap(), count, 64);
    let form = ConstructorForm::Int;
    assert_eq!(picked(Datatype::vector(form, 2, 2, 3, &int()), 2), [0, 1, 3, 4, 5, 6, 8, 9]);
    assert_eq!(picked(Datatype::indexed(form, &[2, 1], &[4, 0], &int()), 1), [4, 5, 0]);
    assert_eq!(picked(Datatype::indexed_block(form, 2, &[5, 1, 3], &int()), 1), [5, 6, 1, 2, 3, 4]);
    assert_eq!(picked(Datatype::hindexed_block(form, 1, &[8, 0], &int()), 2), [2, 0, 5, 3]);
    assert_eq!(picked(Datatype::resized(form, 0, 12, &int()), 4), [0, 3, 6, 9]);
}

#[test]
fn arguments_come_back_where_the_standard_says() {
    let (form, large) = (ConstructorForm::Int, ConstructorForm::Count);
    let lengths = |datatype: Arc<Datatype>| {
        let Contents { combiner, integers, addresses, large_counts, datatypes, .. } = datatype.contents();
        (*combiner as i32, [integers.len(), addresses.len(), large_counts.len(), datatypes.len()])
    };
    let of = |datatype: Result<Arc<Datatype>, TypeError>| lengths(datatype.unwrap());
    let (two, disps) = ([1, 2], [0, 8]);
    let pair = [int(), int()];
    assert_eq!(lengths(int()), (101, [0, 0, 0, 0]));
    assert_eq!(lengths(int().dup()), (102, [0, 0, 0, 1]));
    assert_eq!(of(Datatype::contiguous(form, 2, &int())), (103, [1, 0, 0, 1]));
    assert_eq!(of(Datatype::contiguous(large, 2, &int())), (103, [0, 0, 1, 1]));
    assert_eq!(of(Datatype::vector(form, 2, 1, 2, &int())), (104, [3, 0, 0, 1]));
    assert_eq!(of(Datatype::vector(large, 2, 1, 2, &int())), (104, [0, 0, 3, 1]));
    assert_eq!(of(Datatype::hvector(form, 2, 1, 8, &int())), (105, [2, 1, 0, 1]));
    assert_eq!(of(Datatype::hvector(large, 2, 1, 8, &int())), (105, [0, 0, 3, 1]));
    assert_eq!(of(Datatype::indexed(form, &two, &disps, &int())), (106, [5, 0, 0, 1]));
    assert_eq!(of(Datatype::indexed(large, &two, &disps, &int())), (106, [0, 0, 5, 1]));
    assert_eq!(of(Datatype::hindexed(form, &two, &disps, &int())), (107, [3, 2, 0, 1]));
    assert_eq!(of(Datatype::hindexed(large, &two, &disps, &int())), (107, [0, 0, 5, 1]));
    assert_eq!(of(Datatype::indexed_block(form, 1, &disps, &int())), (108, [4, 0, 0, 1]));
    assert_eq!(of(Datatype::indexed_block(large, 1, &disps, &int())), (108, [0, 0, 4, 1]));
    assert_eq!(of(Datatype::hindexed_block(form, 1, &disps, &int())), (109, [2, 2, 0, 1]));
    assert_eq!(of(Datatype::hindexed_block(large, 1, &disps, &int())), (109, [0, 0, 4, 1]));
    assert_eq!(of(Datatype::structure(form, &two, &disps, &pair)), (110, [3, 2, 0, 2]));
    assert_eq!(of(Datatype::structure(large, &two, &disps, &pair)), (110, [0, 0, 5, 2]));
    assert_eq!(of(Datatype::resized(form, 0, 8, &int())), (116, [0, 2, 0, 1]));
    assert_eq!(of(Datatype::resized(large, 0, 8, &int())), (116, [0, 0, 2, 1]));
    assert_eq!(of(Datatype::f90_real(Some(6), None)), (113, [2, 0, 0, 0]));
    assert_eq!(of(Datatype::f90_integer(9)), (115, [1, 0, 0, 0]));
}

#[test]
fn combiners_have_the_values_of_the_abi() {
    let table = include_str!("../../../../abi/tables/constants.tsv");
    let value_of = |name: &str| {
        let row = table.lines().find(|line| line.split('\t').next() == Some(name)).unwrap();
        row.split('\t').nth(2).unwrap().to_string()
    };
    assert_eq!(value_of("MPI_COMBINER_NAMED"), (Combiner::Named as i32).to_string());
    assert_eq!(value_of("MPI_COMBINER_HINDEXED_BLOCK"), (Combiner::HindexedBlock as i32).to_string());
    assert_eq!(value_of("MPI_COMBINER_VALUE_INDEX"), (Combiner::ValueIndex as i32).to_string());
    assert_eq!(value_of("MPI_DISTRIBUTE_CYCLIC"), (Distribution::Cyclic as i32).to_string());
    assert_eq!(value_of("MPI_DISTRIBUTE_DFLT_DARG"), DEFAULT_DARG.to_string());
    assert_eq!(value_of("MPI_ORDER_FORTRAN"), format!("0x{:X}", ArrayOrder::Fortran as i32));
}

#[test]
fn incomplete_elements_have_no_count() {
    let pair = structure(&[(1, 0, int()), (1, 8, named(Basic::Double))]);
    assert_eq!((pair.count_in(24), pair.elements_in(24)), (Some(2), Some(4)));
    assert_eq!((pair.count_in(16), pair.elements_in(16)), (None, Some(3)));
    assert_eq!((pair.count_in(6), pair.elements_in(6)), (None, None));
    let nothing = Datatype::contiguous(ConstructorForm::Int, 0, &int()).unwrap();
    assert_eq!((nothing.count_in(0), nothing.elements_in(0)), (Some(0), Some(0)));
    assert_eq!((nothing.count_in(4), nothing.elements_in(4)), (None, None));
    assert_eq!((nothing.bytes_of_elements(0), nothing.bytes_of_elements(1)), (Some(0), None));
    assert_eq!(named(Basic::FloatInt).elements_in(12), Some(3));
}

#[test]
fn committing_and_copying() {
    let vector = Datatype::vector(ConstructorForm::Int, 2, 1, 2, &int()).unwrap();
    assert!(!vector.is_committed() && !vector.dup().is_committed());
    vector.commit();
    assert!(vector.is_committed() && vector.dup().is_committed() && int().is_committed());
}

#[test]
fn reductions_find_the_basic_type() {
    assert_eq!(int().dup().basic(), Some(Basic::Int));
    assert_eq!(Datatype::contiguous(ConstructorForm::Int, 2, &int()).unwrap().basic(), None);
    assert_eq!(Datatype::vector(ConstructorForm::Int, 2, 1, 3, &int()).unwrap().uniform(), Some(Basic::Int));
    assert_eq!(structure(&[(1, 0, int()), (1, 4, named(Basic::Float))]).uniform(), None);
    assert_eq!(Datatype::f90_real(Some(15), None).unwrap().basic(), Some(Basic::DoublePrecision));
    assert_eq!(Datatype::value_index(&named(Basic::Double), &int()), Some(Basic::DoubleInt));
    assert_eq!(Datatype::value_index(&named(Basic::Double), &named(Basic::Long)), None);
}

#[test]
fn packing_checks_its_room() {
    let vector = Datatype::vector(ConstructorForm::Int, 3, 1, 2, &int()).unwrap();
    let source: Vec<i32> = (0..6).collect();
    let mut packed = [0u8; 20];
    let room = |position| PackedBuf { base: packed.as_ptr().cast_mut(), size: 20, position };
    let from = source.as_ptr().cast();
    // SAFETY: the vector takes 20 bytes of the 24 in `source`; `packed` holds 20.
    unsafe {
        assert_eq!(vector.pack(from, 1, room(4)), Ok(16));
        let refused = TypeError::NoRoom { needed: 12, position: 9, size: 20 };
        assert_eq!(vector.pack(from, 1, room(9)), Err(refused.clone()));
        assert_eq!(refused.to_string(), "12 bytes are needed from position 9, but the packed buffer has 20");
        assert!(vector.pack(from, 1, room(-1)).is_err() && vector.pack(from, 1, room(i64::MAX)).is_err());
    }
    packed.rotate_left(4);
    let mut target = [0i32; 6];
    let packed = PackedBuf { base: packed.as_mut_ptr(), size: 20, position: 0 };
    // SAFETY: as above.
    assert_eq!(unsafe { vector.unpack(packed, target.as_mut_ptr().cast(), 1) }, Ok(12));
    assert_eq!(target, [0, 0, 2, 0, 4, 0]);
}

#[test]
fn wrong_arguments_are_named() {
    let text = |result: Result<Arc<Datatype>, TypeError>| result.unwrap_err().to_string();
    assert_eq!(
        text(Datatype::contiguous(ConstructorForm::Int, -1, &int())),
        "count is -1, but must not be negative"
    );
    let indexed = Datatype::indexed(ConstructorForm::Int, &[1, -2], &[0, 0], &int());
    assert_eq!(text(indexed), "array_of_blocklengths[1] is -2, but must not be negative");
    let wanted = "no real type of this machine has precision 40 and decimal exponent range any";
    assert_eq!(text(Datatype::f90_real(Some(40), None)), wanted);
    let open = "p and r are both MPI_UNDEFINED, but one of them must be given";
    assert_eq!(
        (text(Datatype::f90_real(None, None)), text(Datatype::f90_complex(None, None))),
        (open.into(), open.into())
    );
    assert!(Datatype::f90_real(None, Some(30)).is_ok() && Datatype::f90_complex(Some(6), None).is_ok());
}
