//! The queue over links in plain memory, and under loom.

use super::*;

struct Cells {
    tail: AtomicU32,
    next: Vec<AtomicU32>,
}

impl Cells {
    fn new(count: u32) -> Self {
        let next = (0..FIRST_CELL + count).map(|_| AtomicU32::new(NONE)).collect();
        Cells { tail: AtomicU32::new(0), next }
    }

    fn push(&self, link: QueueLink) {
        self.next[link as usize].store(NONE, Ordering::Relaxed);
        push(self, link);
    }
}

impl Links for Cells {
    fn tail(&self) -> &AtomicU32 {
        &self.tail
    }
    fn next(&self, link: QueueLink) -> Option<&AtomicU32> {
        self.next.get(link as usize)
    }
}

#[cfg(not(loom))]
mod plain {
    use super::*;

    #[test]
    fn cells_come_out_in_order_and_can_be_pushed_again() {
        let (cells, mut reader) = (Cells::new(4), QueueReader::new());
        assert_eq!(reader.pop(&cells), None);
        for burst in [1, 2, 4, 1, 3, 4] {
            (0..burst).for_each(|i| cells.push(FIRST_CELL + i));
            assert!((0..burst).all(|i| reader.pop(&cells) == Some(FIRST_CELL + i)));
            assert_eq!(reader.pop(&cells), None);
            assert!(reader.at_stub());
        }
    }

    #[test]
    fn a_push_that_is_half_done_hides_the_cells_behind_it_only() {
        let (cells, mut reader) = (Cells::new(4), QueueReader::new());
        cells.push(2);
        let before = cells.tail.swap(3, Ordering::AcqRel); // swapped, and not linked yet
        cells.push(4);
        assert_eq!(reader.pop(&cells), None, "2 may not be freed while it is to be linked");
        cells.next[before as usize].store(3, Ordering::Release);
        assert_eq!([reader.pop(&cells), reader.pop(&cells), reader.pop(&cells)], [Some(2), Some(3), Some(4)]);
        assert_eq!(reader.pop(&cells), None);
    }

    #[test]
    fn links_to_nowhere_end_the_queue() {
        let (cells, mut reader) = (Cells::new(2), QueueReader::new());
        cells.push(2);
        cells.next[2].store(1_000_000, Ordering::Relaxed);
        assert_eq!(reader.pop(&cells), Some(2));
        assert_eq!(reader.pop(&cells), None);
        cells.tail.store(1_000_000, Ordering::Relaxed);
        cells.push(3);
        assert_eq!(reader.pop(&cells), None);
    }
}

#[cfg(loom)]
mod model {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn two_writers_lose_nothing_and_keep_their_order() {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(|| {
            let cells = Arc::new(Cells::new(3));
            let writers = [vec![2], vec![3, 4]].map(|links| {
                let cells = cells.clone();
                loom::thread::spawn(move || links.into_iter().for_each(|link| cells.push(link)))
            });
            let mut reader = QueueReader::new();
            let mut taken = Vec::new();
            while taken.len() < 3 {
                match reader.pop(&*cells) {
                    Some(link) => taken.push(link),
                    None => loom::thread::yield_now(),
                }
            }
            let place = |link| taken.iter().position(|taken| *taken == link).expect("taken");
            assert!(place(3) < place(4) && place(2) < 3);
            assert_eq!(reader.pop(&*cells), None);
            writers.into_iter().for_each(|writer| writer.join().unwrap());
        });
    }
}
