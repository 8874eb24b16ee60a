//! Cuts a stream of bytes into whole lines.

use crate::limits::LINE_BYTES_MAX;

/// What a stream has said since its last line ended.
#[derive(Debug, Default)]
pub(crate) struct OutputLines {
    partial: Vec<u8>,
}

impl OutputLines {
    /// Takes the next bytes and hands on the whole lines among them, as one piece where possible.
    pub(crate) fn take(&mut self, bytes: &[u8], mut emit: impl FnMut(&[u8])) {
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let (lines, rest) = bytes.split_at(whole);
        if !lines.is_empty() {
            if self.partial.is_empty() {
                emit(lines);
            } else {
                self.partial.extend_from_slice(lines);
                self.flush(&mut emit);
            }
        }
        self.partial.extend_from_slice(rest);
        if self.partial.len() > LINE_BYTES_MAX {
            self.flush(emit);
        }
    }

    /// Hands on what there is of a line that has not ended.
    pub(crate) fn flush(&mut self, mut emit: impl FnMut(&[u8])) {
        if !self.partial.is_empty() {
            emit(&self.partial);
            self.partial.clear();
            self.partial.shrink_to(LINE_BYTES_MAX >> 8);
        }
    }

    /// Whether a line has begun and not ended.
    pub(crate) fn is_partial(&self) -> bool {
        !self.partial.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
        let (mut lines, mut out) = (OutputLines::default(), Vec::new());
        for piece in pieces {
            lines.take(piece, |bytes| out.push(bytes.to_vec()));
        }
        lines.flush(|bytes| out.push(bytes.to_vec()));
        out
    }

    #[test]
    fn lines_are_handed_on_whole() {
        assert_eq!(cut(&[b"a\nb\n"]), [b"a\nb\n".to_vec()]);
        assert_eq!(cut(&[b"a", b"b\nc", b"\n"]), [b"ab\n".to_vec(), b"c\n".to_vec()]);
        assert_eq!(cut(&[b"a\nb"]), [b"a\n".to_vec(), b"b".to_vec()]);
        assert_eq!(cut(&[b"", b"\n"]), [b"\n".to_vec()]);
        assert!(cut(&[]).is_empty());
    }

    #[test]
    fn nothing_is_lost_however_the_bytes_arrive() {
        let text: Vec<u8> = (0..5000u32).map(|i| if i % 37 == 0 { b'\n' } else { i as u8 | 0x40 }).collect();
        for step in [1, 2, 36, 37, 38, 1000, 5000] {
            let pieces: Vec<&[u8]> = text.chunks(step).collect();
            assert_eq!(cut(&pieces).concat(), text, "in steps of {step}");
        }
    }

    #[test]
    fn only_a_line_beyond_the_bound_is_cut() {
        let long = vec![b'x'; LINE_BYTES_MAX];
        assert_eq!(cut(&[&long, b"\n"]).len(), 1);
        let pieces = cut(&[&long, b"yy", b"z\n"]);
        assert_eq!(pieces.iter().map(Vec::len).collect::<Vec<_>>(), [LINE_BYTES_MAX + 2, 2]);
    }
}
