/* Every predefined datatype (MPI-5.0 sections 3.2.2 and 5.1.3): its size is the C type's, messages and
 * collectives carry it, names and extents are right; value-index and sized types (section 19.1.9).
 * ranks: 2
 */
#include <complex.h>
#include <stddef.h>
#include <stdbool.h>
#include <wchar.h>
#include "check.h"

typedef struct { MPI_Datatype type; size_t size; const char *name; } entry;
#define ENTRY(type, c_type) {type, sizeof(c_type), #type}

struct float_int { float v; int i; };
struct double_int { double v; int i; };
struct long_int { long v; int i; };
struct short_int { short v; int i; };
struct long_double_int { long double v; int i; };

static const entry *entries(int *n)
{
    static entry list[64];
    const entry all[] = {
        ENTRY(MPI_CHAR, char), ENTRY(MPI_SIGNED_CHAR, signed char), ENTRY(MPI_UNSIGNED_CHAR, unsigned char),
        ENTRY(MPI_SHORT, short), ENTRY(MPI_UNSIGNED_SHORT, unsigned short), ENTRY(MPI_INT, int),
        ENTRY(MPI_UNSIGNED, unsigned), ENTRY(MPI_LONG, long), ENTRY(MPI_UNSIGNED_LONG, unsigned long),
        ENTRY(MPI_LONG_LONG_INT, long long), ENTRY(MPI_UNSIGNED_LONG_LONG, unsigned long long),
        ENTRY(MPI_FLOAT, float), ENTRY(MPI_DOUBLE, double), ENTRY(MPI_LONG_DOUBLE, long double),
        ENTRY(MPI_WCHAR, wchar_t), ENTRY(MPI_C_BOOL, bool), ENTRY(MPI_INT8_T, int8_t),
        ENTRY(MPI_INT16_T, int16_t), ENTRY(MPI_INT32_T, int32_t), ENTRY(MPI_INT64_T, int64_t),
        ENTRY(MPI_UINT8_T, uint8_t), ENTRY(MPI_UINT16_T, uint16_t), ENTRY(MPI_UINT32_T, uint32_t),
        ENTRY(MPI_UINT64_T, uint64_t), ENTRY(MPI_C_FLOAT_COMPLEX, float complex),
        ENTRY(MPI_C_DOUBLE_COMPLEX, double complex), ENTRY(MPI_C_LONG_DOUBLE_COMPLEX, long double complex),
        ENTRY(MPI_BYTE, char), ENTRY(MPI_PACKED, char), ENTRY(MPI_AINT, MPI_Aint), ENTRY(MPI_OFFSET, MPI_Offset),
        ENTRY(MPI_COUNT, MPI_Count),
    };
    *n = sizeof all / sizeof *all;
    memcpy(list, all, sizeof all);
    return list;
}

static void sizes_and_names(void)
{
    int n;
    const entry *list = entries(&n);
    for (int k = 0; k < n; k++) {
        int size = -1, length = -1;
        MPI_Aint lower = -1, extent = -1;
        char name[MPI_MAX_OBJECT_NAME];
        MUST(MPI_Type_size(list[k].type, &size));
        if (!CHECK_EQ(size, list[k].size)) fprintf(stderr, "%s\n", list[k].name);
        MUST(MPI_Type_get_extent(list[k].type, &lower, &extent));
        CHECK_EQ(lower, 0);
        CHECK_EQ(extent, list[k].size);
        MUST(MPI_Type_get_name(list[k].type, name, &length));
        /* Two types have two names each, of which all libraries tell the same one. */
        if (list[k].type == MPI_LONG_LONG) CHECK_STR(name, "MPI_LONG_LONG_INT");
        else if (list[k].type == MPI_C_COMPLEX) CHECK_STR(name, "MPI_C_COMPLEX");
        else CHECK_STR(name, list[k].name);
        CHECK_EQ(length, (long)strlen(name));
    }
}

