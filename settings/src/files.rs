//! Settings of files.

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

    /// The hints.
    pub fn hints(&self) -> Hints {
        parse(&self.hints).unwrap_or_default()
    }
}

/// Hints as a setting has them: names and values, separated by commas.
pub(crate) fn parse(text: &str) -> Option<Hints> {
    let mut hints = Hints::default();
    for pair in text.split(',').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=')?;
        hints.set(key.trim(), value).ok()?;
    }
    Some(hints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_names_and_values() {
        let hints = parse("cb_nodes=2, romio_cb_write=enable,").unwrap();
        assert_eq!((hints.cb_nodes, hints.cb_write.word()), (Some(2), "enable"));
        assert_eq!(parse(""), Some(Hints::default()));
        assert!(parse("cb_nodes").is_none() && parse("cb_nodes=x").is_none());
    }
}
