// When a program began and ended, in milliseconds, as a line at the end of a file. It ends with the program's status.
// usage: raw_span FILE PROGRAM...
#include "measure.h"
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    char line[64];
    int status = 0;
    if (argc < 3)
        return 2;
    double began = now();
    pid_t child = fork();
    if (child == 0) {
        execv(argv[2], argv + 2);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 1;
    snprintf(line, sizeof line, "%.3f %.3f\n", 1e3 * began, 1e3 * now());
    // One write, so that lines of several do not mix.
    int file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (file < 0 || write(file, line, strlen(line)) < 0)
        return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
