// The work of `benches/examples/flow.rs` in ns-3: one TCP flow, or two over a path each; NewReno with SACK, delayed
// acknowledgements, MSS 1448, 100 Mbit/s, 10 ms, a queue of 100 packets, without payload bytes and without traces.
//
// ns3 FLOWS SECONDS: prints data segments delivered, and processor seconds of the run itself (getrusage).

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdio>
#include <cstdlib>
#include <sys/resource.h>

using namespace ns3;

static double CpuSeconds() {
    rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1e-6 * (used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

int main(int argc, char** argv) {
    const int flows = argc > 1 ? std::atoi(argv[1]) : 1;
    const double seconds = argc > 2 ? std::atof(argv[2]) : 100;
    const uint32_t mss = 1448;
    // Far more than the path holds, so that neither buffer limits the flow.
    const uint32_t buffer = 4 << 20;
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(mss));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(true));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));

    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("100Mbps"));
    link.SetChannelAttribute("Delay", StringValue("10ms"));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("100p"));
    ApplicationContainer sinks;
    for (int i = 0; i < flows; i++) {
        NodeContainer ends;
        ends.Create(2);
        NetDeviceContainer devices = link.Install(ends);
        InternetStackHelper().Install(ends);
        Ipv4AddressHelper addresses(("10.0." + std::to_string(i) + ".0").c_str(), "255.255.255.0");
        Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
        // Only the device's own queue: ns-3 would put FqCoDel before it.
        TrafficControlHelper().Uninstall(devices);
        InetSocketAddress server(interfaces.GetAddress(1), 5001);
        BulkSendHelper sender("ns3::TcpSocketFactory", server);
        // Of 512 bytes, 1, 10 and 90 segments, 10 segments a write were the fastest.
        sender.SetAttribute("SendSize", UintegerValue(10 * mss));
        sender.Install(ends.Get(0)).Start(Seconds(0));
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 5001));
        sinks.Add(sink.Install(ends.Get(1)));
    }
    Simulator::Stop(Seconds(seconds));
    const double before = CpuSeconds();
    Simulator::Run();
    const double after = CpuSeconds();
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < sinks.GetN(); i++) {
        bytes += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
    }
    std::printf("%lu %.6f\n", static_cast<unsigned long>(bytes / mss), after - before);
    Simulator::Destroy();
    return 0;
}
