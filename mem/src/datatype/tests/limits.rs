//! Extreme arguments: huge counts stay small, overflow is an error, long chains unwind.

use super::*;

const HUGE: i64 = 1 << 31;

#[test]
fn a_vector_of_two_billion_blocks_is_strided() {
    let row = Datatype::vector(ConstructorForm::Count, HUGE, 1, 2, &int()).unwrap();
    assert_eq!((row.size(), row.extent()), (4 * HUGE, 8 * HUGE - 4));
    let plane = Datatype::hvector(ConstructorForm::Count, 1 << 20, 1, 16 * HUGE, &row).unwrap();
    assert_eq!(plane.elements(), 1 << 51);
    assert_eq!(plane.signature(1), int().signature(1 << 51));
}

#[test]
fn any_byte_of_a_huge_type_is_found_at_once() {
    let row = Datatype::vector(ConstructorForm::Count, HUGE, 1, 2, &int()).unwrap();
    let odd =
        Datatype::structure(ConstructorForm::Count, &[1, 1], &[0, 16 * HUGE], &[row, named(Basic::Char)])
            .unwrap();
    // SAFETY: only addresses are computed.
    let buf = unsafe { odd.buffer(std::ptr::without_provenance_mut(0x1000), 1 << 20) };
    let mut piece = [crate::IoVec::default()];
    let element = 12345;
    let offset = element * odd.size() as usize + 4 * 777_777_777 + 1;
    assert_eq!(buf.iovecs(offset, 3, &mut piece), (1, 3));
    assert_eq!(piece[0].base, 0x1000 + element * odd.extent() as usize + 8 * 777_777_777 + 1);
}

#[test]
fn overflow_is_an_error() {
    let too_large = Err(TypeError::TooLarge);
    let form = ConstructorForm::Count;
    let failed = |result: Result<Arc<Datatype>, TypeError>| result.map(|_| ());
    assert_eq!(failed(Datatype::contiguous(form, i64::MAX, &int())), too_large);
    assert_eq!(failed(Datatype::vector(form, 2, 1, i64::MAX, &int())), too_large);
    assert_eq!(failed(Datatype::hvector(form, 3, 1, i64::MAX, &int())), too_large);
    assert_eq!(failed(Datatype::hindexed(form, &[1, 1], &[i64::MIN, i64::MAX], &int())), too_large);
    assert_eq!(failed(Datatype::indexed(form, &[1], &[i64::MAX / 2], &int())), too_large);
    assert_eq!(failed(Datatype::resized(form, i64::MAX, 1, &int())), too_large);
    let sizes = [i64::MAX, 8];
    let part = Subarray { sizes: &sizes, subsizes: &[1, 1], starts: &[0, 0], order: ArrayOrder::C };
    assert_eq!(failed(Datatype::subarray(form, &part, &int())), too_large);
    let nothing = Datatype::contiguous(form, 0, &int()).unwrap();
    assert!(Datatype::contiguous(form, i64::MAX, &nothing).is_ok());
    assert!(Datatype::hvector(form, 1, 1, i64::MAX, &int()).is_ok());
}

#[test]
fn counts_of_messages_do_not_overflow() {
    let big = Datatype::contiguous(ConstructorForm::Count, i64::MAX, &named(Basic::Byte)).unwrap();
    assert_eq!(big.pack_size(2), Err(TypeError::TooLarge));
    assert_eq!(big.bytes_of_elements(u64::MAX), Some(u64::MAX));
    assert_eq!(int().bytes_of_elements(u64::MAX), None);
    assert_eq!(int().elements_in(u64::MAX - 3), Some(u64::MAX / 4));
}

#[test]
fn a_long_chain_of_types_unwinds() {
    let mut datatype = int();
    for i in 0..200_000 {
        let form = ConstructorForm::Count;
        datatype = match i % 3 {
            0 => datatype.dup(),
            1 => Datatype::contiguous(form, 1, &datatype).unwrap(),
            _ => Datatype::resized(form, 0, 4, &datatype).unwrap(),
        };
    }
    assert_eq!(indices(&datatype, 3, 3), [0, 1, 2]);
}

#[test]
fn a_deep_irregular_type_stays_usable() {
    let mut datatype = named(Basic::Char);
    for i in 0..5_000i64 {
        let disp = 4 + 8 * i + i % 3;
        datatype =
            Datatype::structure(ConstructorForm::Count, &[1, 1], &[0, disp], &[datatype, named(Basic::Char)])
                .unwrap();
    }
    assert_eq!((datatype.size(), datatype.elements()), (5001, 5001));
    let mut memory = vec![0u8; datatype.true_extent() as usize];
    // SAFETY: the memory reaches to the type's last byte.
    let buf = unsafe { datatype.buffer(memory.as_mut_ptr(), 1) };
    buf.write(0, &[1; 5001]);
    assert_eq!(memory.iter().map(|&b| u32::from(b)).sum::<u32>(), 5001);
}

#[test]
fn a_type_that_mentions_itself_twice_stays_small() {
    let mut datatype = named(Basic::Char);
    for _ in 0..60 {
        let disp = datatype.extent() + 1;
        datatype =
            Datatype::structure(ConstructorForm::Count, &[1, 1], &[0, disp], &[datatype.clone(), datatype])
                .unwrap();
    }
    assert_eq!(datatype.size(), 1 << 60);
    let mut piece = [crate::IoVec::default()];
    // SAFETY: only addresses are computed.
    let buf = unsafe { datatype.buffer(std::ptr::without_provenance_mut(0), 1) };
    assert_eq!(buf.iovecs((1 << 60) - 1, 1, &mut piece), (1, 1));
    assert_eq!(piece[0].base as i64, datatype.true_extent() - 1);
}
