/* Runs a program whose system calls of some names are refused, as a container's seccomp filter does.
 * Usage: refused_call ERROR NAME[,NAME] PROGRAM [ARGUMENT...], where ERROR is EPERM or ENOSYS. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct { const char *name; unsigned number; } calls[] = {
#ifdef SYS_poll
    {"poll", SYS_poll},
#endif
#ifdef SYS_epoll_wait
    {"epoll_wait", SYS_epoll_wait},
#endif
    {"ppoll", SYS_ppoll},
    {"epoll_pwait", SYS_epoll_pwait},
    {"futex", SYS_futex},
    {"pidfd_send_signal", 424},
    {"io_uring_setup", 425},
    {"pidfd_open", 434},
    {"clone3", 435},
    {"close_range", 436},
    {"openat2", 437},
    {"pidfd_getfd", 438},
    {"faccessat2", 439},
    {"epoll_pwait2", 441},
    {"futex_waitv", 449},
    {"fchmodat2", 452},
    {"madvise", SYS_madvise},
    {"waitid", SYS_waitid},
    {"memfd_create", SYS_memfd_create},
};

static int refuse(const char *name, unsigned error)
{
    for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(calls[i].name, name)) continue;
        struct sock_filter filter[] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
        return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    }
    /* This processor has no such call. */
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 4) return 125;
    unsigned error = strcmp(argv[1], "EPERM") ? ENOSYS : EPERM;
    for (char *name = strtok(argv[2], ","); name; name = strtok(NULL, ",")) {
        if (refuse(name, error)) {
            perror("refused_call");
            return 125;
        }
    }
    execvp(argv[3], argv + 3);
    perror(argv[3]);
    return 127;
}
