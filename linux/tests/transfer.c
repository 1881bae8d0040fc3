// SPDX-License-Identifier: GPL-2.0-only
/* A bulk transfer over two paths in a small model of TCP, for each scheduler. All bytes must arrive, and no wait may be
 * without an end. The model has no losses: congestion windows double each round trip up to what the path and its queue
 * hold. The receiver acks each second segment, or one after 40 ms, and its window does not grow.
 *
 *   transfer WINDOW_KB RATE1_MBPS DELAY1_MS QUEUE1 RATE2_MBPS DELAY2_MS QUEUE2
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "protocol.h"

#define MSS 1424
#define TOTAL (4ULL << 20)
#define FIFO 4096
#define LONGEST (120 * 1000000ULL)	/* us, a run */
#define NEVER U64_MAX

struct segment {
	u64 dsn, sent, arrives, delivered_at;
	u32 len, delivered;
};

struct ack {
	u64 at, data_ack, edge;
	u32 segments;
};

/* All counters only grow; a place in a list is a counter modulo FIFO. */
struct path {
	struct sock sk;
	struct mptcp_subflow_context ctx;
	double rate;		/* bytes a us */
	u64 delay, link_free, ack_due;
	u32 limit;		/* segments that the path and its queue hold */
	struct segment segment[FIFO];
	u32 given, sent, arrived, told, acked;
	struct ack ack[FIFO];
	u32 acks_sent, acks_seen;
	u64 bytes;
};

static struct mptcp_sched_ops *schedulers[16];
static int count;
static struct path path[2];
static struct mptcp_sock msk;
static u64 now, wake_at, first, window, edge;
static bool wakes;
static u8 has[TOTAL / MSS + 2];		/* segments at the receiver; the stream is cut into whole ones */
static u64 data_ack, early;		/* early: bytes behind the first hole; all places count from `first` */

u64 tcp_clock_us(void) { return now; }

int mptcp_register_scheduler(struct mptcp_sched_ops *ops)
{
	schedulers[count++] = ops;
	return 0;
}

struct sock *mptcp_subflow_get_retrans(struct mptcp_sock *m) { return m->conn_list->ssk; }

void mptcp_sched_wake(struct mptcp_sock *m)
{
	(void)m;
	wakes = true;
}

void mptcp_sched_wake_in(struct mptcp_sock *m, u64 us)
{
	(void)m;
	wake_at = min(wake_at, now + us + 1000);
}

static u64 asked;

u32 mptcp_sched_set_range(struct mptcp_sock *m, struct mptcp_sched_data *data, u64 seq, u32 len)
{
	if (before64(seq, m->snd_una) || !before64(seq, m->snd_nxt))
		return 0;
	asked = seq;
	data->dfrag = &m->head;
	data->len = min_t(u64, min_t(u32, len, 32768), m->snd_nxt - seq);
	return data->len;
}

static void transmit(struct path *p)
{
	while (p->sent != p->given && p->sk.tp.in_flight < p->sk.tp.snd_cwnd) {
		struct segment *s = &p->segment[p->sent++ % FIFO];

		p->link_free = max(p->link_free, now) + (u64)((s->len + 90) / p->rate);
		s->sent = now;
		s->arrives = p->link_free + p->delay;
		s->delivered = p->sk.tp.delivered;
		s->delivered_at = p->sk.tp.delivered_mstamp ? p->sk.tp.delivered_mstamp : now;
		p->sk.tp.in_flight++;
		p->sk.tp.packets_out++;
		p->sk.tp.snd_nxt += s->len;
	}
}

static void give(struct path *p, u64 seq, u32 bytes)
{
	while (bytes) {
		u32 len = min(bytes, (u32)(MSS - (seq - first) % MSS));

		p->segment[p->given++ % FIFO] = (struct segment){ .dsn = seq, .len = len };
		p->sk.tp.write_seq += len;
		p->bytes += len;
		seq += len;
		bytes -= len;
	}
	transmit(p);
}

