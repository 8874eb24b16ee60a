mod grid;
mod limits;
mod reference;
mod standard;

use std::sync::Arc;

use super::*;

fn named(basic: Basic) -> Arc<Datatype> {
    Datatype::predefined(basic).clone()
}

fn int() -> Arc<Datatype> {
    named(Basic::Int)
}

/// The index of each `int` that `count` elements take from an array of them.
fn indices(datatype: &Datatype, count: u64, array_len: usize) -> Vec<i32> {
    let mut array: Vec<i32> = (0..array_len as i32).collect();
    // SAFETY: the tests describe elements within the array.
    let buf = unsafe { datatype.buffer(array.as_mut_ptr().cast(), count) };
    let mut packed = vec![0; buf.len()];
    buf.read(0, &mut packed);
    packed.chunks_exact(4).map(|b| i32::from_ne_bytes([b[0], b[1], b[2], b[3]])).collect()
}