static void messages(void)
{
    int n;
    const entry *list = entries(&n);
    for (int k = 0; k < n; k++)
        for (int count = 1; count <= 10000; count *= 100) {
            size_t bytes = list[k].size * (size_t)count;
            unsigned char *data = check_alloc(bytes);
            if (check_rank == 0) {
                check_fill(data, bytes, k);
                MUST(MPI_Send(data, count, list[k].type, 1, k, MPI_COMM_WORLD));
            } else {
                MPI_Status status;
                MUST(MPI_Recv(data, count, list[k].type, 0, k, MPI_COMM_WORLD, &status));
                CHECK_EQ(check_status_count(&status, list[k].type), count);
                CHECK_DATA(data, bytes, k);
            }
            free(data);
        }
}

/* Pair types have a gap where C's structure has one, and it is not carried. */
static void pairs(void)
{
    static const struct { size_t size, extent; } expected[] = {
        {sizeof(float) + sizeof(int), sizeof(struct float_int)},
        {sizeof(double) + sizeof(int), sizeof(struct double_int)},
        {sizeof(long) + sizeof(int), sizeof(struct long_int)},
        {2 * sizeof(int), 2 * sizeof(int)},
        {sizeof(short) + sizeof(int), sizeof(struct short_int)},
        {sizeof(long double) + sizeof(int), sizeof(struct long_double_int)},
    };
    MPI_Datatype types[] = {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_LONG_INT, MPI_2INT, MPI_SHORT_INT,
                            MPI_LONG_DOUBLE_INT};
    for (int k = 0; k < 6; k++) {
        int size;
        MPI_Aint lower, extent;
        MPI_Type_size(types[k], &size);
        MPI_Type_get_extent(types[k], &lower, &extent);
        CHECK_EQ(size, expected[k].size);
        CHECK_EQ(extent, expected[k].extent);
    }
    struct double_int table[100];
    memset(table, 0x55, sizeof table);
    if (check_rank == 0) {
        for (int i = 0; i < 100; i++) table[i].v = i * 0.5, table[i].i = i;
        MPI_Send(table, 100, MPI_DOUBLE_INT, 1, 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv(table, 100, MPI_DOUBLE_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 100; i++) {
            CHECK(table[i].v == i * 0.5 && table[i].i == i);
            CHECK_EQ(((unsigned char *)&table[i])[offsetof(struct double_int, i) + sizeof(int)], 0x55);
        }
    }
}

/* MPI_Type_create_f90_* gives the same handle for the same arguments; match_size finds the sized type. */
static void sized(void)
{
    MPI_Datatype type, again;
    int size, combiner, n[3];
    MUST(MPI_Type_match_size(MPI_TYPECLASS_REAL, 4, &type));
    MPI_Type_size(type, &size);
    CHECK_EQ(size, 4);
    MUST(MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 8, &type));
    MPI_Type_size(type, &size);
    CHECK_EQ(size, 8);
    MUST(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &type));
    MPI_Type_size(type, &size);
    CHECK_EQ(size, 16);
    MUST(MPI_Type_create_f90_integer(9, &type));
    MUST(MPI_Type_create_f90_integer(9, &again));
    CHECK(type == again);
    MPI_Type_size(type, &size);
    CHECK_EQ(size, 4);
    MUST(MPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &combiner));
    CHECK_EQ(combiner, MPI_COMBINER_F90_INTEGER);
    MUST(MPI_Type_create_f90_real(15, 300, &type));
    MPI_Type_size(type, &size);
    CHECK_EQ(size, 8);
    MUST(MPI_Type_create_f90_complex(6, 30, &type));
    MPI_Type_size(type, &size);
    CHECK_EQ(size, 8);
}

/* Value-index types may be made for any value and index type (MPI-4.1, section 5.1.3). */
static void value_index(void)
{
    MPI_Datatype type, none;
    int size;
    MUST(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &type));
    MPI_Type_size(type, &size);
    CHECK_EQ(size, 12);
    MUST(MPI_Type_get_value_index(MPI_FLOAT, MPI_INT, &type));
    MPI_Type_size(type, &size);
    CHECK_EQ(size, 8);
    MUST(MPI_Type_get_value_index(MPI_UINT64_T, MPI_UINT64_T, &none));
    if (none != MPI_DATATYPE_NULL) {
        MPI_Type_size(none, &size);
        CHECK_EQ(size, 16);
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    sizes_and_names();
    messages();
    pairs();
    sized();
    value_index();
    return check_finish();
}
