//! Sizes and bounds of datatypes (MPI 5.0, section 5.1, the definitions of lb, ub and extent).

use super::error::TypeError;

/// Bytes from where to where a datatype goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Packed bytes.
    pub size: i64,
    pub lb: i64,
    pub ub: i64,
    pub true_lb: i64,
    pub true_ub: i64,
    /// The strictest alignment of the basic types inside.
    pub align: i64,
    /// Whether the bounds were set by `MPI_Type_create_resized`. Such bounds stick: a type around it takes
    /// its own bounds from marked parts only, and gets no padding.
    pub marked: bool,
}

/// A part of a datatype being built: copies of something with these bounds.
#[derive(Clone, Copy)]
pub(crate) struct RepeatedBounds<'a> {
    pub disp: i64,
    pub count: i64,
    pub stride: i64,
    pub of: &'a Bounds,
}

impl Bounds {
    pub(super) const EMPTY: Self =
        Bounds { size: 0, lb: 0, ub: 0, true_lb: 0, true_ub: 0, align: 1, marked: false };

    pub(super) fn extent(&self) -> i64 {
        self.ub - self.lb
    }

    /// The bounds of parts put together. All sums are exact in 128 bits; only a result that does not fit
    /// into 64 is an error.
    pub(super) fn around<'a>(
        spans: impl Iterator<Item = RepeatedBounds<'a>> + Clone,
    ) -> Result<Self, TypeError> {
        // A part without data and without markers has an empty typemap: it has no say.
        let spans = spans.filter(|span| span.count > 0 && (span.of.size > 0 || span.of.marked));
        let marked = spans.clone().any(|span| span.of.marked);
        let mut size = 0i128;
        let mut align = 1;
        let (mut outer, mut data) = (Interval::NONE, Interval::NONE);
        for span in spans {
            size += i128::from(span.count) * i128::from(span.of.size);
            if span.of.marked == marked {
                outer.cover(&span, span.of.lb, span.of.ub);
            }
            if span.of.size > 0 {
                data.cover(&span, span.of.true_lb, span.of.true_ub);
            }
            align = align.max(span.of.align);
        }
        if !marked {
            outer.pad(align);
        }
        let ((lb, ub), (true_lb, true_ub)) = (outer.checked()?, data.checked()?);
        let size = i64::try_from(size).map_err(|_| TypeError::TooLarge)?;
        Ok(Bounds { size, lb, ub, true_lb, true_ub, align, marked })
    }

    /// The same data between bounds of the user's choice.
    pub(super) fn resized(self, lb: i64, extent: i64) -> Result<Self, TypeError> {
        let ub = lb.checked_add(extent).ok_or(TypeError::TooLarge)?;
        Ok(Bounds { lb, ub, marked: true, ..self })
    }
}

/// The lowest lower bound and the highest upper bound seen so far.
struct Interval(Option<(i128, i128)>);

impl Interval {
    const NONE: Self = Interval(None);

    fn cover(&mut self, span: &RepeatedBounds<'_>, lb: i64, ub: i64) {
        let last = i128::from(span.count - 1) * i128::from(span.stride);
        let low = i128::from(span.disp) + last.min(0) + i128::from(lb);
        let high = i128::from(span.disp) + last.max(0) + i128::from(ub);
        self.0 = Some(match self.0 {
            None => (low, high),
            Some((lowest, highest)) => (lowest.min(low), highest.max(high)),
        });
    }

    /// Rounds the extent up to the alignment: the standard's epsilon.
    fn pad(&mut self, align: i64) {
        if let Some((low, high)) = &mut self.0 {
            *high += (*low - *high).rem_euclid(i128::from(align));
        }
    }

    fn checked(self) -> Result<(i64, i64), TypeError> {
        let (low, high) = self.0.unwrap_or((0, 0));
        let fits = |value: i128| i64::try_from(value).map_err(|_| TypeError::TooLarge);
        fits(high - low)?;
        Ok((fits(low)?, fits(high)?))
    }
}
