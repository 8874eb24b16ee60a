//! The limit on file sizes. It is the process's, so this test has a process of its own.

use tern_io::size_limit::{allowed, ask};

#[test]
fn what_was_allowed_is_allowed_and_the_rest_is_asked_for() {
    let mut limits = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    let mut lower = |bytes: u64| {
        // SAFETY: the structure lives through both calls.
        unsafe {
            assert_eq!(libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limits), 0);
            limits.rlim_cur = limits.rlim_max.min(bytes);
            assert_eq!(libc::setrlimit(libc::RLIMIT_FSIZE, &raw const limits), 0);
        }
    };
    lower(1000);
    assert_eq!(allowed(0, 10).unwrap(), 10);
    assert_eq!(allowed(990, 10).unwrap(), 10);
    assert_eq!(allowed(990, 30).unwrap(), 10);
    assert_eq!(allowed(1000, 30).unwrap_err().raw_os_error(), Some(libc::EFBIG));
    assert_eq!(allowed(1000, 0).unwrap(), 0);
    lower(2000);
    assert_eq!(allowed(1000, 30).unwrap(), 30);
    assert_eq!(ask(), 2000);
    // What the test says of itself may go to a longer file.
    lower(u64::MAX);
}
