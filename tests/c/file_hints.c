/* Each hint that is taken does what it says (MPI-5.0 section 14.2.8), as the system calls below the library show;
 * MPI_File_get_info tells what is in use.
 * ranks: 1 2 4
 * timeout: 60
 */
#include "inject.h"
#include "file.h"

enum { BLOCK = 512, BLOCKS = 64, BYTES = BLOCK * BLOCKS };

static char data[BYTES];

struct hint {
    const char *key, *value;
};

static MPI_Info info_of(const struct hint *hints, int count)
{
    MPI_Info info;
    MPI_Info_create(&info);
    for (int i = 0; i < count; i++) MPI_Info_set(info, hints[i].key, hints[i].value);
    return info;
}

/* What is in use; empty if nothing is said. */
static const char *in_use(MPI_File fh, const char *key)
{
    static char value[MPI_MAX_INFO_VAL + 1];
    int flag, length = sizeof value;
    MPI_Info used;
    MUST(MPI_File_get_info(fh, &used));
    MPI_Info_get_string(used, key, &length, value, &flag);
    MPI_Info_free(&used);
    return flag ? value : "";
}

/* The file of all ranks, whose blocks a rank sees in turn with the others. */
static MPI_File opened(const struct hint *hints, int count)
{
    MPI_File fh;
    MPI_Datatype block, tile;
    MPI_Info info = info_of(hints, count);
    MUST(MPI_File_open(MPI_COMM_WORLD, file_path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    MPI_Info_free(&info);
    for (int i = 0; i < count; i++) CHECK_STR(in_use(fh, hints[i].key), hints[i].value);
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, BLOCK * (check_size + 1), &tile);
    MPI_Type_commit(&tile);
    MUST(MPI_File_set_view(fh, BLOCK * check_rank, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    MPI_Type_free(&tile);
    MPI_Type_free(&block);
    inject_into(file_path);
    return fh;
}

/* Reads or writes of this rank since the last time. */
static int calls(void)
{
    return atomic_exchange(&inject.calls, 0);
}

static void write_alone(MPI_File fh)
{
    memset(data, check_rank + 1, BYTES);
    MUST(MPI_File_write_at(fh, 0, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
}

static void read_alone(MPI_File fh)
{
    memset(data, 0, BYTES);
    MUST(MPI_File_read_at(fh, 0, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int i = 0; i < BYTES; i++) CHECK_EQ(data[i], check_rank + 1);
}

/* How many blocks of so many bytes have this rank's data. */
static int blocks_of(int bytes)
{
    int step = BLOCK * (check_size + 1);
    return (step * (BLOCKS - 1) + BLOCK + bytes - 1) / bytes;
}

static void sieving(void)
{
    const struct hint by_pieces[] = {{"romio_ds_read", "disable"}, {"romio_ds_write", "disable"}};
    MPI_File fh = opened(by_pieces, 2);
    write_alone(fh);
    CHECK_EQ(calls(), BLOCKS);
    CHECK_EQ(inject.locks, 0);
    read_alone(fh);
    CHECK_EQ(calls(), BLOCKS);
    MUST(MPI_File_close(&fh));

    /* A view that begins with a block ends with one, so a sieved block is no shorter than it may be. */
    const struct hint by_sieves[] = {{"romio_ds_read", "enable"},
                                     {"romio_ds_write", "enable"},
                                     {"ind_rd_buffer_size", "8192"},
                                     {"ind_wr_buffer_size", "16384"}};
    fh = opened(by_sieves, 4);
    write_alone(fh);
    int blocks = blocks_of(16384);
    CHECK_EQ(inject.locks, 2 * blocks);
    int made = calls();
    CHECK(made >= 2 * blocks && made <= 3 * blocks);
    read_alone(fh);
    CHECK(calls() <= blocks_of(8192) + 1);
    MUST(MPI_File_close(&fh));
    file_remove();
}

/* Where some read gaps and write them back, each write takes the lock of its range: at once, by a request, by all. */
static void locked_writes(void)
{
    const struct hint by_sieves[] = {{"romio_ds_write", "enable"}, {"romio_cb_write", "enable"}};
    enum { STEP = 4 * BLOCK };
    MPI_File fh = opened(by_sieves, 2);
    MPI_Datatype block, tile;
    MPI_Request request;
    MUST(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    MUST(MPI_File_write_at(fh, check_rank, data, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_EQ(inject.locks, 2);
    MUST(MPI_File_iwrite_at(fh, check_rank, data, 1, MPI_BYTE, &request));
    MUST(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_EQ(inject.locks, 4);
    MUST(MPI_File_write_shared(fh, data, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_EQ(inject.locks, 6);
    int locks = inject.locks, all;
    MUST(MPI_File_write_at_all(fh, check_rank, data, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    locks = inject.locks - locks;
    MPI_Allreduce(&locks, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(all >= 2);
    /* The first rank writes with gaps, the others into them. */
    MPI_Type_contiguous(BLOCK, MPI_BYTE, &block);
    MPI_Type_create_resized(block, 0, STEP, &tile);
    MPI_Type_commit(&tile);
    if (check_rank == 0)
        MUST(MPI_File_set_view(fh, 0, MPI_BYTE, tile, "native", MPI_INFO_NULL));
    else
        MUST(MPI_File_set_view(fh, BLOCK, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    for (int round = 1; round < 20; round++) {
        memset(data, round, BYTES);
        if (check_rank == 0)
            MUST(MPI_File_write_at(fh, 0, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
        else if (check_rank == 1)
            for (int i = 0; i < BLOCKS; i++)
                MUST(MPI_File_write_at(fh, i * STEP, data, BLOCK, MPI_BYTE, MPI_STATUS_IGNORE));
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < BLOCKS && check_rank == 1; i++) CHECK_EQ(file_byte(file_path, i * STEP + BLOCK), round);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Type_free(&block), MPI_Type_free(&tile);
    /* Who does not know of it would not take the lock. */
    const struct hint never[] = {{"romio_ds_write", "disable"}};
    MPI_Info info = info_of(never, 1);
    if (check_size > 1)
        CHECK_ERROR(MPI_File_set_info(fh, check_rank ? info : MPI_INFO_NULL), MPI_ERR_NOT_SAME, "MPI_File_set_info");
    MUST(MPI_File_set_info(fh, info));
    MPI_Info_free(&info);
    locks = inject.locks;
    MUST(MPI_File_write_at(fh, 0, data, 1, MPI_BYTE, MPI_STATUS_IGNORE));
    CHECK_EQ(inject.locks, locks);
    MUST(MPI_File_close(&fh));
    file_remove();
}

/* Calls of all ranks for an access of all. */
static int together(MPI_File fh, int writes)
{
    int mine, all;
    calls();
    memset(data, check_rank + 1, BYTES);
    if (writes)
        MUST(MPI_File_write_at_all(fh, 0, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    else
        MUST(MPI_File_read_at_all(fh, 0, data, BYTES, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int i = 0; i < BYTES; i++) CHECK_EQ(data[i], check_rank + 1);
    mine = calls();
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

static void collective_buffering(void)
{
    const struct hint never[] = {{"romio_cb_read", "disable"},
                                 {"romio_cb_write", "disable"},
                                 {"romio_ds_read", "disable"}};
    MPI_File fh = opened(never, 3);
    CHECK_STR(in_use(fh, "collective_buffering"), "false");
    CHECK_EQ(together(fh, 1), BLOCKS * check_size);
    CHECK_EQ(together(fh, 0), BLOCKS * check_size);
    const struct hint always[] = {{"romio_cb_read", "enable"}, {"romio_cb_write", "enable"}};
    MPI_Info info = info_of(always, 2);
    MUST(MPI_File_set_info(fh, info));
    MPI_Info_free(&info);
    CHECK_STR(in_use(fh, "collective_buffering"), "true");
    /* One rank has nobody to do it with. With several, blocks that touch are one: there is a gap behind each row. */
    int most = check_size > 1 ? BLOCKS + 8 * check_size : BLOCKS;
    CHECK(together(fh, 1) <= most);
    CHECK(together(fh, 0) <= most);
    const struct hint neither[] = {{"collective_buffering", "false"}};
    info = info_of(neither, 1);
    MUST(MPI_File_set_info(fh, info));
    MPI_Info_free(&info);
    CHECK_STR(in_use(fh, "romio_cb_read"), "disable");
    CHECK_EQ(together(fh, 0), BLOCKS * check_size);
    MUST(MPI_File_close(&fh));
    file_remove();
}

static void settled(void)
{
    const struct hint first[] = {{"cb_buffer_size", "65536"}, {"cb_block_size", "8192"}, {"cb_nodes", "1"}};
    MPI_File fh = opened(first, 3);
    const struct hint later[] = {{"cb_buffer_size", "131072"}, {"cb_block_size", "512"}, {"cb_nodes", "2"},
                                 {"striping_unit", "512"},     {"file_perm", "0600"}};
    MPI_Info info = info_of(later, 5);
    MUST(MPI_File_set_info(fh, info));
    MUST(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", info));
    MPI_Info_free(&info);
    for (int i = 0; i < 3; i++) CHECK_STR(in_use(fh, first[i].key), first[i].value);
    CHECK_STR(in_use(fh, "striping_unit"), "");
    CHECK_STR(in_use(fh, "file_perm"), "");
    MUST(MPI_File_close(&fh));
    const struct hint unit[] = {{"striping_unit", "16384"}};
    fh = opened(unit, 1);
    CHECK_STR(in_use(fh, "cb_block_size"), "16384");
    MUST(MPI_File_close(&fh));
    /* More aggregators than ranks there cannot be, and what changes nothing is not in use. */
    const struct hint others[] = {{"cb_nodes", "1000"}, {"nb_proc", "7"}, {"striping_factor", "3"}, {"chunked", "9"}};
    info = info_of(others, 4);
    MUST(MPI_File_open(MPI_COMM_WORLD, file_path, MPI_MODE_RDWR, info, &fh));
    MPI_Info_free(&info);
    CHECK_EQ(atoi(in_use(fh, "cb_nodes")), check_size);
    for (int i = 1; i < 4; i++) CHECK_STR(in_use(fh, others[i].key), "");
    MUST(MPI_File_close(&fh));
    file_remove();
}

static void said(MPI_File fh, const char *style, int advice)
{
    const struct hint hints[] = {{"access_style", style}};
    MPI_Info info = info_of(hints, 1);
    MUST(MPI_File_set_info(fh, info));
    MPI_Info_free(&info);
    CHECK_EQ(inject.advice, advice);
    CHECK_STR(in_use(fh, "access_style"), style);
}

static void access_style(void)
{
    MPI_File fh = opened(NULL, 0);
    inject.advice = 0;
    said(fh, "sequential,read_once", 1 << POSIX_FADV_SEQUENTIAL | 1 << POSIX_FADV_NOREUSE);
    said(fh, "random", 1 << POSIX_FADV_RANDOM);
    said(fh, "read_mostly", 0);
    MUST(MPI_File_close(&fh));
    const struct hint hints[] = {{"access_style", "reverse_sequential"}};
    MPI_Info info = info_of(hints, 1);
    MUST(MPI_File_open(MPI_COMM_WORLD, file_path, MPI_MODE_RDWR, info, &fh));
    MPI_Info_free(&info);
    CHECK_EQ(inject.advice, 1 << POSIX_FADV_RANDOM);
    MUST(MPI_File_close(&fh));
    file_remove();
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    file_name("hints");
    sieving();
    locked_writes();
    collective_buffering();
    settled();
    access_style();
    return check_finish();
}
