//! URTP, reliable point-to-point and multicast packets over a network that loses them, as a state machine: packets and the
//! time go in, packets come out. There is no socket and no clock in here.
//!
//! It is the protocol of "Efficient Message Passing Interface (MPI) for Parallel Computing on Clusters of Workstations"
//! (Bruck, Dolev, Ho, Roşu and Strong), section 3 and appendix A:
//!
//! - every pair of sender and receiver has one counter, shared by point-to-point and multicast packets; a multicast packet
//!   carries a number for each member that it addresses ([`wire::numbers`]), so all packets of a pair are in one order;
//! - a sliding window with block acknowledgement ([`outbound`]); the receiver buffers what comes early and asks for what is
//!   missing, at growing intervals ([`inbound`]); a request acknowledges all before it; the sender ignores requests for what
//!   it has not sent, or has sent less than δ ago; what is lost goes again, point-to-point;
//! - buffers are bounded by (p − 1) W, or by less with one reserved for each sender's next packet ([`store`]).
//!
//! And what the paper left to its future:
//!
//! - window and δ follow the measured round trip ([`rtt`]), the pace what receivers report ([`pace`]);
//! - the sender asks on its own behalf as well, at growing intervals, since not every receiver knows that it waits;
//! - acknowledgements of large groups run together along a tree ([`ack_tree`]); a packet that many lack is multicast again;
//! - who hears no more multicasts gets them by itself ([`reachability`]);
//! - whom nothing reaches gets packets another way as well ([`fallback_tunnel`]), if there is one;
//! - XOR parity restores one lost packet of a run without asking ([`parity`]);
//! - groups share a bounded set of addresses ([`group`]), and a member list has one number for all its communicators;
//! - groups that nobody needs any more are forgotten, by each rank for itself ([`groups`]).
//!
//! [`UrtpEndpoint`] is a rank's end of it all.
#![forbid(unsafe_code)]

mod ack_tree;
mod config;
mod counters;
mod endpoint;
mod fallback_tunnel;
#[cfg(any(test, fuzzing))]
#[path = "../../../fuzz/targets/urtp.rs"]
pub mod fuzz;
mod group;
mod groups;
mod inbound;
pub mod limits;
mod outbound;
mod pace;
mod parity;
mod reachability;
mod rtt;
mod slots;
mod store;
mod timers;
pub mod wire;

pub use config::UrtpConfig;
pub use counters::UrtpCounters;
pub use endpoint::{Destination, SendError, Transmit, UrtpEndpoint, UrtpEvent};
pub use fallback_tunnel::Reachability;
pub use group::{GroupId, GroupIndex};

/// A process by its rank in the world.
pub type WorldRank = u32;

/// Time, and spans of it: nanoseconds since some start.
pub type Nanos = u64;

/// No deadline.
pub(crate) const NEVER: Nanos = Nanos::MAX;

/// The number that a wire's 32 bits stand for: the one nearest to `near` (RFC 1982 in spirit).
pub(crate) fn expand(low: u32, near: u64) -> Option<u64> {
    near.checked_add_signed(i64::from(low.wrapping_sub(near as u32) as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_expanded_to_the_nearest() {
        assert_eq!(expand(3, 0), Some(3));
        assert_eq!(expand(u32::MAX, 0), None, "below zero there is no number");
        assert_eq!(expand(2, 0xFFFF_FFFE), Some(0x1_0000_0002));
        assert_eq!(expand(0xFFFF_FFFE, 0x1_0000_0002), Some(0xFFFF_FFFE));
    }
}
