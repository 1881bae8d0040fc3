/* One TCP or MPTCP stream, timed on both ends.

   stream receive PORT LOG                                   listens and reads
   stream send ADDRESS PORT seconds|bytes AMOUNT LOG         connects and writes: an upload
   stream serve PORT seconds|bytes AMOUNT LOG                listens and writes
   stream fetch ADDRESS PORT LOG                             connects and reads: a download

   With PROTOCOL=mptcp in the environment the sockets are MPTCP sockets. The writer writes 64 KB blocks without pause for that
   time, or that many bytes, and half-closes; the reader reads at once. LOG of the reader: a line "SECONDS BYTES" for the
   first read, then for the first read of each further millisecond, with all bytes read up to and including it, and a last
   line "SECONDS BYTES end". LOG of the writer: "SECONDS BYTES written". The end that connects first has "SECONDS start" and
   "SECONDS connected". Times are CLOCK_MONOTONIC, which all network namespaces of a machine share. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static char block[64 * 1024];

static void die(const char *what) {
    perror(what);
    exit(1);
}

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void note(FILE *log, long long at, const char *format, ...) {
    va_list arguments;
    fprintf(log, "%lld.%09lld ", at / 1000000000, at % 1000000000);
    va_start(arguments, format);
    vfprintf(log, format, arguments);
    va_end(arguments);
    fputc('\n', log);
}

static int open_socket(void) {
    const char *name = getenv("PROTOCOL");
    int protocol = name && !strcmp(name, "mptcp") ? IPPROTO_MPTCP : IPPROTO_TCP;
    int s = socket(AF_INET, SOCK_STREAM, protocol);
    if (s < 0) die("socket");
    return s;
}

static int accept_one(int port) {
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(port)};
    int listener = open_socket(), one = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&here, sizeof here) || listen(listener, 1)) die("listen");
    int s = accept(listener, NULL, NULL);
    if (s < 0) die("accept");
    return s;
}

/* The time at which the connect began goes to `start`. */
static int connect_to(const char *address, int port, long long *start, FILE *log) {
    struct sockaddr_in there = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (inet_pton(AF_INET, address, &there.sin_addr) != 1) die(address);
    int s = open_socket();
    *start = now();
    if (connect(s, (struct sockaddr *)&there, sizeof there)) die("connect");
    long long connected = now();
    note(log, *start, "start");
    note(log, connected, "connected");
    return s;
}

static void receive(int s, FILE *log) {
    long long total = 0, next = 0;
    ssize_t got;
    while ((got = read(s, block, sizeof block)) > 0) {
        long long at = now();
        total += got;
        if (at >= next) {
            note(log, at, "%lld", total);
            next = at + 1000000;
        }
    }
    if (got < 0) die("read");
    note(log, now(), "%lld end", total);
}

/* A time counts from `start`. */
static void transmit(int s, long long start, const char *unit, double amount, FILE *log) {
    int timed = !strcmp(unit, "seconds");
    long long total = 0;
    for (;;) {
        size_t want = sizeof block;
        if (timed ? now() - start >= amount * 1e9 : total >= (long long)amount) break;
        if (!timed && (long long)amount - total < (long long)want) want = (long long)amount - total;
        ssize_t put = write(s, block, want);
        if (put <= 0) die("write");
        total += put;
    }
    shutdown(s, SHUT_WR);
    while (read(s, block, sizeof block) > 0) {
    }
    note(log, now(), "%lld written", total);
}

int main(int count, char **word) {
    FILE *log = count > 1 ? fopen(word[count - 1], "w") : NULL;
    const char *verb = log ? word[1] : "";
    long long start;
    if (count == 4 && !strcmp(verb, "receive")) receive(accept_one(atoi(word[2])), log);
    else if (count == 7 && !strcmp(verb, "send")) {
        int s = connect_to(word[2], atoi(word[3]), &start, log);
        transmit(s, start, word[4], atof(word[5]), log);
    } else if (count == 6 && !strcmp(verb, "serve")) {
        int s = accept_one(atoi(word[2]));
        transmit(s, now(), word[3], atof(word[4]), log);
    } else if (count == 5 && !strcmp(verb, "fetch")) receive(connect_to(word[2], atoi(word[3]), &start, log), log);
    else {
        fprintf(stderr, "stream receive PORT LOG | send ADDRESS PORT seconds|bytes AMOUNT LOG\n"
                        "stream serve PORT seconds|bytes AMOUNT LOG | fetch ADDRESS PORT LOG\n");
        return 2;
    }
    return fclose(log) ? 1 : 0;
}
