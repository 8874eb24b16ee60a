//! The protocols as a table that a person can print.

use crate::settings::EngineSettings;
use tern_transport::Limits;

/// One protocol.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProtocolRow {
    /// Its name; in brackets, the name in the T3D paper.
    pub name: &'static str,
    /// When it is used.
    pub when: String,
    /// Its steps.
    pub steps: &'static str,
}

/// The protocols towards a peer with these limits.
pub fn table(settings: &EngineSettings, limits: &Limits) -> Vec<ProtocolRow> {
    let eager = settings.eager_bytes_max(limits);
    let short = eager.min(tern_transport::AM_INLINE_BYTES_MAX);
    let row = |name, when: String, steps| ProtocolRow { name, when, steps };
    let mut rows = vec![
        row("short (T)", format!("standard, ready; up to {short} B"), "header and payload in one cache line"),
        row(
            "short-sync (TA)",
            format!("synchronous; up to {} B", short.saturating_sub(8)),
            "as short; the receiver answers at the match",
        ),
        row(
            "eager",
            format!("up to {eager} B while credits last ({} B a peer)", settings.credit_bytes),
            "header and payload; unexpected-message buffer if no receive is posted",
        ),
        row(
            "three-way",
            "no credits left, no get or put between these buffers".into(),
            "request; the receiver makes room; payload",
        ),
    ];
    if limits.cooperative_copy {
        let when = format!("both contiguous, from {} B", settings.share_bytes_min);
        rows.push(row("rendezvous-both", when, "request; both sides copy chunks of one message"));
    }
    if limits.get {
        let when = "sender contiguous, beyond eager".into();
        rows.push(row("rendezvous-get (RTA)", when, "request; the receiver gets; answer"));
    }
    if limits.put {
        let when = "only the receiver contiguous, beyond eager".into();
        rows.push(row("rendezvous-put (RAT)", when, "request; address; the sender puts; answer"));
    }
    let when = "otherwise, or where that is measured to be faster".into();
    rows.push(row("rendezvous-stream", when, "request; ready; pipelined fragments into the user's buffer"));
    if limits.get {
        let when = "memory that the library gives out".into();
        rows.push(row("window (direct)", when, "copies and atomic instructions"));
        let when = "memory of the program's own".into();
        rows.push(row("window (kernel)", when, "the kernel copies; elements under the target's lock"));
    } else {
        let when = "another host, or the kernel may not copy".into();
        rows.push(row("window (message)", when, "active messages, which the target's engine executes"));
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(settings: &EngineSettings, limits: &Limits) -> Vec<&'static str> {
        table(settings, limits).into_iter().map(|row| row.name).collect()
    }

    #[test]
    fn the_table_has_what_the_transport_can_do() {
        let settings = EngineSettings::default();
        let nothing = Limits {
            eager_bytes_max: 1024,
            get: false,
            put: false,
            cooperative_copy: false,
            prefers_send: false,
        };
        let always =
            ["short (T)", "short-sync (TA)", "eager", "three-way", "rendezvous-stream", "window (message)"];
        assert_eq!(names(&settings, &nothing), always);
        let get = Limits { get: true, ..nothing };
        assert!(names(&settings, &get).contains(&"rendezvous-get (RTA)"));
    }

    #[test]
    fn the_thresholds_are_the_lower_of_the_users_and_the_transports() {
        let settings = EngineSettings { eager_bytes_max: 100, ..EngineSettings::default() };
        let limits = Limits {
            eager_bytes_max: 1024,
            get: false,
            put: false,
            cooperative_copy: false,
            prefers_send: false,
        };
        let rows = table(&settings, &limits);
        assert!(rows[2].when.contains("100 B"), "{}", rows[2].when);
    }
}
