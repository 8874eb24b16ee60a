//! Fences that one thread makes others pass: `membarrier`. What those do often costs no fence then, and what this thread does seldom
//! costs a system call.

// linux/membarrier.h
const MEMBARRIER_CMD_GLOBAL_EXPEDITED: i32 = 1 << 1;
const MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED: i32 = 1 << 2;
const MEMBARRIER_CMD_PRIVATE_EXPEDITED: i32 = 1 << 3;
const MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED: i32 = 1 << 4;

/// Makes this process one that [`fence_everywhere`], called by any process, reaches. Whether that worked.
pub fn register_for_all() -> bool {
    membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED)
}

/// Every thread of every process that has registered by [`register_for_all`] passes a full fence before this returns. Whether that
/// worked.
pub fn fence_everywhere() -> bool {
    membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED)
}

/// Lets threads of this process use [`fence_own_threads`]. Whether that worked. In a process of several threads it may take
/// milliseconds.
pub fn register_for_own() -> bool {
    membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
}

/// Every thread of this process passes a full fence before this returns: a microsecond or two. Whether that worked: not unless
/// [`register_for_own`] has.
pub fn fence_own_threads() -> bool {
    membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)
}

fn membarrier(command: i32) -> bool {
    // SAFETY: takes no addresses.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}
