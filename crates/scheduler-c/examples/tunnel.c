/* A tunnel of packets: each packet goes out whole on one of two simulated paths, and lost packets are not repeated.
 *
 *     cc -std=c11 tunnel.c $(pkg-config --cflags --libs pathweave-scheduler) && ./a.out weave minrtt
 *
 * Path 0 is like LTE (20 Mbit/s, round trip 45 ms), path 1 like Starlink (120 Mbit/s, 35 ms), which loses 1 %. The
 * tunnel has no congestion control, so its windows are twice a path's rate times its round trip. The stream is the
 * packets one after the other. A packet that is lost is reported as acknowledged: nobody needs it any more. */
#include <pathweave_scheduler.h>
#include <stdio.h>
#include <stdlib.h>

#define MSS 1400u
#define REORDER_BYTES 2000000u /* what the receiver keeps until a missing packet is there or given up */
#define END_NS 2000000000u
#define MOST_OUT 4096u

/* A packet on its way, and the time at which the tunnel knows its fate. */
struct packet {
    struct pathweave_range range;
    uint64_t sent_ns, known_ns;
    int lost;
};

/* A path: its rate, round trip and losses (one packet in so many), when its bottleneck is free again, start and bytes of
 * the round over which the delivery rate is measured, and the packets on their way. */
struct path {
    uint64_t bytes_per_s, rtt_ns, loses_each, sent, free_ns, round_ns, round_bytes, delivered;
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

/* The packet that contains a byte of the stream. Here three packets of 1400 bytes and one of 200 follow each other; a
 * tunnel looks the packet up in its queue. */
static struct pathweave_range packet_at(uint64_t byte) {
    uint64_t start = byte - byte % 4400 + byte % 4400 / 1400 * 1400;
    return (struct pathweave_range){start, start % 4400 == 4200 ? start + 200 : start + 1400};
}

/* Sends a packet. A decision's range may begin or end within one, so whole packets are sent and reported. */
static void send_packet(uint32_t id, struct pathweave_range range) {
    struct path *p = &paths[id];
    struct packet *packet = &p->out[(p->first + p->count++) % MOST_OUT];
    uint64_t bytes = range.end - range.start;
    uint64_t begin_ns = p->free_ns > view.now_ns ? p->free_ns : view.now_ns;
    p->free_ns = begin_ns + bytes * 1000000000u / p->bytes_per_s;
    *packet = (struct packet){.range = range, .sent_ns = view.now_ns, .known_ns = p->free_ns + p->rtt_ns};
    packet->lost = p->loses_each && ++p->sent % p->loses_each == 0;
    known[id].in_flight_bytes += bytes;
    check(pathweave_scheduler_assigned(scheduler, &view, id, range.start, range.end));
}

/* The fate of a path's first packet is known: updates what is known of the path, and reports to the scheduler. */
static void settle(uint32_t id) {
    struct path *p = &paths[id];
    struct pathweave_path *k = &known[id];
    struct packet packet = p->out[p->first];
    uint64_t bytes = packet.range.end - packet.range.start, rtt = packet.known_ns - packet.sent_ns;
    p->first = (p->first + 1) % MOST_OUT;
    p->count--;
    k->in_flight_bytes -= bytes;
    k->loss_ratio += ((double)packet.lost - k->loss_ratio) / 128;
    if (packet.lost) {
        check(pathweave_scheduler_lost(scheduler, &view, id, NULL, 0, PATHWEAVE_LOSS_ACKNOWLEDGEMENTS));
        check(pathweave_scheduler_acknowledged(scheduler, &view, id, &packet.range, 1, PATHWEAVE_UNKNOWN));
    } else {
        p->delivered += bytes;
        k->smoothed_rtt_ns = k->smoothed_rtt_ns ? (7 * k->smoothed_rtt_ns + rtt) / 8 : rtt;
        k->min_rtt_ns = k->min_rtt_ns && k->min_rtt_ns < rtt ? k->min_rtt_ns : rtt;
        k->latest_rtt_ns = rtt;
        p->round_bytes += bytes;
        if (view.now_ns - p->round_ns >= k->smoothed_rtt_ns) {
            k->delivery_rate_bytes_per_s = p->round_bytes * 1000000000u / (view.now_ns - p->round_ns);
            p->round_ns = view.now_ns;
            p->round_bytes = 0;
        }
        check(pathweave_scheduler_acknowledged(scheduler, &view, id, &packet.range, 1, PATHWEAVE_UNKNOWN));
        check(pathweave_scheduler_rtt_sample(scheduler, &view, id, rtt));
    }
    view.send_window_end = pathweave_scheduler_acknowledged_end(scheduler) + REORDER_BYTES;
}

/* Sends for two seconds and prints what the paths delivered. */
static void run(const char *name) {
    struct pathweave_decision decision = {.size = sizeof decision};
    char error[2000];
    if (pathweave_scheduler_new(name, NULL, 0, &scheduler, error, sizeof error) != PATHWEAVE_STATUS_OK) {
        fprintf(stderr, "%s\n", error);
        exit(1);
    }
    view = (struct pathweave_view){.size = sizeof view, .paths = known, .send_window_end = REORDER_BYTES};
    for (uint32_t id = 0; id < 2; id++) {
        paths[id] = (struct path){.bytes_per_s = id == 0 ? 2500000 : 15000000, .loses_each = id == 0 ? 0 : 100};
        paths[id].rtt_ns = id == 0 ? 45000000 : 35000000;
        known[id] = (struct pathweave_path){.size = sizeof known[id], .id = id, .mss_bytes = MSS};
        known[id].phase = PATHWEAVE_PHASE_AVOIDANCE;
        known[id].congestion_window_bytes = 2 * paths[id].bytes_per_s * (paths[id].rtt_ns / 1000000) / 1000;
        view.path_count = id + 1; /* a path is in the view from its own report on */
        check(pathweave_scheduler_path_up(scheduler, &view, id));
    }
    check(pathweave_scheduler_written(scheduler, &view, 1000000000));
    while (view.now_ns < END_NS) {
        for (;;) {
            check(pathweave_scheduler_decide(scheduler, &view, &decision));
            if (decision.action != PATHWEAVE_ACTION_SEND || paths[decision.path].count == MOST_OUT) break;
            send_packet(decision.path, packet_at(decision.range.start));
        }
        /* The next thing that happens: the fate of a packet on one of the paths, or the end of a wait. */
        uint64_t next_ns = decision.wait_until_ns ? decision.wait_until_ns : END_NS;
        uint32_t id = 2;
        for (uint32_t i = 0; i < 2; i++) {
            if (paths[i].count == 0 || paths[i].out[paths[i].first].known_ns > next_ns) continue;
            next_ns = paths[i].out[paths[i].first].known_ns;
            id = i;
        }
        view.now_ns = next_ns;
        if (id < 2) settle(id);
    }
    double lte = (double)paths[0].delivered * 8e3 / (double)END_NS;
    double starlink = (double)paths[1].delivered * 8e3 / (double)END_NS;
    printf("%-12s %5.1f Mbit/s of 140: %.1f over LTE, %.1f over Starlink\n", name, lte + starlink, lte, starlink);
    pathweave_scheduler_free(scheduler);
    scheduler = NULL;
}

int main(int count, char **arguments) {
    for (int i = 1; i < count; i++) run(arguments[i]);
    return count < 2;
}
