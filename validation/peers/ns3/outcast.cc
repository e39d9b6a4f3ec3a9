// Many long-lived flows to one receiver over a k-ary fat-tree, for ns-3, to measure and to compare with: the other side of
// validation/proportions.py and equal_length.py, and a job of `make bench`.
//
// Choices that matter: pure drop-tail at the device (no queue disc, flow control off), static routes up port 0 without --core,
// timestamps off (ns-3's timestamp clock is 1 ms), SYN timer 10 ms, min RTO 2 ms. The seed changes the starts and the spread of
// the hosts' links, and with --core, which is equal-length routing, the choice of cores. The program prints a line of RESULT, and
// with --dropRuns, which counts drop runs at all ports of switches, a line of RUNS for each class and length. --dropRuns measures
// from when all flows are established, as Fairport does.
#include "common.h"
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

using namespace ns3;

static const uint32_t BUFFER_BYTES = 16384;   // of each port of a switch
static const uint32_t HOST_PACKETS = 2000;    // of a host's own port
static const uint32_t SOCKET_BYTES = 1 << 20; // buffers of a socket
static const uint32_t MSS = 1460;
static const double JITTER_S = 0.01; // starts are from U(0, it)
static const double SPREAD_US = 20;  // a host's link is longer by a time from U(0, it)

static bool g_dropRuns = false;
static DropRuns g_runs;
static Ptr<PacketSink> g_sink;
static uint32_t g_connecting = 0;
static double g_from = 0;                        // s
static std::map<Ipv4Address, uint64_t> g_before; // bytes

/// What the receiver has of each sender, in bytes.
static std::map<Ipv4Address, uint64_t>
Delivered()
{
    std::map<Ipv4Address, uint64_t> bytes;
    for (auto& socket : g_sink->GetAcceptedSockets())
    {
        Address sender;
        socket->GetPeerName(sender);
        auto buffer = DynamicCast<TcpSocketBase>(socket)->GetRxBuffer();
        bytes[InetSocketAddress::ConvertFrom(sender).GetIpv4()] += buffer->NextRxSequence().GetValue() - 1;
    }
    return bytes;
}

static void
StateChanges(TcpSocket::TcpStates_t, TcpSocket::TcpStates_t state)
{
    if (state != TcpSocket::ESTABLISHED || --g_connecting > 0)
        return;
    g_from = Simulator::Now().GetSeconds();
    g_before = Delivered();
    g_runs.BeginMeasurement();
}

static void
Watch(Ptr<BulkSendApplication> app)
{
    app->GetSocket()->TraceConnectWithoutContext("State", MakeCallback(&StateChanges));
}

