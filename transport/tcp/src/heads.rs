//! The bytes of queued frames that lie together: headers, and the payloads that are copied beside them. They lie one behind the other,
//! so that the kernel takes many short frames as one piece.

use std::collections::VecDeque;

/// Where the head of a frame lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HeadSpan {
    /// Bytes of all heads before it since the beginning.
    at: u64,
    len: usize,
}

impl HeadSpan {
    /// Its bytes.
    #[inline]
    pub(crate) fn len(self) -> usize {
        self.len
    }
}

/// The heads of a peer's frames, in their order.
#[derive(Default)]
pub(crate) struct Heads {
    bytes: VecDeque<u8>,
    /// Bytes that have been forgotten.
    first: u64,
}

impl Heads {
    /// Adds the head of the next frame, which has these parts.
    #[inline]
    pub(crate) fn append<'a>(&mut self, parts: impl IntoIterator<Item = &'a [u8]>) -> HeadSpan {
        let at = self.end();
        parts.into_iter().for_each(|part| self.bytes.extend(part));
        HeadSpan { at, len: (self.end() - at) as usize }
    }

    /// A head from one of its bytes on: one piece, or two where the ring begins again.
    #[inline]
    pub(crate) fn pieces(&self, span: HeadSpan, skip: usize) -> [&[u8]; 2] {
        let (begin, end) = (self.place(span) + skip, self.place(span) + span.len);
        let (front, back) = self.bytes.as_slices();
        match front.len() {
            len if end <= len => [&front[begin..end], &[]],
            len if begin >= len => [&back[begin - len..end - len], &[]],
            len => [&front[begin..], &back[..end - len]],
        }
    }

    /// Puts other bytes in place of a head, which are as many or fewer.
    pub(crate) fn replace(&mut self, span: &mut HeadSpan, bytes: &[u8]) {
        let begin = self.place(*span);
        span.len = bytes.len().min(span.len);
        self.bytes.range_mut(begin..begin + span.len).zip(bytes).for_each(|(old, new)| *old = *new);
    }

    /// All heads before this one, or all there are, have been sent and acknowledged.
    #[inline]
    pub(crate) fn forget_before(&mut self, next: Option<HeadSpan>) {
        let until = next.map_or(self.end(), |span| span.at);
        self.bytes.drain(..(until - self.first) as usize);
        self.first = until;
    }

    fn end(&self) -> u64 {
        self.first + self.bytes.len() as u64
    }

    fn place(&self, span: HeadSpan) -> usize {
        (span.at - self.first) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_lie_one_behind_the_other_and_go_from_the_front() {
        let mut heads = Heads::default();
        let mut spans = VecDeque::new();
        for round in 0..1000u64 {
            let head: Vec<u8> = (0..20 + round % 60).map(|byte| (byte + round) as u8).collect();
            let (header, rest) = head.split_at(16);
            spans.push_back((heads.append([header, rest]), head));
            if spans.len() > (round % 13) as usize {
                spans.pop_front();
                heads.forget_before(spans.front().map(|(span, _)| *span));
            }
            for (span, head) in &spans {
                assert_eq!(span.len(), head.len());
                for skip in [0, 7, head.len()] {
                    assert_eq!(heads.pieces(*span, skip).concat(), head[skip..]);
                }
            }
        }
        heads.forget_before(None);
        assert!(heads.bytes.is_empty());
    }

    #[test]
    fn a_head_can_be_replaced_by_a_shorter_one() {
        let mut heads = Heads::default();
        let (mut first, second) = (heads.append([&[1; 10][..]]), heads.append([&[2; 10][..]]));
        heads.replace(&mut first, &[3; 4]);
        assert_eq!(heads.pieces(first, 0).concat(), [3; 4]);
        assert_eq!(heads.pieces(second, 0).concat(), [2; 10]);
    }
}
