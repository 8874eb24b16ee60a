//! Options of sockets for which `socket2` has no name.

use std::io;
use std::os::fd::RawFd;
use std::ptr::from_ref;

/// Sets an option of a socket.
pub fn set_option<T: Copy>(fd: RawFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    let bytes = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value lives during the call and is as long as is said.
    checked(unsafe { libc::setsockopt(fd, level, name, from_ref(value).cast(), bytes) })
}

/// Reads an option of a socket into words. Answers how many the kernel wrote.
pub fn words_of_option(fd: RawFd, level: i32, name: i32, words: &mut [u32]) -> io::Result<usize> {
    let mut bytes = size_of_val(words) as libc::socklen_t;
    // SAFETY: the words live during the call, and the kernel writes no more bytes than there are.
    checked(unsafe { libc::getsockopt(fd, level, name, words.as_mut_ptr().cast(), &mut bytes) })?;
    Ok(bytes as usize / size_of::<u32>())
}

fn checked(answer: i32) -> io::Result<()> {
    if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
