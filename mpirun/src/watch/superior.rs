//! The `mpirun` for which this one looks after a world.

use rustix::io::{Errno, fcntl_dupfd_cloexec};

use crate::poller::{PollToken, Poller};
use crate::tree::channel::{ChannelInbox, ChannelOutbox, Closed};
use crate::watch::exit_cause::Refusal;
use crate::watch::worlds::{WorldNote, WorldOrder, WorldOrders};

/// The connection to it.
pub(crate) struct Superior {
    from: ChannelInbox,
    to: ChannelOutbox,
    told: bool,
    gone: bool,
}

impl Superior {
    /// At the other end of standard input.
    pub(crate) fn new() -> Result<Superior, Refusal> {
        let own = || fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3);
        let connect = || {
            let from = ChannelInbox::new(own()?, false)?;
            Ok(Superior {
                from,
                to: ChannelOutbox::new(own()?, PollToken::ParentRoom)?,
                told: false,
                gone: false,
            })
        };
        connect().map_err(|error: Errno| Refusal::system("no mpirun to talk to", error))
    }

    /// What wakes for it.
    pub(crate) fn watch(&self, poller: &Poller) -> Result<(), Refusal> {
        let watched = poller.add_reader(&self.from, PollToken::Parent);
        watched.map_err(|error| Refusal::system("no mpirun to talk to", error))
    }

    /// Waits for the first message; `None` if there will be none.
    pub(crate) fn orders(&mut self) -> Result<Option<WorldOrders>, Refusal> {
        let mut poller = Poller::new()?;
        self.watch(&poller)?;
        loop {
            match self.from.next::<WorldOrder>() {
                Ok(Some(WorldOrder::Start(orders))) => break Ok(Some(*orders)),
                Ok(None) => {}
                _ => break Ok(None),
            }
            poller.wait(None, &mut Vec::new())?;
            if self.from.read().is_err() {
                break Ok(None);
            }
        }
    }

    /// Whether this world is to end, since the other one has failed or its `mpirun` is gone.
    pub(crate) fn wants_end(&mut self, poller: &Poller) -> bool {
        let mut closed = self.from.read().is_err();
        let ends = loop {
            match self.from.next::<WorldOrder>() {
                Ok(Some(WorldOrder::End)) => break true,
                Ok(Some(_)) => {}
                Ok(None) => break false,
                Err(Closed::End | Closed::Garbled) => {
                    closed = true;
                    break false;
                }
            }
        };
        if closed {
            self.gone = true;
            poller.remove(&self.from);
        }
        ends || closed
    }

    /// There is room for what is said.
    pub(crate) fn on_room(&mut self, poller: &Poller) {
        self.to.on_room(poller);
        self.to.flush(poller);
    }

    /// All ranks run.
    pub(crate) fn tell_running(&mut self, poller: &Poller) {
        self.send_note(&WorldNote::Running, poller);
    }

    /// The ranks do not run, if that was not said yet. Whether it was not: then nobody else needs to hear of it.
    pub(crate) fn tell_refusal(&mut self, why: &str, poller: &Poller) -> bool {
        !self.gone && self.send_note(&WorldNote::Refused(why.into()), poller)
    }

    fn send_note(&mut self, note: &WorldNote, poller: &Poller) -> bool {
        if std::mem::replace(&mut self.told, true) {
            return false;
        }
        self.to.push(note);
        self.to.flush(poller);
        true
    }
}
