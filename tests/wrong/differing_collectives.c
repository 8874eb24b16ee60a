/* Collectives whose ranks differ in a length, the root, the operation, the type or the collective itself, or of which
 * one has room for other blocks than it gives.
 *
 * Every call must return, those ranks that meet the mismatch must get an error, nothing may be written beyond a
 * rank's own buffer, and the next call on the same communicator must be right.
 *
 * Usage: differing_collectives lengths|roots|operations|calls|own [NAME]. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1000000, GUARD = 64, FILL = 0xa5 };

static int rank, size;
static unsigned char *in, *out;

/* What one rank does in a call: bytes of its data, root, operation and type. */
typedef struct {
  int bytes, root;
  MPI_Op op;
  MPI_Datatype type;
  int taken; /* the bytes of a block that it has room for; 0: those that it gives */
} Part;

typedef int Function(Part, MPI_Comm);

static int count_of(Part part) {
  int bytes;
  MPI_Type_size(part.type, &bytes);
  return part.bytes / bytes;
}

static int room_of(Part part) {
  return part.taken ? part.taken : part.bytes;
}

static int barrier(Part part, MPI_Comm comm) {
  (void)part;
  return MPI_Barrier(comm);
}

static int bcast(Part part, MPI_Comm comm) {
  return MPI_Bcast(rank == part.root ? in : out, part.bytes, MPI_BYTE, part.root, comm);
}

static int reduce(Part part, MPI_Comm comm) {
  return MPI_Reduce(in, out, count_of(part), part.type, part.op, part.root, comm);
}

static int allreduce(Part part, MPI_Comm comm) {
  return MPI_Allreduce(in, out, count_of(part), part.type, part.op, comm);
}

static int reduce_scatter(Part part, MPI_Comm comm) {
  int counts[16];
  for (int i = 0; i < size; i++)
    counts[i] = count_of(part);
  return MPI_Reduce_scatter(in, out, counts, part.type, part.op, comm);
}

static int reduce_scatter_block(Part part, MPI_Comm comm) {
  return MPI_Reduce_scatter_block(in, out, count_of(part), part.type, part.op, comm);
}

static int scan(Part part, MPI_Comm comm) {
  return MPI_Scan(in, out, count_of(part), part.type, part.op, comm);
}

static int exscan(Part part, MPI_Comm comm) {
  return MPI_Exscan(in, out, count_of(part), part.type, part.op, comm);
}

static int gather(Part part, MPI_Comm comm) {
  return MPI_Gather(in, part.bytes, MPI_BYTE, out, room_of(part), MPI_BYTE, part.root, comm);
}

static int scatter(Part part, MPI_Comm comm) {
  return MPI_Scatter(in, part.bytes, MPI_BYTE, out, room_of(part), MPI_BYTE, part.root, comm);
}

static int allgather(Part part, MPI_Comm comm) {
  return MPI_Allgather(in, part.bytes, MPI_BYTE, out, room_of(part), MPI_BYTE, comm);
}

static int allgatherv(Part part, MPI_Comm comm) {
  int counts[16], displs[16];
  for (int i = 0; i < size; i++) {
    counts[i] = room_of(part);
    displs[i] = i * room_of(part);
  }
  return MPI_Allgatherv(in, part.bytes, MPI_BYTE, out, counts, displs, MPI_BYTE, comm);
}

static int alltoall(Part part, MPI_Comm comm) {
  return MPI_Alltoall(in, part.bytes, MPI_BYTE, out, room_of(part), MPI_BYTE, comm);
}

static int alltoallv(Part part, MPI_Comm comm) {
  int counts[16], displs[16];
  for (int i = 0; i < size; i++) {
    counts[i] = part.bytes;
    displs[i] = i * part.bytes;
  }
  return MPI_Alltoallv(in, counts, displs, MPI_BYTE, out, counts, displs, MPI_BYTE, comm);
}

/* Who meets a rank that differs. */
typedef enum {
  ALL,     /* everybody */
  READERS, /* whoever reads what the root gave */
  ROOT,    /* the root */
  SOME     /* those above, or somebody */
} Meets;

