/* Attributes (MPI-5.0 section 7.7): keyvals on communicators and types, copy and delete callbacks, their
 * order at free and finalize, the predefined attributes (section 9.1.2).
 * ranks: 1 3
 */
#include "check.h"

static int copies, deletes, deleted[16];

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key;
    CHECK(extra == &copies);
    copies++;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key;
    CHECK(extra == &copies);
    deleted[deletes++ % 16] = (int)(intptr_t)value;
    return MPI_SUCCESS;
}

static int refuse_delete(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)value, (void)extra;
    return MPI_ERR_OTHER;
}

static void on_communicators(void)
{
    MPI_Comm a, b;
    int key = MPI_KEYVAL_INVALID, flag = 1;
    void *value = NULL;
    MUST(MPI_Comm_create_keyval(copy, delete, &key, &copies));
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MUST(MPI_Comm_get_attr(a, key, &value, &flag));
    CHECK(!flag);
    MUST(MPI_Comm_set_attr(a, key, (void *)10));
    MUST(MPI_Comm_get_attr(a, key, &value, &flag));
    CHECK(flag);
    CHECK_EQ((intptr_t)value, 10);
    /* Setting anew deletes the old value first. */
    MUST(MPI_Comm_set_attr(a, key, (void *)20));
    CHECK_EQ(deletes, 1), CHECK_EQ(deleted[0], 10);
    MUST(MPI_Comm_dup(a, &b));
    CHECK_EQ(copies, 1);
    MPI_Comm_get_attr(b, key, &value, &flag);
    CHECK(flag);
    CHECK_EQ((intptr_t)value, 21);
    /* A freed key lives as long as an attribute uses it (section 7.7.2). */
    int freed = key;
    MUST(MPI_Comm_free_keyval(&freed));
    CHECK_EQ(freed, MPI_KEYVAL_INVALID);
    MUST(MPI_Comm_delete_attr(a, key));
    CHECK_EQ(deletes, 2), CHECK_EQ(deleted[1], 20);
    MPI_Comm_get_attr(a, key, &value, &flag);
    CHECK(!flag);
    MPI_Comm_free(&b);
    CHECK_EQ(deletes, 3), CHECK_EQ(deleted[2], 21);
    MPI_Comm_free(&a);
    CHECK_EQ(deletes, 3);
}

/* Attributes are deleted at free in the reverse order of being set (MPI-4.0 and later, section 7.7.1). */
static void order_at_free(void)
{
    MPI_Comm comm;
    int keys[4];
    deletes = 0;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    for (int i = 0; i < 4; i++) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete, &keys[i], &copies);
        MPI_Comm_set_attr(comm, keys[i], (void *)(intptr_t)(100 + i));
    }
    MPI_Comm_free(&comm);
    CHECK_EQ(deletes, 4);
    for (int i = 0; i < 4; i++) MPI_Comm_free_keyval(&keys[i]);
}

static void predefined_callbacks(void)
{
    MPI_Comm a, b;
    int dup_key, null_key, flag;
    void *value;
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &dup_key, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &null_key, NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &a);
    MPI_Comm_set_attr(a, dup_key, &a);
    MPI_Comm_set_attr(a, null_key, &a);
    MPI_Comm_dup(a, &b);
    MPI_Comm_get_attr(b, dup_key, &value, &flag);
    CHECK(flag && value == &a);
    MPI_Comm_get_attr(b, null_key, &value, &flag);
    CHECK(!flag);
    MPI_Comm_free(&a), MPI_Comm_free(&b);
    MPI_Comm_free_keyval(&dup_key), MPI_Comm_free_keyval(&null_key);
}

/* A delete callback that fails keeps the attribute, and the call returns an error. */
static void failing_delete(void)
{
    MPI_Comm comm;
    int key, flag = 0;
    void *value;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse_delete, &key, NULL);
    MPI_Comm_set_attr(comm, key, (void *)5);
    CHECK(MPI_Comm_delete_attr(comm, key) != MPI_SUCCESS);
    MPI_Comm_get_attr(comm, key, &value, &flag);
    CHECK(flag);
    CHECK(MPI_Comm_free(&comm) != MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static int refuse_copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)key, (void)extra, (void)in, (void)out;
    *flag = 1;
    return MPI_ERR_OTHER;
}

static int refuse_copy_of_type(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag)
{
    (void)type;
    return refuse_copy(MPI_COMM_NULL, key, extra, in, out, flag);
}

static int set_again(MPI_Comm comm, int key, void *value, void *extra)
{
    deletes++;
    (void)extra;
    (void)MPI_Comm_set_attr(comm, key, value);
    return MPI_Comm_set_attr(comm, key, value);
}

static int free_again(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)key, (void)value, (void)extra;
    deletes++;
    return MPI_Comm_free(&comm);
}

static int set_another(MPI_Comm comm, int key, void *value, void *extra)
{
    static int next;
    (void)key, (void)value;
    if (!next)
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, set_another, &next, extra);
    return MPI_Comm_set_attr(comm, key == next ? *(int *)extra : next, value);
}

static int copy_again(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag)
{
    MPI_Comm other;
    (void)key, (void)extra, (void)in, (void)out;
    copies++;
    *flag = 0;
    return MPI_Comm_dup(comm, &other);
}

