use super::*;
use crate::args::CompareOptions;
use crate::compare::plans;
use pathweave_algorithms::Registry;
use pathweave_lab::run_watched;
use pathweave_lab::scenario::{Document, NoFiles, SchedulerSpec, Variant};
use pathweave_wire::codec::ETHERNET_BYTES;
use pcap_file::pcapng::{Block, PcapNgReader};
use std::net::IpAddr;
use std::num::NonZero;

const TWO_PATHS: &str = r#"
format = 1
name = "two-paths"
duration = "5s"
[[path]]
name = "wire"
rate = "10Mbps"
delay = "10ms"
[[path]]
name = "tunnel"
rate = "10Mbps"
delay = "20ms"
[[connection]]
workload = "transfer:size=200KB"
"#;

/// [`TWO_PATHS`], with a second path that counts no Ethernet header.
fn mixed() -> String {
    TWO_PATHS.replace("[[connection]]", "overhead = 0\n[[connection]]")
}

/// Interfaces and packets of a capture of a scenario.
fn capture(text: &str) -> (Vec<InterfaceDescriptionBlock<'static>>, Vec<EnhancedPacketBlock<'static>>) {
    let document = Document::parse("test.toml", text).expect("a scenario");
    let registry = Registry::builtin();
    let variant = Variant::Scheduler(SchedulerSpec::parse("roundrobin").expect("a scheduler"));
    let scenario = document.scenario(&registry, &variant).expect("a scenario");
    let writer = Writer::new("-".into(), Vec::new(), &scenario, "a test").expect("memory can be written");
    let shared = Arc::new(Mutex::new(writer));
    let there = shared.clone();
    run_watched(&document, &variant, 1, &registry, &NoFiles, |s| {
        s.set_host_capture(Box::new(move |p| there.lock().expect("one thread").add(p).expect("memory can be written")));
    })
    .expect("it runs");
    let bytes = core::mem::take(shared.lock().expect("one thread").out.get_mut());
    let mut reader = PcapNgReader::new(&bytes[..]).expect("a capture");
    let (mut interfaces, mut packets) = (Vec::new(), Vec::new());
    while let Some(block) = reader.next_block() {
        match block.expect("a block").into_owned() {
            Block::InterfaceDescription(block) => interfaces.push(block),
            Block::EnhancedPacket(block) => packets.push(block),
            other => panic!("{other:?}"),
        }
    }
    (interfaces, packets)
}

#[test]
fn an_interface_for_each_path_by_its_name() {
    let (interfaces, packets) = capture(TWO_PATHS);
    let name = |i: usize| InterfaceDescriptionOption::IfName(["wire", "tunnel"][i].into());
    assert_eq!(interfaces.len(), 2);
    for (i, interface) in interfaces.iter().enumerate() {
        assert_eq!(interface.options, [name(i), InterfaceDescriptionOption::IfTsResol(9)]);
        let first = packets.iter().find(|p| p.interface_id == i as u32).expect("a packet on each path");
        let syn = codec::decode(&first.data[ETHERNET_BYTES..]).expect("a packet").segment;
        assert_eq!(syn.src.ip(), IpAddr::from([10, 0, i as u8 + 1, 1]));
        assert!(syn.flags.contains(pathweave_wire::Flags::SYN) && !syn.options.mptcp.is_empty());
    }
    assert_eq!(packets[0].data[..14], [2, 0, 10, 0, 1, 2, 2, 0, 10, 0, 1, 1, 8, 0]);
}

/// libpcap, and so tcpdump, refuses a file with two link types, and a file with two interfaces of raw IP.
#[test]
fn a_capture_has_one_link_type_and_each_frame_is_of_it() {
    let none = TWO_PATHS.replace("delay =", "overhead = 0\ndelay =");
    for text in [TWO_PATHS, &mixed(), &none] {
        let (interfaces, packets) = capture(text);
        assert!(interfaces.iter().all(|i| i.linktype == DataLink::ETHERNET), "{interfaces:?}");
        for packet in &packets {
            assert_eq!(packet.data[6..10], [2, 0, 10, 0], "the sender's address on interface {}", packet.interface_id);
            assert_eq!(packet.data[12..15], [8, 0, 0x45], "IPv4 with a header of 20 bytes");
        }
        for interface in 0..2 {
            assert!(packets.iter().any(|p| p.interface_id == interface), "no packet on interface {interface}");
        }
    }
}

/// The capture has the packets of both directions in order of time. Each of the sender's packets has the time at which
/// it leaves, and no data is missing.
#[test]
fn it_is_what_the_sender_sees() {
    for (direction, sender) in [("upload", 1), ("download", 2)] {
        let (_, packets) = capture(&format!("{TWO_PATHS}direction = \"{direction}\"\n"));
        assert!(packets.is_sorted_by_key(|p| p.timestamp));
        let mut data = [0, 0];
        for p in &packets {
            let header = usize::from(p.data[ETHERNET_BYTES + 32] >> 4) * 4 + 20;
            let sent = p.options == [EnhancedPacketOption::Flags(OUTBOUND)];
            assert_eq!(p.data[ETHERNET_BYTES + 15] == sender, sent, "the address says who sends");
            data[usize::from(sent)] += p.original_len as usize - ETHERNET_BYTES - header;
        }
        assert_eq!(data[0], 0);
        assert!(data[1] >= 200_000, "{direction}: {} bytes of data", data[1]);
    }
}

#[test]
fn headers_are_whole_and_lengths_are_exact() {
    let (_, packets) = capture(TWO_PATHS);
    let full = packets.iter().find(|p| p.original_len == 1514).expect("a full segment");
    assert_eq!(full.data.len(), SNAP_BYTES);
    let short = packets.iter().find(|p| p.original_len < 100).expect("an acknowledgement");
    assert_eq!(short.data.len(), short.original_len as usize);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_at_the_end() {
    let plans = plans(&one_run(), &Registry::builtin()).expect("the input is right");
    let capture = Capture::create(&"/dev/full".into(), &plans).expect("it can be opened");
    assert!(matches!(capture.finish(), Err(Failure::Output(text)) if text.starts_with("/dev/full: ")));
}

fn options(scenarios: &[&str], schedulers: &str, seeds: u32) -> CompareOptions {
    CompareOptions {
        scenarios: scenarios.iter().map(|s| s.to_string()).collect(),
        schedulers: Some(schedulers.into()),
        seeds: NonZero::new(seeds),
        ..CompareOptions::default()
    }
}

fn one_run() -> CompareOptions {
    options(&["wlan-3g"], "blest", 1)
}

#[test]
fn a_capture_is_of_one_run() {
    let run = |options: &CompareOptions| {
        let plans = plans(options, &Registry::builtin()).expect("the input is right");
        the_one_run(&plans).map(|(_, title)| title).map_err(|e| match e {
            Failure::Input(text) => text,
            other => panic!("{other:?}"),
        })
    };
    assert_eq!(run(&one_run()).as_deref(), Ok("wlan-3g, blest, seed 1"));
    for (options, count) in [
        (options(&["wlan-3g", "cp-asymmetric"], "blest", 1), "instead of 2 scenarios, 1 scheduler and 1 seed"),
        (options(&["wlan-3g"], "blest,minrtt", 1), "instead of 1 scenario, 2 schedulers and 1 seed"),
        (options(&["wlan-3g"], "blest", 2), "instead of 1 scenario, 1 scheduler and 2 seeds"),
    ] {
        let message = run(&options).expect_err("more than one run");
        assert!(message.starts_with("--pcap: ") && message.ends_with(count), "{message}");
    }
}
