// Senders at one or two switches and one receiver, for ns-3: the other side of validation/lee2017.py.
//
//   far senders -- switch -- switch -- receiver
//                              |
//                        near senders
//
// Bulk flows without end, or rounds of blocks on new connections: the next round begins when every block of the last has
// arrived. Senders can draw the payload of each new segment (TCPRand). As in dumbbell.cc everything that is set differs from
// ns-3's default for the sake of the comparison only. The program prints one line of JSON.
#include "common.h"
#include "rfc6937-recovery.h"
#include "socket-factory.h"

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cmath>
#include <cstdio>
#include <vector>

using namespace ns3;

static const uint32_t MSS = 1460; // bytes
static uint32_t g_payloadMin = 0; // bytes; 0: every segment is full
static bool g_adaptive = false;   // the minimum follows the window; what is given is the least of it

/// A socket that draws the payload of each new segment from U{rMin..MSS}: TCPRand (Lee et al. 2017), with the parameters (1,1,1,1).
class TcpRandSocket : public TcpSocketBase
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::TcpRandSocket").SetParent<TcpSocketBase>().AddConstructor<TcpRandSocket>();
        return tid;
    }

    TcpRandSocket()
        : m_draw(CreateObject<UniformRandomVariable>())
    {
        m_tcb->TraceConnectWithoutContext("SlowStartThreshold", MakeCallback(&TcpRandSocket::ThresholdChanges, this));
        m_tcb->TraceConnectWithoutContext("CongState", MakeCallback(&TcpRandSocket::StateChanges, this));
    }

  protected:
    uint32_t SendDataPacket(SequenceNumber32 seq, uint32_t size, bool withAck) override
    {
        bool isNew = seq >= m_tcb->m_highTxMark.Get();
        uint32_t least = std::min(size, g_adaptive ? Minimum() : g_payloadMin);
        return TcpSocketBase::SendDataPacket(seq, isNew ? m_draw->GetInteger(least, size) : size, withAck);
    }

    Ptr<TcpSocketBase> Fork() override
    {
        return CopyObject<TcpRandSocket>(this);
    }

  private:
    /// A loss: the window is still the one before it. (HyStart sets the threshold to the window, and nothing is lost.)
    void ThresholdChanges(uint32_t, uint32_t threshold)
    {
        if (threshold < m_tcb->m_cWnd)
        {
            m_wMax = m_tcb->m_cWnd;
            m_alpha = threshold;
        }
    }

    void StateChanges(TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t state)
    {
        if (state == TcpSocketState::CA_LOSS)
            m_alpha = m_tcb->m_segmentSize;
    }

    uint32_t Minimum() const
    {
        double span = m_wMax - m_alpha, window = m_tcb->m_cWnd;
        if (span <= 0 || window < m_alpha || window > m_wMax + span)
            return m_tcb->m_segmentSize;
        double above = 0.5 * std::erfc(((window - m_alpha) / span - 1) / std::sqrt(2.0));
        return std::max<uint32_t>(std::lround(m_tcb->m_segmentSize * above), g_payloadMin);
    }

    Ptr<UniformRandomVariable> m_draw;
    double m_wMax = 0;  // bytes
    double m_alpha = 0; // bytes
};

/// A host's processor: what the host sends waits for it, in order, each packet for a time drawn from U(0, most).
class Processor : public SimpleRefCount<Processor>
{
  public:
    /// Puts one between a host's TCP and its IP.
    static void Install(Ptr<Node> host, double mostUs)
    {
        auto processor = Create<Processor>();
        auto tcp = host->GetObject<TcpL4Protocol>();
        processor->m_mostUs = mostUs;
        processor->m_next = tcp->GetDownTarget();
        tcp->SetDownTarget(MakeCallback(&Processor::Send, processor));
    }

  private:
    void Send(Ptr<Packet> packet, Ipv4Address from, Ipv4Address to, uint8_t protocol, Ptr<Ipv4Route> route)
    {
        m_free = std::max(m_free, Simulator::Now()) + NanoSeconds(std::llround(1000 * m_draw->GetValue(0, m_mostUs)));
        Simulator::Schedule(m_free - Simulator::Now(), &IpL4Protocol::DownTargetCallback::operator(), &m_next, packet, from, to, protocol, route);
    }

