// The 15-to-1 job (k-ary fat-tree, many-to-one long-lived TCP) for ns-3, as a peer to measure and to compare with.
// Builds against the headers and libraries that the PyPI wheel `ns3` 3.44 ships (site-packages/ns3/include, lib64):
//   g++ -O3 -DNDEBUG -march=native -std=c++23 -DNS3_BUILD_PROFILE_RELEASE -DNS3_LOG_ENABLE -DNS3_ASSERT_ENABLE \
//       -isystem $NS3/include outcast.cc -o outcast -L$NS3/lib64 -Wl,-rpath,$NS3/lib64 -Wl,--allow-shlib-undefined \
//       -lns3.44-applications -lns3.44-internet -lns3.44-traffic-control -lns3.44-bridge -lns3.44-point-to-point \
//       -lns3.44-network -lns3.44-stats -lns3.44-core
//   ./outcast --k=4 --time=10 --qbytes=16384 --cc=TcpBic --seed=1 --jitter=0.01 --hostDelay=80 --linkDelay=25 --dj=20 --delack=1
// The wheel is a release build with logging and assertions on: 1.75 times slower than an optimised build from source.
// Choices that matter: pure drop-tail at the device (no queue disc, flow control off), static routes up port 0, timestamps off
// (ns-3's timestamp clock is 1 ms), SYN timer 10 ms, min RTO 2 ms; seeds change start jitter and the link spread (--dj, us) only,
// and with --core, which is equal-length routing, the choice of cores. --dropRuns counts drop runs at all ports of switches.
#include "drop-runs.h"
#include "rfc6937-recovery.h"
#include "up-down-routing.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <chrono>
#include <cstdio>
#include <map>
#include <sys/resource.h>

using namespace ns3;

static uint32_t g_fr[4096], g_rto[4096], g_retx[4096];
static uint64_t g_phyTxEnd = 0;

static void
CongState(uint32_t f, TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t n)
{
    if (n == TcpSocketState::CA_RECOVERY) g_fr[f]++;
    if (n == TcpSocketState::CA_LOSS) g_rto[f]++;
}

static std::map<uint32_t, SequenceNumber32> g_hi;
static void
TxTrace(uint32_t f, Ptr<const Packet> p, const TcpHeader& h, Ptr<const TcpSocketBase>)
{
    if (p->GetSize() == 0) return;
    auto it = g_hi.find(f);
    SequenceNumber32 s = h.GetSequenceNumber();
    if (it == g_hi.end()) g_hi[f] = s;
    else if (s <= it->second) g_retx[f]++;
    else it->second = s;
}
static void PhyEnd(Ptr<const Packet>) { g_phyTxEnd++; }

// What is measured from when all flows are established, as Fairport measures (--dropRuns).
static DropRuns g_runs;
static Ptr<PacketSink> g_sink;
static uint32_t g_connecting = 0;
static double g_from = 0; // s
static std::map<Ipv4Address, uint64_t> g_before; // bytes

static std::map<Ipv4Address, uint64_t>
Delivered()
{
    std::map<Ipv4Address, uint64_t> bytes;
    for (auto& s : g_sink->GetAcceptedSockets())
    {
        Address a; s->GetPeerName(a);
        bytes[InetSocketAddress::ConvertFrom(a).GetIpv4()] += DynamicCast<TcpSocketBase>(s)->GetRxBuffer()->NextRxSequence().GetValue() - 1;
    }
    return bytes;
}

static void
StateChanges(TcpSocket::TcpStates_t, TcpSocket::TcpStates_t n)
{
    if (n != TcpSocket::ESTABLISHED || --g_connecting > 0) return;
    g_from = Simulator::Now().GetSeconds();
    g_before = Delivered();
    g_runs.BeginMeasurement();
}

