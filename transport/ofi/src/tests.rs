//! Ranks within this process, over each of libfabric's providers in software that is here.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tern_libfabric::{Library, MemoryRegistration, OfferHints};

use super::{Ofi, Opened, ProviderChoice};
use tern_transport::config::OfiConfig;
use tern_transport::conformance::{ConformanceWorld, Keeper, TestDirectory, pattern, send};
use tern_transport::fingerprint::SettingsFingerprint;
use tern_transport::socket_bell::SocketBell;
use tern_transport::{Peer, Transport};

mod exposed;
mod windows;

fn rank(me: Peer, all: &TestDirectory, provider: &'static str, secret: [u8; 32]) -> Ofi {
    rank_with(me, all, OfiConfig { provider, ..OfiConfig::default() }.into(), secret)
}

fn rank_with(me: Peer, all: &TestDirectory, choice: ProviderChoice, secret: [u8; 32]) -> Ofi {
    let mut directory = all.of(me);
    let opened = Opened::new(choice, SettingsFingerprint::default(), true, &|alone| alone()).unwrap();
    directory.publish(&opened.bytes().unwrap()).unwrap();
    let bell = Arc::new(SocketBell::new().unwrap());
    Ofi::new((me, 2, secret), opened, directory, bell)
}

/// Two ranks, how many packets had come when the last one came, and when that was.
struct Two(Ofi, Ofi, Option<(u64, Instant)>);

impl Two {
    fn over(provider: &'static str) -> Two {
        Two::with(OfiConfig { provider, ..OfiConfig::default() }.into()).expect("the provider is here")
    }

    /// Two ranks, if the provider is here and has memory made known so.
    fn with(choice: ProviderChoice) -> Option<Two> {
        let provider = choice.config.provider;
        let hints = OfferHints {
            provider: Some(provider),
            registration: choice.registration,
            ..OfferHints::default()
        };
        Library::open().and_then(|library| library.offers(hints)).ok()?;
        let all = TestDirectory::default();
        let ranks = [0, 1].map(|me| rank_with(me, &all, choice, [7; 32]));
        let [first, second] = ranks;
        let mut two = Two(first, second, None);
        // The suite expects that the first message of a new world is taken.
        let mut keeper = Keeper::default();
        let until = Instant::now() + Duration::from_secs(20);
        while !(two.0.knows(1) && two.1.knows(0)) {
            assert!(Instant::now() < until, "{provider}: nobody is found");
            two.0.poll(&mut keeper);
            two.1.poll(&mut keeper);
        }
        Some(two)
    }
}

impl Two {
    /// Whether a packet that was taken has not come yet.
    fn is_under_way(&mut self) -> bool {
        let (sent, received) = (self.0.counters().sent, self.1.counters().received);
        if sent == received {
            self.2 = None;
            return false;
        }
        let since = match self.2 {
            Some((before, since)) if before == received => since,
            _ => Instant::now(),
        };
        self.2 = Some((received, since));
        assert!(since.elapsed() < Duration::from_secs(20), "{} packets are lost", sent - received);
        true
    }
}

/// Whether there is such a provider: scripts/setup.sh installs the library where it may.
fn is_here(provider: &'static str) -> bool {
    let offers = |library: Arc<Library>| {
        library.offers(OfferHints { provider: Some(provider), ..OfferHints::default() })
    };
    Library::open().and_then(offers).is_ok()
}

/// What of the suite does not expect that a packet is there when the call that sent it returns, over one provider.
macro_rules! over {
    (tests $provider:literal: $($test:ident)*) => {
        $(#[test] fn $test() {
            if is_here($provider) {
                tern_transport::conformance::$test::<Here>()
            }
        })*
    };
    ($name:ident, $provider:literal) => {
        mod $name {
            use super::*;
            struct Here(Two);
            impl ConformanceWorld for Here {
                type Transport = Ofi;
                fn new() -> Self {
                    Here(Two::over($provider))
                }
                fn sender(&mut self) -> (&mut Ofi, Peer) {
                    (&mut self.0.0, 1)
                }
                fn receiver(&mut self) -> (&mut Ofi, Peer) {
                    (&mut self.0.1, 0)
                }
                fn help(&mut self) -> bool {
                    self.0.0.poll(&mut Keeper::default());
                    self.0.is_under_way()
                }
            }
            over!(tests $provider:
                keeps_order_content_and_headers
                begins_with_the_longest
                takes_turns
                lands_only_what_is_wanted
                drops_what_is_refused
                sends_from_and_to_gaps
                wakes_in_time
            );
        }
    };
}

over!(rxm, "tcp;ofi_rxm");
over!(tcp, "tcp");
over!(sockets, "sockets");
over!(rxd, "udp;ofi_rxd");
over!(shm, "shm");

#[test]
fn packets_without_the_secret_are_dropped() {
    if !is_here("tcp;ofi_rxm") {
        return;
    }
    let all = TestDirectory::default();
    let (mut ours, mut theirs) =
        (rank(0, &all, "tcp;ofi_rxm", [1; 32]), rank(1, &all, "tcp;ofi_rxm", [2; 32]));
    let (mut here, mut there) = (Keeper::default(), Keeper::default());
    let until = Instant::now() + Duration::from_secs(20);
    let mut sent = 0;
    while ours.counters().unproven < 5 {
        assert!(Instant::now() < until, "{sent} sent, {:?}", ours.counters());
        sent += u32::from(send(&mut theirs, 0, 1, &mut pattern(1, 100)).is_ok());
        ours.poll(&mut here);
        theirs.poll(&mut there);
    }
    assert!(here.received.is_empty() && ours.failure().is_none());
}