static struct path *scheduled(void)
{
	struct path *found = NULL;
	int i;

	for (i = 0; i < 2; i++) {
		if (path[i].ctx.scheduled)
			found = &path[i];
		path[i].ctx.scheduled = false;
	}
	return found;
}

static void push(void)
{
	while (msk.snd_nxt != msk.write_seq) {
		struct mptcp_sched_data data = { 0 };
		struct path *p;

		msk.head = (struct mptcp_data_frag){ .data_seq = msk.snd_nxt, .data_len = 32768 };
		msk.has_head = true;
		if (msk.sched->get_subflow(&msk, &data))
			break;
		p = scheduled();
		if (before64(msk.wnd_end, msk.snd_nxt + msk.snd_burst))
			break;		/* a probe of a closed window */
		give(p, msk.snd_nxt, msk.snd_burst);
		msk.snd_nxt += msk.snd_burst;
		msk.bytes_sent += msk.snd_burst;
	}
	msk.has_head = msk.snd_nxt != msk.write_seq;
	msk.head.data_seq = msk.snd_nxt;
}

static void work(void)
{
	struct mptcp_sched_data data;

	if (!(msk.sched->flags & MPTCP_SCHED_EARLY))
		return;
	if (!msk.has_head && msk.snd_una != msk.snd_nxt)
		wakes = true;
	while (wakes) {
		push();
		wakes = false;
		for (;;) {
			data = (struct mptcp_sched_data){ .reinject = true, .early = true };
			if (msk.sched->get_subflow(&msk, &data))
				break;
			give(scheduled(), asked, data.len);
		}
	}
}

static void arrive(struct path *p)
{
	struct segment *s = &p->segment[p->arrived++ % FIFO];
	u64 i = (s->dsn - first) / MSS;

	/* parts of a segment count when their last byte is there */
	if ((s->dsn + s->len - first) % MSS == 0 && !has[i]) {
		early += MSS;
		has[i] = 1;
	}
	while (has[data_ack / MSS]) {
		data_ack += MSS;
		early -= MSS;
	}
	edge = max(edge, data_ack + window - min(window, early));
	if (p->arrived - p->told >= 2)
		p->ack_due = now;
	else
		p->ack_due = now + 40000;
}

static void tell(struct path *p)
{
	p->ack[p->acks_sent++ % FIFO] = (struct ack){ now + p->delay, first + data_ack, first + edge, p->arrived - p->told };
	p->told = p->arrived;
	p->ack_due = NEVER;
}

static void hear(struct path *p)
{
	struct ack *a = &p->ack[p->acks_seen++ % FIFO];
	struct tcp_sock *tp = &p->sk.tp;
	struct segment *s = NULL;
	u32 i, rtt;

	for (i = 0; i < a->segments; i++) {
		s = &p->segment[p->acked++ % FIFO];
		tp->snd_una += s->len;
		tp->in_flight--;
		tp->packets_out--;
		tp->delivered++;
		if (tp->snd_cwnd < p->limit && tp->in_flight + 4 >= tp->snd_cwnd / 2)
			tp->snd_cwnd++;
	}
	rtt = now - s->sent;
	tp->min_rtt = min(tp->min_rtt, rtt);
	tp->srtt_us = tp->srtt_us ? tp->srtt_us + rtt - (tp->srtt_us >> 3) : rtt << 3;
	tp->mdev_us = rtt / 4;
	tp->first_tx_mstamp = s->sent;
	tp->rate_delivered = tp->delivered - s->delivered;
	tp->rate_interval_us = now - s->delivered_at;
	tp->delivered_mstamp = now;
	tp->snd_wnd = a->edge - a->data_ack;
	msk.snd_una = after64(a->data_ack, msk.snd_una) ? a->data_ack : msk.snd_una;
	msk.wnd_end = after64(a->edge, msk.wnd_end) ? a->edge : msk.wnd_end;
	transmit(p);
	if ((msk.sched->flags & MPTCP_SCHED_ACKS) || after64(msk.wnd_end, msk.snd_nxt))
		push();
	work();
}

