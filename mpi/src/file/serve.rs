//! What goes on in files while a call waits for anything: collective accesses that are requests, and answers about shared pointers.

use super::facts::FileFacts;
use super::object::Served;
use super::pending::Completion;
use super::shared_pointer::SharedPointerServer;
use super::together::{AccessStep, CollectiveTransfer};
use crate::core::process::Process;
use std::sync::{Arc, Mutex, PoisonError};
use tern_abi::MPI_REQUEST_NULL;
use tern_io::Moved;

/// A collective access that nobody waits for now.
pub(crate) struct Background {
    operation: CollectiveTransfer,
    completion: Arc<Completion>,
    /// What a worker has done for it.
    work: Option<Arc<Mutex<Option<Moved>>>>,
}

/// A file has been opened.
pub(crate) fn begin(process: &mut Process, facts: &Arc<FileFacts>) {
    if let Some(server) = SharedPointerServer::of(facts) {
        add(process, Box::new(server));
    }
}

/// A collective access goes on by itself from now on.
pub(crate) fn add_operation(
    process: &mut Process,
    operation: CollectiveTransfer,
    completion: Arc<Completion>,
) {
    add(process, Box::new(Background { operation, completion, work: None }));
}

fn add(process: &mut Process, served: Box<dyn Served<Process>>) {
    process.objects.files.served.push(served);
    if process.objects.files.served.len() == 1 {
        // Whoever waits looks at the collectives under way if there are any: no more is needed where there are none.
        process.objects.collectives.push(MPI_REQUEST_NULL);
    }
    serve(process);
}

/// A file is closed.
pub(crate) fn end(process: &mut Process, facts: &Arc<FileFacts>) {
    let mut all = std::mem::take(&mut process.objects.files.served);
    all.retain_mut(|served| !served.end(process, facts));
    put_back(process, all);
}

/// Moves on what can be moved on.
pub(crate) fn serve(process: &mut Process) {
    let mut all = std::mem::take(&mut process.objects.files.served);
    all.retain_mut(|served| served.serve(process));
    put_back(process, all);
}

fn put_back(process: &mut Process, mut all: Vec<Box<dyn Served<Process>>>) {
    all.append(&mut process.objects.files.served);
    if all.is_empty() {
        process.objects.collectives.retain(|request| *request != MPI_REQUEST_NULL);
    }
    process.objects.files.served = all;
}

impl Served<Process> for Background {
    fn serve(&mut self, process: &mut Process) -> bool {
        loop {
            if let Some(work) = &self.work {
                let Some(moved) = work.lock().unwrap_or_else(PoisonError::into_inner).take() else {
                    return true;
                };
                self.operation.worked(moved);
                self.work = None;
            }
            match self.operation.step(process) {
                AccessStep::Wait => return true,
                AccessStep::Work(work) => self.hand_over(process, work),
                AccessStep::Ended => {
                    self.completion.complete(self.operation.outcome());
                    if let Some(bell) = process.waiting.bell.as_ref().filter(|_| process.waiting.sleepers > 0)
                    {
                        bell.ring();
                    }
                    return false;
                }
            }
        }
    }
}

impl Background {
    fn hand_over(&mut self, process: &mut Process, work: Box<dyn FnOnce() -> Moved + Send>) {
        let (done, bell) = (Arc::new(Mutex::new(None)), process.waiting.bell.clone());
        self.work = Some(done.clone());
        process.objects.files.workers().call(move || {
            let moved = work();
            *done.lock().unwrap_or_else(PoisonError::into_inner) = Some(moved);
            bell.iter().for_each(|bell| bell.ring());
        });
    }
}
