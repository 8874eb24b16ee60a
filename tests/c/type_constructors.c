/* Every datatype constructor (MPI-5.0 sections 5.1.2 to 5.1.11): size, extents, and the bytes that a
 * pack takes, compared with lists of offsets written down by hand or by the plain loop.
 * ranks: 1
 */
#include "check.h"

enum { SPACE = 4096 };

/* Packs one element over bytes whose value is their offset modulo 251 and compares with the list. */
static void expect(MPI_Datatype type, const int *offsets, int n, MPI_Aint lower, MPI_Aint extent)
{
    static unsigned char memory[SPACE], packed[SPACE], back[SPACE];
    int size = -1, position = 0, pack_size = 0;
    MPI_Aint got_lower = -1, got_extent = -1;
    for (int i = 0; i < SPACE; i++) memory[i] = (unsigned char)(i % 251);
    MPI_Type_commit(&type);
    MPI_Type_size(type, &size);
    CHECK_EQ(size, n);
    MPI_Type_get_extent(type, &got_lower, &got_extent);
    CHECK_EQ(got_lower, lower);
    CHECK_EQ(got_extent, extent);
    MPI_Pack_size(1, type, MPI_COMM_SELF, &pack_size);
    CHECK(pack_size >= n && pack_size <= SPACE);
    /* Offsets may be negative: the data lies around the middle. */
    MUST(MPI_Pack(memory + SPACE / 2, 1, type, packed, SPACE, &position, MPI_COMM_SELF));
    CHECK_EQ(position, n);
    for (int i = 0; i < n; i++) CHECK_EQ(packed[i], (SPACE / 2 + offsets[i]) % 251);
    memset(back, 255, SPACE);
    position = 0;
    MUST(MPI_Unpack(packed, n, &position, back + SPACE / 2, 1, type, MPI_COMM_SELF));
    int touched = 0;
    for (int i = 0; i < n; i++) CHECK_EQ(back[SPACE / 2 + offsets[i]], (SPACE / 2 + offsets[i]) % 251);
    for (int i = 0; i < SPACE; i++) touched += back[i] != 255;
    CHECK_EQ(touched, n);
    MPI_Type_free(&type);
}

/* `count` blocks of `length` bytes, `stride` bytes apart. */
static int blocks(int *offsets, int n, int start, int count, int length, int stride)
{
    for (int b = 0; b < count; b++)
        for (int i = 0; i < length; i++) offsets[n++] = start + b * stride + i;
    return n;
}

static void simple(void)
{
    int offsets[SPACE], n;
    MPI_Datatype type;
    MPI_Type_contiguous(7, MPI_INT, &type);
    expect(type, offsets, blocks(offsets, 0, 0, 1, 28, 0), 0, 28);
    MPI_Type_contiguous(0, MPI_INT, &type);
    expect(type, offsets, 0, 0, 0);
    MPI_Type_vector(5, 2, 3, MPI_INT, &type);
    expect(type, offsets, blocks(offsets, 0, 0, 5, 8, 12), 0, 56);
    MPI_Type_vector(3, 2, -4, MPI_SHORT, &type);
    expect(type, offsets, blocks(offsets, 0, 0, 3, 4, -8), -16, 20);
    /* A multiple of the alignment: libraries differ on whether other extents are rounded up to one. */
    MPI_Type_create_hvector(4, 1, 10, MPI_SHORT, &type);
    expect(type, offsets, blocks(offsets, 0, 0, 4, 2, 10), 0, 32);
    MPI_Type_vector(1, 5, 100, MPI_CHAR, &type);
    expect(type, offsets, blocks(offsets, 0, 0, 1, 5, 0), 0, 5);
    MPI_Type_dup(MPI_DOUBLE, &type);
    n = blocks(offsets, 0, 0, 1, 8, 0);
    expect(type, offsets, n, 0, 8);
}

static void indexed(void)
{
    int offsets[SPACE], n;
    int lengths[4] = {2, 0, 1, 3}, places[4] = {5, 1, -3, 10};
    MPI_Aint bytes[4] = {20, 4, -12, 42};
    MPI_Datatype type;
    MPI_Type_indexed(4, lengths, places, MPI_INT, &type);
    n = blocks(offsets, 0, 20, 1, 8, 0);
    n = blocks(offsets, n, -12, 1, 4, 0);
    n = blocks(offsets, n, 40, 1, 12, 0);
    expect(type, offsets, n, -12, 64);
    MPI_Type_create_hindexed(4, lengths, bytes, MPI_SHORT, &type);
    n = blocks(offsets, 0, 20, 1, 4, 0);
    n = blocks(offsets, n, -12, 1, 2, 0);
    n = blocks(offsets, n, 42, 1, 6, 0);
    expect(type, offsets, n, -12, 60);
    MPI_Type_create_indexed_block(4, 2, places, MPI_CHAR, &type);
    n = 0;
    for (int i = 0; i < 4; i++) n = blocks(offsets, n, places[i], 1, 2, 0);
    expect(type, offsets, n, -3, 15);
    MPI_Type_create_hindexed_block(4, 3, bytes, MPI_CHAR, &type);
    n = 0;
    for (int i = 0; i < 4; i++) n = blocks(offsets, n, (int)bytes[i], 1, 3, 0);
    expect(type, offsets, n, -12, 57);
}

