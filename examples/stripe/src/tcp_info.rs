//! `TCP_INFO`: the state of a TCP connection in Linux, from which a scheduler's view of a leg is made.

use nix::sys::socket::getsockopt;
use nix::{getsockopt_impl, sockopt_impl};
use std::net::TcpStream;

/// The first fields of `struct tcp_info` (`linux/tcp.h`), up to the last one that a view needs. The kernel fills as
/// many as a program asks for. Linux 4.9 and later have all of these.
#[repr(C)]
#[expect(unreachable_pub, reason = "nix's macro needs a public type")]
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpInfo {
    /// 1: established.
    pub(crate) state: u8,
    /// 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
    pub(crate) ca_state: u8,
    /// Retransmission timeouts since the last acknowledgement.
    pub(crate) retransmits: u8,
    probes: u8,
    backoff: u8,
    options: u8,
    window_scales: u8,
    flags: u8,
    rto: u32,
    ato: u32,
    /// Data bytes of a full segment.
    pub(crate) snd_mss: u32,
    rcv_mss: u32,
    /// Segments sent and not cumulatively acknowledged; and how many of these are SACKed, lost, and retransmitted.
    pub(crate) unacked: u32,
    pub(crate) sacked: u32,
    pub(crate) lost: u32,
    pub(crate) retrans: u32,
    fackets: u32,
    last_data_sent: u32,
    last_ack_sent: u32,
    last_data_recv: u32,
    last_ack_recv: u32,
    pmtu: u32,
    rcv_ssthresh: u32,
    /// Smoothed round trip and its variation, µs.
    pub(crate) rtt: u32,
    pub(crate) rttvar: u32,
    /// Slow start threshold and congestion window, segments.
    pub(crate) snd_ssthresh: u32,
    pub(crate) snd_cwnd: u32,
    advmss: u32,
    reordering: u32,
    rcv_rtt: u32,
    rcv_space: u32,
    /// Segments retransmitted since the connection began.
    pub(crate) total_retrans: u32,
    /// The rate at which the kernel sends, bytes/s.
    pub(crate) pacing_rate: u64,
    max_pacing_rate: u64,
    /// Bytes that the peer has acknowledged. A client's SYN counts as one.
    pub(crate) bytes_acked: u64,
    bytes_received: u64,
    segs_out: u32,
    segs_in: u32,
    /// Bytes in the socket that were never sent.
    pub(crate) notsent_bytes: u32,
    /// The smallest round trip of the last five minutes, µs; `u32::MAX` if none was measured.
    pub(crate) min_rtt: u32,
    data_segs_in: u32,
    /// Data segments sent, repeats included.
    pub(crate) data_segs_out: u32,
}

sockopt_impl!(
    /// The socket option `TCP_INFO`.
    Info, GetOnly, libc::IPPROTO_TCP, libc::TCP_INFO, TcpInfo
);

impl TcpInfo {
    /// Asks the kernel for the state of a connection.
    ///
    /// # Errors
    /// If the system call fails.
    pub(crate) fn of(stream: &TcpStream) -> std::io::Result<TcpInfo> {
        Ok(getsockopt(stream, Info)?)
    }

    /// Segments that are thought to be in the network.
    pub(crate) fn in_flight(&self) -> u32 {
        (self.unacked + self.retrans).saturating_sub(self.sacked + self.lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    #[test]
    fn the_kernel_fills_the_fields() -> std::io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let mut near = TcpStream::connect(listener.local_addr()?)?;
        let (mut far, _) = listener.accept()?;
        let before = TcpInfo::of(&near)?;
        near.write_all(&[7; 5000])?;
        far.read_exact(&mut [0; 5000])?;
        far.write_all(b"!")?;
        // The answer acknowledges the data.
        near.read_exact(&mut [0])?;
        let after = TcpInfo::of(&near)?;
        assert_eq!((after.state, after.ca_state, after.unacked, after.notsent_bytes), (1, 0, 0, 0));
        assert_eq!(after.bytes_acked - before.bytes_acked, 5000);
        assert!(after.snd_cwnd > 0 && after.snd_mss > 500 && after.data_segs_out > 0, "{after:?}");
        assert!((1..1_000_000).contains(&after.rtt) && (1..1_000_000).contains(&after.min_rtt), "{after:?}");
        Ok(())
    }
}
