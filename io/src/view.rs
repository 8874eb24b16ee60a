//! Views (MPI 5.0 section 14.3): where the bytes of a rank's stream lie in the file.
//!
//! The file type is flattened by `mem`'s layouts, so a regular view is as small as its constructor's arguments, and a position is found by
//! divisions. Within a file type displacements never decrease, which the standard demands. In most views the place of a byte therefore grows
//! with its number in the stream. In the others file types interleave or, where a file is only read, overlap.

use std::fmt;
use std::sync::Arc;
use tern_mem::Layout;

/// A view: a displacement, and a file type laid like tiles from there on.
#[derive(Clone, Debug)]
pub struct View {
    disp: u64,
    etype_bytes: u64,
    tile: Arc<Layout>,
    /// The stream lies in the file without gaps, from here on.
    contiguous: Option<u64>,
    /// The second tile would not lie behind the first, so there is but one.
    is_single: bool,
    /// Within a tile, places grow with the numbers in the stream.
    is_tile_ordered: bool,
    /// They do so from tile to tile, too.
    are_tiles_ordered: bool,
}

/// Consecutive bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRun {
    /// The first byte in the file.
    pub offset: u64,
    /// The same byte in the stream.
    pub stream: u64,
    /// Bytes.
    pub len: u64,
}

/// What is wrong with a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadView {
    /// The elementary type has no bytes.
    EmptyElement,
    /// The file type is not made of whole elementary types.
    NotWhole {
        /// Bytes of the file type.
        filetype: u64,
        /// Bytes of the elementary type.
        etype: u64,
    },
    /// A displacement lies before the view's beginning.
    Negative,
    /// Displacements go back.
    NotMonotonic,
    /// Bytes are named twice, in a file that is open for writing.
    Overlap,
}

impl fmt::Display for BadView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadView::EmptyElement => f.write_str("the etype has no bytes"),
            BadView::NotWhole { filetype, etype } => {
                write!(f, "the filetype has {filetype} bytes, which is no multiple of the etype's {etype}")
            }
            BadView::Negative => f.write_str("the filetype has a negative displacement"),
            BadView::NotMonotonic => {
                f.write_str("the filetype's displacements go back; they must never decrease (section 14.3)")
            }
            BadView::Overlap => f.write_str(
                "the filetype names some bytes twice, which is wrong where the file is open for writing (section 14.3)",
            ),
        }
    }
}

impl View {
    /// All bytes of a file, from the first on.
    pub fn bytes() -> View {
        View {
            disp: 0,
            etype_bytes: 1,
            tile: Arc::new(Layout::bytes(1)),
            contiguous: Some(0),
            is_single: false,
            is_tile_ordered: true,
            are_tiles_ordered: true,
        }
    }

    /// Elements of `etype_bytes` bytes in tiles from `disp` on. `writes`: no byte may be there twice.
    pub fn new(disp: u64, etype_bytes: u64, tile: &Arc<Layout>, writes: bool) -> Result<View, BadView> {
        let size = tile.size() as u64;
        if etype_bytes == 0 {
            return Err(BadView::EmptyElement);
        }
        if !size.is_multiple_of(etype_bytes) {
            return Err(BadView::NotWhole { filetype: size, etype: etype_bytes });
        }
        check_order(tile, 1, writes)?;
        let contiguous = tile.contiguous(2).filter(|_| size > 0).map(|first| disp + first as u64);
        // What may be written has been found to be so.
        let is_tile_ordered = writes || check_order(tile, 1, true).is_ok();
        Ok(View {
            disp,
            etype_bytes,
            tile: tile.clone(),
            contiguous,
            is_single: size > 0 && tile.extent() <= 0,
            is_tile_ordered,
            are_tiles_ordered: is_tile_ordered && check_order(tile, 2, true).is_ok(),
        })
    }

    /// Where the view begins.
    pub fn disp(&self) -> u64 {
        self.disp
    }

    /// Bytes of an elementary type.
    pub fn etype_bytes(&self) -> u64 {
        self.etype_bytes
    }

    /// Whether the stream has no gaps in the file.
    pub fn is_contiguous(&self) -> bool {
        self.contiguous.is_some()
    }

    /// Where the stream begins, if it has no gaps in the file.
    #[inline]
    pub fn contiguous_from(&self) -> Option<u64> {
        self.contiguous
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.tile.size() == 0
    }

    /// Whether there is but one tile, since a second one would lie where it lies or before.
    pub fn is_single(&self) -> bool {
        self.is_single
    }

