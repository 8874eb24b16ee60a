// The least that a rank needs of its launcher: it speaks PMI-1 on PMI_FD, without MPI.
// usage, under a launcher: raw_pmi
//
// It leaves what others need to reach it, meets all ranks, reads what one other has left, and ends.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char answer[8192];

static void ask(int fd, const char *request) {
    size_t length = strlen(request), had = 0;
    if (write(fd, request, length) != (ssize_t)length)
        exit(1);
    do {
        ssize_t got = read(fd, answer + had, sizeof answer - 1 - had);
        if (got <= 0)
            exit(1);
        had += (size_t)got;
        answer[had] = 0;
    } while (strchr(answer, '\n') == NULL);
}

int main(void) {
    const char *number = getenv("PMI_FD"), *rank = getenv("PMI_RANK");
    char request[600], names[257];
    if (number == NULL || rank == NULL) {
        fprintf(stderr, "raw_pmi: no launcher here speaks PMI-1\n");
        return 1;
    }
    int fd = atoi(number);
    ask(fd, "cmd=init pmi_version=1 pmi_subversion=1\n");
    ask(fd, "cmd=get_my_kvsname\n");
    if (sscanf(answer, "cmd=my_kvsname rc=0 kvsname=%256s", names) != 1)
        return 1;
    snprintf(request, sizeof request, "cmd=put kvsname=%s key=raw-%s value=%040d\n", names, rank, 0);
    ask(fd, request);
    ask(fd, "cmd=barrier_in\n");
    snprintf(request, sizeof request, "cmd=get kvsname=%s key=raw-0\n", names);
    ask(fd, request);
    ask(fd, "cmd=finalize\n");
    return 0;
}
