//! What is going to happen, in the order of virtual time.

use crate::Picos;
use std::collections::VecDeque;

/// A queue of events for a clock that never goes back: a radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster
/// algorithms for the shortest path problem", 1990). Events of one moment come out in the order in which they
/// went in, whatever else is in the queue, so runs can be repeated.
#[derive(Debug)]
pub struct Events<E> {
    now: Picos,
    len: usize,
    /// What happens now.
    due: VecDeque<E>,
    /// Bucket b holds the moments whose highest bit that differs from `now` is bit b.
    later: Vec<Vec<(Picos, E)>>,
}

impl<E> Default for Events<E> {
    fn default() -> Self {
        let later = (0..Picos::BITS).map(|_| Vec::new()).collect();
        Events { now: 0, len: 0, due: VecDeque::new(), later }
    }
}

impl<E> Events<E> {
    /// The moment of the event that came out last.
    pub fn now(&self) -> Picos {
        self.now
    }

    /// Events that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is going to happen.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// An event at a moment that has not passed; one in the past happens now.
    pub fn push(&mut self, time: Picos, event: E) {
        debug_assert!(time >= self.now);
        self.len += 1;
        self.place(time, event);
    }

    fn place(&mut self, time: Picos, event: E) {
        if time <= self.now {
            self.due.push_back(event);
        } else {
            self.later[(time ^ self.now).ilog2() as usize].push((time, event));
        }
    }

    /// An event that comes so many after the next, if it is already known to happen at the same moment as that.
    pub fn ahead(&self, distance: usize) -> Option<&E> {
        self.due.get(distance)
    }

    /// The next event and its moment.
    pub fn pop(&mut self) -> Option<(Picos, E)> {
        if self.due.is_empty() {
            self.advance();
        }
        let event = self.due.pop_front()?;
        self.len -= 1;
        Some((self.now, event))
    }

    /// Moves the clock to the next moment at which something happens. All events between are in one bucket: the lowest
    /// that is not empty, and each of them goes to a lower one.
    fn advance(&mut self) {
        let Some(bucket) = self.later.iter_mut().find(|bucket| !bucket.is_empty()) else { return };
        let events = std::mem::take(bucket);
        self.now = events.iter().map(|(time, _)| *time).min().unwrap_or(self.now);
        for (time, event) in events {
            self.place(time, event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_in_time_and_in_order() {
        let (mut events, mut random) = (Events::default(), fastrand::Rng::with_seed(7));
        let mut expected = Vec::new();
        let mut seen = Vec::new();
        for number in 0..5000u64 {
            let time = events.now() + random.u64(..1 << (number % 20));
            events.push(time, number);
            expected.push((time, number));
            if random.u64(..3) > 0 {
                seen.extend(events.pop());
            }
        }
        seen.extend(std::iter::from_fn(|| events.pop()));
        // In time, and by number within a moment, as far as both were waiting: numbers grow.
        expected.sort_unstable();
        assert_eq!(seen, expected);
        assert!(events.is_empty());
    }
}