    Ptr<UniformRandomVariable> m_draw = CreateObject<UniformRandomVariable>();
    double m_mostUs;
    Time m_free;
    IpL4Protocol::DownTargetCallback m_next;
};

struct Flow
{
    Ptr<Node> sender;
    Address to;
    Ptr<PacketSink> sink;
    uint64_t receivedBefore = 0;
    uint32_t timeouts = 0;
    uint32_t window = 0;           // bytes
    std::vector<uint32_t> samples; // of the window
};

static std::vector<Flow> g_flows;
static double g_from = 0;         // s
static double g_sampleEvery = 0;  // s
static uint64_t g_block = 0;      // bytes; 0: flows without end
static double g_roundBegan = 0;   // s
static double g_inRounds = 0;     // s
static uint64_t g_rounds = 0;

static void
StateChanges(Flow* flow, TcpSocketState::TcpCongState_t, TcpSocketState::TcpCongState_t state)
{
    flow->timeouts += state == TcpSocketState::CA_LOSS && Simulator::Now().GetSeconds() >= g_from;
}

static void
WindowChanges(Flow* flow, uint32_t, uint32_t window)
{
    flow->window = window;
}

static void
Watch(Ptr<BulkSendApplication> app, Flow* flow)
{
    auto socket = app->GetSocket();
    socket->TraceConnectWithoutContext("CongState", MakeBoundCallback(&StateChanges, flow));
    socket->TraceConnectWithoutContext("CongestionWindow", MakeBoundCallback(&WindowChanges, flow));
}

static void
Start(Flow* flow, double in)
{
    auto app = CreateObject<BulkSendApplication>();
    auto factory = g_payloadMin ? SocketFactoryOf<TcpRandSocket>::GetTypeId() : TcpSocketFactory::GetTypeId();
    app->SetAttribute("Protocol", TypeIdValue(factory));
    app->SetAttribute("Remote", AddressValue(flow->to));
    app->SetAttribute("MaxBytes", UintegerValue(g_block));
    app->SetAttribute("SendSize", UintegerValue(MSS));
    app->SetStartTime(Seconds(in));
    flow->sender->AddApplication(app);
    Simulator::Schedule(Seconds(in) + NanoSeconds(1), &Watch, app, flow);
}

static void
BeginRound(const std::vector<double>& starts)
{
    g_roundBegan = Simulator::Now().GetSeconds();
    for (size_t i = 0; i < g_flows.size(); i++)
        Start(&g_flows[i], starts[(i + g_rounds) % starts.size()]);
}

static void
Received(const std::vector<double>* starts, Ptr<const Packet>, const Address&)
{
    uint64_t all = 0;
    for (auto& flow : g_flows)
        all += flow.sink->GetTotalRx();
    if (all < g_block * g_flows.size() * (g_rounds + 1))
        return;
    g_rounds++;
    g_inRounds += Simulator::Now().GetSeconds() - g_roundBegan;
    Simulator::ScheduleNow(&BeginRound, *starts);
}

static void
BeginMeasurement()
{
    for (auto& flow : g_flows)
        flow.receivedBefore = flow.sink->GetTotalRx();
}

static void
Sample()
{
    for (auto& flow : g_flows)
        flow.samples.push_back(flow.window);
    Simulator::Schedule(Seconds(g_sampleEvery), &Sample);
}

