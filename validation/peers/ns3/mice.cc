// Short transfers among long ones, for ns-3: the other side of validation/mice.py (Guo & Matta 2001, Table I).
//
//   20 senders -- 10 Mbit/s, 5 ms -- switch -- bottleneck, 40 ms -- switch -- 10 Mbit/s, 5 ms -- receiver
//
// Half of the senders launch a short transfer every period, the other half a long one, each on a connection of its own. A
// sender has one transfer at a time: one that takes longer than its period delays the next, which then starts at once. As in
// dumbbell.cc everything that is set differs from ns-3's default for the sake of the comparison only: here the TCP is
// ns-2's of 2001, as in the experiments' files. The program prints one line of JSON.
#include "common.h"
#include "socket-factory.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cmath>
#include <cstdio>
#include <vector>

using namespace ns3;

static bool g_limitedTransmit = false;

/// ns-3's socket without one of its assertions, which a build without assertions leaves out: without SACK and limited transmit
/// nothing is sent while ACKs say that something is missing. It fails here. It asks no more once limited transmit is said to be
/// on; whether that is used is decided when an ACK comes, and before it is answered.
class PlainSocket : public TcpSocketBase
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::PlainSocket").SetParent<TcpSocketBase>().AddConstructor<PlainSocket>();
        return tid;
    }

  protected:
    void ReceivedAck(Ptr<Packet> packet, const TcpHeader& header) override
    {
        m_limitedTx = g_limitedTransmit;
        TcpSocketBase::ReceivedAck(packet, header);
    }

    void UpdateRttHistory(const SequenceNumber32& seq, uint32_t size, bool isRetransmission) override
    {
        m_limitedTx = true;
        TcpSocketBase::UpdateRttHistory(seq, size, isRetransmission);
    }

    Ptr<TcpSocketBase> Fork() override
    {
        return CopyObject<PlainSocket>(this);
    }
};

/// Karn's rule for the SYN: one that was sent again gives no round-trip time (RFC 6298 3), and the doubled timeout lasts until
/// there is one, as in ns-2. TcpSocketBase means to mark such a SYN as sent again, but looks for a segment that holds its
/// number, which one without payload does not. So it takes the time since the first SYN, more than 3 s, and its timeout is then
/// 9 to 11 s.
class KarnSocket : public PlainSocket
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::KarnSocket").SetParent<PlainSocket>().AddConstructor<KarnSocket>();
        return tid;
    }

  protected:
    void UpdateRttHistory(const SequenceNumber32& seq, uint32_t size, bool isRetransmission) override
    {
        if (size > 0 || !isRetransmission)
        {
            PlainSocket::UpdateRttHistory(seq, size, isRetransmission);
            return;
        }
        m_history.clear();
        m_rtt->SetAttribute("InitialEstimation", TimeValue(m_rto.Get()));
        m_rtt->Reset();
    }

    Ptr<TcpSocketBase> Fork() override
    {
        return CopyObject<KarnSocket>(this);
    }
};

/// The short transfers, or the long ones: how they are, and what came of all of them.
struct Transfers
{
    uint64_t bytes; // of each
    Time period;
    uint32_t launched = 0;
    uint32_t timeouts = 0;
    uint32_t synsAgain = 0; // SYNs that were sent again
};

/// A sender and its part of the receiver.
struct Source
{
    Transfers* its;
    Ptr<Node> node;
    Address to;
    Ptr<PacketSink> sink;
    uint64_t expected = 0; // bytes, of all transfers so far
    bool waits = false;    // the next transfer, for the last one
};

static const uint32_t SENDERS = 10; // of each kind
static const uint32_t MSS = 460;    // bytes; headers take 40 more, and PPP 2
static const uint32_t WINDOW = 128; // packets
static const double SPREAD_MS = 1;  // a host's link is longer by a time from U(0, it)
static TypeId g_sockets;            // of the senders
static double g_jitterS = 0;
static Ptr<UniformRandomVariable> g_draw;

static void
StateChanges(Transfers* its, TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t state)
{
    its->timeouts += state == TcpSocketState::CA_LOSS;
}

static void
Sent(Transfers* its, Ptr<const Packet>, const TcpHeader& header, Ptr<const TcpSocketBase>)
{
    its->synsAgain += (header.GetFlags() & TcpHeader::SYN) != 0;
}

/// From just after the first SYN on.
static void
Watch(Ptr<BulkSendApplication> app, Transfers* its)
{
    app->GetSocket()->TraceConnectWithoutContext("CongState", MakeBoundCallback(&StateChanges, its));
    app->GetSocket()->TraceConnectWithoutContext("Tx", MakeBoundCallback(&Sent, its));
}

static void
Launch(Source* source, Time in)
{
    Transfers* its = source->its;
    auto app = CreateObject<BulkSendApplication>();
    app->SetAttribute("Protocol", TypeIdValue(g_sockets));
    app->SetAttribute("Remote", AddressValue(source->to));
    app->SetAttribute("MaxBytes", UintegerValue(its->bytes));
    app->SetStartTime(in);
    source->node->AddApplication(app);
    Simulator::Schedule(in + NanoSeconds(1), &Watch, app, its);
    source->expected += its->bytes;
    its->launched++;
}

static void
Wake(Source* source)
{
    if (source->sink->GetTotalRx() < source->expected)
        source->waits = true;
    else
        Launch(source, Seconds(g_draw->GetValue(0, g_jitterS)));
    Simulator::Schedule(source->its->period, &Wake, source);
}

static void
Received(Source* source, Ptr<const Packet>, const Address&)
{
    if (!source->waits || source->sink->GetTotalRx() < source->expected)
        return;
    source->waits = false;
    Launch(source, Seconds(0));
}

