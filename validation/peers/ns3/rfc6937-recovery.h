// Loss recovery for ns-3 by what RFC 6937 counts, for the programs beside it: see docs/validation/dumbbell.md.
#pragma once

#include "ns3/internet-module.h"

using namespace ns3;

/// ns-3's PRR, but with what RFC 6937 counts as delivered: ns-3's own adds a segment for each duplicate ACK to the bytes that
/// its SACK blocks say already.
class TcpRfc6937Recovery : public TcpPrrRecovery
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::TcpRfc6937Recovery").SetParent<TcpPrrRecovery>().AddConstructor<TcpRfc6937Recovery>();
        return tid;
    }

    void DoRecovery(Ptr<TcpSocketState> state, uint32_t deliveredBytes, bool) override
    {
        TcpPrrRecovery::DoRecovery(state, deliveredBytes, false);
    }

    Ptr<TcpRecoveryOps> Fork() override
    {
        return CopyObject<TcpRfc6937Recovery>(this);
    }
};

NS_OBJECT_ENSURE_REGISTERED(TcpRfc6937Recovery);
