// The least that a message costs over TCP: pairs of processes, each with one connection, half a round trip.
// With sockets that are tried again and again, as a rank that spins does it, or with blocking calls.
// usage: raw_tcp SECONDS_PER_POINT RANKS poll|block [BYTES...]
// With TERN_BENCH_NETNS=NAME0,NAME1,ADDRESS1 even ranks run in the network namespace NAME0 and odd ones in NAME1,
// where they listen at ADDRESS1.
#include "raw_team.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#define BYTES_MAX (16L << 20)

struct pingpong {
    int rank, fd, flags;
    long bytes;
    char *out, *in;
};

static void fail(const char *what) {
    fprintf(stderr, "raw_tcp: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void send_all(struct pingpong *p) {
    for (long done = 0; done < p->bytes;) {
        ssize_t count = send(p->fd, p->out + done, (size_t)(p->bytes - done), MSG_NOSIGNAL | p->flags);
        if (count > 0)
            done += count;
        else if (errno != EAGAIN)
            fail("send");
    }
}

static void receive_all(struct pingpong *p) {
    for (long done = 0; done < p->bytes;) {
        ssize_t count = recv(p->fd, p->in + done, (size_t)(p->bytes - done), p->flags);
        if (count > 0)
            done += count;
        else if (count == 0 || errno != EAGAIN)
            fail("recv");
    }
}

static void pingpong_loop(void *arg, long iterations) {
    struct pingpong *p = arg;
    for (long i = 0; i < iterations; i++) {
        if (p->rank % 2 == 0) {
            send_all(p);
            receive_all(p);
        } else {
            receive_all(p);
            send_all(p);
        }
    }
}

static int listening_socket(const char *address, long *port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = inet_addr(address)};
    socklen_t length = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, (struct sockaddr *)&at, length) != 0 || listen(fd, 1) != 0)
        fail("listen");
    getsockname(fd, (struct sockaddr *)&at, &length);
    *port = ntohs(at.sin_port);
    return fd;
}

static int connected_socket(const char *address, long port) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = inet_addr(address)};
    at.sin_port = htons((uint16_t)port);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) != 0)
        fail("connect");
    return fd;
}

static int connection(int rank, const char *address, long *port) {
    int listener = rank % 2 ? listening_socket(address, port) : -1, on = 1;
    meet();
    int fd = rank % 2 ? accept(listener, NULL, NULL) : connected_socket(address, *port);
    if (fd < 0)
        fail("accept");
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

static void enter_namespace(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "/run/netns/%s", name);
    int fd = open(path, O_RDONLY);
    if (fd < 0 || setns(fd, CLONE_NEWNET) != 0)
        fail(path);
    close(fd);
}

// Where odd ranks listen; this rank is in its namespace then.
static const char *place(int rank) {
    char *names = getenv("TERN_BENCH_NETNS"), *all[3];
    if (names == NULL)
        return "127.0.0.1";
    for (int i = 0; i < 3; i++, names = NULL)
        if ((all[i] = strtok(names, ",")) == NULL)
            fail("TERN_BENCH_NETNS wants NAME0,NAME1,ADDRESS1");
    enter_namespace(all[rank % 2]);
    return all[2];
}

static void measure_size(const struct team *team, struct pingpong *p, long bytes, double budget) {
    p->bytes = bytes;
    struct summary round_trip = measure(team, pingpong_loop, p, budget);
    const char *metric = p->flags ? "raw_tcp_poll" : "raw_tcp_block";
    if (team->rank == 0)
        print_result(metric, bytes, (struct summary){round_trip.best / 2, round_trip.median / 2});
}

int main(int argc, char **argv) {
    double budget = argc > 1 ? atof(argv[1]) : 0.1;
    int ranks = argc > 2 ? atoi(argv[2]) : 2;
    int polled = argc > 3 && strcmp(argv[3], "poll") == 0;
    long *ports = shared_mapping((size_t)ranks * sizeof *ports);
    struct team team = fork_team(ranks);
    if (polled)
        pin(team.rank);
    char *out = touched_pages(BYTES_MAX, 1), *in = touched_pages(BYTES_MAX, 2);
    struct pingpong p = {team.rank, 0, polled ? MSG_DONTWAIT : 0, 0, out, in};
    p.fd = connection(team.rank, place(team.rank), &ports[team.rank / 2]);
    for (int i = 4; i < argc; i++)
        measure_size(&team, &p, atol(argv[i]), budget);
    if (argc <= 4)
        for (long bytes = 1; bytes <= BYTES_MAX; bytes *= 2)
            measure_size(&team, &p, bytes, budget);
    end_team();
    return 0;
}
