// n bulk flows through one drop-tail bottleneck, for ns-3: the other side of validation/dumbbell.py.
//
//   senders -- access links -- router -- bottleneck -- router -- access links -- receivers
//
// Everything that is set differs from ns-3's default for the sake of the comparison only: SegmentSize 1448 (with timestamps it
// fills 1500 B of IP; ns-3 takes no room for options out of it), buffers that limit nothing, no retry limits, no queue disc
// and no flow control above the device's drop-tail queue. The program prints one line of JSON.
#include "common.h"
#include "rfc6937-recovery.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cstdio>
#include <vector>

using namespace ns3;

/// What is measured of a flow.
struct Flow
{
    double windowIntegral = 0; // bytes * s
    double window = 0;         // bytes, since
    double since = 0;          // s
    uint32_t recoveries = 0;
    uint32_t timeouts = 0;
    Ptr<PacketSink> sink;
};

static const uint32_t MSS = 1448; // bytes, with timestamps
static const char* const ACCESS = "100Mbps";

static void
Account(Flow* flow, double window)
{
    double now = Simulator::Now().GetSeconds();
    flow->windowIntegral += flow->window * (now - flow->since);
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

int
main(int argc, char* argv[])
{
    std::string cc = "TcpNewReno", starts = "0", delays = "1000", recovery = "TcpPrrRecovery";
    double time = 60, bottleneckMs = 8;
    uint32_t queue = 20;
    CommandLine cmd(__FILE__);
    cmd.AddValue("cc", "congestion control, without ns3::", cc);
    cmd.AddValue("starts", "start of each flow, s, comma-separated", starts);
    cmd.AddValue("delays", "delay of each sender's access link, us, comma-separated", delays);
    cmd.AddValue("bottleneck", "delay of the bottleneck, ms", bottleneckMs);
    cmd.AddValue("queue", "buffer of the bottleneck, packets", queue);
    cmd.AddValue("time", "end, s", time);
    cmd.AddValue("recovery", "TcpPrrRecovery, TcpRfc6937Recovery or TcpClassicRecovery", recovery);
    cmd.Parse(argc, argv);

    LiftLimits();
    Set("ns3::TcpL4Protocol::SocketType", TypeIdValue(TypeId::LookupByName("ns3::" + cc)));
    Set("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TypeId::LookupByName("ns3::" + recovery)));
    Set("ns3::TcpSocket::SegmentSize", UintegerValue(MSS));

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
        auto interfaces = addresses.Assign(link.Install(a, b)); // no queue disc: the devices have no flow control
        addresses.NewNetwork();
        return interfaces;
    };
    join(routers.Get(0), routers.Get(1), "10Mbps", MicroSeconds(bottleneckMs * 1000), queue);

    const uint16_t port = 5000;
    const uint32_t unlimited = 100000;
    std::vector<Flow> flows(n);
    for (size_t i = 0; i < n; i++)
    {
        join(senders.Get(i), routers.Get(0), ACCESS, MicroSeconds(delayOf[i]), unlimited);
        auto far = join(receivers.Get(i), routers.Get(1), ACCESS, MilliSeconds(1), unlimited);
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        flows[i].sink = DynamicCast<PacketSink>(sink.Install(receivers.Get(i)).Get(0));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(far.GetAddress(0), port));
        bulk.SetAttribute("MaxBytes", UintegerValue(0));
        bulk.SetAttribute("SendSize", UintegerValue(MSS));
        auto sender = DynamicCast<BulkSendApplication>(bulk.Install(senders.Get(i)).Get(0));
        sender->SetStartTime(Seconds(startOf[i]));
        Simulator::Schedule(Seconds(startOf[i]) + NanoSeconds(1), &Watch, sender, &flows[i]);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    Simulator::Stop(Seconds(time));
    Simulator::Run();

    printf("{\"flows\": [");
    for (size_t i = 0; i < n; i++)
    {
        Flow& flow = flows[i];
        Account(&flow, flow.window);
        printf("%s{\"goodput_bps\": %.0f, \"cwnd_bytes\": %.1f, \"recoveries\": %u, \"timeouts\": %u}", i ? ", " : "",
               flow.sink->GetTotalRx() * 8 / time, flow.windowIntegral / time, flow.recoveries,
               flow.timeouts);
    }
    printf("]}\n");
    Simulator::Destroy();
    return 0;
}