int
main(int argc, char* argv[])
{
    uint32_t k = 4, seed = 1, perHost = 0;
    double time = 10, hostDelayUs = 80, linkDelayUs = 25;
    std::string core, recovery = "TcpPrrRecovery";
    bool shortest = false;
    CommandLine cmd(__FILE__);
    cmd.AddValue("k", "ports of a switch", k);
    cmd.AddValue("time", "end, s", time);
    cmd.AddValue("seed", "of what is drawn", seed);
    cmd.AddValue("hostDelay", "delay of a host's link, us", hostDelayUs);
    cmd.AddValue("linkDelay", "delay of the links between switches, us", linkDelayUs);
    cmd.AddValue("perHost", "only 1 two-hop host and the six-hop ones, with so many flows each", perHost);
    cmd.AddValue("core", "all packets go up to a core: `one` for all, of its own for each `flow`, or drawn for each `packet`", core);
    cmd.AddValue("shortest", "with core: but packets to a host below turn round", shortest);
    cmd.AddValue("recovery", "TcpPrrRecovery, TcpRfc6937Recovery or TcpClassicRecovery", recovery);
    cmd.AddValue("dropRuns", "print drop runs; they and goodput are of the time from when all flows are established", g_dropRuns);
    cmd.Parse(argc, argv);

    RngSeedManager::SetSeed(1);
    RngSeedManager::SetRun(seed);
    LiftLimits();
    Set("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpBic::GetTypeId()));
    Set("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TypeId::LookupByName("ns3::" + recovery)));
    Set("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Set("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Set("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(2)));
    Set("ns3::TcpSocketBase::ClockGranularity", TimeValue(MicroSeconds(10)));
    Set("ns3::TcpSocket::SegmentSize", UintegerValue(MSS));
    Set("ns3::TcpSocket::SndBufSize", UintegerValue(SOCKET_BYTES));
    Set("ns3::TcpSocket::RcvBufSize", UintegerValue(SOCKET_BYTES));
    Set("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Set("ns3::TcpSocket::ConnTimeout", TimeValue(MilliSeconds(10)));
    Set("ns3::TcpSocket::DelAckCount", UintegerValue(1));

    const uint32_t half = k / 2;
    NodeContainer hosts(k * half * half), edges(k * half), aggs(k * half), cores(half * half);
    InternetStackHelper stack;
    if (core.empty())
        stack.SetRoutingHelper(Ipv4StaticRoutingHelper());
    else
        stack.SetRoutingHelper(UpDownRoutingHelper(core, shortest));
    stack.SetIpv6StackInstall(false);
    for (auto nodes : {&hosts, &edges, &aggs, &cores})
        stack.Install(*nodes);

    PointToPointHelper helper;
    helper.DisableFlowControl();
    helper.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    helper.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::BYTES, BUFFER_BYTES)));
    std::vector<Ptr<PointToPointNetDevice>> ofHosts, ofSwitches;
    auto switchAddress = [n = 0u]() mutable { n++; return Ipv4Address((172u << 24) | (16u << 16) | n); };
    auto hostAddress = [](uint32_t pod, uint32_t edge, uint32_t host) {
        return Ipv4Address((10u << 24) | (pod << 16) | (edge << 8) | (host + 1));
    };
    auto addInterface = [&](Ptr<Node> node, Ptr<NetDevice> device, Ipv4Address address) {
        auto ip = node->GetObject<Ipv4>();
        uint32_t number = ip->AddInterface(device);
        ip->AddAddress(number, Ipv4InterfaceAddress(address, Ipv4Mask::GetOnes())); // /32 before SetUp: no connected route
        ip->SetMetric(number, 1);
        ip->SetUp(number);
        return number;
    };
    auto join = [&](Ptr<Node> a, Ptr<Node> b, Ipv4Address addressA, Ipv4Address addressB, double delayUs, auto& devicesOfA) {
        helper.SetChannelAttribute("Delay", TimeValue(NanoSeconds((uint64_t)(delayUs * 1000))));
        auto both = helper.Install(a, b);
        devicesOfA.push_back(DynamicCast<PointToPointNetDevice>(both.Get(0)));
        ofSwitches.push_back(DynamicCast<PointToPointNetDevice>(both.Get(1)));
        uint32_t first = addInterface(a, both.Get(0), addressA);
        return std::make_pair(first, addInterface(b, both.Get(1), addressB));
    };
    auto routes = [](Ptr<Node> node) {
        return DynamicCast<Ipv4StaticRouting>(node->GetObject<Ipv4>()->GetRoutingProtocol());
    };
    // without --core the way up is port 0, so all paths to the receiver enter its edge switch by agg 0
    auto up = [&](Ptr<Node> node, uint32_t interface, Ipv4Address gateway, bool isFirst, Ipv4Address below, Ipv4Mask mask) {
        if (isFirst)
            routes(node)->SetDefaultRoute(gateway, interface);
        if (auto chosen = DynamicCast<UpDownRouting>(routes(node)))
        {
            chosen->AddUp(node->GetObject<Ipv4>()->GetNetDevice(interface), gateway);
            chosen->SetBelow(below, mask);
        }
    };
    Ptr<UniformRandomVariable> spread = CreateObject<UniformRandomVariable>();
    const Ipv4Mask ofEdge("255.255.255.0"), ofPod("255.255.0.0");
    for (uint32_t pod = 0; pod < k; pod++)
    {
        for (uint32_t e = 0; e < half; e++)
        {
            auto edge = edges.Get(pod * half + e);
            for (uint32_t x = 0; x < half; x++)
            {
                auto host = hosts.Get((pod * half + e) * half + x);
                auto address = hostAddress(pod, e, x), gateway = switchAddress();
                double delayUs = hostDelayUs + spread->GetValue(0, SPREAD_US);
                auto [own, back] = join(host, edge, address, gateway, delayUs, ofHosts);
                ofHosts.back()->GetQueue()->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, HOST_PACKETS));
                routes(host)->SetDefaultRoute(gateway, own);
                routes(edge)->AddHostRouteTo(address, address, back);
            }
            for (uint32_t a = 0; a < half; a++)
            {
                auto agg = aggs.Get(pod * half + a);
                auto below = switchAddress(), above = switchAddress();
                auto [rises, falls] = join(edge, agg, below, above, linkDelayUs, ofSwitches);
                up(edge, rises, above, a == 0, hostAddress(pod, e, 0), ofEdge);
                routes(agg)->AddNetworkRouteTo(hostAddress(pod, e, 0).CombineMask(ofEdge), ofEdge, below, falls);
            }
        }
        for (uint32_t a = 0; a < half; a++)
            for (uint32_t c = 0; c < half; c++)
            {
                auto agg = aggs.Get(pod * half + a), top = cores.Get(a * half + c);
                auto below = switchAddress(), above = switchAddress();
                auto [rises, falls] = join(agg, top, below, above, linkDelayUs, ofSwitches);
                up(agg, rises, above, c == 0, hostAddress(pod, 0, 0), ofPod);
                routes(top)->AddNetworkRouteTo(hostAddress(pod, 0, 0).CombineMask(ofPod), ofPod, below, falls);
            }
    }

    auto draw = CreateObject<UniformRandomVariable>();
    const uint16_t port = 5000;
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
    g_sink = DynamicCast<PacketSink>(sink.Install(hosts.Get(0)).Get(0));
    g_sink->SetStartTime(Seconds(0));
    BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(hostAddress(0, 0, 0), port));
    bulk.SetAttribute("MaxBytes", UintegerValue(0));
    bulk.SetAttribute("SendSize", UintegerValue(MSS));
    std::map<Ipv4Address, uint32_t> hopsOf; // by sender
    uint32_t twoHop = 0;
    for (uint32_t i = 1; i < hosts.GetN(); i++)
    {
        uint32_t hops = i / half == 0 ? 2 : i / (half * half) == 0 ? 4 : 6;
        if ((k == 8 || perHost) && (hops == 4 || (hops == 2 && twoHop++ > 0)))
            continue; // 1 two-hop host and all six-hop ones
        hopsOf[hostAddress(i / (half * half), i / half % half, i % half)] = hops;
        for (uint32_t n = 0; n < std::max(1u, perHost); n++)
        {
            auto app = DynamicCast<BulkSendApplication>(bulk.Install(hosts.Get(i)).Get(0));
            auto start = Seconds(draw->GetValue(0, JITTER_S));
            app->SetStartTime(start);
            g_connecting++;
            if (g_dropRuns)
                Simulator::Schedule(start + NanoSeconds(1), &Watch, app);
        }
    }
    if (g_dropRuns)
        for (auto& device : ofSwitches)
            g_runs.Watch(device);

    Simulator::Stop(Seconds(time));
    auto began = std::chrono::steady_clock::now();
    Simulator::Run();
    double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();

    uint64_t hops = 0;
    for (auto devices : {&ofHosts, &ofSwitches})
        for (auto& device : *devices)
            hops += device->GetQueue()->GetTotalReceivedPackets() - device->GetQueue()->GetNPackets();
    std::map<uint32_t, double> goodput; // Mbit/s, of all senders of a class
    std::map<uint32_t, uint32_t> senders;
    for (auto [sender, bytes] : Delivered())
        goodput[hopsOf[sender]] += (bytes - g_before[sender]) * 8 / (time - g_from) / 1e6;
    for (auto [sender, of] : hopsOf)
        senders[of]++;
    printf("RESULT");
    for (auto [of, count] : senders)
        printf(" hop%u_n=%u hop%u_mean=%.2f", of, count, of, goodput[of] / count);
    printf(" pkthops=%lu wall=%.3f hops_per_s=%.0f\n", hops, wall, hops / wall);
    std::map<uint32_t, DropRuns::Histogram> runs; // by hops
    for (auto& [sender, lengths] : g_runs.End())
        if (auto of = hopsOf.find(Ipv4Address(sender)); of != hopsOf.end()) // not those of the ACKs
            for (auto [length, count] : lengths)
                runs[of->second][length] += count;
    for (auto& [of, lengths] : runs)
        for (auto [length, count] : lengths)
            printf("RUNS hops=%u length=%u runs=%lu\n", of, length, count);
    Simulator::Destroy();
    return 0;
}
