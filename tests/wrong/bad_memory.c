/* Messages and collectives of a few bytes with memory that this process cannot use, which no system call touches.
 *
 * Rank 1 dies of a signal, and says before which call could not use which memory. A program that has a handler of its
 * own keeps it, and a fault of the program's own is its own affair.
 *
 * Usage: bad_memory CASE BYTES. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int rank;

static void own_handler(int signal) {
  static const char text[] = "the program's own handler\n";
  (void)signal;
  if (write(1, text, sizeof text - 1) < 0)
    _exit(9);
  _exit(7);
}

/* At rank 1 memory with these rights; elsewhere good memory. */
static char *memory(size_t bytes, int rights) {
  char *start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(start, 1, bytes);
  if (rank == 1)
    mprotect(start, bytes, rights);
  return start;
}

static void crashing_operation(void *in, void *inout, int *count, MPI_Datatype *type) {
  (void)inout, (void)count, (void)type;
  *(volatile char *)in = *(volatile char *)8;
}

static void receive_and_wait(char *bad, int bytes, int tag) {
  MPI_Request request;
  if (rank == 1) {
    MPI_Irecv(bad, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &request);
    MPI_Send(&rank, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (rank == 0) {
    MPI_Recv(&rank, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    rank = 0;
    MPI_Send(bad, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
  }
}

int main(int argc, char **argv) {
  const char *what = argv[1];
  int bytes = argc > 2 ? atoi(argv[2]) : 8;
  if (strcmp(what, "handler-before") == 0)
    signal(SIGSEGV, own_handler);
  MPI_Init(&argc, &argv);
  if (strcmp(what, "handler-after") == 0)
    signal(SIGSEGV, own_handler);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int nothing = strcmp(what, "receive") == 0 || strcmp(what, "wait") == 0 ? PROT_READ : PROT_NONE;
  char *bad = memory((size_t)bytes + 1, nothing);
  if (rank == 1)
    printf("bad memory at %p\n", (void *)bad);
  fflush(stdout);
  if (strcmp(what, "send") == 0 || strncmp(what, "handler", 7) == 0) {
    if (rank == 1)
      MPI_Send(bad, bytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
    else if (rank == 0)
      MPI_Recv(bad, bytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (strcmp(what, "freed") == 0) {
    if (rank == 1) {
      munmap(bad, (size_t)bytes + 1);
      MPI_Send(bad, bytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
    } else if (rank == 0)
      MPI_Recv(bad, bytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (strcmp(what, "receive") == 0) {
    if (rank == 0)
      MPI_Send(bad, bytes, MPI_BYTE, 1, 5, MPI_COMM_WORLD);
    else if (rank == 1)
      MPI_Recv(bad, bytes, MPI_BYTE, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (strcmp(what, "wait") == 0) {
    receive_and_wait(bad, bytes, 6);
  } else if (strcmp(what, "bcast") == 0) {
    MPI_Bcast(bad, bytes, MPI_BYTE, 1, MPI_COMM_WORLD);
  } else if (strcmp(what, "allreduce") == 0) {
    char *sum = malloc((size_t)bytes);
    MPI_Allreduce(bad, sum, bytes, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
  } else if (strcmp(what, "operation") == 0) {
    MPI_Op op;
    char in[8] = "", out[8];
    MPI_Op_create(crashing_operation, 1, &op);
    MPI_Allreduce(in, out, 8, MPI_CHAR, op, MPI_COMM_WORLD);
  } else if (strcmp(what, "program") == 0) {
    if (rank == 1)
      bad[0] = 1;
  } else if (strcmp(what, "library") == 0) {
    if (rank == 1)
      printf("%zu\n", strlen(bad));
  } else if (strcmp(what, "raised") == 0) {
    if (rank == 1)
      kill(getpid(), SIGSEGV);
  } else if (strcmp(what, "finalized") == 0) {
    struct sigaction found;
    MPI_Finalize();
    sigaction(SIGSEGV, NULL, &found);
    printf("%s\n", found.sa_handler == SIG_DFL ? "the default is back" : "there is a handler");
    return 0;
  }
  MPI_Finalize();
  return 0;
}
