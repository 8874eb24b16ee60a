// A libfabric whose provider never answers, as one does that waits for a device: the call that FAKE_HANGS names does
// not return, or its constructor. Whoever hangs holds a lock that the destructor takes, as in the real library. It has
// what Tern looks for before that, with the versions that libfabric.map gives its functions.
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ATTRIBUTE_BYTES 512

// As <rdma/fabric.h> has it, since release 1.5.
struct fi_info {
    struct fi_info *next;
    uint64_t caps, mode;
    uint32_t addr_format;
    size_t src_addrlen, dest_addrlen;
    void *src_addr, *dest_addr, *handle;
    void *tx_attr, *rx_attr, *ep_attr, *domain_attr, *fabric_attr, *nic;
};

struct named {
    void *object;
    char *name, *provider;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void hang_in(const char *call) {
    const char *hanging = getenv("FAKE_HANGS");
    pthread_mutex_lock(&lock);
    while (hanging && strcmp(hanging, call) == 0)
        pause();
    pthread_mutex_unlock(&lock);
}

// Whoever hangs here has the loader's lock, too.
__attribute__((constructor)) static void begin(void) {
    hang_in("constructor");
}

__attribute__((destructor)) static void end(void) {
    pthread_mutex_lock(&lock);
}

uint32_t fi_version(void) {
    return 1 << 16 | 17;
}

const char *fi_strerror(int code) {
    (void)code;
    return "an error of a test";
}

struct fi_info *fi_dupinfo(const struct fi_info *from) {
    struct fi_info *info = calloc(1, sizeof *info);
    if (from) {
        *info = *from;
        info->next = NULL;
        return info;
    }
    void **parts[] = {&info->tx_attr, &info->rx_attr, &info->ep_attr, &info->domain_attr, &info->fabric_attr};
    for (size_t part = 0; part < sizeof parts / sizeof *parts; part++)
        *parts[part] = calloc(1, ATTRIBUTE_BYTES);
    return info;
}

// The process is a short one.
void fi_freeinfo(struct fi_info *info) {
    (void)info;
}

int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags, const struct fi_info *hints,
               struct fi_info **found) {
    (void)version, (void)node, (void)service, (void)flags;
    hang_in("fi_getinfo");
    *found = fi_dupinfo(NULL);
    (*found)->caps = hints->caps;
    ((struct named *)(*found)->fabric_attr)->provider = "tcp";
    ((struct named *)(*found)->domain_attr)->name = "fake0";
    return 0;
}

int fi_fabric(void *attributes, void **fabric, void *context) {
    (void)attributes, (void)fabric, (void)context;
    hang_in("fi_fabric");
    return -1;
}
