/* One message of more than 2 GiB, and one of more than 2^31 elements that leaves from strided memory
 * (MPI-5.0 section 3.2.6).
 * ranks: 2
 * timeout: 120
 * instances: default
 * heavy
 */
#include "check.h"

static const size_t bytes = ((size_t)2 << 30) + 12345;

static uint64_t word_at(size_t i)
{
    return check_word(4711, i);
}

/* Every 4096th word is checked, and the ends: enough to see a hole or a shift, quick enough for CI. */
static void fill(uint64_t *data, size_t words)
{
    for (size_t i = 0; i < words; i += i < 1024 || i + 2048 > words ? 1 : 512) data[i] = word_at(i);
}

static void verify(const uint64_t *data, size_t words)
{
    size_t wrong = 0;
    for (size_t i = 0; i < words; i += i < 1024 || i + 2048 > words ? 1 : 512) wrong += data[i] != word_at(i);
    CHECK_EQ(wrong, 0);
}

static void contiguous(void)
{
    size_t words = bytes / 8;
    uint64_t *data = calloc(words + 1, 8);
    MPI_Status status;
    if (check_rank == 0) {
        fill(data, words);
        MUST(MPI_Send_c(data, (MPI_Count)bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD));
    } else {
        MPI_Count count = 0;
        int small = 0;
        MUST(MPI_Recv_c(data, (MPI_Count)bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &status));
        MPI_Get_count_c(&status, MPI_BYTE, &count);
        CHECK_EQ(count, bytes);
        MPI_Get_count(&status, MPI_BYTE, &small);
        CHECK_EQ(small, MPI_UNDEFINED);
        verify(data, words);
    }
    free(data);
}

/* The sender's bytes lie in blocks with gaps, the receiver counts 2^31 and more of them. */
static void many_elements(void)
{
    enum { BLOCK = 1000000, GAP = 64, BLOCKS = 2148 };
    MPI_Count elements = (MPI_Count)BLOCK * BLOCKS;
    MPI_Datatype block, spaced;
    MPI_Status status;
    MPI_Type_contiguous(BLOCK, MPI_CHAR, &block);
    MPI_Type_create_resized(block, 0, BLOCK + GAP, &spaced);
    MPI_Type_commit(&spaced);
    if (check_rank == 0) {
        unsigned char *data = calloc(BLOCKS, BLOCK + GAP);
        for (size_t i = 0; i < BLOCKS; i++)
            for (size_t k = i % 7; k < BLOCK; k += 4099) data[i * (BLOCK + GAP) + k] = (unsigned char)(i + k);
        MUST(MPI_Send_c(data, BLOCKS, spaced, 1, 2, MPI_COMM_WORLD));
        free(data);
    } else {
        unsigned char *data = calloc(BLOCKS, BLOCK);
        MPI_Count count = 0, wrong = 0;
        MUST(MPI_Recv_c(data, elements, MPI_CHAR, 0, 2, MPI_COMM_WORLD, &status));
        MPI_Get_elements_c(&status, MPI_CHAR, &count);
        CHECK_EQ(count, elements);
        for (size_t i = 0; i < BLOCKS; i++)
            for (size_t k = i % 7; k < BLOCK; k += 4099) wrong += data[i * BLOCK + k] != (unsigned char)(i + k);
        CHECK_EQ(wrong, 0);
        free(data);
    }
    MPI_Type_free(&block);
    MPI_Type_free(&spaced);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    contiguous();
    many_elements();
    return check_finish();
}
