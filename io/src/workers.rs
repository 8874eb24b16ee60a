//! Threads that do accesses while the program does something else.
//!
//! A thread has a ring of io_uring of its own, where the kernel allows that, and gives the pieces of an access to the kernel many at a time.
//! Where io_uring is forbidden, as in many containers, it reads and writes piece by piece.

use crate::access::{self, Moved, StreamPart, Tuning};
use crate::limits::WORKERS_MAX;
use crate::storage::Storage;
use crate::uring::Ring;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// What non-blocking accesses go by.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Backend {
    /// io_uring where the kernel allows it, else threads alone.
    #[default]
    Auto,
    /// io_uring, or else threads alone.
    Uring,
    /// Threads alone.
    Threads,
}

impl Backend {
    /// The words of the setting.
    pub const WORDS: [&'static str; 3] = ["auto", "uring", "threads"];
    /// In the order of the words.
    pub const ALL: [Backend; 3] = [Backend::Auto, Backend::Uring, Backend::Threads];
}

type WorkItem = Box<dyn FnOnce(&mut Option<Ring>) + Send>;

/// The threads. They start when there is something to do, and end with this value.
#[derive(Clone)]
pub struct Workers {
    shared: Arc<SharedQueue>,
    backend: Backend,
}

struct SharedQueue {
    queue: Mutex<WorkQueue>,
    work: Condvar,
}

#[derive(Default)]
struct WorkQueue {
    jobs: VecDeque<WorkItem>,
    threads: usize,
    idle: usize,
    ends: bool,
}

impl Workers {
    /// None yet.
    pub fn new(backend: Backend) -> Workers {
        Workers { shared: Arc::new(SharedQueue { queue: Mutex::default(), work: Condvar::new() }), backend }
    }

    /// Does an access, then calls `done` in the thread that has done it.
    pub fn access(
        &self,
        storage: Arc<dyn Storage>,
        (part, writes): (StreamPart, bool),
        tuning: Tuning,
        done: impl FnOnce(Moved) + Send + 'static,
    ) {
        self.run(move |ring| {
            let sieves = if writes { tuning.sieve_write } else { tuning.sieve_read } > 0;
            let ringed = match (ring, storage.descriptor()) {
                (Some(ring), Some(fd)) if !sieves => ring.transfer(fd, &part, writes),
                _ => None,
            };
            done(ringed.unwrap_or_else(|| match writes {
                true => access::write(&*storage, &part, &tuning),
                false => access::read(&*storage, &part, &tuning),
            }));
        });
    }

    /// Does something else.
    pub fn call(&self, work: impl FnOnce() + Send + 'static) {
        self.run(move |_| work());
    }

    fn run(&self, job: impl FnOnce(&mut Option<Ring>) + Send + 'static) {
        let mut queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.jobs.push_back(Box::new(job));
        if queue.idle < queue.jobs.len() && queue.threads < WORKERS_MAX {
            let (shared, backend) = (self.shared.clone(), self.backend);
            let started =
                std::thread::Builder::new().name("tern-io".into()).spawn(move || serve(&shared, backend));
            match started {
                Ok(_) => queue.threads += 1,
                // Without any thread the caller does it: later than it should be, but right.
                Err(_) if queue.threads == 0 => {
                    let job = queue.jobs.pop_back();
                    drop(queue);
                    job.into_iter().for_each(|job| job(&mut None));
                    return;
                }
                Err(_) => {}
            }
        }
        drop(queue);
        self.shared.work.notify_one();
    }

    /// Whether anything that was given to them is not done.
    pub fn are_busy(&self) -> bool {
        let queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        !queue.jobs.is_empty() || queue.threads > queue.idle
    }

    /// Lets the threads end when they have done what there is.
    pub fn end(&self) {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner).ends = true;
        self.shared.work.notify_all();
    }
}

fn serve(shared: &SharedQueue, backend: Backend) {
    let mut ring = if backend == Backend::Threads { None } else { Ring::new().ok() };
    let mut queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(job) = queue.jobs.pop_front() {
            drop(queue);
            job(&mut ring);
            queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        } else if queue.ends {
            queue.threads -= 1;
            return;
        } else {
            queue.idle += 1;
            queue = shared.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn who_has_work_is_busy_until_it_is_done() {
        let workers = Workers::new(Backend::Threads);
        assert!(!workers.are_busy());
        let (release, held) = mpsc::channel::<()>();
        workers.call(move || _ = held.recv());
        assert!(workers.are_busy());
        drop(release);
        while workers.are_busy() {
            std::thread::yield_now();
        }
        workers.end();
    }
}
