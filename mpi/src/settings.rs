//! The `TERN_*` variables: the one place where the environment is read (`tern info` prints this table).

use tern_engine::Settings;
use tern_transport::config::Config;

/// What the environment asks for.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// For the engine.
    pub engine: Settings,
    /// For the transports.
    pub transport: Config,
}

/// A variable that could not be understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadValue {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// What it may be.
    pub expected: &'static str,
}

impl std::fmt::Display for BadValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}={} is not understood: it must be {}", self.name, self.value, self.expected)
    }
}

impl Environment {
    /// Reads variables by `get`.
    pub fn read(get: impl Fn(&str) -> Option<String>) -> Result<Self, BadValue> {
        let mut all = Environment::default();
        let reader = Reader { get };
        reader.bytes("TERN_EAGER_MAX", |n| all.engine.eager_bytes_max = n)?;
        reader.bytes("TERN_CREDIT_BYTES", |n| all.engine.credit_bytes = n)?;
        reader.bytes("TERN_SHARE_MIN", |n| all.engine.share_bytes_min = n)?;
        reader.value("TERN_RENDEZVOUS", "auto, get, put, both or stream", |text| {
            tern_engine::Rendezvous::parse(text).map(|way| all.engine.rendezvous = way)
        })?;
        reader.value("TERN_CHECK", "a list of: types", |text| {
            all.engine.check_types = text.split(',').any(|word| word == "types");
            (text.is_empty() || text == "types").then_some(())
        })?;
        reader.switch("TERN_RINGS", |on| all.transport.rings = on)?;
        reader.switch("TERN_CMA", |on| all.transport.cma = on)?;
        reader.bytes("TERN_RING_SLOTS", |n| all.transport.ring_lines = n as u32)?;
        reader.bytes("TERN_CELLS", |n| all.transport.cells = n as u32)?;
        reader.bytes("TERN_CELL_BYTES", |n| all.transport.cell_bytes = n as u32)?;
        all.transport = all.transport.clamped();
        Ok(all)
    }
}

struct Reader<G> {
    get: G,
}

impl<G: Fn(&str) -> Option<String>> Reader<G> {
    fn value(
        &self,
        name: &'static str,
        expected: &'static str,
        set: impl FnOnce(&str) -> Option<()>,
    ) -> Result<(), BadValue> {
        let Some(value) = (self.get)(name) else { return Ok(()) };
        set(&value).ok_or(BadValue { name, value, expected })
    }

    /// A number of bytes (or of things), with an optional k, m or g for powers of 1024.
    fn bytes(&self, name: &'static str, set: impl FnOnce(usize)) -> Result<(), BadValue> {
        self.value(name, "a number, as in 4096, 64k or 1m", |text| parse_bytes(text).map(set))
    }

    fn switch(&self, name: &'static str, set: impl FnOnce(bool)) -> Result<(), BadValue> {
        self.value(name, "0 or 1", |text| match text {
            "0" => Some(set(false)),
            "1" => Some(set(true)),
            _ => None,
        })
    }
}

fn parse_bytes(text: &str) -> Option<usize> {
    let lower = text.to_ascii_lowercase();
    let (digits, shift) = match lower.strip_suffix(['k', 'm', 'g']) {
        Some(digits) => (
            digits,
            match lower.as_bytes()[digits.len()] {
                b'k' => 10,
                b'm' => 20,
                _ => 30,
            },
        ),
        None => (lower.as_str(), 0),
    };
    digits.parse::<usize>().ok()?.checked_mul(1 << shift).filter(|&bytes| bytes <= u32::MAX as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &'static str, value: &'static str) -> Result<Environment, BadValue> {
        Environment::read(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn numbers_take_suffixes() {
        assert_eq!(read("TERN_EAGER_MAX", "64k").unwrap().engine.eager_bytes_max, 65536);
        assert_eq!(read("TERN_EAGER_MAX", "0").unwrap().engine.eager_bytes_max, 0);
        assert!(read("TERN_EAGER_MAX", "many").is_err());
        assert!(read("TERN_EAGER_MAX", "99999g").is_err());
    }

    #[test]
    fn what_is_not_understood_is_said() {
        let error = read("TERN_RENDEZVOUS", "push").unwrap_err();
        assert_eq!(
            error.to_string(),
            "TERN_RENDEZVOUS=push is not understood: it must be auto, get, put, both or stream"
        );
        assert!(!read("TERN_RINGS", "0").unwrap().transport.rings);
    }
}
