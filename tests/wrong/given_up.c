/* A collective that a rank gives up because another one makes it with other lengths must not write into its memory
 * afterwards: the rank may use that for something else.
 *
 * The last rank has room for 8 bytes where all others have room for BYTES.
 *
 * Usage: given_up BYTES TURNS. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENT = 1, OWN = 2 };

static int rank, size;

/* Whether memory that is used anew after the call keeps what was put there. */
static int keeps(unsigned char *memory, int bytes, MPI_Comm comm) {
  memset(memory, OWN, (size_t)bytes);
  MPI_Barrier(comm);
  for (int i = 0; i < bytes; i++)
    if (memory[i] != OWN)
      return 0;
  return 1;
}

int main(int argc, char **argv) {
  MPI_Comm comm;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int bytes = atoi(argv[1]), turns = atoi(argv[2]), mine = rank == size - 1 ? 8 : bytes;
  unsigned char *in = malloc((size_t)bytes * (size_t)size), *out = malloc((size_t)bytes);
  memset(in, SENT, (size_t)bytes * (size_t)size);
  int seen[2] = {0, 0}, all[2];
  for (int turn = 0; turn < turns; turn++) {
    seen[0] += MPI_Scatter(in, mine, MPI_BYTE, out, mine, MPI_BYTE, 0, comm) != MPI_SUCCESS;
    seen[1] += !keeps(out, bytes, comm);
  }
  MPI_Reduce(seen, all, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d calls were refused, %d wrote later\n", all[0], all[1]);
  MPI_Finalize();
  return rank == 0 && (all[0] < turns || all[1] > 0);
}