/* The next event, or false if there is none. */
static bool step(void)
{
	u64 least = wake_at;
	int i, what = 0, which = 0;

	for (i = 0; i < 2; i++) {
		struct path *p = &path[i];
		u64 at[3] = { NEVER, p->ack_due, NEVER };
		int k;

		if (p->arrived != p->sent)
			at[0] = p->segment[p->arrived % FIFO].arrives;
		if (p->acks_seen != p->acks_sent)
			at[2] = p->ack[p->acks_seen % FIFO].at;
		for (k = 0; k < 3; k++) {
			if (at[k] < least) {
				least = at[k];
				what = k + 1;
				which = i;
			}
		}
	}
	if (least == NEVER)
		return false;
	now = max(now, least);
	switch (what) {
	case 0:
		wake_at = NEVER;
		push();
		wakes = true;
		work();
		break;
	case 1: arrive(&path[which]); break;
	case 2: tell(&path[which]); break;
	case 3: hear(&path[which]); break;
	}
	return true;
}

static int run(struct mptcp_sched_ops *ops, char **argv)
{
	double best = 0;
	int i;

	memset(path, 0, sizeof(path));
	memset(&msk, 0, sizeof(msk));
	memset(has, 0, sizeof(has));
	now = 1000000;
	first = 0xfffffffffff00000ULL;	/* the sequence number wraps */
	wake_at = NEVER;
	wakes = false;
	early = 0;
	window = strtod(argv[1], NULL) * 1000;
	data_ack = 0;
	edge = window;
	msk.snd_una = msk.snd_nxt = first;
	msk.wnd_end = first + window;
	msk.write_seq = first + TOTAL / MSS * MSS;
	msk.sk.wspace = 1 << 22;
	msk.sched = ops;
	msk.sched_state = calloc(1, ops->state_size + 1);
	for (i = 0; i < 2; i++) {
		struct path *p = &path[i];
		double delay = strtod(argv[3 + 3 * i], NULL) * 1000;

		p->rate = strtod(argv[2 + 3 * i], NULL) / 8;
		p->delay = delay;
		p->limit = 2 * delay * p->rate / MSS + strtod(argv[4 + 3 * i], NULL);
		p->ack_due = NEVER;
		p->sk.memory_free = true;
		p->sk.ctx = &p->ctx;
		p->sk.tp = (struct tcp_sock){ .mss_cache = 1448, .snd_wnd = window, .snd_cwnd = 10, .min_rtt = 2 * delay,
					      .snd_ssthresh = TCP_INFINITE_SSTHRESH, .srtt_us = (u32)(2 * delay) << 3 };
		p->ctx = (struct mptcp_subflow_context){ .ssk = &p->sk, .subflow_id = i + 1, .active = true,
							 .next = i ? NULL : &path[1].ctx };
		best = max(best, p->rate);
	}
	msk.conn_list = &path[0].ctx;
	push();
	work();
	while (msk.snd_una != msk.write_seq && now < LONGEST)
		if (!step())
			break;
	free(msk.sched_state);
	printf("%-16s %6.2f Mbit/s, %llu and %llu KB on the paths%s\n", ops->name,
	       (msk.snd_una - first) * 8.0 / (now - 1000000), (unsigned long long)path[0].bytes / 1000,
	       (unsigned long long)path[1].bytes / 1000, msk.snd_una == msk.write_seq ? "" : ": STALLS");
	return msk.snd_una != msk.write_seq;
}

int main(int argc, char **argv)
{
	int i, failed = 0;

	if (argc != 8)
		return 2;
	alarm(600);
	for (i = 0; i < count; i++)
		failed |= run(schedulers[i], argv);
	return failed;
}
