//! Whole transfers of the program over the loopback device, with a leg that dies.

use serde_json::Value;
use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

const BYTES: usize = 12_000_000;
/// Seconds after which a program that hangs is ended.
const LONGEST: &str = "60";
/// Bytes after which a proxy that `dies` ends its first connection.
const FATAL: usize = 300_000;

/// Starts a proxy that forwards connections to `to`, at about 10 MB/s each. If `dies` is true, the first connection
/// ends in the middle of a piece. Returns the proxy's address and a counter of its connections, which counts only if
/// `dies` is true.
fn proxy(to: SocketAddr, dies: bool) -> std::io::Result<(SocketAddr, Arc<AtomicU32>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let (address, count) = (listener.local_addr()?, Arc::new(AtomicU32::new(0)));
    let connections = Arc::clone(&count);
    thread::spawn(move || {
        for near in listener.incoming().take(20).flatten() {
            let left = if dies && connections.fetch_add(1, Ordering::SeqCst) == 0 { FATAL } else { usize::MAX };
            let Ok(far) = TcpStream::connect(to) else { return };
            let (Ok(back_from), Ok(back_to)) = (far.try_clone(), near.try_clone()) else { return };
            thread::spawn(move || forward(&near, &far, left));
            thread::spawn(move || forward(&back_from, &back_to, usize::MAX));
        }
    });
    Ok((address, count))
}

fn forward(mut from: &TcpStream, mut to: &TcpStream, mut left: usize) {
    let mut buffer = [0; 10_000];
    while left > 0 {
        let most = buffer.len().min(left);
        let Ok(read @ 1..) = from.read(&mut buffer[..most]) else { break };
        left -= read;
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
        thread::sleep(Duration::from_millis(1));
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

/// Sends bytes over two legs, the second of which dies once. Returns the sender's report.
fn transfer(scheduler: &str) -> Result<Value, Box<dyn Error>> {
    let stripe = || {
        let mut command = Command::new("timeout");
        command.args([LONGEST, env!("CARGO_BIN_EXE_stripe")]);
        command
    };
    let mut receiver = stripe();
    receiver.args(["receive", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut receiver = receiver.spawn()?;
    let mut told = BufReader::new(receiver.stderr.take().ok_or("it is piped")?).lines();
    let first = told.next().ok_or("the receiver says where it listens")??;
    let to = first.strip_prefix("listening on ").ok_or("as it says")?.parse()?;
    let (one, _) = proxy(to, false)?;
    let (two, connections) = proxy(to, true)?;

    let mut sender = stripe();
    sender.args(["send", "--scheduler", scheduler, "--leg", &format!("127.0.0.1={one}")]);
    sender.args(["--leg", &format!("127.0.0.2={two}")]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut sender = sender.spawn()?;
    // Each byte depends on its place.
    let sent: Vec<u8> = (0..BYTES as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let (copy, mut input) = (sent.clone(), sender.stdin.take().ok_or("it is piped")?);
    let write = thread::spawn(move || input.write_all(&copy));

    let mut received = Vec::new();
    receiver.stdout.take().ok_or("it is piped")?.read_to_end(&mut received)?;
    let report = sender.wait_with_output()?;
    write.join().map_err(|_| "writing panicked")??;
    assert!(received == sent, "{scheduler}: {} of {BYTES} bytes came, and not all are right", received.len());
    assert!(receiver.wait()?.success() && report.status.success());
    let report: Value = serde_json::from_slice(&report.stdout)?;
    let at_receiver: Value =
        told.map_while(Result::ok).find_map(|line| serde_json::from_str(&line).ok()).unwrap_or_default();
    assert_eq!((&at_receiver["sha256"], at_receiver["bytes"].as_u64()), (&report["sha256"], Some(BYTES as u64)));
    assert_eq!(connections.load(Ordering::SeqCst), 2, "{scheduler}: the leg comes back: {report}");
    Ok(report)
}

#[test]
fn all_arrives_in_order_although_a_leg_dies_and_the_leg_is_used_again() -> Result<(), Box<dyn Error>> {
    for scheduler in ["weave", "minrtt", "ecf", "roundrobin"] {
        let report = transfer(scheduler)?;
        let leg = |n: usize, key: &str| report["legs"][n][key].as_u64();
        assert_eq!((leg(0, "deaths"), leg(1, "deaths")), (Some(0), Some(1)), "{scheduler}: {report}");
        assert!(leg(1, "bytes") > Some(2 * FATAL as u64), "{scheduler}: {report}");
        assert!(report["mbps"].as_f64() > Some(0.0), "{report}");
    }
    Ok(())
}
