// SPDX-License-Identifier: GPL-2.0-only
/* Asks each scheduler for decisions on random states of a connection, extreme ones included. What must hold:
 * nothing is divided by zero, no index is outside of its array, no loop is endless (the compiler's sanitizers and an
 * alarm see to that); a decision picks a usable subflow and gives it at least a byte, and no more than the window has
 * room for, or the one byte of a probe; a refusal picks none; what goes out again was sent and is not acked.
 *
 *   any_input ROUNDS SEED
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "protocol.h"

static struct mptcp_sched_ops *schedulers[16];
static int count;
static u64 now, state;

static u64 draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static u64 below(u64 n) { return draw() % n; }

/* A value of any size up to @most, often one of the ends. */
static u64 any(u64 most)
{
	switch (below(8)) {
	case 0: return 0;
	case 1: return most;
	case 2: return min_t(u64, most, 1);
	default: return min_t(u64, most, draw() >> below(64));
	}
}

u64 tcp_clock_us(void) { return now; }

int mptcp_register_scheduler(struct mptcp_sched_ops *ops)
{
	schedulers[count++] = ops;
	return 0;
}

struct sock *mptcp_subflow_get_retrans(struct mptcp_sock *msk)
{
	return msk->conn_list ? msk->conn_list->ssk : NULL;
}

static u64 asked_seq;
static u32 asked_len;

u32 mptcp_sched_set_range(struct mptcp_sock *msk, struct mptcp_sched_data *data, u64 seq, u32 len)
{
	asked_seq = seq;
	asked_len = len;
	if (before64(seq, msk->snd_una) || !before64(seq, msk->snd_nxt) || !below(4))
		return 0;
	data->dfrag = &msk->head;
	data->len = min_t(u64, min_t(u32, len, 32768), msk->snd_nxt - seq);
	return data->len;
}

static bool woken;

void mptcp_sched_wake(struct mptcp_sock *msk)
{
	(void)msk;
	woken = true;
}

void mptcp_sched_wake_in(struct mptcp_sock *msk, u64 us) { (void)msk; (void)us; }

static void fail(const struct mptcp_sched_ops *ops, u64 round, const char *what)
{
	fprintf(stderr, "%s, decision %llu: %s\n", ops->name, (unsigned long long)round, what);
	exit(1);
}

static void change_subflow(struct sock *ssk, bool any_value)
{
	struct tcp_sock *tp = &ssk->tp;
	u32 acked;

	ssk->ctx->active = below(8);
	ssk->ctx->backup = !below(6);
	ssk->memory_free = below(8);
	ssk->icsk_ca_state = below(5);
	if (any_value) {
		u32 *fields = (u32 *)tp;
		size_t i;

		for (i = 0; i < offsetof(struct tcp_sock, delivered_mstamp) / sizeof(u32); i++)
			fields[i] = any(U32_MAX);
		tp->delivered_mstamp = any(U64_MAX);
		tp->first_tx_mstamp = any(U64_MAX);
		return;
	}
	tp->mss_cache = 1448;
	tp->snd_wnd = 1000 + below(500000);
	tp->snd_cwnd = 1 + below(100);
	tp->snd_ssthresh = below(2) ? TCP_INFINITE_SSTHRESH : 2 + below(100);
	acked = below(20);
	tp->delivered += acked;
	tp->snd_una += min_t(u32, acked * 1424, tp->write_seq - tp->snd_una);
	tp->snd_nxt = tp->write_seq;
	tp->in_flight = tp->packets_out = below(tp->snd_cwnd + 2);
	tp->srtt_us = below(20) ? (1000 + below(300000)) << 3 : 0;
	tp->min_rtt = below(20) ? 1000 + below(50000) : ~0U;
	tp->mdev_us = below(100000);
	tp->delivered_mstamp = now - below(1000);
	tp->first_tx_mstamp = tp->delivered_mstamp - below(300000);
	tp->rate_delivered = below(100);
	tp->rate_interval_us = below(100000);
}