static void structures(void)
{
    int offsets[SPACE], n, lengths[3] = {1, 2, 3};
    MPI_Aint places[3] = {0, 8, 30};
    MPI_Datatype types[3] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT}, type, inner, outer;
    MPI_Type_create_struct(3, lengths, places, types, &type);
    n = blocks(offsets, 0, 0, 1, 1, 0);
    n = blocks(offsets, n, 8, 1, 16, 0);
    n = blocks(offsets, n, 30, 1, 6, 0);
    /* The end is padded to the strictest alignment of a member (section 5.1.6). */
    expect(type, offsets, n, 0, 40);
    MPI_Type_create_struct(0, lengths, places, types, &type);
    expect(type, offsets, 0, 0, 0);
    /* A strided type in a structure in a strided type. */
    MPI_Type_vector(2, 1, 2, MPI_SHORT, &inner);
    MPI_Datatype members[2] = {inner, MPI_CHAR};
    int counts[2] = {2, 1};
    MPI_Aint at[2] = {0, 13};
    MPI_Type_create_struct(2, counts, at, members, &type);
    MPI_Type_create_hvector(3, 1, 20, type, &outer);
    n = 0;
    for (int i = 0; i < 3; i++) {
        n = blocks(offsets, n, 20 * i, 2, 2, 4);
        n = blocks(offsets, n, 20 * i + 6, 2, 2, 4);
        n = blocks(offsets, n, 20 * i + 13, 1, 1, 0);
    }
    expect(outer, offsets, n, 0, 54);
    MPI_Type_free(&inner);
    MPI_Type_free(&type);
}

/* The bounds set by resized win over the true ones and are inherited. */
static void resized(void)
{
    int offsets[SPACE], n;
    MPI_Datatype wide, type;
    MPI_Aint lower, extent;
    MPI_Type_create_resized(MPI_INT, -4, 20, &wide);
    MPI_Type_get_true_extent(wide, &lower, &extent);
    CHECK_EQ(lower, 0);
    CHECK_EQ(extent, 4);
    MPI_Type_contiguous(3, wide, &type);
    expect(type, offsets, blocks(offsets, 0, 0, 3, 4, 20), -4, 60);
    MPI_Type_vector(2, 2, 3, wide, &type);
    n = blocks(offsets, 0, 0, 2, 4, 20);
    n = blocks(offsets, n, 60, 2, 4, 20);
    expect(type, offsets, n, -4, 100);
    MPI_Type_free(&wide);
    /* A shrunk extent makes neighbors interleave. */
    MPI_Type_vector(3, 1, 4, MPI_SHORT, &type);
    MPI_Type_create_resized(type, 0, 2, &wide);
    MPI_Type_free(&type);
    MPI_Type_contiguous(4, wide, &type);
    n = 0;
    for (int i = 0; i < 4; i++) n = blocks(offsets, n, 2 * i, 3, 2, 8);
    expect(type, offsets, n, 0, 8);
    MPI_Type_free(&wide);
}

/* All (row, column, plane) of a box in a bigger array, in C's or Fortran's order. */
static void subarrays(void)
{
    int sizes[3] = {4, 5, 6}, parts[3] = {2, 3, 2}, starts[3] = {1, 0, 3}, offsets[SPACE], n = 0;
    MPI_Datatype type;
    MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_C, MPI_SHORT, &type);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 2; k++)
                n = blocks(offsets, n, 2 * (((i + 1) * 5 + j) * 6 + k + 3), 1, 2, 0);
    expect(type, offsets, n, 0, 240);
    MPI_Type_create_subarray(3, sizes, parts, starts, MPI_ORDER_FORTRAN, MPI_SHORT, &type);
    n = 0;
    for (int k = 0; k < 2; k++)
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 2; i++)
                n = blocks(offsets, n, 2 * (((k + 3) * 5 + j) * 4 + i + 1), 1, 2, 0);
    expect(type, offsets, n, 0, 240);
    int whole = 9, zero = 0;
    MPI_Type_create_subarray(1, &whole, &whole, &zero, MPI_ORDER_C, MPI_INT, &type);
    expect(type, offsets, blocks(offsets, 0, 0, 1, 36, 0), 0, 36);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    simple();
    indexed();
    structures();
    resized();
    subarrays();
    return check_finish();
}
