//! Datatypes against a naive reference: the typemap written out, element by element.

use proptest::prelude::*;

use super::*;

/// A constructor call with small arguments.
#[derive(Clone, Debug)]
enum Recipe {
    Basic(Basic),
    Contiguous(i64, Box<Recipe>),
    Vector(i64, i64, i64, Box<Recipe>),
    Hvector(i64, i64, i64, Box<Recipe>),
    Indexed(Vec<(i64, i64)>, Box<Recipe>),
    Hindexed(Vec<(i64, i64)>, Box<Recipe>),
    IndexedBlock(i64, Vec<i64>, Box<Recipe>),
    HindexedBlock(i64, Vec<i64>, Box<Recipe>),
    Struct(Vec<(i64, i64, Recipe)>),
    Resized(i64, i64, Box<Recipe>),
    Dup(Box<Recipe>),
    Subarray(Vec<(i64, i64, i64)>, bool, Box<Recipe>),
}

/// A typemap written out.
#[derive(Clone, Debug)]
struct Map {
    entries: Vec<(i64, Basic)>,
    lb: i64,
    ub: i64,
    marked: bool,
}

impl Map {
    fn extent(&self) -> i64 {
        self.ub - self.lb
    }

    /// Section 5.1: the typemaps one after another, each moved; the bounds by their definition.
    fn of_parts(parts: &[(i64, Map)]) -> Map {
        let parts: Vec<_> = parts.iter().filter(|(_, m)| m.marked || !m.entries.is_empty()).collect();
        let moved =
            |(disp, map): &&(i64, Map)| map.entries.iter().map(|e| (e.0 + disp, e.1)).collect::<Vec<_>>();
        let entries: Vec<_> = parts.iter().flat_map(moved).collect();
        let marked = parts.iter().any(|part| part.1.marked);
        let bounding = || parts.iter().filter(|part| part.1.marked == marked);
        let lb = bounding().map(|(disp, map)| disp + map.lb).min().unwrap_or(0);
        let mut ub = bounding().map(|(disp, map)| disp + map.ub).max().unwrap_or(0);
        let align = entries.iter().map(|e| e.1.align() as i64).max().unwrap_or(1);
        while !marked && (ub - lb) % align != 0 {
            ub += 1;
        }
        Map { entries, lb, ub, marked }
    }

    /// Blocks of elements at byte displacements.
    fn blocks(&self, blocks: impl Iterator<Item = (i64, i64)>) -> Map {
        let copies = blocks.flat_map(|(len, disp)| (0..len).map(move |i| disp + i * self.extent()));
        Map::of_parts(&copies.map(|disp| (disp, self.clone())).collect::<Vec<_>>())
    }

    /// Displacement of each packed byte.
    fn bytes(&self, count: i64) -> Vec<i64> {
        let elements =
            (0..count).flat_map(|i| self.entries.iter().map(move |e| (e.0 + i * self.extent(), e.1)));
        elements.flat_map(|(disp, basic)| bytes_of(disp, basic)).collect()
    }
}

fn bytes_of(disp: i64, basic: Basic) -> Vec<i64> {
    let number =
        |p: &crate::basic::Piece| (p.offset..p.offset + p.basic.size()).map(move |b| disp + b as i64);
    basic.pieces().iter().flat_map(number).collect()
}

