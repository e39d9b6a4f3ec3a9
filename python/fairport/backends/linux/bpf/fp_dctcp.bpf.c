/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* DCTCP: RFC 8257, with g = 1/16.
 *
 * The sender's window falls, once per window of data, by half the smoothed share of what was marked
 * (alpha). The receiver echoes the marks exactly, also under delayed ACKs, so the congestion control
 * must be set at both ends. On a loss the window is halved (RFC 8257 3.5). A connection without ECN
 * is Reno's.
 */
#include "tcp.bpf.h"

/* alpha in 1/1024 */
#define ALPHA_SHIFT 10
#define ALPHA_MAX (1U << ALPHA_SHIFT)
/* g = 1/16 */
#define G_SHIFT 4

/* inet_connection_sock.icsk_ack.pending */
#define ACK_TIMER 2
#define ACK_NOW 16

/* tcp_sock.ecn_flags: classic ECN and accurate ECN were agreed on; the next ACK carries ECE */
#define ECN_CLASSIC 1
#define ECN_ACCURATE 16
#define ECN_ECHO 4

struct dctcp {
	__u32 alpha;
	/* the present window of data ends when this is acknowledged */
	__u32 window_end;
	/* counts at its beginning: segments delivered, and of these with a mark */
	__u32 delivered;
	__u32 delivered_ce;
	/* DCTCP.CE: whether the last segment that arrived was marked */
	__u32 ce;
	/* what was expected before that segment */
	__u32 rcv_nxt_before;
	__u32 state;
	/* largest window so far */
	__u32 largest;
};

static __always_inline int has_ecn(struct tcp_sock *tp)
{
	return tp->ecn_flags & (ECN_CLASSIC | ECN_ACCURATE);
}

static __always_inline void begin_window(struct dctcp *it, struct tcp_sock *tp)
{
	it->window_end = tp->snd_nxt;
	it->delivered = tp->delivered;
	it->delivered_ce = tp->delivered_ce;
}

static __always_inline void halve(struct tcp_sock *tp)
{
	tp->snd_ssthresh = at_least(SMALLEST_WINDOW, tp->snd_cwnd / 2);
}

SEC("struct_ops/dctcp_init")
void BPF_PROG(dctcp_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct dctcp *it = private_of(sk);

	it->alpha = ALPHA_MAX;
	it->ce = 0;
	it->rcv_nxt_before = tp->rcv_nxt;
	it->state = STATE_OPEN;
	it->largest = tp->snd_cwnd;
	begin_window(it, tp);
}

/* RFC 8257 3.3 step 9: cwnd * (1 - alpha / 2). */
static __always_inline __u32 reduced(struct tcp_sock *tp, const struct dctcp *it, __u32 cwnd)
{
	__u32 cut = has_ecn(tp) ? (cwnd * it->alpha) >> (ALPHA_SHIFT + 1) : cwnd / 2;

	return at_least(SMALLEST_WINDOW, cwnd - cut);
}

static __always_inline void make_good(struct sock *sk, struct dctcp *it)
{
	struct inet_connection_sock *connection = (struct inet_connection_sock *)sk;
	struct tcp_sock *tp = tcp_of(sk);
	__u32 cwnd;

	if (!is_threshold_lost(tp, &it->largest))
		return;
	cwnd = window_of_loss(tp, it->largest);
	/* a loss halves it */
	if (BPF_CORE_READ_BITFIELD(connection, icsk_ca_state) >= STATE_RECOVERY)
		tp->snd_ssthresh = at_least(SMALLEST_WINDOW, cwnd / 2);
	else
		tp->snd_ssthresh = reduced(tp, it, cwnd);
}

