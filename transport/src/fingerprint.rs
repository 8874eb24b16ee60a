//! Settings that must be the same on all ranks of a job. Ranks that differ would wait for each other without end, or take each
//! other's bytes for something else; so they compare where they first meet, in the segment or in the handshake.

/// Settings that can be compared.
pub const FINGERPRINT_SETTINGS_MAX: usize = 24;

/// Bytes of an [`SettingsFingerprint`] in a handshake.
pub const FINGERPRINT_BYTES: usize = 4 * FINGERPRINT_SETTINGS_MAX;

/// A mark for the value of each such setting: unequal marks are unequal values, and 0 is no mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SettingsFingerprint {
    names: &'static [&'static str],
    marks: [u32; FINGERPRINT_SETTINGS_MAX],
}

impl SettingsFingerprint {
    /// Of no settings.
    pub const NONE: SettingsFingerprint =
        SettingsFingerprint { names: &[], marks: [0; FINGERPRINT_SETTINGS_MAX] };

    /// Of settings with these names, at most [`FINGERPRINT_SETTINGS_MAX`], and their values.
    pub fn new(names: &'static [&'static str], value: impl Fn(&str) -> String) -> SettingsFingerprint {
        let mut marks = [0; FINGERPRINT_SETTINGS_MAX];
        for (mark, name) in marks.iter_mut().zip(names) {
            *mark = hash(value(name).as_bytes()).max(1);
        }
        SettingsFingerprint { names, marks }
    }

    /// The mark of each setting.
    pub fn marks(&self) -> &[u32; FINGERPRINT_SETTINGS_MAX] {
        &self.marks
    }

    /// For whoever must have the same.
    pub fn bytes(&self) -> [u8; FINGERPRINT_BYTES] {
        let mut bytes = [0; FINGERPRINT_BYTES];
        for (to, mark) in bytes.chunks_exact_mut(4).zip(self.marks) {
            to.copy_from_slice(&mark.to_le_bytes());
        }
        bytes
    }

    /// The settings whose marks are others there, by name; `None` if there are none.
    pub fn difference(&self, theirs: &[u32; FINGERPRINT_SETTINGS_MAX]) -> Option<String> {
        let differs = |at: &usize| self.marks[*at] != theirs[*at];
        let name = |at: usize| self.names.get(at).copied().unwrap_or("a setting of another version of Tern");
        let names: Vec<&str> = (0..FINGERPRINT_SETTINGS_MAX).filter(differs).map(name).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    /// As [`SettingsFingerprint::difference`], from a handshake.
    pub fn difference_from(&self, theirs: &[u8; FINGERPRINT_BYTES]) -> Option<String> {
        let mut marks = [0; FINGERPRINT_SETTINGS_MAX];
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

    fn fingerprint(first: &'static str, second: &'static str) -> SettingsFingerprint {
        SettingsFingerprint::new(&["FIRST", "SECOND"], |name| {
            if name == "FIRST" { first.into() } else { second.into() }
        })
    }

    #[test]
    fn what_differs_is_named() {
        let ours = fingerprint("1", "");
        let named = |theirs: SettingsFingerprint| ours.difference_from(&theirs.bytes());
        assert_eq!(named(fingerprint("1", "")), None);
        assert_eq!(named(fingerprint("2", "")).as_deref(), Some("FIRST"));
        assert_eq!(named(fingerprint("2", "x")).as_deref(), Some("FIRST, SECOND"));
        assert!(named(SettingsFingerprint::default()).is_some(), "no mark is another mark");
        let more = SettingsFingerprint::new(&["FIRST", "SECOND", "THIRD"], |_| "1".into());
        assert!(named(more).is_some_and(|names| names.contains("another version")));
    }
}
