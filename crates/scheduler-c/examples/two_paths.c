/* Sends a stream of bytes over two simulated paths and prints each scheduler's goodput.
 *
 *     cc -std=c11 two_paths.c $(pkg-config --cflags --libs pathweave-scheduler) && ./a.out weave roundrobin
 *
 * Path 0 carries 56 Mbit/s, path 1 carries 0.48 Mbit/s behind a deep queue. The receiver buffers 1 MB. Nothing is lost,
 * and congestion windows are fixed. The acknowledgement of a packet is back 44 ms after the packet has left the path's
 * bottleneck. */
#include <pathweave_scheduler.h>
#include <stdio.h>
#include <stdlib.h>

#define MSS 1400u
#define BUFFER 1000000u
#define ROUND_TRIP_NS 44000000u
#define END_NS 5000000000u
#define MOST_OUT 1024u

/* A packet on its way, and the time at which its acknowledgement is back. */
struct packet {
    struct pathweave_range range;
    uint64_t sent_ns, acknowledged_ns;
};

/* A path: the rate of its bottleneck and when that is free again, start and bytes of the round over which the delivery
 * rate is measured, and the unacknowledged packets in the order in which they were sent. */
struct path {
    uint64_t bytes_per_s, free_ns, round_ns, round_bytes;
    struct packet out[MOST_OUT];
    size_t first, count;
};

static struct path paths[2];
static struct pathweave_path known[2];
static struct pathweave_view view;
static struct pathweave_scheduler *scheduler;

/* Ends the program if a call has failed. */
static void check(enum pathweave_status status) {
    char text[200];
    if (status == PATHWEAVE_STATUS_OK) return;
    pathweave_scheduler_error(scheduler, text, sizeof text);
    fprintf(stderr, "%s: %s\n", pathweave_status_text(status), text);
    exit(1);
}

/* Sends a range as packets, as many as `out` has room for; returns the end of the sent bytes. */
static uint64_t send_range(uint32_t id, struct pathweave_range range) {
    struct path *p = &paths[id];
    while (range.start < range.end && p->count < MOST_OUT) {
        struct packet *packet = &p->out[(p->first + p->count++) % MOST_OUT];
        uint64_t end = range.end - range.start < MSS ? range.end : range.start + MSS;
        uint64_t begin_ns = p->free_ns > view.now_ns ? p->free_ns : view.now_ns;
        p->free_ns = begin_ns + (end - range.start) * 1000000000u / p->bytes_per_s;
        packet->range.start = range.start;
        packet->range.end = end;
        packet->sent_ns = view.now_ns;
        packet->acknowledged_ns = p->free_ns + ROUND_TRIP_NS;
        known[id].in_flight_bytes += end - range.start;
        range.start = end;
    }
    return range.start;
}

/* Takes the acknowledgement of a path's first packet: updates the path's measurements, and reports to the scheduler. */
static void acknowledge(uint32_t id) {
    struct path *p = &paths[id];
    struct pathweave_path *k = &known[id];
    struct packet packet = p->out[p->first];
    uint64_t rtt = packet.acknowledged_ns - packet.sent_ns;
    p->first = (p->first + 1) % MOST_OUT;
    p->count--;
    k->in_flight_bytes -= packet.range.end - packet.range.start;
    k->smoothed_rtt_ns = k->smoothed_rtt_ns ? (7 * k->smoothed_rtt_ns + rtt) / 8 : rtt;
    k->min_rtt_ns = k->min_rtt_ns && k->min_rtt_ns < rtt ? k->min_rtt_ns : rtt;
    k->latest_rtt_ns = rtt;
    p->round_bytes += packet.range.end - packet.range.start;
    if (view.now_ns - p->round_ns >= k->smoothed_rtt_ns) {
        k->delivery_rate_bytes_per_s = p->round_bytes * 1000000000u / (view.now_ns - p->round_ns);
        p->round_ns = view.now_ns;
        p->round_bytes = 0;
    }
    check(pathweave_scheduler_acknowledged(scheduler, &view, id, &packet.range, 1, PATHWEAVE_UNKNOWN));
    check(pathweave_scheduler_rtt_sample(scheduler, &view, id, rtt));
    view.send_window_end = pathweave_scheduler_acknowledged_end(scheduler) + BUFFER;
}

/* Sends for five seconds; returns the goodput in Mbit/s. */
static double run(const char *name, char *reason, size_t length) {
    struct pathweave_decision decision = {.size = sizeof decision};
    char error[2000];
    if (pathweave_scheduler_new(name, NULL, 0, &scheduler, error, sizeof error) != PATHWEAVE_STATUS_OK) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    view = (struct pathweave_view){.size = sizeof view, .paths = known, .send_window_end = BUFFER};
    for (uint32_t id = 0; id < 2; id++) {
        paths[id] = (struct path){.bytes_per_s = id == 0 ? 7000000 : 60000};
        known[id] = (struct pathweave_path){.size = sizeof known[id], .id = id, .mss_bytes = MSS};
        known[id].congestion_window_bytes = id == 0 ? 400000 : 300000;
        view.path_count = id + 1;
        check(pathweave_scheduler_path_up(scheduler, &view, id));
    }
    check(pathweave_scheduler_written(scheduler, &view, 1000000000));
    while (view.now_ns < END_NS) {
        for (;;) {
            check(pathweave_scheduler_decide(scheduler, &view, &decision));
            if (decision.action != PATHWEAVE_ACTION_SEND) break;
            uint64_t end = send_range(decision.path, decision.range);
            if (end == decision.range.start) break;
            check(pathweave_scheduler_assigned(scheduler, &view, decision.path, decision.range.start, end));
        }
        /* The next thing that happens: an acknowledgement on one of the paths, or the end of a wait. */
        uint64_t next_ns = decision.wait_until_ns ? decision.wait_until_ns : END_NS;
        uint32_t id = 2;
        for (uint32_t i = 0; i < 2; i++) {
            if (paths[i].count == 0 || paths[i].out[paths[i].first].acknowledged_ns > next_ns) continue;
            next_ns = paths[i].out[paths[i].first].acknowledged_ns;
            id = i;
        }
        view.now_ns = next_ns;
        if (id < 2) acknowledge(id);
    }
    pathweave_scheduler_reason(scheduler, reason, length);
    double goodput = (double)pathweave_scheduler_acknowledged_end(scheduler) * 8e9 / (double)END_NS / 1e6;
    pathweave_scheduler_free(scheduler);
    scheduler = NULL;
    return goodput;
}

int main(int count, char **arguments) {
    for (int i = 1; i < count; i++) {
        char reason[200];
        double goodput = run(arguments[i], reason, sizeof reason);
        printf("%-12s %5.1f Mbit/s of 56.5; its last decision: %s\n", arguments[i], goodput, reason);
    }
    return count < 2;
}