static const struct {
  const char *name;
  Function *call;
  Meets meets;
  int blocks;  /* the buffers hold a block for each rank */
  int rooted, reduces;
} calls[] = {
    {"bcast", bcast, READERS, 0, 1, 0},
    {"reduce", reduce, ROOT, 0, 1, 1},
    {"allreduce", allreduce, ALL, 0, 0, 1},
    {"reduce_scatter", reduce_scatter, ALL, 1, 0, 1},
    {"reduce_scatter_block", reduce_scatter_block, ALL, 1, 0, 1},
    {"scan", scan, SOME, 0, 0, 1},
    {"exscan", exscan, SOME, 0, 0, 1},
    {"gather", gather, ROOT, 1, 1, 0},
    {"scatter", scatter, READERS, 1, 1, 0},
    {"allgather", allgather, ALL, 1, 0, 0},
    {"allgatherv", allgatherv, ALL, 1, 0, 0},
    {"alltoall", alltoall, ALL, 1, 0, 0},
    {"alltoallv", alltoallv, SOME, 1, 0, 0},
    {"barrier", barrier, ALL, 0, 0, 0},
};
enum { CALLS = sizeof calls / sizeof calls[0] };

/* Of the ranks but the odd one, and of that one. */
static const int lengths[][2] = {{0, 8},    {8, 0},      {8, 64},      {64, 8},      {40, 48},      {48, 56},
                                 {0, 64},   {64, 0},     {64, 4096},   {4096, 64},   {12000, 9000}, {100000, 8},
                                 {8, 100000}, {100000, 0}, {1000000, 8}, {8, 1000000}, {400000, 200000}};
/* What the odd rank gives, as all do, and what it has room for. */
static const int own[][2] = {{64, 8}, {8, 64}, {4096, 64}, {64, 4096}, {200000, 8}, {8, 200000}};
enum { OWN = sizeof own / sizeof own[0] };
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

static int wrong, cases;

static void complain(const char *what, const char *name, Part mine, Part odd, int who) {
  wrong++;
  printf("%s: %s; %d bytes, root %d; at rank %d %d bytes, root %d\n", name, what, mine.bytes, mine.root, who,
         odd.bytes, odd.root);
}

