//! Settings of files.

use tern_io::hints::{IgnoredHint, IgnoredWhy};
use tern_io::{Backend, Hints};

/// What the environment asks for of files.
#[derive(Clone, Debug, Default)]
pub struct FileSettings {
    /// Says what was chosen and why.
    pub verbose: bool,
    /// What non-blocking accesses go by.
    pub backend: Backend,
    /// Hints for all files.
    pub hints: String,
}

impl FileSettings {
    /// Unless the environment says otherwise.
    pub const DEFAULT: FileSettings =
        FileSettings { verbose: false, backend: Backend::Auto, hints: String::new() };

    /// The hints, and those that change nothing.
    pub fn hints(&self) -> (Hints, Vec<IgnoredHint>) {
        parse(&self.hints).unwrap_or_default()
    }
}

/// Hints as a setting has them: names and values, separated by commas. `None` where a value makes no sense.
pub(crate) fn parse(text: &str) -> Option<(Hints, Vec<IgnoredHint>)> {
    let (mut hints, mut all_ignored) = (Hints::default(), Vec::new());
    for pair in text.split(',').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=')?;
        match hints.set(key.trim(), value) {
            Err(IgnoredHint { why: IgnoredWhy::Wrong(_), .. }) => return None,
            Err(ignored) => all_ignored.push(ignored),
            Ok(()) => {}
        }
    }
    Some((hints, all_ignored))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_names_and_values() {
        let (hints, ignored) = parse("cb_nodes=2, romio_cb_write=enable,nonsense=3").unwrap();
        assert_eq!((hints.cb_nodes, hints.cb_write.word()), (Some(2), "enable"));
        assert_eq!((ignored.len(), ignored[0].why), (1, IgnoredWhy::Unknown));
        assert_eq!(parse(""), Some((Hints::default(), Vec::new())));
        assert!(parse("cb_nodes").is_none() && parse("cb_nodes=x").is_none());
    }
}