impl Recipe {
    fn map(&self) -> Map {
        match self {
            Recipe::Basic(basic) => {
                Map { entries: vec![(0, *basic)], lb: 0, ub: basic.extent() as i64, marked: false }
            }
            Recipe::Contiguous(count, old) => old.map().blocks([(*count, 0)].into_iter()),
            Recipe::Vector(count, len, stride, old) => {
                let old = old.map();
                old.blocks((0..*count).map(|i| (*len, i * stride * old.extent())))
            }
            Recipe::Hvector(count, len, stride, old) => {
                old.map().blocks((0..*count).map(|i| (*len, i * stride)))
            }
            Recipe::Indexed(blocks, old) => {
                let old = old.map();
                old.blocks(blocks.iter().map(|&(len, disp)| (len, disp * old.extent())))
            }
            Recipe::Hindexed(blocks, old) => old.map().blocks(blocks.iter().copied()),
            Recipe::IndexedBlock(len, disps, old) => {
                let old = old.map();
                old.blocks(disps.iter().map(|disp| (*len, disp * old.extent())))
            }
            Recipe::HindexedBlock(len, disps, old) => {
                old.map().blocks(disps.iter().map(|&disp| (*len, disp)))
            }
            Recipe::Struct(fields) => {
                Map::of_parts(&fields.iter().flat_map(copies_of_field).collect::<Vec<_>>())
            }
            Recipe::Resized(lb, extent, old) => Map { lb: *lb, ub: lb + extent, marked: true, ..old.map() },
            Recipe::Dup(old) => old.map(),
            Recipe::Subarray(dims, c_order, old) => subarray_map(dims, *c_order, &old.map()),
        }
    }

    fn build(&self) -> Arc<Datatype> {
        let form = ConstructorForm::Count;
        let split = |pairs: &[(i64, i64)]| pairs.iter().copied().unzip::<i64, i64, Vec<_>, Vec<_>>();
        match self {
            Recipe::Basic(basic) => Ok(named(*basic)),
            Recipe::Contiguous(count, old) => Datatype::contiguous(form, *count, &old.build()),
            Recipe::Vector(count, len, stride, old) => {
                Datatype::vector(form, *count, *len, *stride, &old.build())
            }
            Recipe::Hvector(count, len, stride, old) => {
                Datatype::hvector(form, *count, *len, *stride, &old.build())
            }
            Recipe::Indexed(blocks, old) => {
                let (lens, disps) = split(blocks);
                Datatype::indexed(form, &lens, &disps, &old.build())
            }
            Recipe::Hindexed(blocks, old) => {
                let (lens, disps) = split(blocks);
                Datatype::hindexed(form, &lens, &disps, &old.build())
            }
            Recipe::IndexedBlock(len, disps, old) => Datatype::indexed_block(form, *len, disps, &old.build()),
            Recipe::HindexedBlock(len, disps, old) => {
                Datatype::hindexed_block(form, *len, disps, &old.build())
            }
            Recipe::Struct(fields) => {
                let lens: Vec<_> = fields.iter().map(|field| field.0).collect();
                let disps: Vec<_> = fields.iter().map(|field| field.1).collect();
                let types: Vec<_> = fields.iter().map(|field| field.2.build()).collect();
                Datatype::structure(form, &lens, &disps, &types)
            }
            Recipe::Resized(lb, extent, old) => Datatype::resized(form, *lb, *extent, &old.build()),
            Recipe::Dup(old) => Ok(old.build().dup()),
            Recipe::Subarray(dims, c_order, old) => build_subarray(dims, *c_order, &old.build()),
        }
        .expect("small arguments make a datatype")
    }
}

fn copies_of_field((len, disp, old): &(i64, i64, Recipe)) -> Vec<(i64, Map)> {
    let old = old.map();
    (0..*len).map(|i| (disp + i * old.extent(), old.clone())).collect()
}

/// Rows of (size, subsize, start), by walking every index of the part.
fn subarray_map(dims: &[(i64, i64, i64)], c_order: bool, old: &Map) -> Map {
    let mut places = vec![0];
    let mut stride = old.extent();
    let fastest_first: Vec<_> = if c_order { dims.iter().rev().collect() } else { dims.iter().collect() };
    for &&(size, subsize, start) in &fastest_first {
        let next = (start..start + subsize).flat_map(|i| places.iter().map(move |at| at + i * stride));
        places = next.collect();
        stride *= size;
    }
    let copies: Vec<_> = places.into_iter().map(|at| (at, old.clone())).collect();
    Map { lb: 0, ub: stride, marked: true, ..Map::of_parts(&copies) }
}

