/* Accesses to a window that conflict, and buffers that are used too early, under TERN_CHECK=windows.
 *
 * Each case is played twice: as a correct program, of which nothing may be said, and with the mistake, of which some
 * rank must be told: with the class, both calls, the ranks and the bytes, and the name of the window. Afterwards, the
 * next calls on the window must be right.
 *
 * Usage: windows allocate|create|dynamic [NAME]. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 64, TEXT = MPI_MAX_ERROR_STRING };

static int rank, size;
static MPI_Win win;
static long long *memory;
static MPI_Aint base; /* displacement of the first word of rank 0 */
static int unit;      /* displacement of one word */

/* The first error of this rank. */
static int class;
static char said[TEXT];

static void see(int code) {
  int length;
  if (code == MPI_SUCCESS || class != MPI_SUCCESS)
    return;
  MPI_Error_class(code, &class);
  MPI_Error_string(code, said, &length);
}

static void must(int code) {
  if (code != MPI_SUCCESS)
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Nobody goes on before all have come. The window does not know of it. */
static void meet(void) { must(MPI_Barrier(MPI_COMM_WORLD)); }

static MPI_Aint word(int at) { return base + (MPI_Aint)at * unit; }

/* One element to or from some word of rank 0. */
static void put(const long long *from, int at, int words) {
  see(MPI_Put(from, words, MPI_INT64_T, 0, word(at), words, MPI_INT64_T, win));
}

static void get(long long *into, int at, int words) {
  see(MPI_Get(into, words, MPI_INT64_T, 0, word(at), words, MPI_INT64_T, win));
}

static void add(const long long *from, int at, MPI_Op op) {
  see(MPI_Accumulate(from, 1, MPI_INT64_T, 0, word(at), 1, MPI_INT64_T, op, win));
}

static void lock_all(void) { see(MPI_Win_lock_all(0, win)); }
static void unlock_all(void) { see(MPI_Win_unlock_all(win)); }
static void fence(void) { see(MPI_Win_fence(0, win)); }

static long long numbers[WORDS], results[WORDS];

static void put_put(int wrong) {
  fence();
  if (rank == 0)
    put(numbers, 0, 2);
  meet();
  if (rank == 1)
    put(numbers, wrong ? 1 : 2, 2);
  fence();
}

static void put_get(int wrong) {
  fence();
  if (rank == 1)
    put(numbers, 4, 1);
  meet();
  if (rank == 0)
    get(results, wrong ? 3 : 2, 2);
  fence();
}

static void accumulate_put(int wrong) {
  fence();
  if (rank == 0)
    add(numbers, 4, MPI_SUM);
  meet();
  if (rank == 1)
    put(numbers, wrong ? 4 : 5, 1);
  fence();
}

static void accumulate_get(int wrong) {
  fence();
  if (rank == 0)
    add(numbers, 4, MPI_SUM);
  meet();
  if (rank == 1 && wrong)
    get(results, 4, 1);
  if (rank == 1 && !wrong)
    see(MPI_Fetch_and_op(NULL, results, MPI_INT64_T, 0, word(4), MPI_NO_OP, win));
  fence();
}

static void operations(int wrong) {
  fence();
  if (rank == 0)
    add(numbers, 4, MPI_SUM);
  meet();
  if (rank == 1)
    add(numbers, 4, wrong ? MPI_MAX : MPI_SUM);
  fence();
}

static void element_types(int wrong) {
  const int words[2] = {1, 1};
  fence();
  if (rank == 0)
    add(numbers, 4, MPI_SUM);
  meet();
  if (rank == 1 && wrong)
    see(MPI_Accumulate(words, 2, MPI_INT32_T, 0, word(4), 2, MPI_INT32_T, MPI_SUM, win));
  if (rank == 1 && !wrong)
    see(MPI_Accumulate(words, 2, MPI_INT32_T, 0, word(5), 2, MPI_INT32_T, MPI_SUM, win));
  fence();
}

static void same_origin(int wrong) {
  if (rank == 1) {
    see(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    put(numbers, 0, 1);
    if (!wrong)
      see(MPI_Win_flush(0, win));
    put(numbers + 1, 0, 1);
    see(MPI_Win_unlock(0, win));
  }
}

/* A flush that completes accesses here only does not end them there. */
static void flush_local(int wrong) {
  if (rank == 1) {
    lock_all();
    put(numbers, 0, 1);
    see(wrong ? MPI_Win_flush_local(0, win) : MPI_Win_flush_all(win));
    numbers[0] = 5;
    get(results, 0, 1);
    unlock_all();
  }
}

static void exclusive(int wrong) {
  if (rank < 2) {
    if (wrong)
      lock_all();
    else
      see(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    put(numbers, 0, 1);
    if (wrong) {
      MPI_Sendrecv(numbers, 1, MPI_INT64_T, !rank, 0,
                   results, 1, MPI_INT64_T, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      unlock_all();
    } else
      see(MPI_Win_unlock(0, win));
  }
}

static void two_ranks(int wrong) {
  lock_all();
  if (rank == 0)
    put(numbers, 6, 1);
  if (rank == 0 && !wrong)
    see(MPI_Win_flush(0, win));
  meet();
  if (rank == 1)
    get(results, 6, 1);
  meet();
  unlock_all();
}

static void exposure(int wrong) {
  MPI_Group all, origins, target;
  const int first[2] = {0, 1};
  MPI_Win_get_group(win, &all);
  MPI_Group_incl(all, 2, first, &origins);
  MPI_Group_incl(all, 1, first, &target);
  if (rank == 0)
    see(MPI_Win_post(origins, 0, win));
  if (rank < 2) {
    see(MPI_Win_start(target, 0, win));
    if (rank == 0)
      put(numbers, 0, 1);
  }
  meet();
  if (rank == 1)
    put(numbers, wrong ? 0 : 1, 1);
  if (rank < 2)
    see(MPI_Win_complete(win));
  if (rank == 0)
    see(MPI_Win_wait(win));
  MPI_Group_free(&all);
  MPI_Group_free(&origins);
  MPI_Group_free(&target);
}

/* The target stores where another rank has put. */
static void store_fence(int wrong) {
  fence();
  if (rank == 1)
    put(numbers + 8, 4, 1);
  meet();
  if (!wrong)
    fence();
  if (rank == 0)
    memory[4] = -1;
  fence();
}

/* The target stores where another rank has read. */
static void store_read(int wrong) {
  fence();
  if (rank == 1)
    get(results, 4, 2);
  meet();
  if (!wrong)
    fence();
  if (rank == 0)
    memory[5]--;
  fence();
}

static void store_wait(int wrong) {
  MPI_Group all, one;
  int other = !rank;
  MPI_Win_get_group(win, &all);
  MPI_Group_incl(all, 1, &other, &one);
  if (rank == 0)
    see(MPI_Win_post(one, 0, win));
  if (rank == 1) {
    see(MPI_Win_start(one, 0, win));
    put(numbers + 8, 4, 1);
    see(MPI_Win_complete(win));
  }
  meet();
  if (rank == 0) {
    if (wrong)
      memory[4] = -1;
    see(MPI_Win_wait(win));
    memory[4] = -1;
  }
  MPI_Group_free(&all);
  MPI_Group_free(&one);
}

static void buffer_changed(int wrong) {
  if (rank == 1) {
    lock_all();
    put(numbers, 0, 1);
    if (!wrong)
      see(MPI_Win_flush_local_all(win));
    numbers[0]++;
    see(MPI_Win_flush_all(win));
    unlock_all();
  }
}

static void buffer_changed_fence(int wrong) {
  fence();
  if (rank == 1) {
    add(numbers, 0, MPI_SUM);
    numbers[wrong ? 0 : 1]++;
  }
  fence();
}

static void buffer_reused(int wrong) {
  if (rank == 1) {
    lock_all();
    get(results, 0, 4);
    if (!wrong)
      see(MPI_Win_flush(0, win));
    put(results + 2, 8, 1);
    unlock_all();
  }
}

static void request(int wrong) {
  MPI_Request made;
  if (rank == 1) {
    lock_all();
    see(MPI_Rput(numbers, 1, MPI_INT64_T, 0, word(0), 1, MPI_INT64_T, win, &made));
    must(MPI_Wait(&made, MPI_STATUS_IGNORE));
    numbers[0]++; /* Its request has given it back. */
    if (!wrong)
      see(MPI_Win_flush(0, win));
    get(results, 0, 1);
    unlock_all();
  }
}

/* Columns of a matrix: they meet only where they are the same. */
static void columns(int wrong) {
  MPI_Datatype column;
  MPI_Type_vector(8, 1, 8, MPI_INT64_T, &column);
  MPI_Type_commit(&column);
  fence();
  if (rank == 0)
    see(MPI_Put(numbers, 8, MPI_INT64_T, 0, word(0), 1, column, win));
  meet();
  if (rank == 1)
    see(MPI_Put(numbers, 1, column, 0, word(wrong ? 0 : 1), 1, column, win));
  fence();
  MPI_Type_free(&column);
}

static void no_epoch(int wrong) {
  if (!wrong)
    fence();
  if (rank == 1)
    put(numbers, 0, 1);
  if (!wrong)
    see(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  meet();
}

/* A store between two fences, of which the second says that there was none. A put of another rank is none. */
static void no_store_fence(int wrong) {
  fence();
  if (rank == 1)
    put(numbers + 8, 4, 1);
  if (rank == 0 && wrong)
    memory[6] = -1;
  see(MPI_Win_fence(rank == 0 ? MPI_MODE_NOSTORE : 0, win));
  if (rank == 0)
    memory[6]--;
  fence();
}

/* Ranks 0 and 1, of which rank 0 exposes its memory to the other for one put or get. */
static void one_exposure(int post, int start, int wait_first, int puts) {
  MPI_Group all, one;
  int other = !rank;
  MPI_Win_get_group(win, &all);
  MPI_Group_incl(all, 1, &other, &one);
  if (rank == 0 && wait_first) {
    see(MPI_Win_post(one, post, win));
    meet();
  } else if (wait_first)
    meet();
  if (rank == 1) {
    if (start && !wait_first)
      MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    see(MPI_Win_start(one, start, win));
    if (puts)
      put(numbers, 4, 1);
    else
      get(results, 4, 1);
    see(MPI_Win_complete(win));
  }
  if (rank == 0) {
    if (!wait_first) {
      if (start) {
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(500000); /* Only the other's being early is the mistake: it has time to be so. */
      }
      see(MPI_Win_post(one, post, win));
    }
    see(MPI_Win_wait(win));
  }
  MPI_Group_free(&all);
  MPI_Group_free(&one);
}

static void no_store_post(int wrong) {
  one_exposure(0, 0, 0, 1);
  if (rank == 0 && wrong)
    memory[3] = -1;
  one_exposure(MPI_MODE_NOSTORE, 0, 0, 1);
}

/* What another rank writes while it holds a lock is no store of this one. */
static void no_store_lock(int wrong) {
  fence();
  see(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  if (rank == 1 && !wrong) {
    see(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    put(numbers, 4, 1);
    see(MPI_Win_unlock(0, win));
  }
  if (rank == 0 && wrong)
    memory[4] = -1;
  meet();
  see(MPI_Win_fence(MPI_MODE_NOSTORE, win));
}

static void no_put_fence(int wrong) {
  see(MPI_Win_fence(rank == 0 ? MPI_MODE_NOPUT : 0, win));
  if (rank == 1 && wrong)
    put(numbers, 4, 1);
  if (rank == 1 && !wrong)
    get(results, 4, 1);
  fence();
  if (rank == 1)
    put(numbers, 4, 1);
  fence();
}

static void no_put_add(int wrong) {
  see(MPI_Win_fence(rank == 0 ? MPI_MODE_NOPUT : 0, win));
  if (rank == 1)
    see(MPI_Fetch_and_op(numbers, results, MPI_INT64_T, 0, word(4), wrong ? MPI_SUM : MPI_NO_OP, win));
  fence();
}

static void no_put_post(int wrong) {
  one_exposure(MPI_MODE_NOPUT, 0, 0, wrong);
  one_exposure(0, 0, 0, 1);
}

static void no_check_post(int wrong) { one_exposure(MPI_MODE_NOCHECK, wrong ? 0 : MPI_MODE_NOCHECK, 1, 1); }
static void no_check_start(int wrong) { one_exposure(wrong ? 0 : MPI_MODE_NOCHECK, MPI_MODE_NOCHECK, 1, 1); }

/* The target posts when the other rank has long begun. */
static void no_check_early(int wrong) {
  one_exposure(MPI_MODE_NOCHECK, MPI_MODE_NOCHECK, !wrong, 1);
}

static const struct {
  const char *name;
  void (*play)(int wrong);
  int class;
  const char *words[5];
} cases[] = {
    {"put_put", put_put, MPI_ERR_RMA_CONFLICT,
     {"at rank 0 of window grid", "MPI_Put of rank 1 to bytes 8 to 23", "meets MPI_Put of rank 0 to bytes 0 to 15",
      "MPI_Win_fence"}},
    {"put_get", put_get, MPI_ERR_RMA_CONFLICT, {"MPI_Get of rank 0 to bytes 24 to 39",
     "MPI_Put of rank 1 to bytes 32 to 39"}},
    {"accumulate_put", accumulate_put, MPI_ERR_RMA_CONFLICT,
     {"MPI_Put of rank 1", "MPI_Accumulate with MPI_SUM of rank 0 to bytes 32 to 39"}},
    {"accumulate_get", accumulate_get, MPI_ERR_RMA_CONFLICT, {"MPI_Get of rank 1",
     "MPI_Accumulate with MPI_SUM of rank 0"}},
    {"operations", operations, MPI_ERR_RMA_CONFLICT,
     {"MPI_Accumulate with MPI_MAX of rank 1", "MPI_Accumulate with MPI_SUM of rank 0"}},
    {"element_types", element_types, MPI_ERR_RMA_CONFLICT, {"of rank 1 to bytes 32 to 39",
     "of rank 0 to bytes 32 to 39"}},
    {"same_origin", same_origin, MPI_ERR_RMA_CONFLICT, {"MPI_Put of rank 1", "put MPI_Win_flush between them"}},
    {"flush_local", flush_local, MPI_ERR_RMA_CONFLICT, {"MPI_Get of rank 1", "MPI_Put of rank 1", "MPI_Win_flush"}},
    {"exclusive", exclusive, MPI_ERR_RMA_CONFLICT, {"MPI_Put of rank", "or lock exclusively"}},
    {"two_ranks", two_ranks, MPI_ERR_RMA_CONFLICT, {"MPI_Get of rank 1 to bytes 48 to 55",
     "MPI_Put of rank 0 to bytes 48 to 55"}},
    {"exposure", exposure, MPI_ERR_RMA_CONFLICT, {"MPI_Put of rank 1 to bytes 0 to 7", "different exposure epochs"}},
    {"store_fence", store_fence, MPI_ERR_RMA_CONFLICT,
     {"bytes 32 to 39 of rank 0 in window grid", "which MPI_Put of rank 1 has written", "a store"}},
    {"store_read", store_read, MPI_ERR_RMA_CONFLICT, {"bytes 32 to 47 of rank 0 in window grid",
     "which MPI_Get of rank 1 has read"}},
    {"store_wait", store_wait, MPI_ERR_RMA_CONFLICT, {"MPI_Win_wait", "which MPI_Put of rank 1 has written"}},
    {"buffer_changed", buffer_changed, MPI_ERR_RMA_SYNC,
     {"MPI_Put to bytes 0 to 7 of rank 0", "was changed before MPI_Win_flush_all", "grid"}},
    {"buffer_changed_fence", buffer_changed_fence, MPI_ERR_RMA_SYNC, {"MPI_Accumulate to bytes 0 to 7 of rank 0",
     "MPI_Win_fence"}},
    {"buffer_reused", buffer_reused, MPI_ERR_RMA_SYNC, {"MPI_Put uses 8 bytes at",
     "which MPI_Get to bytes 0 to 31 of rank 0 still has"}},
    {"request", request, MPI_ERR_RMA_CONFLICT, {"MPI_Get of rank 1", "MPI_Rput of rank 1"}},
    {"columns", columns, MPI_ERR_RMA_CONFLICT, {"MPI_Put of rank 1 to bytes 0 to 7",
     "MPI_Put of rank 0 to bytes 0 to 7"}},
    {"no_epoch", no_epoch, MPI_ERR_RMA_SYNC, {"no access epoch is open", "grid"}},
    {"no_store_fence", no_store_fence, MPI_ERR_ASSERT,
     {"MPI_Win_fence", "MPI_MODE_NOSTORE, but bytes 48 to 55 of rank 0 in window grid were changed"}},
    {"no_store_post", no_store_post, MPI_ERR_ASSERT,
     {"MPI_Win_post", "MPI_MODE_NOSTORE, but bytes 24 to 31 of rank 0 in window grid were changed"}},
    {"no_store_lock", no_store_lock, MPI_ERR_ASSERT, {"MPI_MODE_NOSTORE, but bytes 32 to 39 of rank 0"}},
    {"no_put_fence", no_put_fence, MPI_ERR_ASSERT,
     {"MPI_Put of rank 1 would change memory of rank 0 in window grid", "said MPI_MODE_NOPUT in MPI_Win_fence"}},
    {"no_put_add", no_put_add, MPI_ERR_ASSERT, {"MPI_Fetch_and_op of rank 1", "said MPI_MODE_NOPUT in MPI_Win_fence"}},
    {"no_put_post", no_put_post, MPI_ERR_ASSERT, {"MPI_Put of rank 1", "said MPI_MODE_NOPUT in MPI_Win_post"}},
    {"no_check_post", no_check_post, MPI_ERR_ASSERT,
     {"MPI_Win_post of rank 0 has MPI_MODE_NOCHECK, but MPI_Win_start here has not"}},
    {"no_check_start", no_check_start, MPI_ERR_ASSERT,
     {"MPI_Win_start here has MPI_MODE_NOCHECK, but MPI_Win_post of rank 0 has not"}},
    {"no_check_early", no_check_early, MPI_ERR_ASSERT, {"but rank 0 had not called MPI_Win_post of window grid"}},
};
enum { CASES = sizeof cases / sizeof cases[0] };

static int wrong_cases, played;

static void complain(const char *name, const char *what) {
  wrong_cases++;
  printf("%s: %s: rank %d was told: %s\n", name, what, rank, said);
}

/* The addresses in a dynamic window are not known before: only its calls are looked for. */
static int has_words(int which, int is_dynamic) {
  for (int i = 0; i < 5 && cases[which].words[i]; i++)
    if (!strstr(said, cases[which].words[i]) && !(is_dynamic && strstr(cases[which].words[i], "byte")))
      return 0;
  return class == cases[which].class;
}

static void make(const char *flavor) {
  static long long own[WORDS];
  static MPI_Aint zero;
  memory = own;
  base = 0;
  unit = 1;
  if (strcmp(flavor, "allocate") == 0)
    must(MPI_Win_allocate(sizeof own, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win));
  else if (strcmp(flavor, "create") == 0)
    must(MPI_Win_create(own, sizeof own, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  else {
    must(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    must(MPI_Win_attach(win, own, sizeof own));
    MPI_Get_address(own, &zero);
    MPI_Bcast(&zero, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    base = zero;
    unit = sizeof *own;
  }
  must(MPI_Win_set_name(win, "grid"));
  must(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
  memset(memory, 0, sizeof own);
  for (int i = 0; i < WORDS; i++)
    numbers[i] = i + 1;
  meet();
}

static void play(int which, const char *flavor, int wrong) {
  const int is_dynamic = strcmp(flavor, "dynamic") == 0;
  int told[2], any[2];
  make(flavor);
  class = MPI_SUCCESS;
  said[0] = 0;
  cases[which].play(wrong);
  told[0] = class != MPI_SUCCESS;
  told[1] = told[0] && has_words(which, is_dynamic);
  MPI_Allreduce(told, any, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  played++;
  if (wrong ? told[0] && !told[1] : told[0])
    complain(cases[which].name, wrong ? "told otherwise" : "this is right");
  if (wrong && !any[1] && rank == 0)
    complain(cases[which].name, "nobody was told");
  /* The window is as good as before. */
  long long one = 1, sum = 0;
  must(MPI_Win_fence(0, win));
  memory[WORDS - 1] = 0;
  must(MPI_Win_fence(0, win));
  must(MPI_Accumulate(&one, 1, MPI_INT64_T, 0, word(WORDS - 1), 1, MPI_INT64_T, MPI_SUM, win));
  must(MPI_Win_fence(0, win));
  must(MPI_Get(&sum, 1, MPI_INT64_T, 0, word(WORDS - 1), 1, MPI_INT64_T, win));
  must(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  if (sum != size)
    complain(cases[which].name, "the next calls were wrong");
  if (is_dynamic)
    must(MPI_Win_detach(win, memory));
  must(MPI_Win_free(&win));
}

int main(int argc, char **argv) {
  int all;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int which = 0; which < CASES; which++)
    if (argc < 3 || strcmp(argv[2], cases[which].name) == 0) {
      const int sees_stores = strcmp(argv[1], "dynamic") != 0 || strstr(cases[which].name, "store") == NULL;
      play(which, argv[1], 0);
      if (sees_stores)
        play(which, argv[1], 1);
    }
  MPI_Allreduce(&wrong_cases, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d cases, %d wrong\n", played, all);
  MPI_Finalize();
  return all > 0;
}
