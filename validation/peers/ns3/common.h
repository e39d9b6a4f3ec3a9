// What the programs beside it share.
#pragma once

#include "ns3/core-module.h"
#include "ns3/internet-module.h"

#include <sstream>
#include <string>
#include <vector>

using namespace ns3;

/// Sets the default of an attribute.
inline void
Set(const char* name, const AttributeValue& value)
{
    Config::SetDefault(name, value);
}

/// Buffers of sockets that limit nothing, and no retry limits.
inline void
LiftLimits()
{
    Set("ns3::TcpSocket::SndBufSize", UintegerValue(6 * 1024 * 1024));
    Set("ns3::TcpSocket::RcvBufSize", UintegerValue(6 * 1024 * 1024));
    Set("ns3::TcpSocket::ConnCount", UintegerValue(1000));
    Set("ns3::TcpSocket::DataRetries", UintegerValue(100000));
}

/// Numbers with commas between them.
inline std::vector<double>
Numbers(const std::string& text)
{
    std::vector<double> numbers;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, ',');)
        numbers.push_back(std::stod(part));
    return numbers;
}
