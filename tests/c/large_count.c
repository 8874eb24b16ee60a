/* Large counts (MPI-5.0 sections 2.5.8 and 3.2.6): the _c forms with small messages, and counts beyond
 * 2^31 elements that need no memory because the type is empty or overlaps itself.
 * ranks: 2
 */
#include "check.h"

static const MPI_Count huge = ((MPI_Count)1 << 32) + 5;

static void small_messages(void)
{
    int in[8] = {0}, out[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    MPI_Request request;
    MPI_Status status;
    MPI_Count count = 0;
    if (check_rank == 0) {
        MUST(MPI_Send_c(out, 8, MPI_INT, 1, 1, MPI_COMM_WORLD));
        MUST(MPI_Ssend_c(out, 8, MPI_INT, 1, 2, MPI_COMM_WORLD));
        MUST(MPI_Isend_c(out, 8, MPI_INT, 1, 3, MPI_COMM_WORLD, &request));
        MUST(MPI_Wait(&request, &status));
        MUST(MPI_Send_init_c(out, 8, MPI_INT, 1, 4, MPI_COMM_WORLD, &request));
        MUST(MPI_Start(&request));
        MUST(MPI_Wait(&request, &status));
        MPI_Request_free(&request);
    } else {
        for (int tag = 1; tag <= 4; tag++) {
            memset(in, 0, sizeof in);
            if (tag % 2) {
                MUST(MPI_Recv_c(in, 8, MPI_INT, 0, tag, MPI_COMM_WORLD, &status));
            } else {
                MUST(MPI_Irecv_c(in, 8, MPI_INT, 0, tag, MPI_COMM_WORLD, &request));
                MUST(MPI_Wait(&request, &status));
            }
            MUST(MPI_Get_count_c(&status, MPI_INT, &count));
            CHECK_EQ(count, 8);
            CHECK(memcmp(in, out, sizeof in) == 0);
        }
    }
    int peer = 1 - check_rank, mine = check_rank, theirs = -1;
    MUST(MPI_Sendrecv_c(&mine, 1, MPI_INT, peer, 5, &theirs, 1, MPI_INT, peer, 5, MPI_COMM_WORLD, &status));
    CHECK_EQ(theirs, peer);
    MUST(MPI_Sendrecv_replace_c(&mine, 1, MPI_INT, peer, 6, peer, 6, MPI_COMM_WORLD, &status));
    CHECK_EQ(mine, peer);
}

/* More than 2^32 elements of an empty type: a message of no bytes. */
static void empty_elements(void)
{
    MPI_Datatype empty;
    MPI_Status status;
    MPI_Type_contiguous(0, MPI_INT, &empty);
    MPI_Type_commit(&empty);
    int nothing = 0;
    if (check_rank == 0) {
        MUST(MPI_Send_c(&nothing, huge, empty, 1, 7, MPI_COMM_WORLD));
    } else {
        MUST(MPI_Recv_c(&nothing, huge, empty, 0, 7, MPI_COMM_WORLD, &status));
        MPI_Count count = -1, bytes = -1;
        MUST(MPI_Get_count_c(&status, MPI_BYTE, &bytes));
        CHECK_EQ(bytes, 0);
        MUST(MPI_Get_elements_c(&status, empty, &count));
        CHECK_EQ(count, 0);
    }
    MPI_Type_free(&empty);
}

/* Types whose size and extent do not fit an int. */
static void huge_types(void)
{
    MPI_Datatype type, other;
    MPI_Count size = 0, lower = 0, extent = 0;
    int small = 0;
    MUST(MPI_Type_contiguous_c(huge, MPI_DOUBLE, &type));
    MUST(MPI_Type_size_c(type, &size));
    CHECK_EQ(size, huge * 8);
    MUST(MPI_Type_size(type, &small));
    CHECK_EQ(small, MPI_UNDEFINED);
    MUST(MPI_Type_get_extent_c(type, &lower, &extent));
    CHECK_EQ(extent, huge * 8);
    MPI_Type_free(&type);
    MUST(MPI_Type_vector_c(huge, 1, 3, MPI_CHAR, &type));
    MUST(MPI_Type_size_c(type, &size));
    CHECK_EQ(size, huge);
    MUST(MPI_Type_get_extent_c(type, &lower, &extent));
    CHECK_EQ(extent, (huge - 1) * 3 + 1);
    MUST(MPI_Type_create_resized_c(type, -5, huge * 10, &other));
    MUST(MPI_Type_get_extent_c(other, &lower, &extent));
    CHECK_EQ(lower, -5);
    CHECK_EQ(extent, huge * 10);
    MUST(MPI_Type_get_true_extent_c(other, &lower, &extent));
    CHECK_EQ(lower, 0);
    CHECK_EQ(extent, (huge - 1) * 3 + 1);
    MPI_Type_free(&type);
    MPI_Type_free(&other);
}

/* A count that does not fit an int is reported as undefined by the int form, exactly by the other. */
static void status_counts(void)
{
    MPI_Status status;
    int count = 0, flag = 1;
    MPI_Count big = 0;
    memset(&status, 0, sizeof status);
    MUST(MPI_Status_set_elements_c(&status, MPI_INT, huge));
    MUST(MPI_Status_set_cancelled(&status, 0));
    MUST(MPI_Test_cancelled(&status, &flag));
    CHECK(!flag);
    MUST(MPI_Get_elements_c(&status, MPI_INT, &big));
    CHECK_EQ(big, huge);
    MUST(MPI_Get_count_c(&status, MPI_INT, &big));
    CHECK_EQ(big, huge);
    MUST(MPI_Get_count(&status, MPI_INT, &count));
    CHECK_EQ(count, MPI_UNDEFINED);
    MUST(MPI_Get_elements(&status, MPI_INT, &count));
    CHECK_EQ(count, MPI_UNDEFINED);
}

/* Many blocks in one type: 2^20 blocks of one byte each with gaps, through a _c constructor. */
static void many_blocks(void)
{
    enum { BLOCKS = 1 << 20 };
    MPI_Count *displacements = check_alloc(sizeof(MPI_Count) * BLOCKS);
    for (int i = 0; i < BLOCKS; i++) displacements[i] = 3 * (MPI_Count)i;
    MPI_Datatype type;
    MUST(MPI_Type_create_hindexed_block_c(BLOCKS, 1, displacements, MPI_BYTE, &type));
    MPI_Type_commit(&type);
    unsigned char *memory = check_alloc(3 * BLOCKS), *packed = check_alloc(BLOCKS);
    if (check_rank == 0) {
        for (int i = 0; i < 3 * BLOCKS; i++) memory[i] = (unsigned char)(i * 7);
        MPI_Send_c(memory, 1, type, 1, 8, MPI_COMM_WORLD);
    } else {
        MPI_Recv_c(packed, BLOCKS, MPI_BYTE, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        int wrong = 0;
        for (int i = 0; i < BLOCKS; i++) wrong += packed[i] != (unsigned char)(3 * i * 7);
        CHECK_EQ(wrong, 0);
    }
    MPI_Type_free(&type);
    free(displacements), free(memory), free(packed);
}

static void collectives(void)
{
    int in[2] = {-1, -1}, out[2] = {check_rank + 1, 5}, all[4] = {0};
    MPI_Count counts[2] = {2, 2};
    MPI_Aint displacements[2] = {0, 2};
    MUST(MPI_Bcast_c(out + 1, 1, MPI_INT, 0, MPI_COMM_WORLD));
    MUST(MPI_Allreduce_c(out, in, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_EQ(in[0], 3);
    MUST(MPI_Allgather_c(out, 2, MPI_INT, all, 2, MPI_INT, MPI_COMM_WORLD));
    CHECK_EQ(all[2], 2);
    memset(all, 0, sizeof all);
    MUST(MPI_Allgatherv_c(out, 2, MPI_INT, all, counts, displacements, MPI_INT, MPI_COMM_WORLD));
    CHECK_EQ(all[0], 1);
    CHECK_EQ(all[2], 2);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    small_messages();
    empty_elements();
    huge_types();
    status_counts();
    many_blocks();
    collectives();
    return check_finish();
}
