//! Memory of dynamic windows (MPI 5.0 section 12.2.4).

use super::control::{NotAttached, REGIONS_MAX};
use super::make::size_of_window;
use super::object::Window;
use crate::core::entry::entry;
use crate::core::error::{Error, Result, fail};
use crate::core::process::enter;
use std::ffi::c_void;
use tern_abi::*;

entry! {
    /// Attaches memory to a dynamic window.
    safe fn MPI_Win_attach(win: MPI_Win, base: *mut c_void, size: MPI_Aint) on win {
        let bytes = size_of_window(size)?;
        let mut process = enter();
        let window = process.window_mut(win)?;
        expect_dynamic(window)?;
        if bytes == 0 {
            // Nobody reaches it, but it can be detached.
            window.empty_regions.push(base.addr());
            return Ok(());
        }
        if base.is_null() {
            return Err(fail(MPI_ERR_BASE, format!("base is null, but the memory has {bytes} bytes")));
        }
        let attached = window.controls[window.me as usize].attach(base.addr() as u64, bytes);
        attached.map_err(|why| not_attached(window, why))
    }

    /// Detaches memory from a dynamic window.
    safe fn MPI_Win_detach(win: MPI_Win, base: *const c_void) on win {
        let mut process = enter();
        let window = process.window_mut(win)?;
        expect_dynamic(window)?;
        if window.controls[window.me as usize].detach(base.addr() as u64) {
            return Ok(());
        }
        match window.empty_regions.iter().position(|empty| *empty == base.addr()) {
            Some(at) => _ = window.empty_regions.swap_remove(at),
            None => {
                return Err(fail(
                    MPI_ERR_RMA_ATTACH,
                    format!("no memory is attached at {base:?} to {}", window.named()),
                ));
            }
        }
        Ok(())
    }
}

fn expect_dynamic(window: &Window) -> Result {
    if window.is_dynamic() {
        return Ok(());
    }
    Err(fail(MPI_ERR_RMA_FLAVOR, format!("{} was not made by MPI_Win_create_dynamic", window.named())))
}

#[cold]
fn not_attached(window: &Window, why: NotAttached) -> Box<Error> {
    let named = window.named();
    let text = match why {
        NotAttached::TooMany => {
            format!("{REGIONS_MAX} regions are attached to {named}, which are all: detach some")
        }
        NotAttached::Overlaps(base, bytes) => {
            format!("{bytes} bytes at {base:#x} are attached to {named} already: detach them first")
        }
    };
    fail(MPI_ERR_RMA_ATTACH, text)
}
