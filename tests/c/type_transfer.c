/* Non-contiguous data on either or both sides, at all sizes across every protocol's threshold
 * (MPI-5.0 sections 3.3 and 5.1.11): what the receiver's layout gets is what the sender's layout held.
 * ranks: 2
 */
#include "check.h"

enum { LAYOUTS = 7, LARGEST = 6 << 20 };

/* A layout of about `bytes` bytes made of shorts: element type, and how many of it. */
static MPI_Datatype layout(int kind, int shorts, int *count)
{
    MPI_Datatype type, inner;
    int lengths[3] = {1, 2, 1}, places[3] = {6, 0, 3};
    MPI_Aint bytes[2] = {0, 10};
    MPI_Datatype members[2] = {MPI_SHORT, MPI_SHORT};
    *count = 1;
    switch (kind) {
    case 0: MPI_Type_contiguous(shorts, MPI_SHORT, &type); break;
    case 1: MPI_Type_vector(shorts, 1, 2, MPI_SHORT, &type); break;
    case 2: MPI_Type_vector(shorts / 4, 4, 7, MPI_SHORT, &type); break;
    case 3: *count = shorts / 4, MPI_Type_indexed(3, lengths, places, MPI_SHORT, &type); break;
    case 4:
        *count = shorts / 4;
        lengths[0] = lengths[1] = 2;
        MPI_Type_create_struct(2, lengths, bytes, members, &type);
        break;
    case 5: /* long blocks */
        *count = 4;
        MPI_Type_vector(1, shorts / 4, shorts / 4, MPI_SHORT, &inner);
        MPI_Type_create_resized(inner, 0, (MPI_Aint)shorts / 4 * 2 + 64, &type);
        MPI_Type_free(&inner);
        break;
    default: /* vector of vectors, backwards */
        MPI_Type_vector(2, 2, 3, MPI_SHORT, &inner);
        MPI_Type_create_hvector(shorts / 4, 1, -12, inner, &type);
        MPI_Type_free(&inner);
    }
    MPI_Type_commit(&type);
    return type;
}

/* The memory a layout needs, and where its origin lies in it. */
static short *memory_for(MPI_Datatype type, int count, size_t *bytes, MPI_Aint *origin)
{
    MPI_Aint lower, true_lower, true_extent, extent;
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &true_lower, &true_extent);
    *origin = true_lower < 0 ? -true_lower : 0;
    *bytes = (size_t)(*origin + true_lower + true_extent + (count > 0 ? count - 1 : 0) * extent) + 16;
    return check_alloc(*bytes);
}

static void exchange(int from_kind, int to_kind, int shorts, int synchronous)
{
    int count, kind = check_rank == 0 ? from_kind : to_kind, position = 0;
    MPI_Datatype type = layout(kind, shorts, &count);
    size_t bytes;
    MPI_Aint origin;
    unsigned char *memory = (void *)memory_for(type, count, &bytes, &origin);
    unsigned char *packed = check_alloc((size_t)shorts * 2);
    uint64_t seed = (uint64_t)(from_kind * 100 + to_kind) * 1000 + shorts;
    if (check_rank == 0) {
        memset(memory, 0x77, bytes);
        check_fill(packed, (size_t)shorts * 2, seed);
        MPI_Unpack(packed, shorts * 2, &position, memory + origin, count, type, MPI_COMM_WORLD);
        if (synchronous)
            MPI_Ssend(memory + origin, count, type, 1, 1, MPI_COMM_WORLD);
        else
            MPI_Send(memory + origin, count, type, 1, 1, MPI_COMM_WORLD);
    } else {
        MPI_Status status;
        unsigned char *clean = check_alloc(bytes);
        memset(memory, 0x77, bytes);
        memset(clean, 0x77, bytes);
        MPI_Recv(memory + origin, count, type, 0, 1, MPI_COMM_WORLD, &status);
        CHECK_EQ(check_status_count(&status, MPI_SHORT), shorts);
        MPI_Pack(memory + origin, count, type, packed, shorts * 2, &position, MPI_COMM_WORLD);
        if (!CHECK_DATA(packed, shorts * 2, seed))
            fprintf(stderr, "layouts %d to %d, %d bytes\n", from_kind, to_kind, shorts * 2);
        /* The gaps are untouched. */
        position = 0;
        MPI_Unpack(packed, shorts * 2, &position, clean + origin, count, type, MPI_COMM_WORLD);
        CHECK(memcmp(memory, clean, bytes) == 0);
        free(clean);
    }
    MPI_Type_free(&type);
    free(memory), free(packed);
}

int main(int argc, char **argv)
{
    static const int shorts[] = {0, 4, 12, 28, 32, 60, 252, 500, 2044, 2048, 4000, 8192, 16388, 32768, 70000,
                                 140000, 300000, 600004, LARGEST / 2};
    check_init(&argc, &argv);
    for (unsigned s = 0; s < sizeof shorts / sizeof *shorts; s++)
        for (int from = 0; from < LAYOUTS; from++)
            for (int to = 0; to < LAYOUTS; to++)
                /* The largest are slow: a few pairs will do. */
                if (shorts[s] < 100000 || (from + 2 * to) % 5 == 0) exchange(from, to, shorts[s], (from + to) % 3 == 0);
    return check_finish();
}
