//! The `TERN_*` variables of this process: the one place where the environment is read. What they mean is in
//! [`tern_engine::variables`].

pub use tern_engine::variables::{BadValue, Environment};

/// What the environment asks for, or what of it cannot be understood.
pub fn from_environment() -> Result<Environment, BadValue> {
    Environment::read(|name| std::env::var(name).ok())
}
