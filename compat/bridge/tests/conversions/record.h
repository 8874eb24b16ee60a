/* What the library that stands for Tern's writes down, and what it answers. The caller sees it by the loader. */
#define PARAMETERS_MAX 16
#define ELEMENTS_MAX 24

struct standard_status {
    int source, tag, error, internal[5];
};

struct record {
    int calls, answer;
    /* Each parameter as it came in: a number, an address, or what lies there. */
    long seen[PARAMETERS_MAX];
    long items[PARAMETERS_MAX][ELEMENTS_MAX];
    struct standard_status statuses[ELEMENTS_MAX];
    /* What goes out through the parameters. */
    long give[PARAMETERS_MAX];
    long give_items[PARAMETERS_MAX][ELEMENTS_MAX];
    struct standard_status give_statuses[ELEMENTS_MAX];
    const char *text;
    /* Elements of the arrays. */
    int length;
};
