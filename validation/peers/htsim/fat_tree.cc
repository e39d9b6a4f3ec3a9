// TCP flows on a k-ary fat-tree for htsim, as a peer to measure. Builds against the sources of htsim (see __init__.py).
//   ./fat_tree < job
// The job, on its standard input:
//   K DURATION_PS LIMIT_BYTES LINK_PS HOST_PS RTO_MIN_PS PATHS
//   SRC DST START_PS BYTES OUT_PS BACK_PS     a line per flow; BYTES is 0 for an endless one
// OUT_PS and BACK_PS are what its packets and their ACKs take longer, beside its sender.
// PATHS is `suffix` (up by the destination's number, as the paper routes) or `ecmp` (up by the flow's number, hashed).
// It prints the packet-hops, counted where pipes pass packets on, the wall time of the run and that of what comes before,
// then for each flow the bytes that its receiver has.
#include "config.h"
#include "eventlist.h"
#include "loggers.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

static uint64_t g_hops = 0;
static const linkspeed_bps RATE = 1000000000;
// a host keeps what it may send itself
static const mem_b HOST_QUEUE = 1000 * 1500;

class CountingPipe : public Pipe
{
  public:
    using Pipe::Pipe;
    void doNextEvent() override
    {
        g_hops++;
        Pipe::doNextEvent();
    }
};

struct Link
{
    std::unique_ptr<Queue> queue;
    std::unique_ptr<CountingPipe> pipe;
};

struct Job
{
    uint32_t k;
    uint64_t duration_ps, limit_bytes, link_ps, host_ps, rto_min_ps;
    std::string paths;
};

// the links of a fat-tree, made when a flow first uses them
class FatTree
{
  public:
    explicit FatTree(const Job& job) : m_job(job), m_half(job.k / 2) {}

    // the queues and pipes from one host to another; `up` chooses among the ways up
    Route* Way(uint32_t src, uint32_t dst, uint64_t up)
    {
        const uint32_t perPod = m_half * m_half;
        const uint32_t edges[] = {src / m_half, dst / m_half};
        const uint32_t pods[] = {src / perPod, dst / perPod};
        Route* route = new Route();
        Append(*route, {HOST, src, EDGE, edges[0]});
        if (edges[0] != edges[1])
        {
            const uint32_t in = up % m_half;
            const uint32_t aggs[] = {pods[0] * m_half + in, pods[1] * m_half + in};
            Append(*route, {EDGE, edges[0], AGG, aggs[0]});
            if (pods[0] != pods[1])
            {
                const uint32_t core = in * m_half + up / m_half % m_half;
                Append(*route, {AGG, aggs[0], CORE, core});
                Append(*route, {CORE, core, AGG, aggs[1]});
            }
            Append(*route, {AGG, aggs[1], EDGE, edges[1]});
        }
        Append(*route, {EDGE, edges[1], HOST, dst});
        return route;
    }

    // a way up by the destination's place in its switch and in its pod, as the paper routes
    uint64_t Suffix(uint32_t dst) const { return dst % m_half + dst / m_half % m_half * m_half; }

  private:
    enum Layer { HOST, EDGE, AGG, CORE };
    using Ends = std::tuple<Layer, uint32_t, Layer, uint32_t>;

    void Append(Route& route, const Ends& ends)
    {
        Link& link = m_links[ends];
        if (!link.queue)
        {
            const bool fromHost = std::get<0>(ends) == HOST, toHost = std::get<2>(ends) == HOST;
            link.queue.reset(new Queue(RATE, fromHost ? HOST_QUEUE : m_job.limit_bytes, EventList::getTheEventList(), nullptr));
            link.pipe.reset(new CountingPipe(toHost ? m_job.host_ps : m_job.link_ps));
        }
        route.push_back(link.queue.get());
        route.push_back(link.pipe.get());
    }

    const Job& m_job;
    const uint32_t m_half;
    std::map<Ends, Link> m_links;
};

static uint64_t
Hash(uint64_t number)
{
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
    number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
    return number ^ (number >> 31);
}

int
main()
{
    using Clock = std::chrono::steady_clock;
    const auto began = Clock::now();
    Job job;
    std::cin >> job.k >> job.duration_ps >> job.limit_bytes >> job.link_ps >> job.host_ps >> job.rto_min_ps >> job.paths;
    std::cout.setstate(std::ios::failbit); // it says when each flow ends
    EventList& events = EventList::getTheEventList();
    EventList::setEndtime(job.duration_ps);
    Packet::set_packet_size(1500);
    TcpRtxTimerScanner timers(job.rto_min_ps / 2, events);
    FatTree tree(job);
    std::vector<TcpSink*> sinks;
    uint32_t src, dst;
    uint64_t start_ps, bytes, out_ps, back_ps;
    while (std::cin >> src >> dst >> start_ps >> bytes >> out_ps >> back_ps)
    {
        const uint64_t hash = Hash(sinks.size());
        const bool isEcmp = job.paths == "ecmp";
        TcpSrc* sender = new TcpSrc(nullptr, nullptr, events);
        TcpSink* sink = new TcpSink();
        if (bytes > 0)
            sender->set_flowsize(bytes);
        timers.registerTcp(*sender);
        Route* out = tree.Way(src, dst, isEcmp ? hash : tree.Suffix(dst));
        Route* back = tree.Way(dst, src, isEcmp ? hash >> 32 : tree.Suffix(src));
        if (out_ps > 0)
            out->push_front(new Pipe(out_ps, events));
        if (back_ps > 0)
            back->push_back(new Pipe(back_ps, events));
        sinks.push_back(sink);
        out->push_back(sink);
        back->push_back(sender);
        sender->connect(*out, *back, *sink, start_ps);
    }
    const auto built = Clock::now();
    while (events.doNextEvent())
    {
    }
    const auto done = Clock::now();
    const auto seconds = [](Clock::duration span) { return std::chrono::duration<double>(span).count(); };
    std::printf("hops=%llu wall_s=%.6f setup_s=%.6f\n", static_cast<unsigned long long>(g_hops), seconds(done - built), seconds(built - began));
    for (const TcpSink* sink : sinks)
        std::printf("received=%llu\n", static_cast<unsigned long long>(sink->_cumulative_ack));
}
