/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What a congestion control sees of the kernel: only the fields that are used here.
 *
 * The loader finds each field in the running kernel's own types (CO-RE), so offsets do not matter
 * and one object serves every kernel with BTF. Windows are in segments.
 */
#ifndef FAIRPORT_TCP_BPF_H
#define FAIRPORT_TCP_BPF_H

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#define KERNEL __attribute__((preserve_access_index))
#define PRIVATE_WORDS 13

/* enum tcp_ca_state */
#define STATE_OPEN 0
#define STATE_RECOVERY 3
#define STATE_LOSS 4

/* enum tcp_ca_event */
#define EVENT_LOSS 3
#define EVENT_ECN_NO_CE 4
#define EVENT_ECN_IS_CE 5

/* tcp_congestion_ops.flags */
#define NON_RESTRICTED 1
#define NEEDS_ECN 2

#define SMALLEST_WINDOW 2U
#define INITIAL_WINDOW 10U
/* tcp_sock.snd_ssthresh before the first loss */
#define NO_THRESHOLD 0x7fffffffU

/* A test builds programs whose answers get lost now and then, as where the kernel passes over them. */
#ifdef LOSES_ANSWERS
#define MAY_BE_LOST                                  \
	do {                                         \
		if ((bpf_get_prandom_u32() & 3) == 0) \
			return 0x81104110U;          \
	} while (0)
#else
#define MAY_BE_LOST
#endif

struct sock;

struct inet_connection_sock {
	__u8 icsk_ca_state : 5;
	struct {
		__u8 pending;
	} icsk_ack;
	__u64 icsk_ca_priv[PRIVATE_WORDS];
} KERNEL;

struct tcp_sock {
	__u32 rcv_nxt;
	__u32 snd_nxt;
	__u32 snd_una;
	__u8 ecn_flags;
	__u32 delivered;
	__u32 delivered_ce;
	__u32 snd_cwnd;
	__u32 snd_cwnd_cnt;
	__u32 snd_ssthresh;
	__u32 prior_cwnd;
	__u32 max_packets_out;
	__u8 is_cwnd_limited : 1;
	__u64 tcp_mstamp;
} KERNEL;

struct ack_sample;
struct rate_sample;

/* Members that are absent here are left as 0. */
struct tcp_congestion_ops {
	__u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, __u32 ack, __u32 acked);
	void (*set_state)(struct sock *sk, __u8 new_state);
	void (*cwnd_event)(struct sock *sk, int event);
	void (*in_ack_event)(struct sock *sk, __u32 flags);
	__u32 (*undo_cwnd)(struct sock *sk);
	char name[16];
	__u32 flags;
	void (*init)(struct sock *sk);
};

static __always_inline struct tcp_sock *tcp_of(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

/* Room for the state of a congestion control, PRIVATE_WORDS * 8 bytes. */
static __always_inline void *private_of(struct sock *sk)
{
	return (void *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline __u32 at_least(__u32 least, __u32 value)
{
	return value > least ? value : least;
}

/* RFC 7661 4.1: a window that was not used does not grow; in slow start half of it will do. */
static __always_inline int is_window_used(struct tcp_sock *tp)
{
	if (BPF_CORE_READ_BITFIELD(tp, is_cwnd_limited))
		return 1;
	return tp->snd_cwnd < tp->snd_ssthresh && tp->snd_cwnd < 2 * tp->max_packets_out;
}

/* RFC 5681 3.1: a segment per acknowledged segment, up to the threshold. Returns what is left. */
static __always_inline __u32 slow_start(struct tcp_sock *tp, __u32 acked)
{
	__u32 cwnd = tp->snd_cwnd, ssthresh = tp->snd_ssthresh;
	__u32 room;

	if (cwnd >= ssthresh)
		return acked;
	room = ssthresh - cwnd;
	if (acked <= room) {
		tp->snd_cwnd = cwnd + acked;
		return 0;
	}
	tp->snd_cwnd = ssthresh;
	return acked - room;
}

/* A segment for each `every` acknowledged segments. */
static __always_inline void grow_one_per(struct tcp_sock *tp, __u32 every, __u32 acked)
{
	__u32 count = tp->snd_cwnd_cnt;

	if (every == 0)
		every = 1;
	if (count >= every) {
		/* counted while `every` was larger */
		count = 0;
		tp->snd_cwnd = tp->snd_cwnd + 1;
	}
	count += acked;
	if (count >= every) {
		tp->snd_cwnd = tp->snd_cwnd + count / every;
		count %= every;
	}
	tp->snd_cwnd_cnt = count;
}

/* The window at the last loss, which the kernel keeps. */
static __always_inline __u32 window_of_loss(struct tcp_sock *tp, __u32 largest)
{
	__u32 cwnd = tp->prior_cwnd;

	return at_least(SMALLEST_WINDOW, cwnd < largest ? cwnd : largest);
}

/* Answers that did not reach the kernel, as far as that showed. */
static struct {
	/* windows, which let out segments before they were made good */
	__u64 windows;
	/* thresholds, which were made good before the window grew towards them */
	__u64 thresholds;
} lost_answers;

/* The kernel may pass a program over: some do while they interrupt a process that they protect. What
 * they then take for its answer is a word of their stack, mostly a thousand times a window. So
 * wherever a program runs, what is more than twice the `largest` window so far was no answer. The
 * window becomes what it was before the loss, which is what `undo_cwnd` says. Returns whether the
 * threshold must be asked for again, with the window before the loss.
 */
static __always_inline int is_threshold_lost(struct tcp_sock *tp, __u32 *largest)
{
	__u32 cwnd = tp->snd_cwnd;
	int is_lost;

	if (*largest == 0)
		*largest = at_least(INITIAL_WINDOW, tp->max_packets_out);
	if (cwnd > 2 * *largest) {
		tp->snd_cwnd = window_of_loss(tp, *largest);
		__sync_fetch_and_add(&lost_answers.windows, 1);
	} else {
		*largest = at_least(*largest, cwnd);
	}
	is_lost = tp->snd_ssthresh > 2 * *largest && tp->snd_ssthresh != NO_THRESHOLD;
	if (is_lost)
		__sync_fetch_and_add(&lost_answers.thresholds, 1);
	return is_lost;
}

/* What the window was before a reduction that proved needless. */
static __always_inline __u32 window_before(struct tcp_sock *tp)
{
	return at_least(tp->prior_cwnd, tp->snd_cwnd);
}

#endif