fn build_subarray(
    dims: &[(i64, i64, i64)],
    c_order: bool,
    old: &Arc<Datatype>,
) -> Result<Arc<Datatype>, TypeError> {
    let column = |f: fn(&(i64, i64, i64)) -> i64| dims.iter().map(f).collect::<Vec<_>>();
    let (sizes, subsizes, starts) = (column(|d| d.0), column(|d| d.1), column(|d| d.2));
    let order = if c_order { ArrayOrder::C } else { ArrayOrder::Fortran };
    let part = Subarray { sizes: &sizes, subsizes: &subsizes, starts: &starts, order };
    Datatype::subarray(ConstructorForm::Count, &part, old)
}

fn recipe() -> impl Strategy<Value = Recipe> {
    let basics =
        [Basic::Char, Basic::Short, Basic::Int, Basic::Double, Basic::ShortInt, Basic::LongDoubleInt];
    let leaf = prop::sample::select(basics.to_vec()).prop_map(Recipe::Basic);
    leaf.prop_recursive(4, 24, 3, |inner| {
        let old = inner.clone().prop_map(Box::new);
        let (count, disp) = (0..4i64, -40..40i64);
        let blocks = || prop::collection::vec((0..4i64, -6..6i64), 0..4);
        let disps = || prop::collection::vec(-6..6i64, 0..4);
        let dims = prop::collection::vec((1..4i64, 1..4i64, 0..3i64).prop_map(fitting), 1..3);
        prop_oneof![
            (count.clone(), old.clone()).prop_map(|(n, t)| Recipe::Contiguous(n, t)),
            (count.clone(), 0..3i64, -5..5i64, old.clone())
                .prop_map(|(n, l, s, t)| Recipe::Vector(n, l, s, t)),
            (count.clone(), 0..3i64, disp.clone(), old.clone())
                .prop_map(|(n, l, s, t)| Recipe::Hvector(n, l, s, t)),
            (blocks(), old.clone()).prop_map(|(b, t)| Recipe::Indexed(b, t)),
            (blocks(), old.clone()).prop_map(|(b, t)| Recipe::Hindexed(b, t)),
            (0..3i64, disps(), old.clone()).prop_map(|(l, d, t)| Recipe::IndexedBlock(l, d, t)),
            (0..3i64, disps(), old.clone()).prop_map(|(l, d, t)| Recipe::HindexedBlock(l, d, t)),
            prop::collection::vec((0..3i64, disp, inner), 0..4).prop_map(Recipe::Struct),
            (-20..20i64, -20..60i64, old.clone()).prop_map(|(lb, e, t)| Recipe::Resized(lb, e, t)),
            old.clone().prop_map(Recipe::Dup),
            (dims, any::<bool>(), old).prop_map(|(d, c, t)| Recipe::Subarray(d, c, t)),
        ]
    })
}

/// A part that lies within its array.
fn fitting((subsize, more, start): (i64, i64, i64)) -> (i64, i64, i64) {
    (subsize + start + more, subsize, start)
}

/// Memory for some elements with a pattern in it, and where their address is in it.
fn memory_for(bytes: &[i64]) -> (Vec<u8>, i64) {
    let low = bytes.iter().copied().min().unwrap_or(0).min(0);
    let high = bytes.iter().copied().max().unwrap_or(0);
    let pattern = (0..=(high - low) as usize).map(|i| (i * 7 + i / 251) as u8);
    (pattern.collect(), -low)
}

