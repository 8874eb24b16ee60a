/* Loads parts of a program that use MPI, and unloads them: "thread" by a thread that ends then, "two" by the first. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Whether a function of a plugin, which is loaded for it alone, says that all is well. */
static int call(const char *path, const char *name)
{
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*function)(void) = plugin ? (int (*)(void))dlsym(plugin, name) : NULL;
    int is_well = function && function();
    if (!is_well) fprintf(stderr, "%s: %s\n", name, function ? "failed" : dlerror());
    if (plugin) dlclose(plugin);
    return is_well;
}

static void *both(void *path)
{
    return call(path, "plugin_begin") && call(path, "plugin_end") ? path : NULL;
}

int main(int argc, char **argv)
{
    void *is_well = NULL;
    pthread_t thread;
    if (argc < 3) return 2;
    if (strcmp(argv[1], "thread") == 0) {
        if (pthread_create(&thread, NULL, both, argv[2]) != 0) return 2;
        pthread_join(thread, &is_well);
    } else {
        is_well = both(argv[2]);
    }
    if (is_well) puts("ok");
    return is_well ? 0 : 1;
}
