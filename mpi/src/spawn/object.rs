//! What a process knows of other worlds.

use std::collections::BTreeMap;
use std::sync::Arc;

use tern_abi::{MPI_COMM_NULL, MPI_Comm};
use tern_job::launcher::Launcher;
use tern_transport::{Peer, SettingsFingerprint};

/// What a process knows beyond its own world.
pub(crate) struct Worlds {
    /// What this world must have in common with those that it meets.
    pub fingerprint: SettingsFingerprint,
    /// The communicator with the processes that have started this world.
    pub parent: MPI_Comm,
    /// How the launcher is asked for services.
    pub launcher: Option<Arc<Launcher>>,
    /// Ports that this process has opened, with their doors.
    pub ports: Vec<(String, u64)>,
    /// Numbers of the hosts of foreign peers in their worlds.
    pub(super) hosts: BTreeMap<Peer, u32>,
    pub(super) meetings: Vec<GroupMeeting>,
    pub(super) has_met: bool,
}

/// Two groups that have met, and have not parted.
#[derive(Clone, Debug)]
pub(crate) struct GroupMeeting {
    /// A context of both.
    pub context: u64,
    /// At the process that met the other side for all: that of the other side.
    pub far_root: Option<Peer>,
    /// The launcher's number for the world that was started.
    pub spawned: Option<u32>,
}

impl Worlds {
    /// None met.
    pub(crate) const fn new() -> Worlds {
        Worlds {
            fingerprint: SettingsFingerprint::NONE,
            parent: MPI_COMM_NULL,
            launcher: None,
            ports: Vec::new(),
            hosts: BTreeMap::new(),
            meetings: Vec::new(),
            has_met: false,
        }
    }

    /// Whether this process has ever met another world.
    #[inline]
    pub(crate) fn has_met(&self) -> bool {
        self.has_met
    }

    /// A communicator is gone: if it was the one with the parents, there is none any more.
    pub(crate) fn forget(&mut self, comm: MPI_Comm) {
        if self.parent == comm {
            self.parent = MPI_COMM_NULL;
        }
    }

    /// Two groups have met.
    pub(crate) fn remember(&mut self, meeting: GroupMeeting) {
        self.meetings.push(meeting);
    }
}
