/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of the kernel that the schedulers see, as plain C: the compiler's checks of arithmetic and memory then work
 * on them outside of a kernel. Names and types are those of the kernel, everything else is ours.
 */
#ifndef MOCK_PROTOCOL_H
#define MOCK_PROTOCOL_H

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;

#define U8_MAX UINT8_MAX
#define U16_MAX UINT16_MAX
#define U32_MAX UINT32_MAX
#define U64_MAX UINT64_MAX
#define USEC_PER_SEC 1000000L
#define BIT(n) (1UL << (n))
#define READ_ONCE(x) (x)
#define WRITE_ONCE(x, v) ((x) = (v))
#define THIS_MODULE NULL
#define __init
#define late_initcall(f) __attribute__((constructor)) static void mock_##f(void) { f(); }
#define BUILD_BUG_ON(x) _Static_assert(!(x), #x)

#define min(a, b) ({ __typeof__((a) + (b)) _a = (a), _b = (b); _a < _b ? _a : _b; })
#define max(a, b) ({ __typeof__((a) + (b)) _a = (a), _b = (b); _a > _b ? _a : _b; })
#define max3(a, b, c) max(max(a, b), c)
#define min_t(t, a, b) ({ t _a = (a), _b = (b); _a < _b ? _a : _b; })
#define max_t(t, a, b) ({ t _a = (a), _b = (b); _a > _b ? _a : _b; })
#define clamp_t(t, v, lo, hi) min_t(t, max_t(t, v, lo), hi)
#define min_not_zero(a, b) ({ __typeof__(a) _a = (a), _b = (b); !_a ? _b : !_b ? _a : _a < _b ? _a : _b; })
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define ALIGN(x, a) (((x) + (a) - 1) / (a) * (a))

static inline u64 div_u64(u64 a, u32 b) { return a / b; }
static inline u64 div64_u64(u64 a, u64 b) { return a / b; }
static inline u64 div_u64_rem(u64 a, u32 b, u32 *rest)
{
	*rest = a % b;
	return a / b;
}

static inline bool before(u32 a, u32 b) { return (s32)(a - b) < 0; }
static inline bool before64(u64 a, u64 b) { return (int64_t)(a - b) < 0; }
#define after(a, b) before(b, a)
#define after64(a, b) before64(b, a)

#define TCP_INFINITE_SSTHRESH 0x7fffffff
#define TCP_INIT_CWND 10
enum { TCP_CA_Open, TCP_CA_Disorder, TCP_CA_CWR, TCP_CA_Recovery, TCP_CA_Loss };

#define MPTCP_SUBFLOWS_MAX 8
#define TCPOLEN_MPTCP_DSS_BASE 4
#define TCPOLEN_MPTCP_DSS_ACK32 4
#define TCPOLEN_MPTCP_DSS_ACK64 8
#define TCPOLEN_MPTCP_DSS_MAP64 14
#define TCPOLEN_MPTCP_DSS_CHECKSUM 2
#define MPTCP_SCHED_EXACT BIT(0)
#define MPTCP_SCHED_ACKS BIT(1)
#define MPTCP_SCHED_EARLY BIT(2)

struct mptcp_subflow_context {
	struct sock *ssk;
	struct mptcp_subflow_context *next;
	u32 subflow_id;
	bool backup, request_bkup, scheduled, active;
};

/* A subflow's socket: the fields of tcp_sock, of inet_connection_sock, and ours. */
struct tcp_sock {
	u32 mss_cache, snd_wnd, write_seq, snd_nxt, snd_una, snd_cwnd, snd_ssthresh, packets_out, in_flight;
	u32 srtt_us, mdev_us, min_rtt, delivered, rate_delivered, rate_interval_us;
	u64 delivered_mstamp, first_tx_mstamp;
};

struct sock {
	struct tcp_sock tp;
	u8 icsk_ca_state;
	bool memory_free;
	int wspace;
	struct mptcp_subflow_context *ctx;
};

struct mptcp_data_frag {
	u64 data_seq;
	u16 data_len, already_sent;
};

struct mptcp_sched_data {
	bool reinject, early;
	u16 offset, len;
	u64 seq;
	struct mptcp_data_frag *dfrag;
};

struct mptcp_sock {
	struct sock sk;
	u64 write_seq, snd_nxt, snd_una, wnd_end, bytes_sent;
	int snd_burst;
	bool snd_data_fin_enable, use_64bit_ack, csum_enabled, has_head;
	struct mptcp_data_frag head;
	struct mptcp_subflow_context *conn_list;
	struct mptcp_sched_ops *sched;
	void *sched_state;
};

struct mptcp_sched_ops {
	int (*get_subflow)(struct mptcp_sock *msk, struct mptcp_sched_data *data);
	char name[16];
	void *owner;
	u32 flags, state_size;
};

#define mptcp_for_each_subflow(msk, s) for ((s) = (msk)->conn_list; (s); (s) = (s)->next)

static inline struct tcp_sock *tcp_sk(const struct sock *ssk) { return &((struct sock *)ssk)->tp; }
static inline struct sock *inet_csk(const struct sock *ssk) { return (struct sock *)ssk; }
static inline struct mptcp_subflow_context *mptcp_subflow_ctx(const struct sock *ssk) { return ssk->ctx; }
static inline struct sock *mptcp_subflow_tcp_sock(const struct mptcp_subflow_context *s) { return s->ssk; }
static inline bool mptcp_subflow_active(struct mptcp_subflow_context *s) { return s->active; }
static inline void mptcp_subflow_set_scheduled(struct mptcp_subflow_context *s, bool on) { s->scheduled = on; }
static inline u32 tcp_packets_in_flight(const struct tcp_sock *tp) { return tp->in_flight; }
static inline u32 tcp_min_rtt(const struct tcp_sock *tp) { return tp->min_rtt; }
static inline bool sk_stream_memory_free(const struct sock *ssk) { return ssk->memory_free; }
static inline int sk_stream_wspace(const struct sock *sk) { return sk->wspace; }
static inline struct mptcp_data_frag *mptcp_send_head(struct sock *sk)
{
	struct mptcp_sock *msk = (struct mptcp_sock *)sk;

	return msk->has_head ? &msk->head : NULL;
}

u64 tcp_clock_us(void);
int mptcp_register_scheduler(struct mptcp_sched_ops *ops);
struct sock *mptcp_subflow_get_retrans(struct mptcp_sock *msk);
u32 mptcp_sched_set_range(struct mptcp_sock *msk, struct mptcp_sched_data *data, u64 seq, u32 len);
void mptcp_sched_wake(struct mptcp_sock *msk);
void mptcp_sched_wake_in(struct mptcp_sock *msk, u64 us);

#endif
