//! Settings that must be the same on all ranks of a job. Ranks that differ would wait for each other without end, or take each
//! other's bytes for something else; so they compare where they first meet, in the segment or in the handshake.

/// Settings that can be compared.
pub const ACCORD_SETTINGS_MAX: usize = 16;

/// Bytes of an [`Accord`] in a handshake.
pub(crate) const ACCORD_BYTES: usize = 4 * ACCORD_SETTINGS_MAX;

/// A mark for the value of each such setting: unequal marks are unequal values, and 0 is no mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Accord {
    names: &'static [&'static str],
    marks: [u32; ACCORD_SETTINGS_MAX],
}

impl Accord {
    /// Of settings with these names, at most [`ACCORD_SETTINGS_MAX`], and their values.
    pub fn new(names: &'static [&'static str], value: impl Fn(&str) -> String) -> Accord {
        let mut marks = [0; ACCORD_SETTINGS_MAX];
        for (mark, name) in marks.iter_mut().zip(names) {
            *mark = hash(value(name).as_bytes()).max(1);
        }
        Accord { names, marks }
    }

    pub(crate) fn marks(&self) -> &[u32; ACCORD_SETTINGS_MAX] {
        &self.marks
    }

    pub(crate) fn bytes(&self) -> [u8; ACCORD_BYTES] {
        let mut bytes = [0; ACCORD_BYTES];
        for (to, mark) in bytes.chunks_exact_mut(4).zip(self.marks) {
            to.copy_from_slice(&mark.to_le_bytes());
        }
        bytes
    }

    /// The settings whose marks are others there, by name; `None` if there are none.
    pub(crate) fn difference(&self, theirs: &[u32; ACCORD_SETTINGS_MAX]) -> Option<String> {
        let differs = |at: &usize| self.marks[*at] != theirs[*at];
        let name = |at: usize| self.names.get(at).copied().unwrap_or("a setting of another version of Tern");
        let names: Vec<&str> = (0..ACCORD_SETTINGS_MAX).filter(differs).map(name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// As [`Accord::difference`], from a handshake.
    pub(crate) fn difference_from(&self, theirs: &[u8; ACCORD_BYTES]) -> Option<String> {
        let mut marks = [0; ACCORD_SETTINGS_MAX];
        for (mark, bytes) in marks.iter_mut().zip(theirs.chunks_exact(4)) {
            *mark = bytes.try_into().map_or(0, u32::from_le_bytes);
        }
        self.difference(&marks)
    }
}

/// FNV-1a. What differs by chance alone is found in all but one of 2^32 cases, and nobody gains by forging it.
fn hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accord(first: &'static str, second: &'static str) -> Accord {
        Accord::new(&["FIRST", "SECOND"], |name| if name == "FIRST" { first.into() } else { second.into() })
    }

    #[test]
    fn what_differs_is_named() {
        let ours = accord("1", "");
        let named = |theirs: Accord| ours.difference_from(&theirs.bytes());
        assert_eq!(named(accord("1", "")), None);
        assert_eq!(named(accord("2", "")).as_deref(), Some("FIRST"));
        assert_eq!(named(accord("2", "x")).as_deref(), Some("FIRST, SECOND"));
        assert!(named(Accord::default()).is_some(), "no mark is another mark");
        let more = Accord::new(&["FIRST", "SECOND", "THIRD"], |_| "1".into());
        assert!(named(more).is_some_and(|names| names.contains("another version")));
    }
}
