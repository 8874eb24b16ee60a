/* Accesses to a window whose buffers at the origin, or whose memory at the target, cannot be used.
 *
 * The next flush tells it, with a class and a sentence, nobody dies, and every later call is as if the access had not
 * been made: flush, lock, unlock, fence and free.
 *
 * Usage: unmapped_access origin|target WORDS, which the sentence has. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { BYTES = 1 << 20, WORDS = BYTES / 8 };

static int rank, wrong, cases;
static MPI_Win win;
static MPI_Aint base;
/* The displacement, as the sentence has it; empty where it is not at fault. */
static char where[32];

static char *map(void) {
  char *start = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(start, 0, BYTES);
  return start;
}

static void must(int code) {
  if (code != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* The access and its flush; one of them has to say what is wrong. Then a good access has to come to pass. */
static void expect(const char *name, int code, int class, const char *word) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int told, length, found;
  long long one = 1, before = -1;
  if (code == MPI_SUCCESS)
    code = MPI_Win_flush(1, win);
  else
    must(MPI_Win_flush(1, win));
  MPI_Error_class(code, &told);
  MPI_Error_string(code, text, &length);
  found = told == class && strstr(text, word) != NULL && strstr(text, where) != NULL;
  must(MPI_Fetch_and_op(&one, &before, MPI_INT64_T, 1, base, MPI_SUM, win));
  must(MPI_Win_flush(1, win));
  if (!found || before != cases) {
    printf("%s: class %d, %lld before: %s\n", name, told, before, text);
    wrong++;
  }
  cases++;
}

/* All kinds of accesses: `here` is a buffer, and `there` a displacement. */
static void access_all(char *here, MPI_Aint there, int class, const char *word) {
  char *good = map();
  long long *number = (long long *)good;
  if (class == MPI_ERR_RMA_RANGE)
    snprintf(where, sizeof where, "%#llx", (unsigned long long)there);
  expect("put", MPI_Put(here, BYTES / 2, MPI_BYTE, 1, there, BYTES / 2, MPI_BYTE, win), class, word);
  expect("get", MPI_Get(here, BYTES / 2, MPI_BYTE, 1, there, BYTES / 2, MPI_BYTE, win), class, word);
  expect("accumulate",
         MPI_Accumulate(here, WORDS / 2, MPI_INT64_T, 1, there, WORDS / 2, MPI_INT64_T, MPI_SUM, win), class, word);
  expect("get-accumulate",
         MPI_Get_accumulate(here, WORDS / 2, MPI_INT64_T, good, WORDS / 2, MPI_INT64_T, 1, there, WORDS / 2,
                            MPI_INT64_T, MPI_SUM, win), class, word);
  expect("fetch",
         MPI_Get_accumulate(NULL, 0, MPI_INT64_T, here, WORDS / 2, MPI_INT64_T, 1, there, WORDS / 2, MPI_INT64_T,
                            MPI_NO_OP, win), class, word);
  if (class == MPI_ERR_RMA_RANGE) {
    expect("short put", MPI_Put(good, 8, MPI_BYTE, 1, there, 8, MPI_BYTE, win), class, word);
    expect("short get", MPI_Get(good, 8, MPI_BYTE, 1, there, 8, MPI_BYTE, win), class, word);
    expect("fetch-and-op", MPI_Fetch_and_op(number, number + 1, MPI_INT64_T, 1, there, MPI_SUM, win), class, word);
    expect("compare-and-swap",
           MPI_Compare_and_swap(number, number, number + 1, MPI_INT64_T, 1, there, win), class, word);
  }
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int at_origin = strcmp(argv[1], "origin") == 0;
  char *memory = map(), *gone = map();
  MPI_Aint places[2];
  must(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  must(MPI_Win_attach(win, memory, BYTES));
  must(MPI_Win_attach(win, gone, BYTES));
  MPI_Get_address(memory, &places[0]);
  MPI_Get_address(gone, &places[1]);
  MPI_Bcast(places, 2, MPI_AINT, 1, MPI_COMM_WORLD);
  base = places[0];
  if (rank == 1 && !at_origin)
    munmap(gone, BYTES);
  MPI_Barrier(MPI_COMM_WORLD);
  must(MPI_Win_lock_all(0, win));
  if (rank == 0 && at_origin) {
    /* Of the buffer, the first part is good. */
    char *bad = map();
    mprotect(bad + BYTES / 4, BYTES - BYTES / 4, PROT_NONE);
    access_all(bad, base + BYTES / 2, MPI_ERR_BUFFER, argv[2]);
  } else if (rank == 0)
    access_all(map(), places[1], MPI_ERR_RMA_RANGE, argv[2]);
  must(MPI_Win_unlock_all(win));
  must(MPI_Win_fence(0, win));
  must(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  must(MPI_Win_free(&win));
  if (rank == 0)
    printf("%d cases, %d wrong\n", cases, wrong);
  MPI_Finalize();
  return 0;
}