/* A callback that comes back to itself gets an error, and not the end of the stack. */
static void endless_callbacks(void)
{
    MPI_Comm comm, other = MPI_COMM_NULL;
    int set_key, free_key, copy_key, another_key;

    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, set_again, &set_key, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_again, &free_key, NULL);
    MPI_Comm_create_keyval(copy_again, MPI_COMM_NULL_DELETE_FN, &copy_key, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, set_another, &another_key, &another_key);

    deletes = 0;
    MUST(MPI_Comm_set_attr(comm, set_key, NULL));
    CHECK(MPI_Comm_delete_attr(comm, set_key) != MPI_SUCCESS);
    CHECK(deletes > 1 && deletes < 100000);

    copies = 0;
    MUST(MPI_Comm_set_attr(comm, copy_key, NULL));
    CHECK(MPI_Comm_dup(comm, &other) != MPI_SUCCESS);
    CHECK(copies > 1 && copies < 100000);

    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MUST(MPI_Comm_set_attr(comm, free_key, NULL));
    CHECK(MPI_Comm_free(&comm) != MPI_SUCCESS);

    MUST(MPI_Comm_dup(MPI_COMM_SELF, &comm));
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MUST(MPI_Comm_set_attr(comm, another_key, NULL));
    CHECK(MPI_Comm_free(&comm) != MPI_SUCCESS);
}

/* A copy callback that fails: the call returns an error, and there is no copy. */
static void failing_copy(void)
{
    MPI_Comm comm, copy = MPI_COMM_WORLD;
    MPI_Datatype type, twin = MPI_INT;
    int key, type_key;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_create_keyval(refuse_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(comm, key, NULL);
    CHECK(MPI_Comm_dup(comm, &copy) != MPI_SUCCESS);
    CHECK(copy == MPI_COMM_NULL);
    MPI_Comm_free(&comm), MPI_Comm_free_keyval(&key);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_create_keyval(refuse_copy_of_type, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL);
    MPI_Type_set_attr(type, type_key, NULL);
    CHECK(MPI_Type_dup(type, &twin) != MPI_SUCCESS);
    CHECK(twin == MPI_DATATYPE_NULL);
    MPI_Type_free(&type), MPI_Type_free_keyval(&type_key);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

static int copy_type(MPI_Datatype type, int key, void *extra, void *in, void *out, int *flag)
{
    (void)type, (void)key, (void)extra;
    *(void **)out = (char *)in + 7;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_type(MPI_Datatype type, int key, void *value, void *extra)
{
    (void)type, (void)key, (void)value;
    ++*(int *)extra;
    return MPI_SUCCESS;
}

static void on_types(void)
{
    MPI_Datatype a, b;
    int key, flag = 0, count = 0;
    void *value;
    MUST(MPI_Type_create_keyval(copy_type, delete_type, &key, &count));
    MPI_Type_contiguous(3, MPI_INT, &a);
    MUST(MPI_Type_set_attr(a, key, (void *)1));
    MPI_Type_dup(a, &b);
    MUST(MPI_Type_get_attr(b, key, &value, &flag));
    CHECK(flag);
    CHECK_EQ((intptr_t)value, 8);
    MUST(MPI_Type_delete_attr(b, key));
    CHECK_EQ(count, 1);
    MPI_Type_free(&a);
    MPI_Type_free(&b);
    CHECK_EQ(count, 2);
    MPI_Type_free_keyval(&key);
    CHECK_EQ(key, MPI_KEYVAL_INVALID);
    /* Predefined types carry attributes too. */
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &key, NULL);
    MUST(MPI_Type_set_attr(MPI_INT, key, (void *)3));
    MPI_Type_get_attr(MPI_INT, key, &value, &flag);
    CHECK(flag);
    MPI_Type_delete_attr(MPI_INT, key);
    MPI_Type_free_keyval(&key);
}

static void predefined(void)
{
    int *value = NULL, flag = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    CHECK(flag && *value >= 32767);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag);
    CHECK(flag);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag);
    if (flag) CHECK(*value == 0 || *value == 1);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag);
    CHECK(flag && *value >= MPI_ERR_LASTCODE);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &value, &flag);
    if (flag) CHECK(*value >= check_size);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &value, &flag);
    if (flag) CHECK_EQ(*value, 0);
}

static int at_finalize(MPI_Comm comm, int key, void *value, void *extra)
{
    int initialized = 0, finalized = 1, size = 0;
    (void)comm, (void)key, (void)extra;
    MPI_Initialized(&initialized), MPI_Finalized(&finalized);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    /* MPI still works while MPI_COMM_SELF's attributes are deleted (section 11.2.4). */
    if (!initialized || finalized || size != check_size || (intptr_t)value != 77) {
        fprintf(stderr, "rank %d: wrong state in the delete callback of finalize\n", check_rank);
        exit(1);
    }
    deletes = 1000;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    on_communicators();
    order_at_free();
    predefined_callbacks();
    failing_delete();
    endless_callbacks();
    failing_copy();
    on_types();
    predefined();
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, (void *)77);
    int failed = check_finish();
    return failed || deletes != 1000;
}
