// TCP without MPI, between the same two processes: what the network allows. MPI only tells rank 0 where rank 1 listens;
// while the sockets are measured, no MPI function is called.
#ifndef TERN_NETPIPE_RAW_H
#define TERN_NETPIPE_RAW_H

#include "mpi_team.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { RAW_PLACES_MAX = 32, RAW_NONCE_BYTES = 16 };

// How often a socket is polled before its process sleeps on it: about 50 us, after which Tern sleeps, too. Whoever
// never sleeps keeps the core from the kernel's own threads where cores are few, and waits for time slices.
enum { RAW_POLLS = 200 };

#define RAW_TRY_MS 1000   // for one address: those that lead nowhere must not take long
#define RAW_LISTEN_S 30.0 // for all of them

// Where rank 1 listens. The nonce tells it from whoever else has one of its addresses.
struct raw_card {
    unsigned char nonce[RAW_NONCE_BYTES];
    int count;
    struct sockaddr_storage places[RAW_PLACES_MAX];
};

struct raw_pair {
    int rank;
    size_t bytes;
    char *out, *in;
};

typedef loop_fn raw_loop_fn;

static int raw_socket = -1, raw_rank;

static inline void raw_fail(const char *what) {
    fprintf(stderr, "netpipe: raw TCP: %s: %s\n", what, strerror(errno));
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

// What a call has moved; nothing, if it would have had to wait.
static inline size_t raw_moved(ssize_t moved, const char *what) {
    if (moved > 0)
        return (size_t)moved;
    if (moved == 0)
        errno = ECONNRESET; // the other rank has closed its end
    if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
        raw_fail(what);
    return 0;
}

static inline size_t raw_some_out(const char *from, size_t bytes, int flags) {
    return raw_moved(send(raw_socket, from, bytes, flags | MSG_NOSIGNAL), "send");
}

static inline size_t raw_some_in(char *to, size_t bytes, int flags) {
    return raw_moved(recv(raw_socket, to, bytes, flags), "recv");
}

// With MSG_DONTWAIT until it has been in vain RAW_POLLS times.
static inline int raw_patience(int flags, int vain) {
    return vain < RAW_POLLS ? flags : flags & ~MSG_DONTWAIT;
}

static inline void raw_send(const char *from, size_t bytes, int flags) {
    int vain = 0;
    for (size_t done = 0, more; done < bytes; done += more) {
        more = raw_some_out(from + done, bytes - done, raw_patience(flags, vain));
        vain = more == 0 ? vain + 1 : 0;
    }
}

static inline void raw_receive(char *to, size_t bytes, int flags) {
    int vain = 0;
    for (size_t done = 0, more; done < bytes; done += more) {
        more = raw_some_in(to + done, bytes - done, raw_patience(flags, vain));
        vain = more == 0 ? vain + 1 : 0;
    }
}

static inline void raw_pingpong(const struct raw_pair *p, long iterations, int flags) {
    for (long i = 0; i < iterations; i++)
        if (p->rank == 0) {
            raw_send(p->out, p->bytes, flags);
            raw_receive(p->in, p->bytes, flags);
        } else {
            raw_receive(p->in, p->bytes, flags);
            raw_send(p->out, p->bytes, flags);
        }
}

// Asks the kernel again and again for a while, as Tern does.
static void raw_polled_loop(void *arg, long iterations) {
    raw_pingpong(arg, iterations, MSG_DONTWAIT);
}

// Sleeps in the kernel.
static void raw_blocking_loop(void *arg, long iterations) {
    raw_pingpong(arg, iterations, 0);
}

// Until something can be sent, if there is something to send, or has come.
static inline void raw_sleep(int has_more) {
    struct pollfd one = {raw_socket, (short)(has_more ? POLLIN | POLLOUT : POLLIN), 0};
    poll(&one, 1, -1);
}

static inline void raw_exchange(const struct raw_pair *p) {
    int vain = 0;
    for (size_t sent = 0, received = 0; sent < p->bytes || received < p->bytes;) {
        size_t out = 0, in = 0;
        if (sent < p->bytes)
            out = raw_some_out(p->out + sent, p->bytes - sent, MSG_DONTWAIT);
        if (received < p->bytes)
            in = raw_some_in(p->in + received, p->bytes - received, MSG_DONTWAIT);
        sent += out;
        received += in;
        vain = out + in == 0 ? vain + 1 : 0;
        if (vain > RAW_POLLS)
            raw_sleep(sent < p->bytes);
    }
}

// Both directions at once, polled: with blocking calls both would wait in a long send for ever.
static void raw_exchange_loop(void *arg, long iterations) {
    for (long i = 0; i < iterations; i++)
        raw_exchange(arg);
}

// All go at about the same time: rank 1 answers.
static void raw_agree_on(long *number) {
    char answer = 0;
    if (raw_rank == 0) {
        raw_send((const char *)number, sizeof *number, 0);
        raw_receive(&answer, 1, 0);
    } else {
        raw_receive((char *)number, sizeof *number, 0);
        raw_send(&answer, 1, 0);
    }
}

static inline socklen_t raw_length(int family) {
    return family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

// The port of an address, of either family.
static inline in_port_t *raw_port(struct sockaddr_storage *place) {
    return place->ss_family == AF_INET ? &((struct sockaddr_in *)place)->sin_port
                                       : &((struct sockaddr_in6 *)place)->sin6_port;
}

static inline int raw_is_wanted(const struct ifaddrs *one, int family, unsigned loopback) {
    if (one->ifa_addr == NULL || one->ifa_addr->sa_family != family || !(one->ifa_flags & IFF_UP) ||
        (one->ifa_flags & IFF_LOOPBACK) != loopback)
        return 0;
    // Addresses of a link mean nothing without the link's name.
    return family == AF_INET || !IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)one->ifa_addr)->sin6_addr);
}

