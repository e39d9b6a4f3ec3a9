// n bulk flows through one drop-tail bottleneck, for ns-3: the other side of validation/dumbbell.py.
//
//   senders -- access links -- router -- bottleneck -- router -- access links -- receivers
//
// Everything that is set differs from ns-3's default for the sake of the comparison only: SegmentSize 1448 (with timestamps it
// fills 1500 B of IP; ns-3 takes no room for options out of it), buffers that limit nothing, no retry limits, no queue disc
// and no flow control above the device's drop-tail queue. The program prints one line of JSON.
#include "rfc6937-recovery.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cstdio>
#include <sstream>
#include <vector>

using namespace ns3;

/// What is measured of a flow, from the start of the measurement on.
struct Flow
{
    double windowIntegral = 0; // bytes * s
    double window = 0;         // bytes, since
    double since = 0;          // s
    uint32_t recoveries = 0;
    uint32_t timeouts = 0;
    uint64_t receivedBefore = 0;
    Ptr<PacketSink> sink;
};

static double g_from = 0;
static uint64_t g_drops = 0;

static void
Account(Flow* flow, double window)
{
    double now = Simulator::Now().GetSeconds();
    flow->windowIntegral += flow->window * std::max(0.0, now - std::max(flow->since, g_from));
    flow->window = window;
    flow->since = now;
}

static void
WindowChanges(Flow* flow, uint32_t, uint32_t window)
{
    Account(flow, window);
}

static void
StateChanges(Flow* flow, TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t state)
{
    if (Simulator::Now().GetSeconds() < g_from)
        return;
    flow->recoveries += state == TcpSocketState::CA_RECOVERY;
    flow->timeouts += state == TcpSocketState::CA_LOSS;
}

static void
Watch(Ptr<BulkSendApplication> sender, Flow* flow)
{
    auto socket = sender->GetSocket();
    socket->TraceConnectWithoutContext("CongestionWindow", MakeBoundCallback(&WindowChanges, flow));
    socket->TraceConnectWithoutContext("CongState", MakeBoundCallback(&StateChanges, flow));
}

static void
Drop(Ptr<const Packet>)
{
    g_drops += Simulator::Now().GetSeconds() >= g_from;
}

static void
Begin(std::vector<Flow>* flows)
{
    for (auto& flow : *flows)
        flow.receivedBefore = flow.sink->GetTotalRx();
}

static std::vector<double>
Numbers(const std::string& text)
{
    std::vector<double> numbers;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, ',');)
        numbers.push_back(std::stod(part));
    return numbers;
}