    /// Whether the places of stream bytes `[from, to)` in the file grow with their numbers, so that no byte is there twice.
    pub fn is_ordered(&self, from: u64, to: u64) -> bool {
        self.are_tiles_ordered
            || from >= to
            || (self.is_tile_ordered && from / self.tile_bytes() == (to - 1) / self.tile_bytes())
    }

    /// A byte of the file at which stream bytes `[from, to)` are more than one; such bytes must not be written at once.
    pub fn overlap(&self, from: u64, to: u64) -> Option<u64> {
        if self.is_ordered(from, to) {
            return None;
        }
        let mut ranges = Vec::new();
        self.runs(from, to, |run| {
            ranges.push((run.offset, run.offset + run.len));
            true
        });
        ranges.sort_unstable();
        ranges.windows(2).find(|pair| pair[1].0 < pair[0].1).map(|pair| pair[1].0)
    }

    /// Bytes of the stream in one tile.
    pub fn tile_bytes(&self) -> u64 {
        self.tile.size() as u64
    }

    /// Whether bytes up to this one of the stream have places in a file at all: 63 bits.
    pub fn reaches(&self, stream: u64) -> bool {
        if stream == 0 {
            return true;
        }
        if self.is_empty() || stream > i64::MAX as u64 || (self.is_single && stream > self.tile_bytes()) {
            return false;
        }
        let tile = i128::from((stream - 1) / self.tile_bytes());
        let end = tile * self.tile.extent() as i128 + (self.tile.true_lb() + self.tile.true_extent()) as i128;
        end + i128::from(self.disp) <= i128::from(i64::MAX)
    }

    /// Calls `each` with the runs of stream bytes `[from, to)`, in order, until it answers false. Runs that touch are one.
    pub fn runs(&self, from: u64, to: u64, mut each: impl FnMut(FileRun) -> bool) {
        if from >= to {
            return;
        }
        if let Some(first) = self.contiguous {
            each(FileRun { offset: first + from, stream: from, len: to - from });
            return;
        }
        let mut stream = from;
        let mut pending: Option<FileRun> = None;
        let done = self.tile.pieces(usize::MAX, from as usize, to as usize, &mut |disp, len| {
            let run = FileRun { offset: self.disp.wrapping_add_signed(disp as i64), stream, len: len as u64 };
            stream += run.len;
            match &mut pending {
                Some(last) if last.offset + last.len == run.offset => last.len += run.len,
                _ => {
                    if let Some(whole) = pending.replace(run) {
                        return each(whole);
                    }
                }
            }
            true
        });
        if let (true, Some(last)) = (done, pending) {
            each(last);
        }
    }

    /// Where a byte of the stream lies in the file.
    pub fn offset_of(&self, stream: u64) -> u64 {
        let mut found = self.disp;
        self.runs(stream, stream + 1, |run| {
            found = run.offset;
            false
        });
        found
    }

    /// How many of stream bytes `[from, to)`, which are in order, lie before `offset` in the file.
    pub fn before(&self, offset: u64, from: u64, to: u64) -> u64 {
        if let Some(first) = self.contiguous {
            return offset.saturating_sub(first).clamp(from, to.max(from)) - from;
        }
        debug_assert!(self.is_ordered(from, to));
        let (mut low, mut high) = (from, to.max(from));
        while low < high {
            let middle = low + (high - low) / 2;
            if self.offset_of(middle) < offset { low = middle + 1 } else { high = middle }
        }
        low - from
    }

    /// How many bytes the stream has up to the last one that lies before `offset` in the file.
    pub fn stream_before(&self, offset: u64) -> u64 {
        let from = self.disp.saturating_add(self.tile.true_lb().max(0) as u64);
        if self.is_empty() || offset <= from {
            return 0;
        }
        // The last tile that begins before the offset: whatever lies in it comes behind all of the others.
        let last = if self.is_single { 0 } else { (offset - 1 - from) / self.tile.extent() as u64 };
        let first = last.saturating_mul(self.tile_bytes()).min(i64::MAX as u64);
        let end = first.saturating_add(self.tile_bytes()).min(i64::MAX as u64);
        if self.is_tile_ordered {
            return first + self.before(offset, first, end);
        }
        let mut behind = first;
        self.runs(first, end, |run| {
            if run.offset < offset {
                behind = run.stream + run.len.min(offset - run.offset);
            }
            true
        });
        behind
    }

