// Half a round trip of 64 KiB in blocks with gaps: sent by a derived datatype, and packed and unpacked by hand.
// usage: types SECONDS_PER_POINT
#include "mpi_team.h"
#include <string.h>

#define BYTES (64 << 10)
#define HALVES 2 // a block of the struct has two fields

struct exchange {
    int rank, blocks, block_bytes;
    const int *at; // where each block begins
    char *memory, *packed;
    MPI_Datatype type;
};

static void by_type(void *arg, long iterations) {
    struct exchange *e = arg;
    int other = e->rank ^ 1;
    for (long i = 0; i < iterations; i++) {
        if (e->rank == 0)
            MPI_Send(e->memory, 1, e->type, other, 1, MPI_COMM_WORLD);
        MPI_Recv(e->memory, 1, e->type, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (e->rank == 1)
            MPI_Send(e->memory, 1, e->type, other, 1, MPI_COMM_WORLD);
    }
}

// The compiler knows the block's size where it is one of those that are measured, as in a program written for it.
static inline void move_blocks(const struct exchange *e, int to_packed, int bytes) {
    char *packed = e->packed;
    for (int i = 0; i < e->blocks; i++, packed += bytes) {
        char *place = e->memory + e->at[i];
        if (to_packed)
            memcpy(packed, place, (size_t)bytes);
        else
            memcpy(place, packed, (size_t)bytes);
    }
}

static void move_by_hand(const struct exchange *e, int to_packed) {
    switch (e->block_bytes) {
    case 8:
        move_blocks(e, to_packed, 8);
        break;
    case 64:
        move_blocks(e, to_packed, 64);
        break;
    default:
        move_blocks(e, to_packed, e->block_bytes);
    }
}

static void send_by_hand(const struct exchange *e, int other) {
    move_by_hand(e, 1);
    MPI_Send(e->packed, BYTES, MPI_BYTE, other, 1, MPI_COMM_WORLD);
}

static void by_hand(void *arg, long iterations) {
    struct exchange *e = arg;
    int other = e->rank ^ 1;
    for (long i = 0; i < iterations; i++) {
        if (e->rank == 0)
            send_by_hand(e, other);
        MPI_Recv(e->packed, BYTES, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        move_by_hand(e, 0);
        if (e->rank == 1)
            send_by_hand(e, other);
    }
}

static MPI_Datatype vector_of(const struct exchange *e) {
    MPI_Datatype type;
    MPI_Type_vector(e->blocks, e->block_bytes / 8, 2 * e->block_bytes / 8, MPI_DOUBLE, &type);
    return type;
}

static MPI_Datatype indexed_of(const struct exchange *e) {
    MPI_Datatype type;
    MPI_Aint *places = malloc((size_t)e->blocks * sizeof *places);
    for (int i = 0; i < e->blocks; i++)
        places[i] = e->at[i];
    MPI_Type_create_hindexed_block(e->blocks, e->block_bytes / 8, places, MPI_DOUBLE, &type);
    free(places);
    return type;
}

static MPI_Datatype struct_of(const struct exchange *e) {
    int half = e->block_bytes / HALVES, counts[HALVES] = {half / 4, half / 4};
    MPI_Aint places[HALVES] = {0, half};
    MPI_Datatype fields[HALVES] = {MPI_INT, MPI_FLOAT}, one, spaced, all;
    MPI_Type_create_struct(HALVES, counts, places, fields, &one);
    MPI_Type_create_resized(one, 0, 2 * e->block_bytes, &spaced);
    MPI_Type_contiguous(e->blocks, spaced, &all);
    MPI_Type_free(&one);
    MPI_Type_free(&spaced);
    return all;
}

// Every other block, or blocks whose distances differ.
static int *places(int blocks, int bytes, int regular) {
    int *at = malloc((size_t)blocks * sizeof *at);
    for (int i = 0; i < blocks; i++)
        at[i] = 2 * bytes * i + (regular || i % 3 != 1 ? 0 : bytes / 8 * 8);
    return at;
}

// Fills the blocks at rank 0, sends them round, and demands them back.
static void verify(struct exchange *e, loop_fn loop, const char *name) {
    memset(e->memory, 0, 2 * BYTES);
    for (int i = 0; e->rank == 0 && i < e->blocks; i++)
        memset(e->memory + e->at[i], i % 251 + 1, (size_t)e->block_bytes);
    loop(e, 1);
    for (int i = 0; i < e->blocks; i++)
        for (int b = 0; b < e->block_bytes; b++)
            if ((unsigned char)e->memory[e->at[i] + b] != i % 251 + 1) {
                fprintf(stderr, "%s: block %d of %d bytes came wrong\n", name, i, e->block_bytes);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
}

static void point(const struct team *team, struct exchange *e, loop_fn loop, const char *name, double budget) {
    verify(e, loop, name);
    struct summary round_trip = measure(team, loop, e, budget);
    if (team->rank == 0)
        print_result(name, e->block_bytes, (struct summary){round_trip.best / 2, round_trip.median / 2});
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct team team = mpi_team();
    static const struct {
        const char *by_type, *by_hand;
        int regular;
        MPI_Datatype (*make)(const struct exchange *);
    } kinds[] = {{"type_vector", "hand_vector", 1, vector_of},
                 {"type_indexed", "hand_indexed", 0, indexed_of},
                 {"type_struct", "hand_struct", 1, struct_of}};
    static const int block_bytes[] = {8, 64, 512};
    char *memory = touched(2 * BYTES + 512, 0), *packed = touched(BYTES, 0);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (size_t b = 0; b < sizeof block_bytes / sizeof *block_bytes; b++) {
            int blocks = BYTES / block_bytes[b], *at = places(blocks, block_bytes[b], kinds[k].regular);
            struct exchange e = {team.rank, blocks, block_bytes[b], at, memory, packed, MPI_DATATYPE_NULL};
            e.type = kinds[k].make(&e);
            MPI_Type_commit(&e.type);
            point(&team, &e, by_type, kinds[k].by_type, budget_of(argc, argv));
            point(&team, &e, by_hand, kinds[k].by_hand, budget_of(argc, argv));
            MPI_Type_free(&e.type);
            free(at);
        }
    MPI_Finalize();
    return 0;
}
