/* Faults below the library: the program has system calls of its own, which the dynamic linker takes before libc's.
 * Faults hit descriptors of one file alone, in an order that a seed decides.
 */
#ifndef TERN_INJECT_H
#define TERN_INJECT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

static struct {
    ino_t file; /* 0: nothing is injected */
    unsigned long random;
    int error;   /* what a call fails with */
    int one_of;  /* one of so many calls fails; 0: none */
    int is_short; /* some calls move less than they are asked for, or are interrupted */
    int sync_error, lock_error;
    long filesystem; /* its magic number, unless 0 */
    atomic_int calls, failures, locks, syncs, opens;
    int advice; /* a bit for each advice since the last POSIX_FADV_NORMAL */
} inject;

/* From a seed (splitmix64). */
static inline unsigned long inject_random(unsigned long *state)
{
    unsigned long z = *state += 0x9E3779B97F4A7C15ul;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ul;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBul;
    return z ^ (z >> 31);
}

static inline int inject_is_target(int fd)
{
    struct stat found;
    return inject.file != 0 && fstat(fd, &found) == 0 && found.st_ino == inject.file;
}

/* How many bytes a call may move, or -1 with an error. */
static inline ssize_t inject_fate(int fd, size_t bytes)
{
    if (!inject_is_target(fd)) return (ssize_t)bytes;
    atomic_fetch_add(&inject.calls, 1);
    unsigned long draw = inject_random(&inject.random);
    if (inject.one_of && draw % (unsigned)inject.one_of == 0) {
        atomic_fetch_add(&inject.failures, 1);
        errno = inject.error;
        return -1;
    }
    if (inject.is_short && draw >> 8 & 1) {
        if (draw >> 9 & 1) {
            errno = EINTR;
            return -1;
        }
        return (ssize_t)(1 + (draw >> 10) % (bytes ? bytes : 1));
    }
    return (ssize_t)bytes;
}

static inline ssize_t inject_vector(long number, int fd, const struct iovec *list, int count, off_t offset)
{
    size_t bytes = 0;
    for (int i = 0; i < count; i++) bytes += list[i].iov_len;
    ssize_t may = inject_fate(fd, bytes);
    if (may < 0) return -1;
    /* Short: the first piece alone, or a part of it. */
    if ((size_t)may < bytes && count > 0) {
        long one = number == SYS_pwritev ? SYS_pwrite64 : SYS_pread64;
        size_t first = list[0].iov_len < (size_t)may ? list[0].iov_len : (size_t)may;
        return syscall(one, fd, list[0].iov_base, first, offset);
    }
    return syscall(number, fd, list, count, offset, 0L);
}

ssize_t pwrite64(int fd, const void *from, size_t bytes, off64_t offset)
{
    ssize_t may = inject_fate(fd, bytes);
    return may < 0 ? -1 : syscall(SYS_pwrite64, fd, from, (size_t)may, offset);
}

ssize_t pread64(int fd, void *to, size_t bytes, off64_t offset)
{
    ssize_t may = inject_fate(fd, bytes);
    return may < 0 ? -1 : syscall(SYS_pread64, fd, to, (size_t)may, offset);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t offset)
{
    return pwrite64(fd, from, bytes, offset);
}

ssize_t pread(int fd, void *to, size_t bytes, off_t offset)
{
    return pread64(fd, to, bytes, offset);
}

ssize_t pwritev(int fd, const struct iovec *list, int count, off_t offset)
{
    return inject_vector(SYS_pwritev, fd, list, count, offset);
}

ssize_t preadv(int fd, const struct iovec *list, int count, off_t offset)
{
    return inject_vector(SYS_preadv, fd, list, count, offset);
}

int fsync(int fd)
{
    if (inject_is_target(fd)) {
        atomic_fetch_add(&inject.syncs, 1);
        if (inject.sync_error) {
            errno = inject.sync_error;
            return -1;
        }
    }
    return (int)syscall(SYS_fsync, fd);
}

int posix_fadvise64(int fd, off64_t offset, off64_t bytes, int advice)
{
    if (inject_is_target(fd) && offset == 0 && bytes == 0)
        inject.advice = advice == POSIX_FADV_NORMAL ? 0 : inject.advice | 1 << advice;
    return syscall(SYS_fadvise64, fd, offset, bytes, advice) == 0 ? 0 : errno;
}

int posix_fadvise(int fd, off_t offset, off_t bytes, int advice)
{
    return posix_fadvise64(fd, offset, bytes, advice);
}

int fstatfs(int fd, struct statfs *found)
{
    int done = (int)syscall(SYS_fstatfs, fd, found);
    if (done == 0 && inject.filesystem) found->f_type = inject.filesystem;
    return done;
}

int fcntl(int fd, int command, ...)
{
    va_list rest;
    va_start(rest, command);
    long argument = va_arg(rest, long);
    va_end(rest);
    if (command == F_OFD_SETLKW && inject_is_target(fd)) {
        atomic_fetch_add(&inject.locks, 1);
        if (inject.lock_error) {
            errno = inject.lock_error;
            return -1;
        }
    }
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

int open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, unsigned) : 0;
    va_end(rest);
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_LARGEFILE, mode);
    if (fd >= 0 && inject_is_target(fd)) atomic_fetch_add(&inject.opens, 1);
    return fd;
}

static inline void inject_nothing(void)
{
    inject.one_of = inject.is_short = inject.sync_error = inject.lock_error = 0;
}

/* From here on the file of this path is the one. */
static inline void inject_into(const char *path)
{
    struct stat found;
    inject.locks = inject.syncs = inject.opens = inject.calls = inject.failures = 0;
    inject.file = stat(path, &found) == 0 ? found.st_ino : 0;
}

#endif
