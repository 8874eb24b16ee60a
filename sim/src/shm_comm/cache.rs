//! Which cores have which lines.

use tern_shm::limits::LINE_BYTES;

/// The lines of a piece of memory: for each, the cores that have it as it is now, one bit each. None is a line that nobody has
/// touched yet.
#[derive(Debug)]
pub(super) struct Cache {
    holders: Vec<u64>,
}

impl Cache {
    /// So many lines, all untouched.
    pub(super) fn new(lines: usize) -> Cache {
        Cache { holders: vec![0; lines] }
    }

    /// A core reads bytes: how many of their lines come from another core.
    pub(super) fn read(&mut self, core: usize, at: usize, bytes: usize) -> u64 {
        self.touch(at, bytes, |holders| {
            let comes = *holders != 0 && *holders & bit(core) == 0;
            *holders |= bit(core);
            comes
        })
    }

    /// A core writes bytes: how many of their lines another core has, which loses them.
    pub(super) fn write(&mut self, core: usize, at: usize, bytes: usize) -> u64 {
        self.touch(at, bytes, |holders| {
            let is_taken = *holders & !bit(core) != 0;
            *holders = bit(core);
            is_taken
        })
    }

    fn touch(&mut self, at: usize, bytes: usize, mut one: impl FnMut(&mut u64) -> bool) -> u64 {
        if bytes == 0 {
            return 0;
        }
        let lines = at / LINE_BYTES..(at + bytes).div_ceil(LINE_BYTES);
        self.holders[lines].iter_mut().map(|holders| u64::from(one(holders))).sum()
    }
}

fn bit(core: usize) -> u64 {
    1 << (core % u64::BITS as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_to_and_fro() {
        let mut cache = Cache::new(8);
        assert_eq!((cache.write(0, 0, 130), cache.read(0, 0, 130)), (0, 0));
        // Three lines, of which the other core then has a copy, until they are written again.
        assert_eq!((cache.read(1, 1, 128), cache.read(1, 1, 128)), (3, 0));
        assert_eq!((cache.write(0, 64, 64), cache.write(0, 64, 64)), (1, 0));
        assert_eq!((cache.read(1, 0, 192), cache.write(1, 0, 192)), (1, 3));
        assert_eq!(cache.read(1, 256, 0), 0);
    }
}
