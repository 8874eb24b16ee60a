/* Processes stay connected whose communicator was freed, whatever else is disconnected, and groups of processes that
 * are gone hold nobody up (MPI-5.0 sections 11.2.2, 11.8.2 and 11.10.4).
 * ranks: 1 2
 * timeout: 120
 */
#include "check.h"

static MPI_Comm spawned(char *program, char *what)
{
    char *argv[] = {what, NULL};
    MPI_Comm inter = MPI_COMM_NULL;
    MUST(MPI_Comm_spawn(program, argv, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE));
    return inter;
}

/* What a child does. */
static int child(MPI_Comm parent, const char *what)
{
    MPI_Group group;
    if (strcmp(what, "free") == 0) {
        MPI_Comm_free(&parent);
    } else {
        if (strcmp(what, "group") == 0) MPI_Comm_remote_group(parent, &group);
        MPI_Comm_disconnect(&parent);
    }
    MPI_Finalize();
    return 0;
}

/* Another child's end and a communicator of this world alone are none of the freed one's business. */
static void freed(char *program)
{
    MPI_Comm first = spawned(program, "free"), second = spawned(program, "disconnect"), own;
    MUST(MPI_Comm_free(&first));
    MUST(MPI_Comm_disconnect(&second));
    MUST(MPI_Comm_dup(MPI_COMM_SELF, &own));
    MUST(MPI_Comm_disconnect(&own));
}

/* Either side may keep a group of the other. Its processes are not taken for others that come later. */
static void groups(char *program)
{
    MPI_Group old, new;
    int result;
    MPI_Comm inter = spawned(program, "group");
    MUST(MPI_Comm_remote_group(inter, &old));
    MUST(MPI_Comm_disconnect(&inter));
    for (int i = 0; i < 2; i++) {
        inter = spawned(program, "disconnect");
        MUST(MPI_Comm_remote_group(inter, &new));
        MUST(MPI_Group_compare(old, new, &result));
        CHECK_EQ(result, MPI_UNEQUAL);
        MUST(MPI_Group_free(&new));
        MUST(MPI_Comm_disconnect(&inter));
    }
    MUST(MPI_Group_free(&old));
}

/* Codes of those that need not be started say so. */
static void spared(char *program)
{
    char *argv[] = {"disconnect", NULL};
    int codes[4] = {-7, -7, -7, -7}, size, class = MPI_SUCCESS;
    MPI_Info info;
    MPI_Comm inter;
    MPI_Info_create(&info);
    MPI_Info_set(info, "soft", "1");
    MUST(MPI_Comm_spawn(program, argv, 4, info, 0, MPI_COMM_WORLD, &inter, codes));
    MPI_Comm_remote_size(inter, &size);
    for (int i = 0; i < 4; i++) {
        MPI_Error_class(codes[i], &class);
        CHECK_EQ(class, i < size ? MPI_SUCCESS : MPI_ERR_SPAWN);
    }
    MUST(MPI_Comm_disconnect(&inter));
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm parent;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) return child(parent, argv[1]);
    groups(argv[0]);
    spared(argv[0]);
    freed(argv[0]);
    return check_finish();
}
