//! Lets tshark read captures of all built-in scenarios. tshark must find nothing malformed and no error, and follow the
//! data sequence.

use crate::results::SCENARIOS;
use crate::run::{capture, program, target};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

const SCHEDULERS: [&str; 2] = ["minrtt", "linux"];
/// Captured time of each scenario.
const DURATION: &str = "1s";
/// The port of each scenario's first connection. There may be plain TCP connections beside it.
const FIRST_CONNECTION: &str = "tcp.port == 5001";
/// Expert information of severity "error" (Wireshark, epan/proto.h: PI_ERROR).
const SEVERITY_ERROR: u32 = 0x0080_0000;
/// Checksum states of Wireshark.
const BAD: &str = "0";
const GOOD: &str = "1";
/// Least acknowledged data of a capture that shows a transfer, bytes.
const LEAST_DATA: u64 = 100_000;

/// The fields that tshark prints for each packet, in this order.
const FIELDS: [&str; 13] = [
    "frame.number",
    "_ws.malformed",
    "_ws.expert.severity",
    "tcp.analysis.lost_segment",
    "tcp.analysis.ack_lost_segment",
    "ip.checksum.status",
    "tcp.checksum.status",
    "tcp.len",
    "mptcp.dsn",
    "mptcp.ack",
    "mptcp.stream",
    "tcp.options.mptcp.recvtok",
    "mptcp.expected_token",
];

/// Captures each scenario with each of [`SCHEDULERS`] and has tshark read it. The command must have been built.
///
/// # Errors
/// The first thing that tshark finds wrong.
pub(crate) fn check() -> Result<(), String> {
    let version = capture(&mut program("tshark", "--version"))?;
    println!("{}", String::from_utf8_lossy(&version).lines().next().unwrap_or_default());
    let folder = target().join("captures");
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for scenario in SCENARIOS {
        for scheduler in SCHEDULERS {
            let file = folder.join(format!("{scenario}-{scheduler}.pcapng"));
            let arguments = ["compare", scenario, "--schedulers", scheduler, "--seeds", "1"];
            let mut pathweave = Command::new(target().join("release/pathweave"));
            let duration = format!("duration={DURATION}");
            let settings = ["--set", &duration, "--set", "measure_from=0s", "--set", "connection.start_spread=0s"];
            capture(pathweave.args(arguments).args(settings).arg("--pcap").arg(&file))?;
            let seen = read(&file)?;
            judge(&seen).map_err(|e| format!("{}: {e}", file.display()))?;
        }
    }
    Ok(())
}

/// tshark's output, a line for each packet.
fn read(file: &Path) -> Result<String, String> {
    let mut tshark = program("tshark", "-n -T fields -E separator=; -E occurrence=a");
    for preference in ["ip.check_checksum", "tcp.check_checksum", "mptcp.analyze_mptcp", "mptcp.analyze_mappings"] {
        tshark.args(["-o", &format!("{preference}:TRUE")]);
    }
    tshark.args(["-o", "mptcp.relative_sequence_numbers:TRUE"]);
    for field in FIELDS {
        tshark.args(["-e", field]);
    }
    let lines = capture(tshark.args(["-Y", FIRST_CONNECTION, "-r"]).arg(file))?;
    String::from_utf8(lines).map_err(|e| e.to_string())
}

