//! Where everything lies in the job's segment. All ranks compute the same offsets from the same few numbers.

use crate::limits::{
    CELL_PIECE_BYTES_MIN, CELL_PIECES, COOPERATIVE_COPY_SLOTS, LINE_BYTES, PAGE_BYTES,
    SHARED_BUFFER_DATA_BYTES, SHARED_BUFFER_FLAGS, SHARED_BUFFERS, SHM_COMM_SLOTS,
};
use tern_transport::config::TransportConfig;

use super::segment_words::{CellLine, CooperativeCopySlot, RegionControl, ShmCommParts, ShmCommWords};

/// The numbers that shape a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct SegmentLayout {
    pub(crate) size: u32,
    pub(crate) ring_lines: u32,
    pub(crate) cells: u32,
    pub(crate) cell_bytes: u32,
    /// Bytes of a rank's region; `None` if they cannot be addressed.
    region_bytes: Option<usize>,
}

/// Version of everything that ranks exchange through the segment; one more with every change of it.
const VERSION: u64 = 9;

/// A shared buffer's flags, to the end of a page.
const SHARED_BUFFER_FLAGS_BYTES: usize = (SHARED_BUFFER_FLAGS * LINE_BYTES).next_multiple_of(PAGE_BYTES);

/// Flags and data of a shared buffer.
const SHARED_BUFFER_BYTES: usize = SHARED_BUFFER_FLAGS_BYTES + SHARED_BUFFER_DATA_BYTES;

/// Bytes before the first region: the job's fingerprint.
const JOB_BYTES: usize = PAGE_BYTES;

impl SegmentLayout {
    pub(crate) fn new(size: u32, config: &TransportConfig) -> Self {
        let TransportConfig { ring_lines, cells, cell_bytes, .. } = config.clamped();
        let layout = SegmentLayout { size, ring_lines, cells, cell_bytes, region_bytes: None };
        SegmentLayout { region_bytes: layout.end_of_rings(), ..layout }
    }

    /// Different for layouts that do not fit together; never zero.
    pub(crate) fn fingerprint(&self) -> u64 {
        let numbers =
            [VERSION, self.size.into(), self.ring_lines.into(), self.cells.into(), self.cell_bytes.into()];
        numbers.iter().fold(0xcbf2_9ce4_8422_2325, |hash: u64, n| (hash ^ n).wrapping_mul(0x100_0000_01b3))
            | 1
    }

    /// Bytes of the whole segment; `None` if they cannot be addressed.
    pub(crate) fn segment_bytes(&self) -> Option<usize> {
        let regions = (self.size as usize).checked_mul(self.region_bytes?)?;
        regions.checked_add(JOB_BYTES).filter(|bytes| isize::try_from(*bytes).is_ok())
    }

    /// From the start of a region.
    fn end_of_rings(&self) -> Option<usize> {
        let rings = (self.size as usize).checked_mul(self.ring_bytes())?;
        Some(rings.checked_add(self.rings_offset())?.next_multiple_of(PAGE_BYTES))
    }

    /// A ring and, before it, its reader's line: a pair that exchanges little touches one page. The odd number of lines also keeps the heads of neighboring rings in
    /// different sets of the first-level cache.
    fn ring_bytes(&self) -> usize {
        (self.ring_lines as usize + 1) * LINE_BYTES
    }

    // Within a region: control, cooperative copies and cell lines share the first pages; then what is touched less.

    fn cooperative_copies_offset(&self) -> usize {
        size_of::<RegionControl>()
    }

    fn cell_lines_offset(&self) -> usize {
        self.cooperative_copies_offset() + COOPERATIVE_COPY_SLOTS * size_of::<CooperativeCopySlot>()
    }

    fn shm_comms_offset(&self) -> usize {
        (self.cell_lines_offset() + self.cells as usize * size_of::<CellLine>())
            .next_multiple_of(size_of::<ShmCommWords>())
    }

    fn shm_comm_parts_offset(&self) -> usize {
        (self.shm_comms_offset() + SHM_COMM_SLOTS * size_of::<ShmCommWords>()).next_multiple_of(PAGE_BYTES)
    }

    fn cells_offset(&self) -> usize {
        (self.shm_comm_parts_offset() + SHM_COMM_SLOTS * size_of::<ShmCommParts>())
            .next_multiple_of(PAGE_BYTES)
    }

    fn shared_buffers_offset(&self) -> usize {
        (self.cells_offset() + self.cells as usize * self.cell_bytes as usize).next_multiple_of(PAGE_BYTES)
    }

    fn rings_offset(&self) -> usize {
        self.shared_buffers_offset() + SHARED_BUFFERS * SHARED_BUFFER_BYTES
    }

    // From the start of the segment. The arguments are this process's own or were checked by the caller;
    // the assertions make that so.

    fn region(&self, rank: u32) -> usize {
        assert!(rank < self.size, "rank {rank} of {}", self.size);
        JOB_BYTES + rank as usize * self.region_bytes.expect("checked when the segment was mapped")
    }

    pub(crate) fn control(&self, rank: u32) -> usize {
        self.region(rank)
    }

    pub(crate) fn cooperative_copy_slot(&self, rank: u32, slot: usize) -> usize {
        assert!(slot < COOPERATIVE_COPY_SLOTS);
        self.region(rank) + self.cooperative_copies_offset() + slot * size_of::<CooperativeCopySlot>()
    }

