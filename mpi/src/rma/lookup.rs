//! From a handle to its window.

use super::object::Window;
use crate::core::error::{Error, Result, fail};
use crate::core::given;
use crate::core::process::{Process, outside};
use tern_abi::*;
use tern_engine::rma::ACCESS_CONTEXT;

impl Process {
    /// The window of a handle.
    #[inline]
    pub(crate) fn window(&self, win: MPI_Win) -> Result<&Window> {
        self.objects.windows.all.get(win.0).map(|window| &**window).ok_or_else(|| self.no_window(win))
    }

    /// The window of a handle, to change it.
    #[inline(always)]
    pub(crate) fn usual_window(&mut self, win: MPI_Win) -> Option<&mut Window> {
        self.objects.windows.all.find_mut(win.0).map(|window| &mut **window)
    }

    /// The same, or why there is none.
    #[inline]
    pub(crate) fn window_mut(&mut self, win: MPI_Win) -> Result<&mut Window> {
        if self.objects.windows.all.get(win.0).is_none() {
            return Err(self.no_window(win));
        }
        Ok(self.objects.windows.all.get_mut(win.0).expect("just found"))
    }

    /// The window of a request's status, if it is one of an access.
    pub(crate) fn window_of_context(&self, context: u64) -> Option<MPI_Win> {
        let number = context.checked_sub(ACCESS_CONTEXT)?;
        let is = |window: &Window| window.far.is_some_and(|far| u64::from(far.raw()) == number);
        self.objects.windows.all.iter().find(|(_, window)| is(window)).map(|(handle, _)| MPI_Win(handle))
    }

    #[cold]
    fn no_window(&self, win: MPI_Win) -> Box<Error> {
        if self.engine_ref().is_none() {
            return outside();
        }
        if win == MPI_WIN_NULL {
            return fail(MPI_ERR_WIN, "the window is MPI_WIN_NULL");
        }
        fail(MPI_ERR_WIN, format!("{:#x} is no window: it was freed or never was one", given::handle(win.0)))
    }

    /// Wakes ranks of a window that may wait for what was just published in it. Whether any is known to have slept.
    pub(crate) fn ring(&self, window: &Window, ranks: impl IntoIterator<Item = u32>) -> bool {
        let Some(engine) = self.engine_ref() else { return false };
        let ring = |rank| engine.transport_ref().ring(window.peer(rank));
        ranks.into_iter().fold(false, |any, rank| any | ring(rank))
    }
}