/// Checks tshark's lines, and the counts from them.
fn judge(lines: &str) -> Result<(), String> {
    let mut sent: Vec<(u64, u64)> = Vec::new();
    let mut acknowledged = 0;
    let mut good = 0;
    let (mut streams, mut tokens, mut expected) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    for line in lines.lines() {
        let fields: Vec<&str> = line.split(';').collect();
        let [number, malformed, severity, lost, unseen, ip, tcp, len, dsn, ack, stream, token, own] = fields[..] else {
            return Err(format!("{} fields in {line}", fields.len()));
        };
        let wrong = |what: &str| Err(format!("packet {number}: {what}"));
        if !malformed.is_empty() {
            return wrong("malformed");
        }
        if severity.split(',').filter_map(|s| s.parse().ok()).any(|s: u32| s >= SEVERITY_ERROR) {
            return wrong("an expert error");
        }
        // The capture is the sender's: it misses nothing that the sender sent, nor anything that was acknowledged.
        if !lost.is_empty() || !unseen.is_empty() {
            return wrong("something before it was not captured");
        }
        if ip == BAD || tcp == BAD {
            return wrong("a wrong checksum");
        }
        good += u32::from(tcp == GOOD);
        let len: u64 = len.parse().map_err(|_| format!("packet {number} is not TCP"))?;
        if len > 0 {
            let Ok(dsn) = dsn.parse() else { return wrong("data without a data sequence number") };
            sent.push((dsn, dsn + len));
        }
        acknowledged = ack.parse().map_or(acknowledged, |ack: u64| acknowledged.max(ack));
        streams.extend((!stream.is_empty()).then_some(stream));
        tokens.extend((!token.is_empty()).then_some(token));
        expected.extend((!own.is_empty()).then_some(own));
    }
    // Relative numbers begin with 1. Beyond what is acknowledged, bytes may be assigned and not sent yet.
    sent.sort_unstable();
    let in_order = sent.iter().fold(1, |end, (from, to)| if *from <= end { end.max(*to) } else { end });
    if in_order < acknowledged {
        return Err(format!("byte {in_order} was never sent, and {acknowledged} is acknowledged"));
    }
    if acknowledged < LEAST_DATA || good == 0 {
        return Err(format!("{acknowledged} bytes acknowledged, {good} right checksums"));
    }
    if streams.len() != 1 || tokens.is_empty() || !tokens.is_subset(&expected) {
        return Err(format!("connections {streams:?}; joins to {tokens:?}, keys of {expected:?}"));
    }
    println!(
        "{} packets, {good} of them whole with right checksums, {acknowledged} bytes acknowledged, joins with the token of \
         the keys",
        lines.lines().count()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A SYN, a SYN/ACK with a key, 200 000 bytes, their acknowledgement, a join.
    const RIGHT: [&str; 5] = [
        "1;;;;;1;1;0;;;0;;",
        "2;;;;;1;1;0;;1;0;;77",
        "3;;2097152;;;1;2;200000;1;1;0;;",
        "4;;;;;1;1;0;;200001;0;;",
        "5;;;;;1;1;0;;;0;77;",
    ];

    fn with(line: usize, text: &str) -> Result<(), String> {
        let mut lines = RIGHT;
        lines[line] = text;
        judge(&lines.join("\n"))
    }

    #[test]
    fn what_is_right_is_accepted() {
        assert_eq!(judge(&RIGHT.join("\n")), Ok(()));
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (line, text, reason) in [
            (0, "1;Malformed;;;;1;1;0;;;0;;", "packet 1: malformed"),
            (0, "1;;2097152,8388608;;;1;1;0;;;0;;", "packet 1: an expert error"),
            (2, "3;;;1;;1;2;200000;1;1;0;;", "packet 3: something before it"),
            (3, "4;;;;1;1;1;0;;200001;0;;", "packet 4: something before it"),
            (2, "3;;;;;1;0;200000;1;1;0;;", "packet 3: a wrong checksum"),
            (2, "3;;;;;1;2;200000;;1;0;;", "packet 3: data without"),
            (2, "3;;;;;1;2;200000;5;1;0;;", "byte 1 was never sent"),
            (3, "4;;;;;1;1;0;;200002;0;;", "byte 200001 was never sent"),
            (3, "4;;;;;1;1;0;;2;0;;", "2 bytes acknowledged"),
            (4, "5;;;;;1;1;0;;;0;78;", "connections"),
            (4, "5;;;;;1;1;0;;;1;77;", "connections"),
            (4, "5;;;;;1;1;0;;;0;;", "connections"),
        ] {
            let error = with(line, text).expect_err(text);
            assert!(error.starts_with(reason), "{text}: {error}");
        }
    }
}
