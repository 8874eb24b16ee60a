use super::*;

/// Every second `int` of an array, as a layout.
fn every_second(count: usize) -> Arc<Layout> {
    let int = Layout::bytes(4);
    let placed = int.placed.repeated(count, 8);
    let extent = (count * 8) as isize;
    Arc::new(Layout { size: 4 * count, extent, true_extent: extent - 4, placed, ..int })
}

#[test]
fn a_flat_buffer_reads_and_writes_at_offsets() {
    let mut memory = [0u8; 32];
    // SAFETY: `memory` outlives the buffer.
    let buf = unsafe { UserBuf::contiguous(memory.as_mut_ptr(), 32) };
    buf.write(4, &[1, 2, 3]);
    let mut out = [9; 4];
    buf.read(3, &mut out);
    assert_eq!(out, [0, 1, 2, 3]);
    assert_eq!(buf.as_contiguous(), Some((memory.as_ptr().addr(), 32)));
}

#[test]
fn a_typed_buffer_packs_across_gaps_at_any_byte() {
    let mut memory: Vec<u8> = (0..64).collect();
    let layout = every_second(4);
    // SAFETY: two elements of 32 bytes lie within `memory`.
    let buf = unsafe { UserBuf::typed(memory.as_mut_ptr(), 2, &layout) };
    let packed: Vec<u8> = (0..64).filter(|b| b % 8 < 4).collect();
    assert_eq!((buf.len(), buf.as_contiguous()), (32, None));
    for from in 0..32 {
        for to in from..=32 {
            let mut out = vec![0; to - from];
            buf.read(from, &mut out);
            assert_eq!(out, packed[from..to]);
        }
    }
}

#[test]
fn copies_between_any_two_shapes_agree() {
    let mut source: Vec<u8> = (0..64).collect();
    let mut target = vec![0u8; 64];
    let layout = every_second(8);
    // SAFETY: both vectors hold 64 bytes.
    let (from, to) = unsafe {
        (UserBuf::typed(source.as_mut_ptr(), 1, &layout), UserBuf::typed(target.as_mut_ptr(), 1, &layout))
    };
    let middle = UserBuf::owned(32);
    UserBuf::copy(&from, 0, &middle, 0, 32);
    UserBuf::copy(&middle, 0, &to, 0, 16);
    UserBuf::copy(&from, 16, &to, 16, 999);
    let expected: Vec<u8> = (0..64).map(|b| if b % 8 < 4 { b } else { 0 }).collect();
    assert_eq!(target, expected);
}

#[test]
fn past_the_cache_the_same_arrives() {
    for (block, stride) in [(4, 8), (255, 300), (256, 320), (1000, 1003)] {
        const BLOCKS: usize = 5;
        let piece = Layout::bytes(block);
        let placed = piece.placed.repeated(BLOCKS, stride as isize);
        let (size, extent) = (block * BLOCKS, (BLOCKS * stride) as isize);
        let layout = Arc::new(Layout { size, extent, true_extent: extent, placed, ..piece });
        let source: Vec<u8> = (0..size).map(|at| (at * 7 % 251) as u8).collect();
        let from = UserBuf::owned(size);
        from.write(0, &source);
        for (at, n) in [(0, size), (1, size - 1), (block, block), (block - 1, 2 * block + 1), (size, 1)] {
            let [usual, past] = [false, true].map(|is_past| {
                let mut target = vec![0; BLOCKS * stride];
                // SAFETY: the target holds one element, and outlives the buffer.
                let to = unsafe { UserBuf::typed(target.as_mut_ptr(), 1, &layout) };
                let copy = if is_past { UserBuf::copy_past_cache } else { UserBuf::copy };
                copy(&from, at, &to, at, n);
                target
            });
            assert!(usual == past, "{n} bytes from {at} in blocks of {block}");
        }
    }
}

#[test]
fn pieces_for_the_kernel_stop_when_the_list_is_full() {
    let mut memory = [0u8; 64];
    // SAFETY: eight blocks lie within `memory`.
    let buf = unsafe { UserBuf::typed(memory.as_mut_ptr(), 1, &every_second(8)) };
    let base = memory.as_ptr().addr();
    let mut out = [IoVec::default(); 3];
    assert_eq!(buf.iovecs(2, 30, &mut out), (3, 10));
    assert_eq!(out[0], IoVec { base: base + 2, len: 2 });
    assert_eq!(out[2], IoVec { base: base + 16, len: 4 });
}

#[test]
fn parts_of_an_own_buffer_share_its_memory_and_end_where_it_ends() {
    let whole = UserBuf::owned(16);
    let part = whole.part(4, 8).expect("an own buffer has parts");
    let inner = part.part(2, 100).expect("and they have parts");
    assert_eq!((part.len(), inner.len(), whole.part(20, 1).map(|part| part.len())), (8, 6, Some(0)));
    inner.write(1, &[7]);
    let mut seen = [0; 16];
    whole.read(0, &mut seen);
    assert_eq!(seen.iter().position(|&byte| byte == 7), Some(7));
    drop(whole);
    assert_eq!(inner.as_contiguous().map(|(_, len)| len), Some(6));
    assert!(UserBuf::empty().part(0, 0).is_none());
}
