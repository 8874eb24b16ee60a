//! The engine of this process.

use tern_engine::Engine;
use tern_fabric::Fabric;

/// The engine over all transports of this process.
pub(crate) type ProcessEngine = Engine<Fabric>;
