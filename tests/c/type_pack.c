/* Pack, unpack, pack sizes, external32, get_elements and addresses (MPI-5.0 sections 3.2.5, 5.1.5, 5.1.11,
 * 5.2 and 5.3).
 * ranks: 2
 */
#include "check.h"

/* Several pieces of different types in one buffer, sent as packed, received typed and unpacked. */
static void pieces(void)
{
    char buffer[512];
    int position = 0, i = 42, n = 0;
    double d[3] = {1.5, -2.5, 3.25};
    char text[6] = "piece";
    struct { int i; } zero = {0};
    if (check_rank == 0) {
        MUST(MPI_Pack(&i, 1, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
        MUST(MPI_Pack(d, 3, MPI_DOUBLE, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
        MUST(MPI_Pack(text, 6, MPI_CHAR, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
        MUST(MPI_Send(buffer, position, MPI_PACKED, 1, 1, MPI_COMM_WORLD));
    } else {
        MPI_Status status;
        double got[3];
        char words[6];
        MUST(MPI_Recv(buffer, sizeof buffer, MPI_PACKED, 0, 1, MPI_COMM_WORLD, &status));
        MPI_Get_count(&status, MPI_PACKED, &n);
        MUST(MPI_Unpack(buffer, n, &position, &zero.i, 1, MPI_INT, MPI_COMM_WORLD));
        MUST(MPI_Unpack(buffer, n, &position, got, 3, MPI_DOUBLE, MPI_COMM_WORLD));
        MUST(MPI_Unpack(buffer, n, &position, words, 6, MPI_CHAR, MPI_COMM_WORLD));
        CHECK_EQ(zero.i, 42);
        CHECK(memcmp(got, d, sizeof d) == 0);
        CHECK_STR(words, "piece");
        CHECK_EQ(position, n);
    }
}

/* A message sent with a type may be received as packed, and the other way round (section 5.2). */
static void packed_to_typed(void)
{
    MPI_Datatype column;
    int table[50][2], out[50], in[50];
    char buffer[1024];
    MPI_Type_vector(50, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < 50; i++) table[i][0] = i, table[i][1] = -1, out[i] = 100 + i;
    int position = 0;
    if (check_rank == 0) {
        MPI_Send(table, 1, column, 1, 2, MPI_COMM_WORLD);
        MPI_Pack(out, 50, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD);
        MPI_Send(buffer, position, MPI_PACKED, 1, 3, MPI_COMM_WORLD);
    } else {
        MPI_Status status;
        int n;
        MPI_Recv(buffer, sizeof buffer, MPI_PACKED, 0, 2, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_PACKED, &n);
        MPI_Unpack(buffer, n, &position, in, 50, MPI_INT, MPI_COMM_WORLD);
        for (int i = 0; i < 50; i++) CHECK_EQ(in[i], i);
        MPI_Recv(table, 1, column, 0, 3, MPI_COMM_WORLD, &status);
        for (int i = 0; i < 50; i++) CHECK_EQ(table[i][0], 100 + i);
        for (int i = 0; i < 50; i++) CHECK_EQ(table[i][1], -1);
    }
    MPI_Type_free(&column);
}

static void expect_external(MPI_Datatype type, const void *value, int count, const char *bytes, int n)
{
    unsigned char buffer[256], back[256], original[256];
    MPI_Aint position = 0, size = -1;
    int type_size;
    MPI_Type_size(type, &type_size);
    MUST(MPI_Pack_external_size("external32", count, type, &size));
    CHECK_EQ(size, n);
    MUST(MPI_Pack_external("external32", value, count, type, buffer, sizeof buffer, &position));
    CHECK_EQ(position, n);
    for (int i = 0; i < n; i++) CHECK_EQ(buffer[i], (unsigned char)bytes[i]);
    position = 0;
    memset(back, 0, sizeof back);
    memset(original, 0, sizeof original);
    memcpy(original, value, (size_t)(count * type_size));
    MUST(MPI_Unpack_external("external32", buffer, n, &position, back, count, type));
    CHECK_EQ(position, n);
    CHECK(memcmp(back, original, sizeof back) == 0);
}

/* Big-endian, IEEE, fixed sizes: byte for byte (section 14.5.2 gives the table). */
static void external32(void)
{
    int i[2] = {0x01020304, -2};
    short s = 0x0A0B;
    long long ll = 0x0102030405060708;
    float f = 1.0f;
    double d = -2.0;
    char c[3] = {'x', 'y', 'z'};
    int64_t i64 = -1;
    uint16_t u16 = 0xFFEE;
    float complex_value[2] = {1.0f, -1.0f};
    expect_external(MPI_INT, i, 2, "\x01\x02\x03\x04\xff\xff\xff\xfe", 8);
    expect_external(MPI_SHORT, &s, 1, "\x0a\x0b", 2);
    expect_external(MPI_LONG_LONG, &ll, 1, "\x01\x02\x03\x04\x05\x06\x07\x08", 8);
    expect_external(MPI_FLOAT, &f, 1, "\x3f\x80\0\0", 4);
    expect_external(MPI_DOUBLE, &d, 1, "\xc0\0\0\0\0\0\0\0", 8);
    expect_external(MPI_CHAR, c, 3, "xyz", 3);
    expect_external(MPI_INT64_T, &i64, 1, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    expect_external(MPI_UINT16_T, &u16, 1, "\xff\xee", 2);
    expect_external(MPI_C_FLOAT_COMPLEX, complex_value, 1, "\x3f\x80\0\0\xbf\x80\0\0", 8);
    MPI_Datatype pair;
    struct { int a; char gap[4]; short b; } mixed = {7, {0}, 9};
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {0, 8}, size;
    MPI_Datatype members[2] = {MPI_INT, MPI_SHORT};
    MPI_Type_create_struct(2, lengths, places, members, &pair);
    MPI_Type_commit(&pair);
    unsigned char buffer[16];
    MPI_Aint position = 0;
    /* MPICH 5.0.2 dies here of an illegal instruction. */
    MUST(MPI_Pack_external_size("external32", 1, pair, &size));
    CHECK_EQ(size, 6);
    MUST(MPI_Pack_external("external32", &mixed, 1, pair, buffer, 16, &position));
    CHECK(memcmp(buffer, "\0\0\0\x07\0\x09", 6) == 0);
    MPI_Type_free(&pair);
}

/* A message that ends inside an element: count is undefined, elements are exact (section 5.1.11). */
static void partial_elements(void)
{
    MPI_Datatype three, mixed;
    MPI_Status status;
    int buffer[64] = {0}, count = 0, elements = 0;
    MPI_Type_contiguous(3, MPI_INT, &three);
    MPI_Type_commit(&three);
    int lengths[2] = {1, 2};
    MPI_Aint places[2] = {0, 8};
    MPI_Datatype members[2] = {MPI_DOUBLE, MPI_INT};
    MPI_Type_create_struct(2, lengths, places, members, &mixed);
    MPI_Type_commit(&mixed);
    if (check_rank == 0) {
        MPI_Send(buffer, 6, MPI_INT, 1, 1, MPI_COMM_WORLD);
        MPI_Send(buffer, 7, MPI_INT, 1, 2, MPI_COMM_WORLD);
        MPI_Send(buffer, 0, MPI_INT, 1, 3, MPI_COMM_WORLD);
    } else {
        MPI_Count large = 0;
        MPI_Recv(buffer, 10, three, 0, 1, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, three, &count), MPI_Get_elements(&status, three, &elements);
        CHECK_EQ(count, 2), CHECK_EQ(elements, 6);
        MPI_Recv(buffer, 10, three, 0, 2, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, three, &count), MPI_Get_elements(&status, three, &elements);
        CHECK_EQ(count, MPI_UNDEFINED), CHECK_EQ(elements, 7);
        MPI_Get_elements_c(&status, three, &large);
        CHECK_EQ(large, 7);
        /* 28 bytes of int are not a whole number of doubles. */
        MPI_Get_count(&status, MPI_DOUBLE, &count);
        CHECK_EQ(count, MPI_UNDEFINED);
        MPI_Recv(buffer, 10, three, 0, 3, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, three, &count), MPI_Get_elements(&status, three, &elements);
        CHECK_EQ(count, 0), CHECK_EQ(elements, 0);
    }
    struct { double d; int i[2]; } records[3] = {{1, {2, 3}}, {4, {5, 6}}, {7, {8, 9}}};
    if (check_rank == 0) MPI_Send(records, 2, mixed, 1, 4, MPI_COMM_WORLD);
    if (check_rank == 1) {
        MPI_Recv(records, 3, mixed, 0, 4, MPI_COMM_WORLD, &status);
        MPI_Get_elements(&status, mixed, &elements);
        CHECK_EQ(elements, 6);
    }
    MPI_Type_free(&three), MPI_Type_free(&mixed);
}

/* Absolute addresses from MPI_BOTTOM, address arithmetic (sections 5.1.5 and 5.1.12). */
static void addresses(void)
{
    static int a = 11;
    static double b = 2.5;
    MPI_Aint at[2];
    int lengths[2] = {1, 1};
    MPI_Datatype members[2] = {MPI_INT, MPI_DOUBLE}, both;
    MPI_Get_address(&a, &at[0]);
    MPI_Get_address(&b, &at[1]);
    CHECK_EQ(MPI_Aint_diff(at[1], at[0]), (char *)&b - (char *)&a);
    CHECK_EQ(MPI_Aint_add(at[0], 16), at[0] + 16);
    MPI_Type_create_struct(2, lengths, at, members, &both);
    MPI_Type_commit(&both);
    if (check_rank == 0) {
        MPI_Send(MPI_BOTTOM, 1, both, 1, 5, MPI_COMM_WORLD);
    } else {
        a = 0, b = 0;
        MPI_Recv(MPI_BOTTOM, 1, both, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(a, 11);
        CHECK(b == 2.5);
    }
    MPI_Type_free(&both);
}

/* A type freed while a message of it is on its way lives until then (section 5.1.9). */
static void freed_while_in_use(void)
{
    enum { N = 200000 };
    MPI_Datatype column;
    MPI_Request request;
    int *data = check_alloc(2 * N * sizeof(int));
    MPI_Type_vector(N, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    for (int i = 0; i < 2 * N; i++) data[i] = check_rank == 0 ? i : -1;
    if (check_rank == 0) MPI_Isend(data, 1, column, 1, 6, MPI_COMM_WORLD, &request);
    else MPI_Irecv(data, 1, column, 0, 6, MPI_COMM_WORLD, &request);
    MPI_Type_free(&column);
    CHECK(column == MPI_DATATYPE_NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    int wrong = 0;
    for (int i = 0; i < 2 * N; i += 2) wrong += data[i] != i;
    CHECK_EQ(wrong, 0);
    if (check_rank == 1) CHECK_EQ(data[1], -1);
    free(data);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    pieces();
    packed_to_typed();
    external32();
    partial_elements();
    addresses();
    freed_while_in_use();
    return check_finish();
}
