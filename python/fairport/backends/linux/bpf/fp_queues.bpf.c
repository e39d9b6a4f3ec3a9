/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What happens at the queues of one network namespace: each packet that a port is given, and each
 * that its queue discipline drops. The packet says by which interface it came into the machine.
 */
#include "tcp.bpf.h"

#define ETHERTYPE_IP 0x0800
#define IPV4 4
#define EVENTS_BYTES (1 << 22)

struct net {
	struct {
		unsigned int inum;
	} ns;
} KERNEL;

typedef struct {
	struct net *net;
} possible_net_t;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
} KERNEL;

struct sk_buff {
	struct net_device *dev;
	unsigned char *head;
	__u16 network_header;
	__u16 protocol;
	unsigned int len;
	int skb_iif;
} KERNEL;

enum skb_drop_reason { SKB_DROP_REASON_QDISC_DROP = 1 };

/* One event, in the order of the machine's bytes; addresses and ports as on the wire. */
struct event {
	__u64 at_ns;
	__u32 port;
	__u32 ingress;
	__u32 length;
	__u32 is_drop;
	/* from the protocol on: the first 20 bytes of IP and the first 16 behind it */
	__u8 ip[20];
	__u8 transport[16];
	__u32 padding;
};

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, EVENTS_BYTES);
} events SEC(".maps");

/* Set before the programs are loaded. */
const volatile __u32 watched_namespace = 0;
/* Events for which there was no room. */
__u64 lost = 0;

static __always_inline void report(struct sk_buff *skb, __u32 is_drop)
{
	struct net_device *dev = skb->dev;
	struct event *event;
	unsigned char *network;

	if (!dev || dev->nd_net.net->ns.inum != watched_namespace)
		return;
	if (skb->protocol != __builtin_bswap16(ETHERTYPE_IP))
		return;
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		__sync_fetch_and_add(&lost, 1);
		return;
	}
	event->at_ns = bpf_ktime_get_ns();
	event->port = dev->ifindex;
	event->ingress = skb->skb_iif;
	event->length = skb->len;
	event->is_drop = is_drop;
	event->padding = 0;
	network = skb->head + skb->network_header;
	bpf_probe_read_kernel(event->ip, sizeof(event->ip), network);
	/* the hosts here send no options of IP */
	bpf_probe_read_kernel(event->transport, sizeof(event->transport), network + 20);
	bpf_ringbuf_submit(event, 0);
}

SEC("tp_btf/net_dev_queue")
int BPF_PROG(queued, struct sk_buff *skb)
{
	report(skb, 0);
	return 0;
}

SEC("tp_btf/kfree_skb")
int BPF_PROG(dropped, struct sk_buff *skb, void *location, int reason)
{
	if (reason == bpf_core_enum_value(enum skb_drop_reason, SKB_DROP_REASON_QDISC_DROP))
		report(skb, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual MIT/GPL";