    /// The range of the file that stream bytes `[from, to)` lie in; empty if there are none.
    pub fn span(&self, from: u64, to: u64) -> std::ops::Range<u64> {
        if from >= to {
            return 0..0;
        }
        if self.is_ordered(from, to) {
            return self.offset_of(from)..self.offset_of(to - 1) + 1;
        }
        let (mut start, mut end) = (u64::MAX, 0);
        self.runs(from, to, |run| {
            (start, end) = (start.min(run.offset), end.max(run.offset + run.len));
            true
        });
        start..end
    }
}

/// Displacements must be there, and never decrease, in so many tiles.
fn check_order(tile: &Layout, tiles: usize, writes: bool) -> Result<(), BadView> {
    let mut end = isize::MIN;
    let mut start = isize::MIN;
    let mut wrong = None;
    let tiles = if tile.size() == 0 { 0 } else { tiles };
    tile.pieces(tiles, 0, tiles * tile.size(), &mut |disp, len| {
        wrong = match () {
            () if disp < 0 => Some(BadView::Negative),
            () if disp < start => Some(BadView::NotMonotonic),
            () if writes && disp < end => Some(BadView::Overlap),
            () => None,
        };
        (start, end) = (disp, end.max(disp + len as isize));
        wrong.is_none()
    });
    wrong.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tern_mem::Datatype;
    use tern_mem::basic::Basic;
    use tern_mem::datatype::{ArrayOrder, ConstructorForm, Subarray};

    fn byte() -> &'static Arc<Datatype> {
        Datatype::predefined(Basic::Byte)
    }

    fn view(disp: u64, of: &Arc<Datatype>) -> View {
        View::new(disp, 1, of.layout(), true).unwrap()
    }

    /// Places of the first bytes by definition: tile after tile, piece after piece.
    fn places(view: &View, bytes: u64) -> Vec<u64> {
        let mut all = Vec::new();
        view.runs(0, bytes, |run| {
            all.extend(run.offset..run.offset + run.len);
            true
        });
        all
    }

    #[test]
    fn a_vector_view_has_its_gaps() {
        let two_of_five = Datatype::vector(ConstructorForm::Int, 2, 2, 5, byte()).unwrap();
        let tile = Datatype::resized(ConstructorForm::Int, 0, 10, &two_of_five).unwrap();
        let view = view(100, &tile);
        assert_eq!(places(&view, 7), [100, 101, 105, 106, 110, 111, 115]);
        assert!(!view.is_contiguous());
        for (number, place) in (0u64..).zip(places(&view, 400)) {
            assert_eq!(view.offset_of(number), place);
            assert_eq!(view.stream_before(place), number);
            assert_eq!(view.stream_before(place + 1), number + 1);
        }
        assert_eq!(view.span(1, 4), 101..107);
    }

    #[test]
    fn any_part_of_a_stream_is_what_the_whole_has_there() {
        let part =
            Subarray { sizes: &[5, 7, 6], subsizes: &[3, 2, 4], starts: &[1, 4, 1], order: ArrayOrder::C };
        let tile = Datatype::subarray(ConstructorForm::Int, &part, byte()).unwrap();
        let view = view(3, &tile);
        let whole = places(&view, 100);
        for from in 0..70u64 {
            for to in from..70 {
                let mut part = Vec::new();
                view.runs(from, to, |run| {
                    assert_eq!(run.stream, from + part.len() as u64);
                    part.extend(run.offset..run.offset + run.len);
                    true
                });
                assert_eq!(part, whole[from as usize..to as usize]);
            }
        }
    }

    #[test]
    fn a_view_without_gaps_is_one_run() {
        let tile = Datatype::contiguous(ConstructorForm::Int, 12, byte()).unwrap();
        let view = view(8, &tile);
        assert!(view.is_contiguous() && view.reaches(1 << 40) && !view.reaches(i64::MAX as u64));
        assert_eq!(places(&view, 30), (8..38).collect::<Vec<_>>());
        assert_eq!((view.before(20, 0, 5), view.before(20, 0, 50), view.stream_before(4)), (5, 12, 0));
        assert_eq!((view.before(20, 10, 50), view.before(20, 13, 50), view.before(9, 3, 50)), (2, 0, 0));
    }

    /// Columns of a matrix of 3 rows and 4 columns, one after the other.
    #[test]
    fn file_types_may_interleave() {
        let column = Datatype::vector(ConstructorForm::Int, 3, 1, 4, byte()).unwrap();
        let tile = Datatype::resized(ConstructorForm::Int, 0, 1, &column).unwrap();
        let view = view(10, &tile);
        assert_eq!(places(&view, 12), [10, 14, 18, 11, 15, 19, 12, 16, 20, 13, 17, 21]);
        assert!(view.is_ordered(3, 6) && !view.is_ordered(2, 4) && view.reaches(12));
        assert_eq!((view.span(0, 12), view.span(2, 4), view.span(4, 6)), (10..22, 11..19, 15..20));
        assert_eq!(
            (view.overlap(0, 12), view.overlap(0, 13), view.overlap(1, 13)),
            (None, Some(14), Some(14))
        );
        assert_eq!((view.stream_before(10), view.stream_before(11), view.stream_before(13)), (0, 1, 7));
        assert_eq!(view.stream_before(22), 34);
    }

    /// By definition, over file types that overlap themselves and each other.
    #[test]
    fn whatever_the_order_spans_and_ends_are_those_of_the_bytes() {
        let mut random = fastrand::Rng::with_seed(11);
        for _ in 0..500 {
            let (mut at, mut lengths, mut displacements) = (0, Vec::new(), Vec::new());
            for _ in 0..random.u32(1..5) {
                at += random.i64(0..6);
                lengths.push(random.i64(1..5));
                displacements.push(at);
            }
            let tile = Datatype::hindexed(ConstructorForm::Int, &lengths, &displacements, byte()).unwrap();
            let tile = Datatype::resized(ConstructorForm::Int, 0, random.i64(1..20), &tile).unwrap();
            let view = View::new(random.u64(0..9), 1, tile.layout(), false).unwrap();
            let all = places(&view, 1_000);
            for _ in 0..20 {
                let from = random.usize(0..100);
                let to = random.usize(from + 1..120);
                let part = &all[from..to];
                let span = *part.iter().min().unwrap()..part.iter().max().unwrap() + 1;
                assert_eq!(view.span(from as u64, to as u64), span);
                let mut sorted = part.to_vec();
                sorted.sort_unstable();
                let twice = sorted.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
                assert_eq!(view.overlap(from as u64, to as u64).is_some(), twice.is_some());
                assert!(!view.is_ordered(from as u64, to as u64) || part.is_sorted());
                let offset = random.u64(0..40);
                let last = all.iter().rposition(|place| *place < offset).map_or(0, |last| last as u64 + 1);
                assert_eq!(view.stream_before(offset), last);
            }
        }
    }

    #[test]
    fn what_the_standard_forbids_is_refused() {
        let bad = |of: &Arc<Datatype>, etype, writes| View::new(0, etype, of.layout(), writes).unwrap_err();
        let backward = Datatype::hindexed(ConstructorForm::Int, &[1, 1], &[8, 0], byte()).unwrap();
        let before = Datatype::hindexed(ConstructorForm::Int, &[1, 1], &[-1, 3], byte()).unwrap();
        let twice = Datatype::hindexed(ConstructorForm::Int, &[4, 4], &[0, 2], byte()).unwrap();
        let tight = Datatype::resized(
            ConstructorForm::Int,
            0,
            3,
            &Datatype::contiguous(ConstructorForm::Int, 4, byte()).unwrap(),
        );
        assert_eq!(bad(&backward, 1, false), BadView::NotMonotonic);
        assert_eq!(bad(&before, 1, false), BadView::Negative);
        assert_eq!(bad(&twice, 1, true), BadView::Overlap);
        let tight = View::new(5, 1, tight.unwrap().layout(), true).unwrap();
        assert_eq!((tight.overlap(0, 4), tight.overlap(0, 5), tight.overlap(3, 5)), (None, Some(8), Some(8)));
        assert!(tight.is_ordered(0, 4) && !tight.is_ordered(0, 5) && tight.reaches(100));
        let back = Datatype::resized(ConstructorForm::Int, 0, 0, byte()).unwrap();
        let single = View::new(5, 1, back.layout(), true).unwrap();
        assert!(single.is_single() && single.reaches(1) && !single.reaches(2));
        assert_eq!((single.stream_before(5), single.stream_before(100)), (0, 1));
        assert!(View::new(0, 1, twice.layout(), false).is_ok());
        assert_eq!(bad(&twice, 3, false), BadView::NotWhole { filetype: 8, etype: 3 });
        assert_eq!(bad(&twice, 0, false), BadView::EmptyElement);
    }
}