static inline void raw_add_places(struct raw_card *card, const struct ifaddrs *all, int family, unsigned loopback) {
    for (const struct ifaddrs *one = all; one != NULL && card->count < RAW_PLACES_MAX; one = one->ifa_next)
        if (raw_is_wanted(one, family, loopback))
            memcpy(&card->places[card->count++], one->ifa_addr, raw_length(family));
}

// All addresses of this host, those of the network first.
static inline void raw_find_places(struct raw_card *card, in_port_t port, int has_ipv6) {
    struct ifaddrs *all;
    if (getifaddrs(&all) != 0)
        raw_fail("getifaddrs");
    raw_add_places(card, all, AF_INET, 0);
    if (has_ipv6)
        raw_add_places(card, all, AF_INET6, 0);
    raw_add_places(card, all, AF_INET, IFF_LOOPBACK);
    if (has_ipv6)
        raw_add_places(card, all, AF_INET6, IFF_LOOPBACK);
    freeifaddrs(all);
    for (int i = 0; i < card->count; i++)
        *raw_port(&card->places[i]) = port;
}

// A socket that listens at every address, of both families where there are both.
static inline int raw_listen(in_port_t *port, int *has_ipv6) {
    struct sockaddr_storage place;
    socklen_t length = sizeof place;
    int off = 0, listener = socket(AF_INET6, SOCK_STREAM, 0);
    memset(&place, 0, sizeof place);
    place.ss_family = AF_INET6;
    *has_ipv6 = listener >= 0 && setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0 &&
                bind(listener, (struct sockaddr *)&place, sizeof(struct sockaddr_in6)) == 0;
    if (!*has_ipv6) {
        listener = socket(AF_INET, SOCK_STREAM, 0);
        place.ss_family = AF_INET;
        if (bind(listener, (struct sockaddr *)&place, sizeof(struct sockaddr_in)) != 0)
            raw_fail("bind");
    }
    if (listen(listener, 8) != 0 || getsockname(listener, (struct sockaddr *)&place, &length) != 0)
        raw_fail("listen");
    *port = *raw_port(&place);
    return listener;
}

static inline int raw_is_ready(int socket, short events, int milliseconds) {
    struct pollfd one = {socket, events, 0};
    return poll(&one, 1, milliseconds) == 1;
}

// A few bytes that must come soon; a stranger may send others, or none.
static inline int raw_hears(int socket, const unsigned char *expected, size_t bytes) {
    unsigned char heard[RAW_NONCE_BYTES];
    return raw_is_ready(socket, POLLIN, RAW_TRY_MS) &&
           recv(socket, heard, bytes, MSG_DONTWAIT) == (ssize_t)bytes && memcmp(heard, expected, bytes) == 0;
}

// Rank 1: the connection whose maker knows the nonce.
static inline int raw_accept(int listener, const unsigned char *nonce) {
    for (double end = now() + RAW_LISTEN_S; now() < end;) {
        if (!raw_is_ready(listener, POLLIN, RAW_TRY_MS))
            continue;
        int connection = accept(listener, NULL, NULL);
        if (connection >= 0 && raw_hears(connection, nonce, RAW_NONCE_BYTES) &&
            send(connection, nonce, 1, MSG_NOSIGNAL) == 1)
            return connection;
        close(connection);
    }
    errno = ETIMEDOUT;
    return -1;
}

// Rank 0: a connection to this place, if the right one listens there.
static inline int raw_connect(struct sockaddr *place, const unsigned char *nonce) {
    int connection = socket(place->sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (connection < 0)
        return -1;
    int begun = connect(connection, place, raw_length(place->sa_family)) == 0 || errno == EINPROGRESS;
    if (begun && raw_is_ready(connection, POLLOUT, RAW_TRY_MS) &&
        send(connection, nonce, RAW_NONCE_BYTES, MSG_NOSIGNAL) == RAW_NONCE_BYTES && raw_hears(connection, nonce, 1))
        return connection;
    close(connection);
    return -1;
}

static inline void raw_read_nonce(unsigned char *nonce) {
    int source = open("/dev/urandom", O_RDONLY);
    if (source < 0 || read(source, nonce, RAW_NONCE_BYTES) != RAW_NONCE_BYTES)
        raw_fail("/dev/urandom");
    close(source);
}

static inline int raw_answer(void) {
    struct raw_card card;
    in_port_t port;
    int has_ipv6, listener = raw_listen(&port, &has_ipv6);
    memset(&card, 0, sizeof card);
    raw_read_nonce(card.nonce);
    raw_find_places(&card, port, has_ipv6);
    MPI_Send(&card, sizeof card, MPI_BYTE, 0, 9, MPI_COMM_WORLD);
    int connection = raw_accept(listener, card.nonce);
    close(listener);
    return connection;
}

static inline int raw_dial(void) {
    struct raw_card card;
    MPI_Recv(&card, sizeof card, MPI_BYTE, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int connection = -1;
    for (int i = 0; i < card.count && connection < 0; i++)
        connection = raw_connect((struct sockaddr *)&card.places[i], card.nonce);
    return connection;
}

// Connects ranks 0 and 1. Neither delays small messages.
static inline struct team raw_tcp_team(void) {
    struct team team = {mpi_team().rank, raw_agree_on, NULL};
    int on = 1;
    raw_rank = team.rank;
    raw_socket = raw_rank == 0 ? raw_dial() : raw_answer();
    if (raw_socket < 0)
        raw_fail("no address of rank 1 leads to it");
    setsockopt(raw_socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(raw_socket, F_SETFL, fcntl(raw_socket, F_GETFL) & ~O_NONBLOCK);
    return team;
}

#endif