/// Random cuts of `[0, len)` into fragments.
fn fragments(len: usize, cuts: &[usize]) -> Vec<std::ops::Range<usize>> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (len + 1)).chain([0, len]).collect();
    ends.sort_unstable();
    ends.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sizes_and_bounds_are_those_of_the_typemap(recipe in recipe()) {
        let (map, datatype) = (recipe.map(), recipe.build());
        let bytes = map.bytes(1);
        prop_assert_eq!(datatype.size(), bytes.len() as i64);
        prop_assert_eq!((datatype.lb(), datatype.extent()), (map.lb, map.extent()));
        if let (Some(low), Some(high)) = (bytes.iter().min(), bytes.iter().max()) {
            prop_assert_eq!((datatype.true_lb(), datatype.true_extent()), (*low, high - low + 1));
        }
    }

    #[test]
    fn packing_in_fragments_gathers_the_typemap(
        recipe in recipe(), count in 1..4i64, cuts in prop::collection::vec(any::<usize>(), 0..6),
    ) {
        let (map, datatype) = (recipe.map(), recipe.build());
        let bytes = map.bytes(count);
        let (mut memory, base) = memory_for(&bytes);
        let expected: Vec<u8> = bytes.iter().map(|at| memory[(base + at) as usize]).collect();
        // SAFETY: `memory` reaches from the lowest to the highest byte of the typemap.
        let buf = unsafe { datatype.buffer(memory.as_mut_ptr().wrapping_offset(base as isize), count as u64) };
        prop_assert_eq!(buf.len(), expected.len());
        for range in fragments(expected.len(), &cuts) {
            let mut out = vec![0; range.len()];
            buf.read(range.start, &mut out);
            prop_assert_eq!(&out, &expected[range]);
        }
    }

    #[test]
    fn unpacking_in_fragments_scatters_the_typemap(
        recipe in recipe(), count in 1..4i64, cuts in prop::collection::vec(any::<usize>(), 0..6),
    ) {
        let (map, datatype) = (recipe.map(), recipe.build());
        let bytes = map.bytes(count);
        let (mut memory, base) = memory_for(&bytes);
        let packed: Vec<u8> = (0..bytes.len()).map(|i| (i * 13 + 1) as u8).collect();
        let mut expected = memory.clone();
        bytes.iter().zip(&packed).for_each(|(at, byte)| expected[(base + at) as usize] = *byte);
        // SAFETY: as above.
        let buf = unsafe { datatype.buffer(memory.as_mut_ptr().wrapping_offset(base as isize), count as u64) };
        fragments(packed.len(), &cuts).into_iter().for_each(|range| buf.write(range.start, &packed[range]));
        prop_assert_eq!(memory, expected);
    }

    #[test]
    fn copies_between_two_types_move_the_packed_bytes(
        source in recipe(), target in recipe(), counts in (1..40i64, 1..40i64), skips in (0..9usize, 0..9usize),
    ) {
        let (read, written) = (source.map().bytes(counts.0), target.map().bytes(counts.1));
        let ((mut from, from_base), (mut to, to_base)) = (memory_for(&read), memory_for(&written));
        let mut expected = to.clone();
        for (at, into) in read.iter().skip(skips.0).zip(written.iter().skip(skips.1)) {
            expected[(to_base + into) as usize] = from[(from_base + at) as usize];
        }
        let from_address = from.as_mut_ptr().wrapping_offset(from_base as isize);
        let to_address = to.as_mut_ptr().wrapping_offset(to_base as isize);
        // SAFETY: as above, for both.
        let (from_buf, to_buf) = unsafe {
            (source.build().buffer(from_address, counts.0 as u64), target.build().buffer(to_address, counts.1 as u64))
        };
        crate::UserBuf::copy(&from_buf, skips.0, &to_buf, skips.1, usize::MAX);
        prop_assert_eq!(to, expected);
    }

    #[test]
    fn pieces_for_the_kernel_are_the_typemap(recipe in recipe(), count in 1..4i64, skip in 0..30usize) {
        let (map, datatype) = (recipe.map(), recipe.build());
        let bytes = map.bytes(count);
        let (mut memory, base) = memory_for(&bytes);
        let address = memory.as_mut_ptr().wrapping_offset(base as isize);
        // SAFETY: as above.
        let buf = unsafe { datatype.buffer(address, count as u64) };
        let mut pieces = [crate::IoVec::default(); 5];
        let (filled, covered) = buf.iovecs(skip, usize::MAX, &mut pieces);
        let told = pieces[..filled].iter().flat_map(|p| (0..p.len).map(|i| p.base.wrapping_add(i)));
        let expected = bytes.iter().skip(skip).map(|at| address.addr().wrapping_add_signed(*at as isize));
        prop_assert!(told.eq(expected.take(covered)));
        prop_assert!(filled == 5 || covered == bytes.len().saturating_sub(skip));
    }

    #[test]
    fn elements_are_counted_as_in_the_typemap(recipe in recipe()) {
        let (map, datatype) = (recipe.map(), recipe.build());
        let numbers = map.entries.iter().flat_map(|e| e.1.pieces());
        let mut ends = vec![0];
        numbers.for_each(|number| ends.push(ends[ends.len() - 1] + number.basic.size() as u64));
        let size = datatype.size() as u64;
        for bytes in 0..=size {
            let expected = ends.iter().position(|&end| end == bytes).map(|n| n as u64);
            prop_assert_eq!(datatype.elements_in(bytes), expected);
        }
        for (elements, &end) in ends.iter().enumerate() {
            prop_assert_eq!(datatype.bytes_of_elements(elements as u64), Some(end));
        }
        if size > 0 {
            let (elements, more) = (ends.len() as u64 - 1, 1.min(ends.len() - 1));
            prop_assert_eq!(datatype.elements_in(5 * size + ends[more]), Some(5 * elements + more as u64));
            prop_assert_eq!(datatype.bytes_of_elements(5 * elements + more as u64), Some(5 * size + ends[more]));
        }
    }

    #[test]
    fn signatures_see_only_the_sequence_of_types(recipe in recipe(), count in 1..4u64) {
        let (map, datatype) = (recipe.map(), recipe.build());
        let numbers: Vec<_> = map.entries.iter().flat_map(|e| e.1.pieces()).map(|p| named(p.basic)).collect();
        let (ones, disps) = (vec![1; numbers.len()], vec![0; numbers.len()]);
        let flat = Datatype::structure(ConstructorForm::Count, &ones, &disps, &numbers).unwrap();
        let nested = Datatype::contiguous(ConstructorForm::Count, count as i64, &flat).unwrap();
        prop_assert_eq!(datatype.signature(count), nested.signature(1));
        prop_assert_eq!(datatype.signature(2 * count), flat.signature(2 * count));
        // The receive may have room for more: what comes is compared with the beginning.
        if datatype.signature(1) != 0 && flat.size() > 0 {
            let bytes = flat.size() as u64 * count;
            prop_assert_eq!(datatype.signature_of_first(bytes), flat.signature(count));
            if let Some(half) = numbers.len().checked_div(2).filter(|&half| half > 0) {
                let first = Datatype::structure(ConstructorForm::Count, &ones[..half], &disps[..half], &numbers[..half]).unwrap();
                let bytes = bytes + first.size() as u64;
                let message = Datatype::structure(ConstructorForm::Count, &[count as i64, 1], &[0, 0], &[flat, first]).unwrap();
                prop_assert_eq!(datatype.signature_of_first(bytes), message.signature(1));
            }
        }
    }

    #[test]
    fn external_packing_follows_the_typemap_and_comes_back(recipe in recipe(), count in 1..4i64) {
        let (map, datatype) = (recipe.map(), recipe.build());
        let bytes = map.bytes(count);
        let (memory, base) = memory_for(&bytes);
        let size = datatype.external_size(count).unwrap();
        let each: usize = map.entries.iter().map(|e| e.1.external_size()).sum();
        prop_assert_eq!(size, each as i64 * count);
        let mut packed = vec![0u8; size as usize];
        let room = PackedBuf { base: packed.as_mut_ptr(), size, position: 0 };
        // SAFETY: `memory` holds the typemap of all elements with the padding of each, `packed` all of them.
        let end = unsafe { datatype.pack_external(memory.as_ptr().wrapping_offset(base as isize), count, room) };
        prop_assert_eq!(end, Ok(size));
        prop_assert_eq!(packed, expected_external(&map, count, &memory, base));
    }
}

/// Every basic element by itself, in the order of the typemap.
fn expected_external(map: &Map, count: i64, memory: &[u8], base: i64) -> Vec<u8> {
    let mut out = Vec::new();
    for i in 0..count {
        for &(disp, basic) in &map.entries {
            let at = (base + disp + i * map.extent()) as usize;
            let mut element = memory[at..(at + basic.extent()).min(memory.len())].to_vec();
            element.resize(basic.extent(), 0);
            let mut external = vec![0; basic.external_size()];
            // SAFETY: both are as long as the functions ask.
            unsafe { crate::external32::encode(basic, element.as_ptr(), external.as_mut_ptr()) };
            out.append(&mut external);
        }
    }
    out
}