static void
Print(const char* name, const Transfers& its, const std::vector<Source>& sources)
{
    uint64_t delivered = 0;
    for (auto& source : sources)
        delivered += source.its == &its ? source.sink->GetTotalRx() : 0;
    printf("\"%s\": {\"delivered_bytes\": %lu, \"launched\": %u, \"timeouts\": %u, \"syns_again\": %u}", name, delivered,
           its.launched, its.timeouts, its.synsAgain);
}

int
main(int argc, char* argv[])
{
    uint32_t queue = 46, seed = 1;
    double mbps = 1.25, time = 500, redMin = 0, redMax = 0, minRtoS = 1, tickS = 0.1;
    bool ecn = true, karn = false;
    CommandLine cmd(__FILE__);
    cmd.AddValue("mbps", "rate of the bottleneck", mbps);
    cmd.AddValue("queue", "buffer of the bottleneck, packets", queue);
    cmd.AddValue("redMin", "RED's lower threshold, packets", redMin);
    cmd.AddValue("redMax", "RED's upper threshold, packets; 0: drop-tail", redMax);
    cmd.AddValue("jitter", "a launch is later by a time from U(0, it), s", g_jitterS);
    cmd.AddValue("minRto", "s", minRtoS);
    cmd.AddValue("tick", "of the clock, as RFC 6298 reckons with it, s", tickS);
    cmd.AddValue("limitedTransmit", "", g_limitedTransmit);
    cmd.AddValue("ecn", "RED marks", ecn);
    cmd.AddValue("karn", "a SYN that was sent again gives no round-trip time", karn);
    cmd.AddValue("time", "end, s", time);
    cmd.AddValue("seed", "of what is drawn", seed);
    cmd.Parse(argc, argv);

    const std::string rate = std::to_string(mbps) + "Mbps";
    RngSeedManager::SetRun(seed);
    g_draw = CreateObject<UniformRandomVariable>();
    g_sockets = karn ? SocketFactoryOf<KarnSocket>::GetTypeId() : SocketFactoryOf<PlainSocket>::GetTypeId();
    LiftLimits();
    const TimeValue initialRto(Seconds(3));
    Set("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Set("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
    Set("ns3::TcpSocket::SegmentSize", UintegerValue(MSS));
    Set("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    Set("ns3::TcpSocket::RcvBufSize", UintegerValue(WINDOW * MSS));
    Set("ns3::TcpSocket::ConnTimeout", initialRto);
    Set("ns3::RttEstimator::InitialEstimation", initialRto);
    Set("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Set("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(minRtoS)));
    Set("ns3::TcpSocketBase::ClockGranularity", TimeValue(Seconds(tickS)));
    Set("ns3::TcpSocketBase::UseEcn", EnumValue(ecn ? TcpSocketState::On : TcpSocketState::Off));
    Set("ns3::RedQueueDisc::UseEcn", BooleanValue(ecn));
    Set("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Set("ns3::TcpSocketBase::Sack", BooleanValue(false));

    NodeContainer senders(2 * SENDERS), switches(2), receiver(1);
    InternetStackHelper().InstallAll();
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    auto join = [&](Ptr<Node> a, Ptr<Node> b, const std::string& linkRate, double delayMs, uint32_t packets, TrafficControlHelper* above) {
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", StringValue(linkRate));
        link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(std::llround(1e6 * delayMs))));
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, packets)));
        if (above == nullptr)
            link.DisableFlowControl(); // and so no queue disc
        auto devices = link.Install(a, b);
        if (above != nullptr)
            above->Install(devices);
        auto interfaces = addresses.Assign(devices);
        addresses.NewNetwork();
        return interfaces;
    };
    auto joinHost = [&](Ptr<Node> host, Ptr<Node> its) {
        return join(host, its, "10Mbps", 5 + g_draw->GetValue(0, SPREAD_MS), 100000, nullptr).GetAddress(0);
    };
    auto address = joinHost(receiver.Get(0), switches.Get(1));
    TrafficControlHelper red;
    red.SetRootQueueDisc("ns3::RedQueueDisc", "MinTh", DoubleValue(redMin), "MaxTh", DoubleValue(redMax), "MaxSize",
                         QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, queue)), "LInterm", DoubleValue(10), "QW",
                         DoubleValue(1. / 512), "LinkBandwidth", StringValue(rate), "MeanPktSize", UintegerValue(MSS + 40));
    const bool isRed = redMax > 0; // it is above a device that takes one packet
    join(switches.Get(0), switches.Get(1), rate, 40, isRed ? 1 : queue, isRed ? &red : nullptr);

    Transfers ofShort{100 * MSS, Seconds(10)}, ofLong{10000 * MSS, Seconds(1)};
    std::vector<Source> sources(2 * SENDERS);
    for (uint32_t i = 0; i < 2 * SENDERS; i++)
    {
        Source& source = sources[i];
        source.its = i < SENDERS ? &ofShort : &ofLong;
        source.node = senders.Get(i);
        source.node->AggregateObject(CreateObject<SocketFactoryOf<PlainSocket>>());
        source.node->AggregateObject(CreateObject<SocketFactoryOf<KarnSocket>>());
        source.to = InetSocketAddress(address, 5000 + i);
        joinHost(source.node, switches.Get(0));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000 + i));
        source.sink = DynamicCast<PacketSink>(sink.Install(receiver.Get(0)).Get(0));
        source.sink->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Received, &source));
        Simulator::ScheduleNow(&Wake, &source);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    Simulator::Stop(Seconds(time));
    Simulator::Run();

    printf("{");
    Print("short", ofShort, sources);
    printf(", ");
    Print("long", ofLong, sources);
    printf("}\n");
    Simulator::Destroy();
    return 0;
}
