//! What a program prints, and when it is seen.
//!
//! Under a launcher standard output is a pipe, into which the C library writes whole buffers: what a program has printed is seen
//! late, and not at all when the job ends badly. Here it is written line by line, as to a terminal, and what other streams hold is
//! written before this process ends the job. gfortran writes each line by itself; for Python `mpirun` sets a variable.

use crate::limits::FLUSH_MAX;
use libc::{FILE, c_char, c_int, size_t};
use std::sync::mpsc::channel;
use tern_job::descriptor::DESCRIPTOR_VARIABLE;
use tern_job::pmi::RANK_VARIABLE;

unsafe extern "C" {
    static stdout: *mut FILE;
    fn __fbufsize(stream: *mut FILE) -> size_t;
    fn __flbf(stream: *mut FILE) -> c_int;
}

/// The loader calls it before the program begins, so that whatever the program says about its buffers comes later, and holds.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

extern "C" fn at_load() {
    let signs = [DESCRIPTOR_VARIABLE, RANK_VARIABLE, "PMIX_RANK", "SLURM_STEP_ID"];
    let launched = signs.iter().any(|name| std::env::var_os(name).is_some());
    if launched && is_pipe(libc::STDOUT_FILENO) {
        buffer_lines();
    }
}

fn is_pipe(fd: c_int) -> bool {
    // SAFETY: all zero is a valid structure, and the call writes no more than it.
    let kind = unsafe {
        let mut stat: libc::stat = std::mem::zeroed();
        if libc::fstat(fd, &raw mut stat) == 0 { stat.st_mode & libc::S_IFMT } else { 0 }
    };
    kind == libc::S_IFIFO || kind == libc::S_IFSOCK
}

/// A stream that has a buffer is in use already, or `stdbuf` has given it one: this library was loaded late.
fn buffer_lines() {
    // SAFETY: the C library's own stream, which is initialized before this library is; a null buffer leaves it to allocate one.
    unsafe {
        if __fbufsize(stdout) == 0 && __flbf(stdout) == 0 {
            libc::setvbuf(stdout, std::ptr::null_mut::<c_char>(), libc::_IOLBF, 0);
        }
    }
}

/// Writes what the streams of C and Fortran hold. A thread of its own does it, since another one may hold a stream for ever, or nobody
/// may read: after a while this process ends without.
pub(crate) fn flush_streams() {
    let (done, flushed) = channel();
    let flush = move || {
        tern_transport::signals::block();
        flush_fortran();
        // SAFETY: a null pointer stands for all streams.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        // Nobody listens any more once the time is up.
        let _ = done.send(());
    };
    if std::thread::Builder::new().name("tern-flush".into()).spawn(flush).is_ok() {
        let _ = flushed.recv_timeout(FLUSH_MAX);
    }
}

/// Where the program has gfortran's runtime, that has buffers of its own.
fn flush_fortran() {
    // SAFETY: the name is a string of C. A function of this name is that of the runtime: it flushes all units for a null pointer.
    unsafe {
        let flush = libc::dlsym(libc::RTLD_DEFAULT, c"_gfortran_flush_i4".as_ptr());
        if !flush.is_null() {
            let flush: extern "C" fn(*const c_int) = std::mem::transmute(flush);
            flush(std::ptr::null());
        }
    }
}