/* RFC 8257 3.3 steps 4 to 7, once per window of data: alpha = (1 - g) alpha + g M. */
SEC("struct_ops/dctcp_in_ack_event")
void BPF_PROG(dctcp_in_ack_event, struct sock *sk, __u32 flags)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct dctcp *it = private_of(sk);
	__u32 delivered, marked, alpha = it->alpha, decay;

	make_good(sk, it);
	if ((__s32)(tp->snd_una - it->window_end) < 0)
		return;
	delivered = tp->delivered - it->delivered;
	marked = tp->delivered_ce - it->delivered_ce;
	/* below 1/g the shift says 0: alpha would never reach 0 */
	decay = alpha >> G_SHIFT;
	if (decay == 0)
		decay = alpha;
	alpha -= decay;
	if (marked != 0 && delivered != 0)
		alpha += (marked << (ALPHA_SHIFT - G_SHIFT)) / delivered;
	it->alpha = alpha < ALPHA_MAX ? alpha : ALPHA_MAX;
	begin_window(it, tp);
}

/* The kernel asks once per window of data. */
SEC("struct_ops/dctcp_ssthresh")
__u32 BPF_PROG(dctcp_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct dctcp *it = private_of(sk);

	MAY_BE_LOST;
	make_good(sk, it);
	return reduced(tp, it, tp->snd_cwnd);
}

/* Growth is Reno's (RFC 8257 3.4). */
SEC("struct_ops/dctcp_cong_avoid")
void BPF_PROG(dctcp_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_of(sk);

	make_good(sk, private_of(sk));
	if (!is_window_used(tp))
		return;
	acked = slow_start(tp, acked);
	if (acked != 0)
		grow_one_per(tp, tp->snd_cwnd, acked);
}

SEC("struct_ops/dctcp_set_state")
void BPF_PROG(dctcp_set_state, struct sock *sk, __u8 new_state)
{
	struct dctcp *it = private_of(sk);

	make_good(sk, it);
	if (new_state == STATE_RECOVERY && it->state != STATE_RECOVERY)
		halve(tcp_of(sk));
	it->state = new_state;
}

/* RFC 8257 3.2: when marks begin or end, what the delayed ACK was to acknowledge is acknowledged at
 * once, as it came.
 */
static __always_inline void arrived(struct sock *sk, __u32 ce)
{
	struct inet_connection_sock *connection = (struct inet_connection_sock *)sk;
	struct tcp_sock *tp = tcp_of(sk);
	struct dctcp *it = private_of(sk);

	if (it->ce != ce) {
		__u8 pending = connection->icsk_ack.pending;

		if (pending & ACK_TIMER) {
			if (it->ce)
				tp->ecn_flags = tp->ecn_flags | ECN_ECHO;
			else
				tp->ecn_flags = tp->ecn_flags & ~ECN_ECHO;
			bpf_tcp_send_ack(tp, it->rcv_nxt_before);
			pending = connection->icsk_ack.pending;
		}
		connection->icsk_ack.pending = pending | ACK_NOW;
	}
	it->rcv_nxt_before = tp->rcv_nxt;
	it->ce = ce;
	if (ce)
		tp->ecn_flags = tp->ecn_flags | ECN_ECHO;
	else
		tp->ecn_flags = tp->ecn_flags & ~ECN_ECHO;
}

SEC("struct_ops/dctcp_cwnd_event")
void BPF_PROG(dctcp_cwnd_event, struct sock *sk, int event)
{
	if (event == EVENT_ECN_IS_CE)
		arrived(sk, 1);
	else if (event == EVENT_ECN_NO_CE)
		arrived(sk, 0);
	else if (event == EVENT_LOSS)
		halve(tcp_of(sk));
}

SEC("struct_ops/dctcp_undo_cwnd")
__u32 BPF_PROG(dctcp_undo_cwnd, struct sock *sk)
{
	MAY_BE_LOST;
	return window_before(tcp_of(sk));
}

SEC(".struct_ops")
struct tcp_congestion_ops fp_dctcp = {
	.init = (void *)dctcp_init,
	.in_ack_event = (void *)dctcp_in_ack_event,
	.ssthresh = (void *)dctcp_ssthresh,
	.cong_avoid = (void *)dctcp_cong_avoid,
	.set_state = (void *)dctcp_set_state,
	.cwnd_event = (void *)dctcp_cwnd_event,
	.undo_cwnd = (void *)dctcp_undo_cwnd,
	.flags = NON_RESTRICTED | NEEDS_ECN,
	.name = "fp_dctcp",
};

char LICENSE[] SEC("license") = "Dual MIT/GPL";