static bool g_txtrace = false, g_dropRuns = false;
static void
HookSocket(Ptr<BulkSendApplication> app, uint32_t idx)
{
    auto s = app->GetSocket();
    if (!s) return;
    s->TraceConnectWithoutContext("CongState", MakeBoundCallback(&CongState, idx));
    if (g_txtrace) s->TraceConnectWithoutContext("Tx", MakeBoundCallback(&TxTrace, idx));
    if (g_dropRuns) s->TraceConnectWithoutContext("State", MakeCallback(&StateChanges));
}

static double cpu(struct rusage& ru)
{
    return ru.ru_utime.tv_sec + ru.ru_utime.tv_usec * 1e-6 + ru.ru_stime.tv_sec + ru.ru_stime.tv_usec * 1e-6;
}

int
main(int argc, char* argv[])
{
    uint32_t k = 4, qmax = 100, hostq = 2000, seed = 1, delack = 2, mss = 1460, phy = 0, sendSize = 0, ts = 0, txtrace = 0;
    double simTime = 10, jitter = 1e-3, hostDelayUs = 12.5, linkDelayUs = 25, minRtoMs = 2, delackMs = 1;
    uint32_t bufKB = 1024;
    int nTwo = -1;
    std::string cc = "TcpCubic", sched = "ns3::MapScheduler", label = "";
    CommandLine cmd;
    cmd.AddValue("k", "", k);
    cmd.AddValue("q", "switch queue packets", qmax);
    cmd.AddValue("hostq", "", hostq);
    cmd.AddValue("seed", "", seed);
    cmd.AddValue("cc", "", cc);
    cmd.AddValue("time", "", simTime);
    cmd.AddValue("jitter", "start jitter s", jitter);
    cmd.AddValue("hostDelay", "us", hostDelayUs);
    cmd.AddValue("linkDelay", "us", linkDelayUs);
    cmd.AddValue("minRto", "ms", minRtoMs);
    cmd.AddValue("delack", "", delack);
    cmd.AddValue("delackMs", "", delackMs);
    cmd.AddValue("mss", "", mss);
    cmd.AddValue("sched", "", sched);
    cmd.AddValue("buf", "KB", bufKB);
    cmd.AddValue("nTwo", "number of same-edge senders (-1 = all)", nTwo);
    cmd.AddValue("phy", "count PhyTxEnd with a trace", phy);
    cmd.AddValue("txtrace", "count retransmissions with Tx trace", txtrace);
    cmd.AddValue("ts", "timestamps", ts);
    cmd.AddValue("sendSize", "", sendSize);
    cmd.AddValue("label", "", label);
    double dj = 0; uint32_t synMs = 10, synRetries = 1000;
    uint32_t qbytes = 0; cmd.AddValue("qbytes", "switch queue in bytes (overrides q)", qbytes);
    cmd.AddValue("dj", "extra host link delay U(0,dj) us", dj);
    uint32_t perHost = 0; cmd.AddValue("perHost", "only 1 two-hop host and the six-hop ones, with so many flows each", perHost);
    std::string core, recovery = "TcpPrrRecovery";
    bool shortest = false;
    cmd.AddValue("core", "all packets go up to a core: `one` for all, of its own for each `flow`, or drawn for each `packet`", core);
    cmd.AddValue("shortest", "with core: but packets to a host below turn round", shortest);
    cmd.AddValue("recovery", "", recovery);
    cmd.AddValue("dropRuns", "print drop runs; they and goodput are of the time from when all flows are established", g_dropRuns);
    cmd.AddValue("synMs", "", synMs);
    cmd.AddValue("synRetries", "", synRetries);
    cmd.Parse(argc, argv);
    g_txtrace = txtrace;
    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(seed);
    if (!sendSize) sendSize = mss;

    ObjectFactory sf; sf.SetTypeId(sched); Simulator::SetScheduler(sf);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + cc)));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TypeId::LookupByName("ns3::" + recovery)));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(ts)); // ns-3 TS clock is 1 ms: unusable at us RTTs
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MicroSeconds((uint64_t)(minRtoMs * 1000))));
    Config::SetDefault("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(10)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(mss));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(bufKB * 1024));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(bufKB * 1024));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", TimeValue(MilliSeconds(synMs)));
    Config::SetDefault("ns3::TcpSocket::ConnCount", UintegerValue(synRetries));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(100000));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(delack));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MicroSeconds((uint64_t)(delackMs * 1000))));

    const uint32_t h = k / 2, nHost = k * h * h, nEdge = k * h, nAgg = k * h, nCore = h * h;
    NodeContainer hosts, edges, aggs, cores, all;
    hosts.Create(nHost); edges.Create(nEdge); aggs.Create(nAgg); cores.Create(nCore);
    all.Add(hosts); all.Add(edges); all.Add(aggs); all.Add(cores);

    InternetStackHelper stack;
    if (core.empty()) stack.SetRoutingHelper(Ipv4StaticRoutingHelper());
    else stack.SetRoutingHelper(UpDownRoutingHelper(core, shortest));
    stack.SetIpv6StackInstall(false);
    stack.Install(all);

    PointToPointHelper p2p;
    p2p.DisableFlowControl();
    p2p.SetDeviceAttribute("DataRate", StringValue("1Gbps"));

    std::vector<Ptr<PointToPointNetDevice>> devs;
    std::vector<bool> isHostDev;
    struct IfPair { uint32_t a, b; };
    auto addrSwitch = [n = 0u]() mutable { n++; return Ipv4Address((172u << 24) | (16u << 16) | n); };
    auto addIf = [&](Ptr<Node> n, Ptr<NetDevice> d, Ipv4Address a) {
        auto ip = n->GetObject<Ipv4>();
        uint32_t i = ip->AddInterface(d);
        ip->AddAddress(i, Ipv4InterfaceAddress(a, Ipv4Mask::GetOnes())); // /32 before SetUp: no connected route
        ip->SetMetric(i, 1);
        ip->SetUp(i);
        return i;
    };
    auto link = [&](Ptr<Node> a, Ptr<Node> b, Ipv4Address aa, Ipv4Address ba, double delayUs, bool aHost) {
        p2p.SetChannelAttribute("Delay", TimeValue(NanoSeconds((uint64_t)(delayUs * 1000))));
        p2p.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(qbytes ? QueueSize(QueueSizeUnit::BYTES, qbytes) : QueueSize(QueueSizeUnit::PACKETS, qmax)));
        NetDeviceContainer nd = p2p.Install(a, b);
        for (int i = 0; i < 2; i++)
        {
            auto d = DynamicCast<PointToPointNetDevice>(nd.Get(i));
            bool hd = aHost && i == 0;
            if (hd) d->GetQueue()->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, hostq));
            devs.push_back(d); isHostDev.push_back(hd);
        }
        return IfPair{addIf(a, nd.Get(0), aa), addIf(b, nd.Get(1), ba)};
    };
    Ptr<UniformRandomVariable> UD; if (dj > 0) UD = CreateObject<UniformRandomVariable>();
    auto hostAddr = [&](uint32_t p, uint32_t e, uint32_t x) { return Ipv4Address((10u << 24) | (p << 16) | (e << 8) | (x + 1)); };
    auto sr = [&](Ptr<Node> n) { return DynamicCast<Ipv4StaticRouting>(n->GetObject<Ipv4>()->GetRoutingProtocol()); };
    auto up = [&](Ptr<Node> n, uint32_t interface, Ipv4Address gateway, Ipv4Address below, Ipv4Mask mask) {
        auto r = DynamicCast<UpDownRouting>(sr(n));
        if (!r) return;
        r->AddUp(n->GetObject<Ipv4>()->GetNetDevice(interface), gateway);
        r->SetBelow(below, mask);
    };
    // add routes; without --core the up path is always up-port 0 (deterministic, destination-independent => all paths to R
    // enter R's edge switch by agg 0 -> edge 0)
    Ipv4Mask m24("255.255.255.0"), m16("255.255.0.0");
    for (uint32_t p = 0; p < k; p++)
    {
        for (uint32_t e = 0; e < h; e++)
        {
            auto en = edges.Get(p * h + e);
            for (uint32_t x = 0; x < h; x++)
            {
                auto hn = hosts.Get((p * h + e) * h + x);
                Ipv4Address ea = addrSwitch();
                auto ifs = link(hn, en, hostAddr(p, e, x), ea, hostDelayUs + (dj > 0 ? UD->GetValue(0, dj) : 0), true);
                sr(hn)->SetDefaultRoute(ea, ifs.a);
                sr(en)->AddHostRouteTo(hostAddr(p, e, x), hostAddr(p, e, x), ifs.b);
            }
            for (uint32_t a = 0; a < h; a++)
            {
                auto an = aggs.Get(p * h + a);
                Ipv4Address ea = addrSwitch(), aa = addrSwitch();
                auto ifs = link(en, an, ea, aa, linkDelayUs, false);
                if (a == 0) sr(en)->SetDefaultRoute(aa, ifs.a);
                up(en, ifs.a, aa, hostAddr(p, e, 0), m24);
                sr(an)->AddNetworkRouteTo(hostAddr(p, e, 0).CombineMask(m24), m24, ea, ifs.b);
            }
        }
        for (uint32_t a = 0; a < h; a++)
        {
            auto an = aggs.Get(p * h + a);
            for (uint32_t c = 0; c < h; c++)
            {
                auto cn = cores.Get(a * h + c);
                Ipv4Address aa = addrSwitch(), ca = addrSwitch();
                auto ifs = link(an, cn, aa, ca, linkDelayUs, false);
                if (c == 0) sr(an)->SetDefaultRoute(ca, ifs.a);
                up(an, ifs.a, ca, hostAddr(p, 0, 0), m16);
                sr(cn)->AddNetworkRouteTo(hostAddr(p, 0, 0).CombineMask(m16), m16, aa, ifs.b);
            }
        }
    }

    // flows
    Ptr<UniformRandomVariable> U = CreateObject<UniformRandomVariable>();
    const uint16_t port = 5000;
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    g_sink = DynamicCast<PacketSink>(sink.Install(hosts.Get(0)).Get(0));
    g_sink->SetStartTime(Seconds(0));
    std::vector<uint32_t> srcs, hops;
    int two = 0;
    for (uint32_t i = 1; i < nHost; i++)
    {
        uint32_t hp = (i / h == 0) ? 2 : (i / (h * h) == 0) ? 4 : 6;
        if (k == 8 || perHost) { // 1 two-hop and all six-hop hosts
            if (hp == 4) continue;
            if (hp == 2 && two >= (nTwo < 0 ? 1 : nTwo)) continue;
            if (hp == 2) two++;
        }
        srcs.push_back(i); hops.push_back(hp);
    }
    std::map<Ipv4Address, uint32_t> flowOf;
    for (uint32_t f = 0; f < srcs.size(); f++)
    {
        uint32_t i = srcs[f], p = i / (h * h), e = (i / h) % h, x = i % h;
        flowOf[hostAddr(p, e, x)] = f;
        BulkSendHelper bs("ns3::TcpSocketFactory", InetSocketAddress(hostAddr(0, 0, 0), port));
        bs.SetAttribute("MaxBytes", UintegerValue(0));
        bs.SetAttribute("SendSize", UintegerValue(sendSize));
        for (uint32_t n = 0; n < std::max(1u, perHost); n++)
        {
            auto app = DynamicCast<BulkSendApplication>(bs.Install(hosts.Get(i)).Get(0));
            g_connecting++;
            Time st = Seconds(U->GetValue(0, jitter));
            app->SetStartTime(st);
            Simulator::Schedule(st + NanoSeconds(1), &HookSocket, app, f);
        }
    }
    if (phy)
        for (auto d : devs) d->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&PhyEnd));
    for (size_t i = 0; i < devs.size() && g_dropRuns; i++)
        if (!isHostDev[i]) g_runs.Watch(devs[i]);

    Simulator::Stop(Seconds(simTime));
    struct rusage r0, r1;
    getrusage(RUSAGE_SELF, &r0);
    auto t0 = std::chrono::steady_clock::now();
    Simulator::Run();
    auto t1 = std::chrono::steady_clock::now();
    getrusage(RUSAGE_SELF, &r1);
    double wall = std::chrono::duration<double>(t1 - t0).count();

    uint64_t tx = 0, drops = 0, hostDrops = 0;
    for (size_t i = 0; i < devs.size(); i++)
    {
        auto q = devs[i]->GetQueue();
        tx += q->GetTotalReceivedPackets() - q->GetNPackets();
        (isHostDev[i] ? hostDrops : drops) += q->GetTotalDroppedPackets();
    }
    std::vector<double> gp(srcs.size(), 0);
    for (auto [sender, bytes] : Delivered()) // of all its flows
        gp[flowOf[sender]] = (bytes - g_before[sender]) * 8 / (simTime - g_from) / 1e6;
    double s = 0, s2 = 0; uint32_t fr = 0, rto = 0, rx = 0;
    std::map<uint32_t, std::vector<double>> byHop;
    printf("FLOWS label=%s k=%u q=%u cc=%s seed=%u jitter=%g :", label.c_str(), k, qmax, cc.c_str(), seed, jitter);
    for (size_t f = 0; f < gp.size(); f++)
    {
        s += gp[f]; s2 += gp[f] * gp[f]; byHop[hops[f]].push_back(gp[f]);
        fr += g_fr[f]; rto += g_rto[f]; rx += g_retx[f];
        printf(" %u:%.2f/%u/%u", hops[f], gp[f], g_fr[f], g_rto[f]);
    }
    printf("\n");
    double n = gp.size();
    uint64_t ev = Simulator::GetEventCount();
    printf("RESULT label=%s k=%u q=%u cc=%s seed=%u jitter=%g time=%g sched=%s delack=%u n=%zu total_mbps=%.1f jain=%.4f", label.c_str(), k, qmax, cc.c_str(), seed, jitter, simTime, sched.c_str(), delack, gp.size(), s, s * s / (n * s2));
    for (auto& kv : byHop)
    {
        double m = 0, mn = 1e18, mx = 0; for (double v : kv.second) { m += v; mn = std::min(mn, v); mx = std::max(mx, v); }
        printf(" hop%u_n=%zu hop%u_mean=%.2f hop%u_min=%.2f hop%u_max=%.2f", kv.first, kv.second.size(), kv.first, m / kv.second.size(), kv.first, mn, kv.first, mx);
    }
    uint32_t rto2 = 0, fr2 = 0;
    for (size_t f = 0; f < gp.size(); f++) if (hops[f] == 2) { rto2 += g_rto[f]; fr2 += g_fr[f]; }
    printf(" fr=%u rto=%u fr2hop=%u rto2hop=%u retx=%u drops=%lu hostdrops=%lu pkthops=%lu phy=%lu events=%lu ev_per_hop=%.3f wall=%.3f cpu=%.3f hops_per_s=%.0f ev_per_s=%.0f rss_mb=%.1f\n",
           fr, rto, fr2, rto2, rx, drops, hostDrops, tx, g_phyTxEnd, ev, (double)ev / tx, wall, cpu(r1) - cpu(r0), tx / wall, ev / wall, r1.ru_maxrss / 1024.0);
    std::map<uint32_t, DropRuns::Histogram> runs; // by hops
    for (auto& [sender, lengths] : g_runs.End())
        if (auto f = flowOf.find(Ipv4Address(sender)); f != flowOf.end()) // not those of the ACKs
            for (auto [length, count] : lengths) runs[hops[f->second]][length] += count;
    for (auto& [hop, lengths] : runs)
        for (auto [length, count] : lengths) printf("RUNS hops=%u length=%u runs=%lu\n", hop, length, count);
    fflush(stdout);
    Simulator::Destroy();
    return 0;
}
