//! An `mpirun` for one process that nobody has launched, and that starts others.

use std::os::fd::OwnedFd;

use rustix::io::fcntl_dupfd_cloexec;
use tern_job::names::forget_own;

use crate::poller::{PollToken, Poller};
use crate::serve::names;
use crate::serve::pmi::{About, Demand, Pmi};
use crate::tree::messages::Service;
use crate::watch::descendants::adopt_orphans;
use crate::watch::exit_cause::Refusal;
use crate::watch::worlds::{Basis, StartedWorlds, WorldNews, WorldOrders};

/// The number of the one process.
const ALONE: u32 = 0;

/// Serves the process at the other end of standard input until it and all worlds that it has started have ended.
pub(crate) fn serve() -> Result<u8, Refusal> {
    let _ = rustix::thread::set_name(c"tern-hub");
    adopt_orphans();
    let status = Hub::new()?.run();
    forget_own();
    status
}

struct Hub {
    poller: Poller,
    pmi: Pmi,
    worlds: StartedWorlds,
    basis: Basis,
}

impl Hub {
    fn new() -> Result<Hub, Refusal> {
        let system = |error| Refusal::system("nobody to serve", error);
        let socket: OwnedFd = fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3).map_err(system)?;
        rustix::io::ioctl_fionbio(&socket, true).map_err(system)?;
        let poller = Poller::new()?;
        poller.add_reader(&socket, PollToken::Pmi(ALONE)).map_err(system)?;
        let name = format!("tern_{}", std::process::id());
        let about = About { name, universe: 1, mapping: String::new() };
        let mut pmi = Pmi::new(std::iter::once((ALONE, 0, socket)), about);
        pmi.expect(1);
        Ok(Hub { poller, pmi, worlds: StartedWorlds::default(), basis: Basis::default() })
    }

    fn run(&mut self) -> Result<u8, Refusal> {
        let mut ready = Vec::new();
        while self.pmi.serves(ALONE) || !self.worlds.is_empty() {
            self.poller.wait(None, &mut ready)?;
            for token in ready.drain(..) {
                self.handle(token);
            }
        }
        Ok(0)
    }

    fn handle(&mut self, token: PollToken) {
        match token {
            PollToken::Pmi(rank) => {
                let demands = self.pmi.on_words(rank, &self.poller);
                demands.into_iter().for_each(|demand| self.on_demand(demand));
                // A process that goes without having said so has failed.
                if !self.pmi.serves(ALONE) && !self.pmi.has_finalized() {
                    self.worlds.end(false, &self.poller);
                }
            }
            PollToken::World(number) => {
                let news = self.worlds.on_message(number, &self.poller);
                self.pass_on(news);
            }
            PollToken::WorldEnd(number) => {
                let news = self.worlds.on_end(number, &self.poller);
                self.pass_on(news);
            }
            PollToken::WorldRoom(number) => self.worlds.on_room(number, &self.poller),
            _ => {}
        }
    }

    fn on_demand(&mut self, demand: Demand) {
        let Demand::Service { rank, service } = demand else { return };
        match service {
            Service::Spawn(request) => {
                let orders = WorldOrders::new(request, &self.basis, None);
                let news = self.worlds.start(rank, orders, &self.poller);
                self.pass_on(news);
            }
            Service::Met(number) => self.worlds.connected(number),
            Service::Parted(number) => self.worlds.part(number),
            service => self.pmi.say(rank, &names::answer(&service)),
        }
    }

    fn pass_on(&mut self, news: impl IntoIterator<Item = WorldNews>) {
        for news in news {
            // Of a world that has failed the process learns by its connections.
            if let WorldNews::Say { rank, text } = news {
                self.pmi.say(rank, &text);
            }
        }
    }
}
