// Equal-length routing for outcast.cc (Prakash et al. 2012, 5.4): what comes from below goes up, to a core, whoever it is for.
#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

#include <algorithm>
#include <string>
#include <vector>

using namespace ns3;

/// A switch's routing: down by static routes, up by a port that is chosen; so the ways that the edge and the aggregation switch
/// choose make the core. A node without ports upwards (a core, a host) has static routes only.
class UpDownRouting : public Ipv4StaticRouting
{
  public:
    /// How a port upwards is chosen.
    enum Choice
    {
        FIRST,  // the same for all
        FLOW,   // by a hash of the flow, which the run's seed changes
        PACKET, // drawn for each packet
    };

    UpDownRouting(Choice choice, bool shortest)
        : m_choice(choice),
          m_shortest(shortest),
          m_draw(choice == PACKET ? CreateObject<UniformRandomVariable>() : nullptr)
    {
    }

    /// The hosts below the switch; with `shortest` what goes to one of them turns round here.
    void SetBelow(Ipv4Address network, Ipv4Mask mask)
    {
        m_network = network.CombineMask(mask);
        m_mask = mask;
    }

    void AddUp(Ptr<NetDevice> port, Ipv4Address gateway)
    {
        auto route = Create<Ipv4Route>();
        route->SetGateway(gateway);
        route->SetOutputDevice(port);
        m_up.push_back(route);
    }

    bool RouteInput(Ptr<const Packet> packet,
                    const Ipv4Header& header,
                    Ptr<const NetDevice> from,
                    const UnicastForwardCallback& forward,
                    const MulticastForwardCallback& multicast,
                    const LocalDeliverCallback& local,
                    const ErrorCallback& error) override
    {
        bool fromAbove = std::any_of(m_up.begin(), m_up.end(), [&](auto& up) { return up->GetOutputDevice() == from; });
        bool turnsRound = m_shortest && m_mask.IsMatch(header.GetDestination(), m_network);
        if (m_up.empty() || fromAbove || turnsRound)
            return Ipv4StaticRouting::RouteInput(packet, header, from, forward, multicast, local, error);
        forward(m_up[Chosen(packet, header, from)], packet, header);
        return true;
    }

  private:
    size_t Chosen(Ptr<const Packet> packet, const Ipv4Header& header, Ptr<const NetDevice> from) const
    {
        if (m_choice == FIRST)
            return 0;
        if (m_choice == PACKET)
            return m_draw->GetInteger(0, m_up.size() - 1);
        uint32_t key[] = {
            header.GetSource().Get(),
            header.GetDestination().Get(),
            0, // the two ports, which TCP's header begins with
            from->GetNode()->GetId(),
            uint32_t(RngSeedManager::GetRun()),
        };
        packet->CopyData(reinterpret_cast<uint8_t*>(&key[2]), sizeof key[2]);
        return Hash32(reinterpret_cast<const char*>(key), sizeof key) % m_up.size();
    }

    Choice m_choice;
    bool m_shortest;
    Ptr<UniformRandomVariable> m_draw;
    Ipv4Address m_network;
    Ipv4Mask m_mask;
    std::vector<Ptr<Ipv4Route>> m_up;
};

/// Gives every node such a routing.
class UpDownRoutingHelper : public Ipv4RoutingHelper
{
  public:
    /// `choice` is `one`, `flow` or `packet`: what has a core of its own.
    UpDownRoutingHelper(const std::string& choice, bool shortest)
        : m_choice(choice == "packet" ? UpDownRouting::PACKET : choice == "flow" ? UpDownRouting::FLOW : UpDownRouting::FIRST),
          m_shortest(shortest)
    {
        NS_ABORT_MSG_UNLESS(choice == "one" || choice == "flow" || choice == "packet", "no such choice of cores: " << choice);
    }

    UpDownRoutingHelper* Copy() const override
    {
        return new UpDownRoutingHelper(*this);
    }

    Ptr<Ipv4RoutingProtocol> Create(Ptr<Node>) const override
    {
        return CreateObject<UpDownRouting>(m_choice, m_shortest);
    }

  private:
    UpDownRouting::Choice m_choice;
    bool m_shortest;
};
