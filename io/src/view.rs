//! Views (MPI 5.0 section 14.3): where the bytes of a rank's stream lie in the file.
//!
//! The file type is flattened by `mem`'s layouts, so a regular view is as small as its constructor's arguments, and a position is found by
//! divisions. Displacements never decrease, which the standard demands; so the place of a byte grows with its number in the stream.

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
    /// The second tile would lie before the end of the first, so there is but one.
    is_single: bool,
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
        // A type with bounds of its own may be meant for one access within it: only what goes beyond is wrong.
        let is_single = check_order(tile, 2, writes).is_err();
        let contiguous = tile.contiguous(2).filter(|_| size > 0).map(|first| disp + first as u64);
        Ok(View { disp, etype_bytes, tile: tile.clone(), contiguous, is_single })
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

    /// Whether there is but one tile, since a second one would overlap it.
    pub fn is_single(&self) -> bool {
        self.is_single
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

    /// How many of the stream's first `most` bytes lie before `offset` in the file.
    pub fn before(&self, offset: u64, most: u64) -> u64 {
        if let Some(first) = self.contiguous {
            return offset.saturating_sub(first).min(most);
        }
        let (mut low, mut high) = (0, most);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.offset_of(middle) < offset { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// How many bytes of the stream lie before `offset` in the file.
    pub fn stream_before(&self, offset: u64) -> u64 {
        if self.is_empty() || offset <= self.disp {
            return 0;
        }
        let extent = self.tile.extent().max(1) as u64;
        let tiles = if self.is_single { 1 } else { (offset - self.disp) / extent + 1 };
        self.before(offset, tiles.saturating_mul(self.tile_bytes()).min(i64::MAX as u64))
    }

    /// The range of the file that stream bytes `[from, to)` lie in; empty if there are none.
    pub fn span(&self, from: u64, to: u64) -> std::ops::Range<u64> {
        if from >= to { 0..0 } else { self.offset_of(from)..self.offset_of(to - 1) + 1 }
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
        assert_eq!((view.before(20, 5), view.before(20, 50), view.stream_before(4)), (5, 12, 0));
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
        let single = View::new(5, 1, tight.unwrap().layout(), true).unwrap();
        assert!(single.is_single() && single.reaches(4) && !single.reaches(5));
        assert_eq!((single.stream_before(7), single.stream_before(100)), (2, 4));
        assert!(View::new(0, 1, twice.layout(), false).is_ok());
        assert_eq!(bad(&twice, 3, false), BadView::NotWhole { filetype: 8, etype: 3 });
        assert_eq!(bad(&twice, 0, false), BadView::EmptyElement);
    }
}