int
main(int argc, char* argv[])
{
    std::string cc = "TcpNewReno", starts = "0", delays = "1000", rate = "10Mbps", access = "100Mbps";
    double time = 60, bottleneckMs = 8;
    uint32_t queue = 20, delack = 2, delackMs = 200, minRtoMs = 1000;
    std::string recovery = "TcpPrrRecovery";
    bool timestamps = true, hystart = true, sack = true;
    CommandLine cmd(__FILE__);
    cmd.AddValue("cc", "congestion control, without ns3::", cc);
    cmd.AddValue("starts", "start of each flow, s, comma-separated", starts);
    cmd.AddValue("delays", "delay of each sender's access link, us, comma-separated", delays);
    cmd.AddValue("rate", "rate of the bottleneck", rate);
    cmd.AddValue("access", "rate of the access links", access);
    cmd.AddValue("bottleneck", "delay of the bottleneck, ms", bottleneckMs);
    cmd.AddValue("queue", "buffer of the bottleneck, packets", queue);
    cmd.AddValue("time", "end, s", time);
    cmd.AddValue("from", "start of the measurement, s", g_from);
    cmd.AddValue("delack", "segments an ACK", delack);
    cmd.AddValue("delackMs", "longest delay of an ACK, ms", delackMs);
    cmd.AddValue("minRto", "ms", minRtoMs);
    cmd.AddValue("timestamps", "", timestamps);
    cmd.AddValue("sack", "", sack);
    cmd.AddValue("recovery", "TcpPrrRecovery, TcpRfc6937Recovery or TcpClassicRecovery", recovery);
    cmd.AddValue("hystart", "", hystart);
    cmd.Parse(argc, argv);

    auto set = [](const char* name, const AttributeValue& value) { Config::SetDefault(name, value); };
    set("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + cc)));
    set("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TypeId::LookupByName("ns3::" + recovery)));
    set("ns3::TcpSocket::SegmentSize", UintegerValue(timestamps ? 1448 : 1460));
    set("ns3::TcpSocket::SndBufSize", UintegerValue(6 * 1024 * 1024));
    set("ns3::TcpSocket::RcvBufSize", UintegerValue(6 * 1024 * 1024));
    set("ns3::TcpSocket::ConnCount", UintegerValue(1000));
    set("ns3::TcpSocket::DataRetries", UintegerValue(100000));
    set("ns3::TcpSocket::DelAckCount", UintegerValue(delack));
    set("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(delackMs)));
    set("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(minRtoMs)));
    set("ns3::TcpSocketBase::Timestamp", BooleanValue(timestamps));
    set("ns3::TcpSocketBase::Sack", BooleanValue(sack));
    set("ns3::TcpCubic::HyStart", BooleanValue(hystart));

    auto startOf = Numbers(starts), delayOf = Numbers(delays);
    const size_t n = startOf.size();
    NS_ABORT_MSG_IF(delayOf.size() != n, "as many delays as starts");
    NodeContainer routers(2), senders(n), receivers(n);
    InternetStackHelper().InstallAll();

    PointToPointHelper link;
    link.DisableFlowControl();
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    auto join = [&](Ptr<Node> a, Ptr<Node> b, const std::string& linkRate, Time delay, uint32_t packets) {
        link.SetDeviceAttribute("DataRate", StringValue(linkRate));
        link.SetChannelAttribute("Delay", TimeValue(delay));
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, packets)));
        auto devices = link.Install(a, b);
        auto interfaces = addresses.Assign(devices); // no queue disc: the devices have no flow control
        addresses.NewNetwork();
        return std::make_pair(devices, interfaces);
    };
    auto bottleneck = join(routers.Get(0), routers.Get(1), rate, MicroSeconds(bottleneckMs * 1000), queue).first;
    DynamicCast<PointToPointNetDevice>(bottleneck.Get(0))->GetQueue()->TraceConnectWithoutContext("Drop", MakeCallback(&Drop));

    const uint16_t port = 5000;
    const uint32_t unlimited = 100000;
    std::vector<Flow> flows(n);
    for (size_t i = 0; i < n; i++)
    {
        join(senders.Get(i), routers.Get(0), access, MicroSeconds(delayOf[i]), unlimited);
        auto far = join(receivers.Get(i), routers.Get(1), access, MilliSeconds(1), unlimited).second;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        flows[i].sink = DynamicCast<PacketSink>(sink.Install(receivers.Get(i)).Get(0));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(far.GetAddress(0), port));
        bulk.SetAttribute("MaxBytes", UintegerValue(0));
        bulk.SetAttribute("SendSize", UintegerValue(timestamps ? 1448 : 1460));
        auto sender = DynamicCast<BulkSendApplication>(bulk.Install(senders.Get(i)).Get(0));
        sender->SetStartTime(Seconds(startOf[i]));
        Simulator::Schedule(Seconds(startOf[i]) + NanoSeconds(1), &Watch, sender, &flows[i]);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    Simulator::Schedule(Seconds(g_from), &Begin, &flows);
    Simulator::Stop(Seconds(time));
    Simulator::Run();

    printf("{\"drops\": %lu, \"flows\": [", g_drops);
    for (size_t i = 0; i < n; i++)
    {
        Flow& flow = flows[i];
        Account(&flow, flow.window);
        double span = time - g_from;
        printf("%s{\"goodput_bps\": %.0f, \"cwnd_bytes\": %.1f, \"recoveries\": %u, \"timeouts\": %u}", i ? ", " : "",
               (flow.sink->GetTotalRx() - flow.receivedBefore) * 8 / span, flow.windowIntegral / span, flow.recoveries,
               flow.timeouts);
    }
    printf("]}\n");
    Simulator::Destroy();
    return 0;
}
