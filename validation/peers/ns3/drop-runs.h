// Drop runs by flow in ns-3, for outcast.cc: counted as python/fairport/metrics.py and papers/metrics.py count them.
//
// A drop run is a series of drops of consecutive arrivals of one flow at one output port. What the port accepts of this flow ends
// it; what becomes of other flows' packets in between does not matter. It counts if its first drop is within the measurement.
// All ports that are watched count alike: a flow's runs at two ports are runs apart, of one histogram.
#pragma once

#include "ns3/core-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

#include <cstdint>
#include <map>
#include <vector>

using namespace ns3;

class DropRuns
{
  public:
    /// How many runs there were of each length, in packets.
    using Histogram = std::map<uint32_t, uint64_t>;

    /// Counts the flows' packets at this output port.
    void Watch(Ptr<PointToPointNetDevice> port)
    {
        size_t number = m_open.size();
        m_open.emplace_back();
        auto queue = port->GetQueue();
        auto accepted = [=, this](Ptr<const Packet> packet) { Accepted(number, Sender(packet)); };
        auto dropped = [=, this](Ptr<const Packet> packet) { Dropped(number, Sender(packet)); };
        queue->TraceConnectWithoutContext("Enqueue", Callback<void, Ptr<const Packet>>(accepted));
        queue->TraceConnectWithoutContext("DropBeforeEnqueue", Callback<void, Ptr<const Packet>>(dropped));
    }

    /// Runs that begin from now on count.
    void BeginMeasurement()
    {
        m_measuring = true;
    }

    /// The histogram of each sender's address, at the end of a simulation: what is still going on is ended.
    const std::map<uint32_t, Histogram>& End()
    {
        for (auto& port : m_open)
            while (!port.empty())
                Close(port, port.begin());
        return m_closed;
    }

  private:
    struct Run
    {
        uint32_t length = 0; // packets
        bool measured = false;
    };

    // by the sender's address and port: the receiver and its port are the same for all
    using Open = std::map<uint64_t, Run>;

    void Dropped(size_t port, uint64_t sender)
    {
        auto [run, isNew] = m_open[port].try_emplace(sender);
        if (isNew)
            run->second.measured = m_measuring;
        run->second.length++;
    }

    void Accepted(size_t port, uint64_t sender)
    {
        auto run = m_open[port].find(sender);
        if (run != m_open[port].end())
            Close(m_open[port], run);
    }

    void Close(Open& open, Open::iterator run)
    {
        if (run->second.measured)
            m_closed[run->first >> 16][run->second.length]++;
        open.erase(run);
    }

    /// Of a packet as it is queued: PPP, IP without options, TCP.
    static uint64_t Sender(Ptr<const Packet> packet)
    {
        constexpr int ip = 2, address = ip + 12, port = ip + 20;
        uint8_t head[port + 2];
        packet->CopyData(head, sizeof head);
        uint64_t sender = 0;
        for (int byte : {address, address + 1, address + 2, address + 3, port, port + 1})
            sender = sender << 8 | head[byte];
        return sender;
    }

    bool m_measuring = false;
    std::vector<Open> m_open;
    std::map<uint32_t, Histogram> m_closed;
};