/* The calls that follow on the same communicator. */
static int is_right_afterwards(MPI_Comm comm) {
  int right = 1;
  for (int turn = 0; turn < 3; turn++) {
    int mine[20], sum[20], given = turn == 1 && rank == size - 1 ? 77 : -1;
    for (int i = 0; i < 20; i++)
      mine[i] = rank + i + turn;
    right &= MPI_Allreduce(mine, sum, 20, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS;
    for (int i = 0; i < 20; i++)
      right &= sum[i] == size * (size - 1) / 2 + size * (i + turn);
    right &= MPI_Bcast(&given, 1, MPI_INT, size - 1, comm) == MPI_SUCCESS;
    right &= given == (turn == 1 ? 77 : -1);
    right &= MPI_Barrier(comm) == MPI_SUCCESS;
  }
  return right;
}

/* Whether each rank only gives, or no message tells what the other does, so that nobody can learn of it. */
static int is_nobody_met(int which, Part even, int other, Part odd, int who) {
  const Meets meets = calls[which].meets;
  /* Between two ranks these go by messages. */
  const int is_message = size == 2 && strncmp(calls[which].name, "reduce_scatter", 14) == 0;
  if (which != other)
    return meets != ALL || calls[other].meets != ALL || is_message;
  if (even.root != odd.root)
    return meets == ROOT ? who == even.root : size == 2;
  return (is_message || (size == 2 && calls[which].call == exscan)) && (even.op != odd.op || even.type != odd.type);
}

/* Whoever has two lengths for its own block learns of it, and where blocks go through memory of all ranks, all of
 * them. */
static int is_own_met(int which, Part odd, int who, const int *all, int failed) {
  const int is_told = calls[which].meets == ALL && odd.bytes <= 4096 && !getenv("TERN_CHECK");
  return all[3 * who] != MPI_SUCCESS && (!is_told || failed == size);
}

static void play(int which, Part even, int other, Part odd, int who, MPI_Comm comm) {
  Part mine = rank == who ? odd : even;
  const int at = rank == who ? other : which, room = calls[at].blocks ? size * room_of(mine) : mine.bytes;
  memset(in, 1, (size_t)size * LONGEST);
  memset(out, FILL, (size_t)room + GUARD);
  int outcome[3] = {calls[at].call(mine, comm), 1, 0};
  for (int i = 0; i < GUARD; i++)
    outcome[1] &= out[room + i] == FILL;
  outcome[2] = is_right_afterwards(comm);
  int all[3 * 16], failed = 0, readers = 0;
  MPI_Gather(outcome, 3, MPI_INT, all, 3, MPI_INT, 0, MPI_COMM_WORLD);
  if (rank != 0)
    return;
  cases++;
  for (int i = 0; i < size; i++) {
    failed += all[3 * i] != MPI_SUCCESS;
    readers += i != even.root && (who == even.root || i == who) && all[3 * i] != MPI_SUCCESS;
    if (!all[3 * i + 1])
      complain("something was written beyond a buffer", calls[which].name, even, odd, who);
    if (!all[3 * i + 2])
      complain("the next calls were wrong", calls[which].name, even, odd, who);
  }
  if (odd.taken) {
    if (!is_own_met(which, odd, who, all, failed))
      complain("not all learned of the two lengths", calls[which].name, even, odd, who);
    return;
  }
  if (!is_nobody_met(which, even, other, odd, who) &&
      (failed == 0 || (calls[which].meets == ALL && calls[other].meets == ALL && failed < size)))
    complain("not all learned of it", calls[which].name, even, odd, who);
  if (which == other && even.root == odd.root) {
    if (calls[which].meets == ROOT && all[3 * even.root] == MPI_SUCCESS)
      complain("the root did not learn of it", calls[which].name, even, odd, who);
    if (calls[which].meets == READERS && readers < (who == even.root ? size - 1 : 1))
      complain("a reader did not learn of it", calls[which].name, even, odd, who);
  }
}

static void differ(const char *what, int which, MPI_Comm comm) {
  Part even = {64, 0, MPI_SUM, MPI_INT, 0}, odd = even;
  for (int who = 0; who < size; who += size - 1) {
    /* What only two ranks know of each other, TERN_CHECK=collectives does not compare. */
    const int is_left_out = calls[which].call == barrier || (calls[which].call == alltoallv && getenv("TERN_CHECK"));
    if (strcmp(what, "lengths") == 0 && !is_left_out)
      for (int i = 0; i < LENGTHS; i++) {
        even.bytes = lengths[i][0];
        odd.bytes = lengths[i][1];
        play(which, even, which, odd, who, comm);
      }
    const int has_own = calls[which].blocks && !calls[which].reduces && calls[which].call != alltoallv;
    if (strcmp(what, "own") == 0 && has_own && (!calls[which].rooted || who == odd.root))
      for (int i = 0; i < OWN; i++) {
        even.bytes = odd.bytes = own[i][0];
        odd.taken = own[i][1];
        play(which, even, which, odd, who, comm);
      }
    if (strcmp(what, "roots") == 0 && calls[which].rooted)
      for (int i = 0; i < 3; i++) {
        odd.root = 1;
        even.bytes = odd.bytes = i == 0 ? 8 : i == 1 ? 4096 : 200000;
        play(which, even, which, odd, who, comm);
      }
    if (strcmp(what, "operations") == 0 && calls[which].reduces)
      for (int i = 0; i < 6; i++) {
        even.bytes = odd.bytes = i < 2 ? 8 : i < 4 ? 4096 : 200000;
        odd.op = i % 2 ? MPI_SUM : MPI_MAX;
        odd.type = i % 2 ? MPI_FLOAT : MPI_INT;
        play(which, even, which, odd, who, comm);
      }
    if (strcmp(what, "calls") == 0)
      for (int other = 0; other < CALLS; other++) {
        even.bytes = odd.bytes = 64;
        if (other != which)
          play(which, even, other, odd, who, comm);
      }
  }
}

int main(int argc, char **argv) {
  MPI_Comm comm;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  in = malloc((size_t)size * LONGEST);
  out = malloc((size_t)size * LONGEST + GUARD);
  for (int which = 0; which < CALLS; which++)
    if (argc < 3 || strcmp(argv[2], calls[which].name) == 0) {
      MPI_Comm_dup(MPI_COMM_WORLD, &comm);
      MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
      differ(argv[1], which, comm);
      MPI_Comm_free(&comm);
    }
  if (rank == 0)
    printf("%d cases, %d wrong\n", cases, wrong);
  MPI_Finalize();
  return wrong > 0;
}
