//! Sinks between a transport and the fabric's caller: most of what comes is passed on as it is.

use tern_transport::{Header, Landing, Peer, Sink, Token, TransferError, WholeLanding};

/// Methods of [`Sink`] that pass on to the sink in field `sink`.
macro_rules! pass_on {
    ($($method:ident),*) => {
        $(pass_on!(@$method);)*
    };
    (@header) => {
        #[inline]
        fn header(&mut self, from: tern_transport::Peer, header: &tern_transport::Header, len: usize) -> tern_transport::Landing {
            self.sink.header(from, header, len)
        }
    };
    (@landed) => {
        #[inline]
        fn landed(&mut self, from: tern_transport::Peer, token: tern_transport::Token) {
            self.sink.landed(from, token);
        }
    };
    (@spoiled) => {
        fn spoiled(&mut self, from: tern_transport::Peer, token: tern_transport::Token, error: tern_transport::TransferError) {
            self.sink.spoiled(from, token, error);
        }
    };
    (@backpressure) => {
        #[inline]
        fn backpressure(&self) -> bool {
            self.sink.backpressure()
        }
    };
    (@done) => {
        fn done(&mut self, token: tern_transport::Token, result: Result<(), tern_transport::TransferError>) {
            self.sink.done(token, result);
        }
    };
}
pub(crate) use pass_on;

/// Gives each sender the number by which the caller knows it.
pub(super) struct Renumbered<'a, S, F> {
    pub sink: &'a mut S,
    /// The caller's number for the transport's.
    pub number: F,
}

impl<S: Sink, F: Fn(Peer) -> Peer> Sink for Renumbered<'_, S, F> {
    #[inline]
    fn short(&mut self, from: Peer, header: &Header, payload: &[u8]) {
        self.sink.short((self.number)(from), header, payload);
    }

    fn header(&mut self, from: Peer, header: &Header, len: usize) -> Landing {
        self.sink.header((self.number)(from), header, len)
    }

    #[inline]
    fn whole(&mut self, from: Peer, header: &Header, len: usize) -> WholeLanding {
        self.sink.whole((self.number)(from), header, len)
    }

    fn landed(&mut self, from: Peer, token: Token) {
        self.sink.landed((self.number)(from), token);
    }

    fn spoiled(&mut self, from: Peer, token: Token, error: TransferError) {
        self.sink.spoiled((self.number)(from), token, error);
    }

    pass_on!(backpressure, done);
}
