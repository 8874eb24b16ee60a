//! What `TERN_*` variables say to the transports. The mpi room reads the environment; this is its result.

use crate::limits::{
    CELL_BYTES, CELL_BYTES_MAX, CELLS, CELLS_MAX, LINES_PAYLOAD_BYTES_MAX, RING_LINES, RING_LINES_MAX,
    RING_LINES_MIN,
};

/// Settings of the transports; the same on every rank of a job.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// `TERN_RINGS`: pairs that talk get a ring; otherwise all goes through the receiver's queue.
    pub rings: bool,
    /// `TERN_RING_SLOTS`: lines of a ring, a power of two.
    pub ring_lines: u32,
    /// `TERN_CELLS`: cells of a rank.
    pub cells: u32,
    /// `TERN_CELL_BYTES`: bytes of a cell, and so the longest eager message.
    pub cell_bytes: u32,
    /// `TERN_CMA`: `process_vm_readv` and `process_vm_writev` may be used where the system allows them.
    pub cma: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config { rings: true, ring_lines: RING_LINES, cells: CELLS, cell_bytes: CELL_BYTES, cma: true }
    }
}

impl Config {
    /// The nearest settings that work.
    pub fn clamped(self) -> Self {
        let cell_bytes_min = (LINES_PAYLOAD_BYTES_MAX + 1).next_power_of_two() as u32;
        Config {
            ring_lines: self.ring_lines.clamp(RING_LINES_MIN, RING_LINES_MAX).next_power_of_two(),
            cells: self.cells.clamp(2, CELLS_MAX),
            cell_bytes: self.cell_bytes.clamp(cell_bytes_min, CELL_BYTES_MAX).next_multiple_of(4096),
            ..self
        }
    }
}
