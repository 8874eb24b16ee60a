//! One-sided communication by messages (MPI 5.0 chapter 12): for memory that no processor and no kernel reaches from here.
//!
//! An access is an active message that the target's engine executes while it polls. The header alone says where a put lands, so that
//! its bytes go straight into the window. The target looks everything up in what it exposes itself ([`ExposedWindow`]),
//! and believes no address, length or rank. Accesses of one origin to one target stay in order, as all messages do; so
//! one answer to a flush acknowledges all that came before it.
//!
//! [`access`] names what an access is about, [`window`] what a process knows of its windows, [`outbound`] a message on its way.
//! [`wire`] says what travels, [`origin`] how an access leaves, [`post`] how its pieces go out, [`target`] what is done with it,
//! [`sync`] how epochs end.

mod access;
mod exposed;
#[cfg(any(test, fuzzing))]
#[path = "../../../fuzz/targets/rma.rs"]
pub mod fuzz;
mod origin;
mod outbound;
mod post;
mod sync;
mod target;
mod window;
pub mod wire;

pub use access::{ACCESS_CONTEXT, AccessFault, CannotBegin, Combination, Far, GappedElements, LockKind};
pub use access::{RefusedAccess, Sync, TargetRefusal, WindowId};
pub use exposed::{CombinedElements, ExposedWindow};
pub(crate) use outbound::OutboundRma;
pub(crate) use window::Lazy;
pub use window::WindowNumbers;

use crate::group::Group;
use tern_mem::UserBuf;
use tern_transport::WindowMemory;
use window::EngineWindow;

impl<T: tern_transport::Transport> crate::Engine<T> {
    /// A window of the processes of a group, which are told the number that this returns. Nobody may use it yet.
    pub fn announce_window(&mut self, group: Group) -> WindowId {
        self.core.rma.get().windows.insert(EngineWindow { group: Some(group), ..EngineWindow::default() })
    }

    /// Lets its ranks reach what this one exposes; `numbers` are what each of them calls the window.
    pub fn expose(&mut self, window: WindowId, numbers: WindowNumbers, exposed: Box<dyn ExposedWindow>) {
        if let Some(window) = self.core.rma.get().windows.get_mut(window) {
            (window.numbers, window.exposed) = (numbers, Some(exposed));
        }
    }

    /// Lets ranks that the transport reaches so read and write this rank's memory without messages: what they have to know.
    pub fn share_memory(&mut self, window: WindowId, memory: &UserBuf) -> Option<WindowMemory> {
        let shared = self.transport.expose_window(memory)?;
        self.core.rma.get().windows.get_mut(window)?.own_memory = Some(shared);
        Some(shared)
    }

    /// What the ranks of a window have said of their memory.
    pub fn know_memories(&mut self, window: WindowId, memories: Vec<Option<WindowMemory>>) {
        if let Some(window) = self.core.rma.get().windows.get_mut(window) {
            window.memories = memories;
        }
    }

    /// Whether a message to or from this rank's memory is still under way.
    pub fn is_reached(&self, window: WindowId) -> bool {
        self.core.rma.look().and_then(|rma| rma.windows.get(window)).is_some_and(|window| window.busy > 0)
    }

    /// Nobody reaches the window from now on.
    pub fn withdraw(&mut self, window: WindowId) {
        let removed = self.core.rma.get().windows.remove(window);
        if let Some(memory) = removed.and_then(|window| window.own_memory) {
            self.transport.hide_window(memory);
        }
    }

    /// Accesses that this rank's engine has executed for others.
    pub fn accesses_executed(&self) -> u64 {
        self.core.rma.look().map_or(0, |rma| rma.executed)
    }
}
