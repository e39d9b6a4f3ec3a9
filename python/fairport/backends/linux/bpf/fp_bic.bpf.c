/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* BIC: L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control (BIC) for Fast
 * Long-Distance Networks", INFOCOM 2004, as crates/tcp/src/congestion/bic.rs has it.
 *
 * Below 15 segments it is Reno. Above, the window grows per round trip by a quarter of its distance
 * to the window of the last loss, by at most 16 segments; slowly past that window, and then faster
 * again. Growth counts acknowledged segments.
 */
#include "tcp.bpf.h"

/* beta = 819/1024 = 0.8 */
#define BETA 819
#define BETA_SCALE 1024
/* a quarter of the distance per round trip */
#define SEARCH_PART 4
/* segments per round trip at most */
#define MAX_INCREMENT 16
/* Reno up to here */
#define LOW_WINDOW 14
/* round trips from SEARCH_PART segments below the last maximum up to it */
#define SMOOTH_PART 20
/* 5 % per round trip at least, before the first loss */
#define EVERY_BEFORE_LOSS 20
/* an increase rate holds for 1/32 s while the window stays the same */
#define RATE_HOLDS_US 31250

struct bic {
	/* segments acknowledged per segment of growth */
	__u32 every;
	/* window of the last loss; 0: none since the start or the last timeout */
	__u32 last_max;
	/* window for which `every` was computed, and when */
	__u32 at_cwnd;
	__u64 at_us;
	/* largest window so far */
	__u32 largest;
};

static __always_inline void forget(struct bic *bic)
{
	bic->every = 0;
	bic->last_max = 0;
	bic->at_cwnd = 0;
	bic->at_us = 0;
}

static __always_inline __u32 segments_per_increase(const struct bic *bic, __u32 cwnd)
{
	__u32 max = bic->last_max, every;

	if (cwnd <= LOW_WINDOW)
		return cwnd;
	if (cwnd < max) {
		__u32 step = (max - cwnd) / SEARCH_PART;

		if (step > MAX_INCREMENT)
			every = cwnd / MAX_INCREMENT;
		else if (step <= 1)
			every = cwnd * SMOOTH_PART / SEARCH_PART;
		else
			every = cwnd / step;
	} else if (cwnd < max + SEARCH_PART) {
		every = cwnd * SMOOTH_PART / SEARCH_PART;
	} else if (cwnd < max + MAX_INCREMENT * (SEARCH_PART - 1)) {
		every = cwnd * (SEARCH_PART - 1) / (cwnd - max);
	} else {
		every = cwnd / MAX_INCREMENT;
	}
	if (max == 0 && every > EVERY_BEFORE_LOSS)
		every = EVERY_BEFORE_LOSS;
	return every;
}

SEC("struct_ops/bic_init")
void BPF_PROG(bic_init, struct sock *sk)
{
	struct bic *bic = private_of(sk);

	forget(bic);
	bic->largest = tcp_of(sk)->snd_cwnd;
}

/* Remembers the window as the maximum, or a little less where the last one was not reached again
 * (fast convergence). Returns the new threshold.
 */
static __always_inline __u32 reduced(struct bic *bic, __u32 cwnd)
{
	if (cwnd < bic->last_max)
		bic->last_max = cwnd * (BETA_SCALE + BETA) / (2 * BETA_SCALE);
	else
		bic->last_max = cwnd;
	bic->at_cwnd = 0;
	if (cwnd <= LOW_WINDOW)
		return at_least(SMALLEST_WINDOW, cwnd / 2);
	return at_least(SMALLEST_WINDOW, cwnd * BETA / BETA_SCALE);
}

static __always_inline void make_good(struct sock *sk)
{
	struct inet_connection_sock *connection = (struct inet_connection_sock *)sk;
	struct tcp_sock *tp = tcp_of(sk);
	struct bic *bic = private_of(sk);

	if (!is_threshold_lost(tp, &bic->largest))
		return;
	tp->snd_ssthresh = reduced(bic, window_of_loss(tp, bic->largest));
	if (BPF_CORE_READ_BITFIELD(connection, icsk_ca_state) == STATE_LOSS)
		forget(bic);
}

SEC("struct_ops/bic_cong_avoid")
void BPF_PROG(bic_cong_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct bic *bic = private_of(sk);
	__u64 now_us = tp->tcp_mstamp;

	make_good(sk);
	if (!is_window_used(tp))
		return;
	acked = slow_start(tp, acked);
	if (acked == 0)
		return;
	if (bic->at_cwnd != tp->snd_cwnd || now_us - bic->at_us > RATE_HOLDS_US) {
		bic->at_cwnd = tp->snd_cwnd;
		bic->at_us = now_us;
		bic->every = segments_per_increase(bic, tp->snd_cwnd);
	}
	grow_one_per(tp, bic->every, acked);
}

SEC("struct_ops/bic_in_ack_event")
void BPF_PROG(bic_in_ack_event, struct sock *sk, __u32 flags)
{
	make_good(sk);
}

SEC("struct_ops/bic_ssthresh")
__u32 BPF_PROG(bic_ssthresh, struct sock *sk)
{
	MAY_BE_LOST;
	make_good(sk);
	return reduced(private_of(sk), tcp_of(sk)->snd_cwnd);
}

SEC("struct_ops/bic_set_state")
void BPF_PROG(bic_set_state, struct sock *sk, __u8 new_state)
{
	make_good(sk);
	if (new_state == STATE_LOSS)
		forget(private_of(sk));
}

SEC("struct_ops/bic_undo_cwnd")
__u32 BPF_PROG(bic_undo_cwnd, struct sock *sk)
{
	MAY_BE_LOST;
	return window_before(tcp_of(sk));
}

SEC(".struct_ops")
struct tcp_congestion_ops fp_bic = {
	.init = (void *)bic_init,
	.in_ack_event = (void *)bic_in_ack_event,
	.cong_avoid = (void *)bic_cong_avoid,
	.ssthresh = (void *)bic_ssthresh,
	.set_state = (void *)bic_set_state,
	.undo_cwnd = (void *)bic_undo_cwnd,
	.flags = NON_RESTRICTED,
	.name = "fp_bic",
};

char LICENSE[] SEC("license") = "Dual MIT/GPL";