    pub(crate) fn shm_comm(&self, rank: u32, slot: usize) -> usize {
        assert!(slot < SHM_COMM_SLOTS);
        self.region(rank) + self.shm_comms_offset() + slot * size_of::<ShmCommWords>()
    }

    pub(crate) fn shm_comm_parts(&self, rank: u32, slot: usize) -> usize {
        assert!(slot < SHM_COMM_SLOTS);
        self.region(rank) + self.shm_comm_parts_offset() + slot * size_of::<ShmCommParts>()
    }

    pub(crate) fn shared_flag(&self, rank: u32, slot: usize, line: usize) -> usize {
        assert!(line < SHARED_BUFFER_FLAGS);
        self.shared_buffer(rank, slot) + line * LINE_BYTES
    }

    /// [`SHARED_BUFFER_DATA_BYTES`] of data.
    pub(crate) fn shared_data(&self, rank: u32, slot: usize) -> usize {
        self.shared_buffer(rank, slot) + SHARED_BUFFER_FLAGS_BYTES
    }

    fn shared_buffer(&self, rank: u32, slot: usize) -> usize {
        assert!(slot < SHARED_BUFFERS);
        self.region(rank) + self.shared_buffers_offset() + slot * SHARED_BUFFER_BYTES
    }

    pub(crate) fn cell_line(&self, rank: u32, cell: u32) -> usize {
        assert!(cell < self.cells);
        self.region(rank) + self.cell_lines_offset() + cell as usize * size_of::<CellLine>()
    }

    pub(crate) fn cell(&self, rank: u32, cell: u32) -> usize {
        assert!(cell < self.cells);
        self.region(rank) + self.cells_offset() + cell as usize * self.cell_bytes as usize
    }

    /// Bytes of the piece that begins at `at` of a message of `len` bytes in cells: each is announced as soon as it is there.
    #[inline]
    pub(crate) fn piece(&self, at: usize, len: usize) -> usize {
        let cell = self.cell_bytes as usize;
        self.piece_bytes().min(cell - at % cell).min(len - at)
    }

    /// Pieces of a message of `len` bytes.
    pub(crate) fn pieces(&self, len: usize) -> u32 {
        let (cell, piece) = (self.cell_bytes as usize, self.piece_bytes());
        (len / cell * cell.div_ceil(piece) + (len % cell).div_ceil(piece)) as u32
    }

    fn piece_bytes(&self) -> usize {
        let piece = (self.cell_bytes / CELL_PIECES).next_multiple_of(CELL_PIECE_BYTES_MIN);
        piece.min(self.cell_bytes) as usize
    }

    /// The ring in the receiver's region for what the sender writes.
    pub(crate) fn ring(&self, receiver: u32, sender: u32) -> usize {
        assert!(sender < self.size);
        self.region(receiver) + self.rings_offset() + sender as usize * self.ring_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_overlaps_and_all_lies_within() {
        for size in [1, 2, 3, 32] {
            let layout = SegmentLayout::new(size, &TransportConfig::default());
            let end = layout.segment_bytes().unwrap();
            for rank in 0..size {
                let order = [
                    layout.control(rank),
                    layout.cooperative_copy_slot(rank, 0),
                    layout.cooperative_copy_slot(rank, COOPERATIVE_COPY_SLOTS - 1),
                    layout.cell_line(rank, 0),
                    layout.cell_line(rank, layout.cells - 1),
                    layout.shm_comm(rank, 0),
                    layout.shm_comm(rank, SHM_COMM_SLOTS - 1),
                    layout.shm_comm_parts(rank, 0),
                    layout.shm_comm_parts(rank, SHM_COMM_SLOTS - 1),
                    layout.cell(rank, 0),
                    layout.cell(rank, layout.cells - 1),
                    layout.shared_flag(rank, 0, 0),
                    layout.shared_flag(rank, 0, SHARED_BUFFER_FLAGS - 1),
                    layout.shared_data(rank, 0),
                    layout.shared_flag(rank, SHARED_BUFFERS - 1, 0),
                    layout.shared_data(rank, SHARED_BUFFERS - 1),
                    layout.ring(rank, 0),
                    layout.ring(rank, size - 1),
                ];
                assert!(order.is_sorted(), "{order:?}");
                assert!(order.iter().all(|offset| offset % LINE_BYTES == 0));
                let next = if rank + 1 < size { layout.control(rank + 1) } else { end };
                assert!(layout.ring(rank, size - 1) + layout.ring_bytes() <= next);
            }
        }
    }

    #[test]
    fn a_segment_too_large_to_address_is_none() {
        let config = TransportConfig {
            cell_bytes: u32::MAX,
            cells: u32::MAX,
            ring_lines: u32::MAX,
            ..TransportConfig::default()
        };
        assert!(SegmentLayout::new(u32::MAX, &config).segment_bytes().is_none());
    }

    #[test]
    fn other_settings_have_other_fingerprints() {
        let a = SegmentLayout::new(4, &TransportConfig::default());
        let b = SegmentLayout { cells: a.cells + 1, ..a };
        assert_ne!(a.fingerprint(), b.fingerprint());
    }
}
