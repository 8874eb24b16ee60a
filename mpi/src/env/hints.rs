//! Keys and values: what is behind the handle of an info object.

/// Keys and values, in the order in which they were set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Info {
    /// Pairs of key and value.
    pub entries: Vec<(String, String)>,
}

impl Info {
    /// The value of a key.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.entries.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    /// Sets a key; a known key keeps its place.
    pub(crate) fn set(&mut self, key: &str, value: &str) {
        match self.entries.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => value.clone_into(old),
            None => self.entries.push((key.to_owned(), value.to_owned())),
        }
    }

    /// Takes a key out; whether it was there.
    pub(crate) fn delete(&mut self, key: &str) -> bool {
        let before = self.entries.len();
        self.entries.retain(|(known, _)| known != key);
        self.entries.len() < before
    }

    /// The pairs whose keys are among `known`: an implementation ignores the hints that it does not know (section 10).
    pub(crate) fn only(&self, known: &[&str]) -> Info {
        let entries = self.entries.iter().filter(|(key, _)| known.contains(&key.as_str()));
        Info { entries: entries.cloned().collect() }
    }
}
