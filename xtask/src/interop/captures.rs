//! Checks of the engine's captures by tshark.

use super::trial::{CAPTURE, folder};
use crate::run::{in_parallel, program};
use std::fs;
use std::path::{Path, PathBuf};

/// Expert information of severity "error" (Wireshark, epan/proto.h: PI_ERROR).
const SEVERITY_ERROR: u32 = 0x0080_0000;
/// Most packets of each capture that tshark reads: normally, and in the quick mode.
const MOST_PACKETS: u32 = 200_000;
const QUICK_PACKETS: u32 = 10_000;

/// Reads all captures of the last run.
///
/// # Errors
/// The number of captures with a fault; the faults are printed.
pub(super) fn check(quick: bool) -> Result<(), String> {
    let most = if quick { QUICK_PACKETS } else { MOST_PACKETS };
    let entries = fs::read_dir(folder()).map_err(|e| format!("{}: {e}", folder().display()))?;
    let mut files: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path().join(CAPTURE))).filter(|path| path.exists()).collect();
    files.sort();
    let packets = in_parallel(&files, |file| judge(file, most).map_err(|error| format!("{}: {error}", file.display())));
    let (mut all, mut wrong) = (0, 0);
    for one in packets {
        match one {
            Ok(packets) => all += packets,
            Err(error) => {
                wrong += 1;
                println!("{error}");
            }
        }
    }
    println!("tshark: {all} packets in {} captures, {wrong} captures with something wrong", files.len());
    if wrong == 0 { Ok(()) } else { Err(format!("tshark found something wrong in {wrong} captures")) }
}

/// The number of packets, at most `most`, if tshark finds nothing wrong in them.
fn judge(file: &Path, most: u32) -> Result<usize, String> {
    // Payloads are random: whatever protocol Wireshark would guess from their bytes, they are plain data.
    let fields = "-n -d tcp.port==0-65535,data -T fields -E separator=; -e frame.number -e _ws.malformed -e _ws.expert.severity -e _ws.expert.message";
    let mut tshark = program("tshark", fields);
    let output = tshark.args(["-c", &most.to_string(), "-r"]).arg(file).output().map_err(|e| e.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    for line in text.lines() {
        judge_line(line)?;
    }
    Ok(text.lines().count())
}

fn judge_line(line: &str) -> Result<(), String> {
    let fields: Vec<&str> = line.splitn(4, ';').collect();
    let [number, malformed, severity, message] = fields[..] else {
        return Err(format!("fields are missing in {line}"));
    };
    let is_error = severity.split(',').filter_map(|s| s.parse().ok()).any(|s: u32| s >= SEVERITY_ERROR);
    match malformed.is_empty() && !is_error {
        true => Ok(()),
        false => Err(format!("packet {number}: {malformed} {message}")),
    }
}

/// The number of data packets that match a tshark filter, from `seconds` after the first packet on.
///
/// # Errors
/// If tshark cannot read the capture.
pub(super) fn data_packets(file: &Path, filter: &str, seconds: f64) -> Result<usize, String> {
    let filter = format!("{filter} && tcp.len > 0 && frame.time_relative > {seconds}");
    let mut tshark = program("tshark", "-n -T fields -e frame.number");
    let output = tshark.args(["-Y", &filter, "-r"]).arg(file).output().map_err(|e| e.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).lines().count()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_none_of_what_is_wrong() {
        assert_eq!(judge_line("1;;;"), Ok(()));
        assert_eq!(judge_line("1;;2097152,6291456;Retransmission;of 3"), Ok(()));
        assert!(judge_line("1;;2097152,8388608;Bad option").is_err());
        assert!(judge_line("1;Malformed Packet;;").is_err());
    }
}