int
main(int argc, char* argv[])
{
    std::string starts = "0", delays = "50", recovery = "TcpPrrRecovery";
    double time = 10, between = 25, sampleMs = 0, processingUs = 0;
    uint32_t near = 1, queue = 100, seed = 1;
    bool sack = true;
    CommandLine cmd(__FILE__);
    cmd.AddValue("near", "how many senders, from the first on, are at the receiver's switch", near);
    cmd.AddValue("starts", "start of each flow, s, comma-separated; of rounds, after the round's beginning", starts);
    cmd.AddValue("delays", "delay of each sender's link, us, comma-separated", delays);
    cmd.AddValue("between", "delay of the links between the switches and to the receiver, us", between);
    cmd.AddValue("processing", "longest time of a host for a packet that it sends, us, drawn from U(0, it)", processingUs);
    cmd.AddValue("seed", "of what is drawn", seed);
    cmd.AddValue("queue", "buffer of each port of a switch, packets", queue);
    cmd.AddValue("time", "end, s", time);
    cmd.AddValue("from", "start of the measurement, s", g_from);
    cmd.AddValue("payloadMin", "smallest payload that is drawn, bytes; 0: all are full", g_payloadMin);
    cmd.AddValue("adaptive", "the smallest payload follows the window, and is at least that", g_adaptive);
    cmd.AddValue("block", "bytes of a block, in rounds; 0: flows without end", g_block);
    cmd.AddValue("sample", "ms between samples of the windows; 0: none", sampleMs);
    cmd.AddValue("sack", "", sack);
    cmd.AddValue("recovery", "TcpPrrRecovery, TcpRfc6937Recovery or TcpClassicRecovery", recovery);
    cmd.Parse(argc, argv);

    RngSeedManager::SetRun(seed);
    LiftLimits();
    Set("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Set("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(TypeId::LookupByName("ns3::" + recovery)));
    Set("ns3::TcpSocket::SegmentSize", UintegerValue(MSS));
    Set("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Set("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(2)));
    Set("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Set("ns3::TcpSocketBase::Sack", BooleanValue(sack));

    auto startOf = Numbers(starts), delayOf = Numbers(delays);
    const size_t n = startOf.size();
    NS_ABORT_MSG_IF(delayOf.size() != n, "as many delays as starts");
    NodeContainer senders(n), switches(2), receiver(1);
    InternetStackHelper().InstallAll();
    if (processingUs > 0)
        for (auto host : {&senders, &receiver})
            std::for_each(host->Begin(), host->End(), [&](Ptr<Node> node) { Processor::Install(node, processingUs); });

    PointToPointHelper link;
    link.DisableFlowControl();
    link.SetDeviceAttribute("DataRate", StringValue("1Gbps"));
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    auto join = [&](Ptr<Node> a, Ptr<Node> b, double delayUs, uint32_t packets) {
        link.SetChannelAttribute("Delay", TimeValue(NanoSeconds(std::llround(1000 * delayUs))));
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, packets)));
        auto interfaces = addresses.Assign(link.Install(a, b)); // no queue disc: the devices have no flow control
        addresses.NewNetwork();
        return interfaces;
    };
    join(switches.Get(0), switches.Get(1), between, queue);
    auto address = join(switches.Get(1), receiver.Get(0), between, queue).GetAddress(1);

    g_flows.resize(n);
    for (size_t i = 0; i < n; i++)
    {
        Flow& flow = g_flows[i];
        flow.sender = senders.Get(i);
        flow.to = InetSocketAddress(address, 5000 + i);
        join(flow.sender, switches.Get(i < near ? 1 : 0), delayOf[i], 100000);
        flow.sender->AggregateObject(CreateObject<SocketFactoryOf<TcpRandSocket>>());
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5000 + i));
        flow.sink = DynamicCast<PacketSink>(sink.Install(receiver.Get(0)).Get(0));
        if (g_block > 0)
            flow.sink->TraceConnectWithoutContext("Rx", MakeBoundCallback(&Received, const_cast<const std::vector<double>*>(&startOf)));
        else
            Start(&flow, startOf[i]);
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    if (g_block > 0)
        Simulator::ScheduleNow(&BeginRound, startOf);
    if (sampleMs > 0)
    {
        g_sampleEvery = sampleMs / 1000;
        Simulator::Schedule(Seconds(g_from), &Sample);
    }
    Simulator::Schedule(Seconds(g_from), &BeginMeasurement);
    Simulator::Stop(Seconds(time));
    Simulator::Run();

    double inRounds = g_rounds ? g_block * n * g_rounds * 8 / g_inRounds : 0;
    printf("{\"round_goodput_bps\": %.0f, \"flows\": [", inRounds);
    for (size_t i = 0; i < n; i++)
    {
        Flow& flow = g_flows[i];
        double goodput = (flow.sink->GetTotalRx() - flow.receivedBefore) * 8 / (time - g_from);
        printf("%s{\"goodput_bps\": %.0f, \"timeouts\": %u, \"cwnd_bytes\": [", i ? ", " : "", goodput, flow.timeouts);
        for (size_t at = 0; at < flow.samples.size(); at++)
            printf("%s%u", at ? ", " : "", flow.samples[at]);
        printf("]}");
    }
    printf("]}\n");
    Simulator::Destroy();
    return 0;
}