static void change(struct mptcp_sock *msk, bool any_value)
{
	struct mptcp_subflow_context *s;
	u64 backlog = 1 + (any_value ? any(1ULL << 40) : below(1 << 20));

	now += any_value ? any(1ULL << 40) : below(20000);
	mptcp_for_each_subflow(msk, s)
		change_subflow(s->ssk, any_value);
	msk->snd_una += below(msk->snd_nxt - msk->snd_una + 1);
	msk->snd_nxt += any_value ? any(1 << 30) : below(30000);
	msk->wnd_end = msk->snd_una + (any_value ? any(1ULL << 30) : below(400000));
	msk->has_head = true;
	/* at times what was sent is given to subflows again, after one has failed */
	msk->head.data_seq = below(10) ? msk->snd_nxt : msk->snd_una;
	msk->head.data_len = 32768;
	msk->head.already_sent = 0;
	msk->write_seq = msk->snd_nxt + backlog;
	msk->bytes_sent = any_value ? any(U64_MAX) : 33 * below(10000);
	msk->csum_enabled = !below(20);
	msk->use_64bit_ack = below(2);
	msk->sk.wspace = (int)any(INT_MAX) - (int)below(1000);
}

static void decide(struct mptcp_sock *msk, u64 round)
{
	struct mptcp_sched_data data = { .reinject = !below(4) };
	struct mptcp_sched_ops *ops = msk->sched;
	struct mptcp_subflow_context *s;
	u64 next = msk->head.data_seq, room;
	int err, picked = 0;

	if (data.reinject)
		data.early = (ops->flags & MPTCP_SCHED_EARLY) && below(2) && !msk->csum_enabled;
	mptcp_for_each_subflow(msk, s)
		s->scheduled = false;
	msk->snd_burst = 0;
	woken = false;
	err = ops->get_subflow(msk, &data);
	mptcp_for_each_subflow(msk, s) {
		picked += s->scheduled;
		if (s->scheduled && !s->active && (!data.reinject || data.early))
			fail(ops, round, "picks a subflow that is down");
	}
	if (err > 0 || (err == 0) != (picked == 1))
		fail(ops, round, "picks not one subflow, or picks one and refuses");
	/* the worker would ask for new data, be woken by the answer, and so on without an end */
	if (woken && msk->csum_enabled)
		fail(ops, round, "asks for repeats of data with checksums");
	if (err)
		return;
	room = after64(msk->wnd_end, next) ? msk->wnd_end - next : 0;
	if (!data.reinject && (msk->snd_burst <= 0 || (u64)msk->snd_burst > max_t(u64, room, 1)))
		fail(ops, round, "gives nothing, or more than the window has room for");
	if (!data.reinject && !room && msk->snd_una != msk->snd_nxt)
		fail(ops, round, "probes while data is in flight");
	if (data.early && (!data.len || before64(asked_seq, msk->snd_una) || !before64(asked_seq, msk->snd_nxt) || !asked_len))
		fail(ops, round, "sends again what was not sent, or is acked");
}

static void run(struct mptcp_sched_ops *ops, u64 rounds)
{
	struct mptcp_subflow_context subflows[MPTCP_SUBFLOWS_MAX];
	struct sock socks[MPTCP_SUBFLOWS_MAX];
	struct mptcp_sock msk;
	u64 round, seq = draw();
	bool any_value = false;
	int n = 0, i;

	memset(&msk, 0, sizeof(msk));
	memset(socks, 0, sizeof(socks));
	memset(subflows, 0, sizeof(subflows));
	msk.snd_una = msk.snd_nxt = seq;
	msk.sched = ops;
	for (round = 0; round < rounds; round++) {
		if (!(round % 1000)) {	/* other subflows, and at times values that no kernel has */
			any_value = below(2);
			n = 1 + below(MPTCP_SUBFLOWS_MAX);
			for (i = 0; i < n; i++) {
				subflows[i].subflow_id = below(10) ? (u32)(1 + i) : (u32)any(U32_MAX - 1) + 1;
				subflows[i].ssk = &socks[i];
				subflows[i].next = i + 1 < n ? &subflows[i + 1] : NULL;
				socks[i].ctx = &subflows[i];
			}
			msk.conn_list = subflows;
			if (msk.sched_state && !below(4)) {
				free(msk.sched_state);
				msk.sched_state = NULL;
			}
			if (ops->state_size && !msk.sched_state && n > 1 && below(8))
				msk.sched_state = calloc(1, ops->state_size);
		}
		change(&msk, any_value);
		decide(&msk, round);
	}
	free(msk.sched_state);
	printf("%s: %llu decisions, %u bytes of state\n", ops->name, (unsigned long long)rounds, ops->state_size);
	if (ops->state_size > 1024)
		fail(ops, rounds, "keeps more than 1 KB");
}

int main(int argc, char **argv)
{
	u64 rounds = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;
	int i;

	state = 0x9E3779B97F4A7C15ULL * (1 + (argc > 2 ? strtoull(argv[2], NULL, 10) : 1));
	alarm(600);
	for (i = 0; i < count; i++)
		run(schedulers[i], rounds);
	return count ? 0 : 1;
}
