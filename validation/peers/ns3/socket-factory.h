// Lets applications of ns-3 open sockets of a class of our own: a factory that a node aggregates.
#include "ns3/internet-module.h"
#include "ns3/network-module.h"

/// Gives a node sockets of the class `Own`, with the congestion control and recovery that its TCP has.
template <typename Own>
class SocketFactoryOf : public ns3::SocketFactory
{
  public:
    static ns3::TypeId GetTypeId()
    {
        static ns3::TypeId tid = ns3::TypeId(Own::GetTypeId().GetName() + "Factory").template SetParent<ns3::SocketFactory>();
        return tid;
    }

    ns3::Ptr<ns3::Socket> CreateSocket() override
    {
        auto tcp = GetObject<ns3::TcpL4Protocol>();
        auto made = [&](const char* attribute) {
            ns3::TypeIdValue type;
            tcp->GetAttribute(attribute, type);
            ns3::ObjectFactory factory;
            factory.SetTypeId(type.Get());
            return factory.Create();
        };
        auto socket = ns3::CreateObject<Own>();
        socket->SetNode(tcp->template GetObject<ns3::Node>());
        socket->SetTcp(tcp);
        socket->SetRtt(ns3::DynamicCast<ns3::RttEstimator>(made("RttEstimatorType")));
        socket->SetCongestionControlAlgorithm(ns3::DynamicCast<ns3::TcpCongestionOps>(made("SocketType")));
        socket->SetRecoveryAlgorithm(ns3::DynamicCast<ns3::TcpRecoveryOps>(made("RecoveryType")));
        tcp->AddSocket(socket);
        return socket;
    }
};
