//! Opening a subflow (RFC 9293 §3.5, §3.10.7.3).

use super::ack::{Congestion, DeliveryMeter, Round};
use super::pacing::Pacer;
use super::path_mtu::PathMtu;
use super::receive::SubflowReceiver;
use super::recovery::Recovery;
use super::rtt::Rtt;
use super::send_window::SubflowSendWindow;
use super::timers::{RetransmitTimer, TimeoutRun, Timers};
use super::transmit::{Due, SendSpace};
use super::{Changes, Counters, Ended, Outgoing, Peers, Tcp, TcpState, Verdict};
use crate::config::{LossRecovery, TcpConfig, largest_segment};
use crate::congestion::Controller;
use crate::host::{Host, SubflowHost};
use crate::send_queue::SendQueue;
use core::net::SocketAddr;
use pathweave_units::{Duration, Instant};
use pathweave_wire::{Flags, Segment};

/// Segment size of a peer that announces none (RFC 9293 §3.7.1) or a smaller one.
const DEFAULT_MSS: u32 = 536;

/// Time until a SYN is sent once more if an earlier connection's end answered it. Our reset ends that connection first.
const AFTER_OLD_CONNECTION: Duration = Duration::from_millis(2);

/// State of the handshake.
#[derive(Debug)]
pub(super) struct Opening {
    /// Initial sequence number: ours here, the peer's in `peer_isn`.
    pub(super) isn: u32,
    /// Offset of our timestamps on the wire from our clock.
    pub(super) timestamp_offset: u32,
    pub(super) peer_isn: u32,
    /// Whether the peer's SYN was seen.
    pub(super) peer_synced: bool,
    /// Whether a SYN or SYN/ACK is due. (`syn_sent_at` is when the last one left, `retransmissions` how many were in
    /// vain.)
    pub(super) syn_due: bool,
    /// A SYN that crossed ours: the peer may have opened at the same time.
    pub(super) crossing: Option<Box<Segment>>,
    /// Whether our SYN was answered by an earlier connection's end, so that it is or was sent once more.
    pub(super) asked_again: bool,
    /// Whether our newest SYN was answered, though wrongly, and the number of SYNs without any answer.
    pub(super) misled: bool,
    pub(super) unanswered: u32,
    pub(super) syn_sent_at: Instant,
    pub(super) retransmissions: u32,
}

/// Start of a subflow's sequence numbers and timestamps on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) sequence: u32,
    pub(crate) timestamp: u32,
}

impl Opening {
    /// Time of our clock for a timestamp that the peer echoes; 0, "none yet", stays 0.
    pub(super) fn own_time(&self, echo: u32) -> u32 {
        if echo == 0 { 0 } else { echo.wrapping_sub(self.timestamp_offset) }
    }
}

/// Options that the two SYNs have agreed on.
#[derive(Debug)]
pub(super) struct Agreed {
    /// Data bytes of a full segment, after the options of a data segment.
    pub(super) mss: u32,
    pub(super) peer_mss: u32,
    pub(super) sack: bool,
    //= RFC 7323 §3.2: "The TCP SHOULD remember this state by setting a flag, referred to as Snd.TS.OK, to one"
    //= tests: acceptance::timestamps_are_in_every_segment_or_in_none
    pub(super) timestamps: bool,
    pub(super) ecn: bool,
    /// Window scales, of the window fields that we send and that the peer sends.
    pub(super) window_shift: u8,
    pub(super) peer_window_shift: u8,
}

impl Tcp {
    fn new(
        config: TcpConfig,
        host: Host,
        controller: Box<dyn Controller>,
        (local, remote): (SocketAddr, SocketAddr),
        origin: Origin,
        largest_window: u64,
    ) -> Self {
        //= RFC 7323 §2.3: "Thus, the shift count MUST be limited to 14 (which allows windows of 2^30 = 1 GiB)"
        //= tests: window_updates::no_window_is_scaled_by_more_than_14
        let mut window_shift = if config.window_scaling { config.least_window_shift.min(14) as u8 } else { 0 };
        while config.window_scaling && window_shift < 14 && largest_window >> window_shift > 65_535 {
            window_shift += 1;
        }
        let cwnd = config.initial_window.max(1);
        Tcp {
            local,
            remote,
            state: TcpState::Closed,
            opening: Opening {
                isn: origin.sequence,
                timestamp_offset: origin.timestamp,
                peer_isn: 0,
                peer_synced: false,
                syn_due: true,
                crossing: None,
                asked_again: false,
                misled: false,
                unanswered: 0,
                syn_sent_at: Instant::ZERO,
                retransmissions: 0,
            },
            agreed: Agreed {
                mss: DEFAULT_MSS,
                peer_mss: DEFAULT_MSS,
                sack: false,
                timestamps: false,
                ecn: false,
                window_shift,
                peer_window_shift: 0,
            },
            path_mtu: PathMtu::new(config.mtu),
            queue: SendQueue::default(),
            send: SendSpace::new(),
            congestion: Congestion::new(cwnd, controller),
            rtt: Rtt::new(&host, config.min_rto, config.max_rto),
            recovery: Recovery::new(),
            delivery: DeliveryMeter::default(),
            round: Round::default(),
            peer_window: SubflowSendWindow::default(),
            due: Due::default(),
            silence: TimeoutRun::default(),
            pacer: Pacer::new(config.pacing),
            backlog: false,
            receiver: SubflowReceiver::new(&config, &host),
            timers: Timers::default(),
            counters: Counters::default(),
            host: SubflowHost::new(&host, config.send_buffer_tuning, cwnd, DEFAULT_MSS),
            config,
        }
    }

    /// Opens actively: a SYN will leave.
    pub(crate) fn connect(
        config: TcpConfig,
        host: Host,
        controller: Box<dyn Controller>,
        addresses: (SocketAddr, SocketAddr),
        origin: Origin,
        largest_window: u64,
    ) -> Self {
        let mut tcp = Tcp::new(config, host, controller, addresses, origin, largest_window);
        tcp.state = TcpState::SynSent;
        tcp.send.nxt = 1;
        tcp
    }

    /// Opens passively: answers `syn` with a SYN/ACK.
    pub(crate) fn accept(
        now: Instant,
        config: TcpConfig,
        host: Host,
        controller: Box<dyn Controller>,
        syn: &Segment,
        origin: Origin,
        largest_window: u64,
    ) -> Self {
        let mut tcp = Tcp::new(config, host, controller, (syn.dst, syn.src), origin, largest_window);
        tcp.state = TcpState::SynReceived;
        tcp.send.nxt = 1;
        tcp.negotiate(now, syn);
        tcp
    }

    /// Notes that the SYN/ACK has left already. It counts as one retransmission: one may be chance, so the window stays
    /// as it would have been.
    pub(crate) fn has_answered(&mut self) {
        (self.opening.syn_due, self.opening.retransmissions) = (false, 1);
    }

    /// Takes the options of the peer's SYN.
    //= RFC 7323 §2.2: "both sides MUST send Window Scale options in their <SYN> segments to enable window scaling in either
    //= direction"
    //= tests: handshake::what_the_peer_does_not_offer_is_not_used
    //= RFC 7323 §2.2: "A Window Scale option in a segment without a SYN bit MUST be ignored"
    //= tests: window_updates::a_window_scale_outside_of_a_syn_is_ignored
    //= RFC 7323 §2.3: "If a Window Scale option is received with a shift.cnt value larger than 14, the TCP SHOULD log the error
    //= but MUST use 14 instead of the specified value"
    //= tests: window_updates::no_window_is_scaled_by_more_than_14
    pub(super) fn negotiate(&mut self, now: Instant, syn: &Segment) {
        let o = &syn.options;
        self.opening.peer_synced = true;
        self.opening.peer_isn = syn.seq;
        self.receiver.start();
        //= RFC 9293 §3.7.1 (MUST-15): "If an MSS Option is not received at connection setup, TCP implementations MUST assume a
        //= default send MSS of 536 (576 - 40) for IPv4"
        //= tests: handshake::a_peer_that_names_no_segment_size_gets_536_bytes
        // Smaller values are not believed: every host takes IP packets of 576 bytes (RFC 791 §3.1), and an attacker
        // could make us send mostly headers (CVE-2019-11479).
        self.agreed.peer_mss = u32::from(o.mss.unwrap_or(0)).max(DEFAULT_MSS);
        self.agreed.sack = o.sack_permitted && self.config.recovery != LossRecovery::NewReno;
        self.agreed.timestamps = o.timestamps.is_some() && self.config.timestamps;
        if let Some(t) = o.timestamps {
            (self.receiver.clock.recent, self.receiver.clock.recent_at) = (t.value, now);
        }
        match o.window_scale {
            Some(shift) if self.config.window_scaling => self.agreed.peer_window_shift = shift.min(14),
            _ => {
                self.agreed.window_shift = 0;
                self.agreed.peer_window_shift = 0;
            }
        }
        // RFC 3168 §6.1.1: ECE and CWR on the SYN ask, ECE alone on the SYN/ACK agrees.
        let asks = syn.flags.contains(Flags::ECE | Flags::CWR) && !syn.flags.contains(Flags::ACK);
        let agrees = syn.flags.contains(Flags::ECE | Flags::ACK) && !syn.flags.contains(Flags::CWR);
        self.agreed.ecn = self.config.ecn && (asks || agrees);
        self.reserve_options(0);
        self.host.set_plain_mss(self.agreed.mss);
    }

    /// The segment size that our SYN announces.
    //= RFC 8201 §5.4: "The value sent in the TCP MSS option is independent of the PMTU"
    //= tests: learned_path_mtu::what_one_connection_finds_out_all_between_the_same_addresses_use
    pub(super) fn offered_mss(&self) -> u32 {
        largest_segment(self.path_mtu.limit, self.local.is_ipv4())
    }

    /// Largest TCP payload plus options for the path and the peer.
    pub(crate) fn largest_segment(&self) -> u32 {
        largest_segment(self.path_mtu.mtu, self.local.is_ipv4()).min(self.agreed.peer_mss)
    }

    #[cold]
    //= RFC 9293 §3.7.1 (SHLD-5): "TCP implementations SHOULD send an MSS Option in every SYN segment when its receive MSS differs
    //= from the default"
    //= tests: handshake::options_are_offered_and_agreed
    pub(super) fn syn_header(&self, segment: &mut Segment, window: u64) {
        segment.flags |= Flags::SYN;
        let answering = self.opening.peer_synced;
        //= RFC 7323 §2.2: "The window field in a segment where the SYN bit is set (i.e., a <SYN> or <SYN,ACK>) MUST NOT be
        //= scaled"
        //= tests: handshake::options_are_offered_and_agreed
        segment.window = window.min(65_535) as u16;
        //= RFC 9293 §3.7.1 (MUST-14): "TCP endpoints MUST implement both sending and receiving the MSS Option"
        //= tests: handshake::each_syn_names_the_segment_size_and_nothing_else_does, handshake::a_peer_that_names_no_segment_size_gets_536_bytes, path_mtu::the_peers_smaller_path_mtu_binds_as_well
        //= RFC 9293 §3.7.1 (MAY-3): "and MAY send it always"
        //= tests: handshake::each_syn_names_the_segment_size_and_nothing_else_does
        segment.options.mss = Some(self.offered_mss().min(65_535) as u16);
        segment.options.sack_permitted =
            self.config.recovery != LossRecovery::NewReno && (!answering || self.agreed.sack);
        if self.config.window_scaling
            && (!answering || self.agreed.window_shift > 0 || self.agreed.peer_window_shift > 0)
        {
            segment.options.window_scale = Some(self.agreed.window_shift);
        }
        if self.config.ecn {
            if !answering {
                segment.flags |= Flags::ECE | Flags::CWR;
            } else if self.agreed.ecn {
                segment.flags |= Flags::ECE;
            }
        }
    }

    #[cold]
    pub(super) fn handle_in_syn_sent(
        &mut self,
        now: Instant,
        segment: &Segment,
        peers: Peers<'_>,
        changes: &mut Changes,
    ) {
        let acks_syn = segment.flags.contains(Flags::ACK) && segment.ack == self.opening.isn.wrapping_add(1);
        if segment.flags.contains(Flags::ACK) && !acks_syn {
            //= RFC 9293 §3.10.7.3: "If SEG.ACK =< ISS or SEG.ACK > SND.NXT, send a reset"
            //= tests: handshake::a_wrong_acknowledgement_of_the_syn_is_reset
            changes.verdict = Verdict::Refused;
            self.opening.misled = true;
            if !self.opening.asked_again && self.opening.retransmissions == 0 && !segment.flags.contains(Flags::RST) {
                // The peer still has an earlier connection, which our reset ends, so the next SYN need not wait for a
                // second. It is no sign that SYNs get lost.
                self.opening.asked_again = true;
                self.timers.retransmit = Some((RetransmitTimer::SynAgain, now + AFTER_OLD_CONNECTION));
            }
            return;
        }
        if segment.flags.contains(Flags::RST) {
            if acks_syn {
                self.abort();
                changes.ended = Some(Ended::Reset);
            }
            return;
        }
        if !acks_syn {
            if segment.flags.contains(Flags::SYN) {
                // Both sides opened at once, or a blind attacker pretends so. Only an acknowledgement of our SYN tells
                // which, so nothing is taken from this SYN: the state stays, and a SYN/ACK and a reset are still
                // checked as before.
                //= RFC 9293 §3.5 (MUST-10): "A TCP implementation MUST support simultaneous open attempts"
                //= tests: handshake::both_ends_may_open_at_once, handshake::a_crossing_syn_whose_answer_is_lost
                self.opening.crossing = Some(Box::new(segment.clone()));
                changes.verdict = Verdict::Crossing;
            }
            return;
        }
        changes.verdict = Verdict::Acceptable;
        if segment.flags.contains(Flags::SYN) {
            self.negotiate(now, segment);
        } else if self.completes_crossing(segment)
            && let Some(syn) = self.opening.crossing.take()
        {
            self.negotiate(now, &syn);
        } else {
            return;
        }
        self.opening.crossing = None;
        self.update_peer_window(segment, 0, 1);
        self.send.una = 1;
        self.receiver.ack_now();
        self.establish(now, peers, changes);
    }

    /// Whether this acknowledges our answer to a crossing SYN while the peer's own answer is lost.
    pub(crate) fn completes_crossing(&self, segment: &Segment) -> bool {
        let follows = self.opening.crossing.as_ref().is_some_and(|syn| segment.seq == syn.seq.wrapping_add(1));
        follows && self.state == TcpState::SynSent && !segment.flags.intersects(Flags::SYN | Flags::RST)
    }

    /// The answer to a crossing SYN: our SYN once more, with an acknowledgement (RFC 9293 §3.5, figure 8).
    #[cold]
    pub(crate) fn crossing_answer(&mut self, now: Instant, window: u64) -> Option<Segment> {
        let mut answer = Segment::default();
        self.header(now, &Outgoing::Syn, window, &mut answer);
        let syn = self.opening.crossing.as_ref()?;
        answer.flags = Flags::SYN | Flags::ACK;
        answer.ack = syn.seq.wrapping_add(1);
        if let (Some(ours), Some(theirs)) = (&mut answer.options.timestamps, syn.options.timestamps) {
            ours.echo = theirs.value;
        }
        Some(answer)
    }

    //= RFC 5681 §3.1: "the SYN/ACK and the acknowledgment of the SYN/ACK MUST NOT increase the size of the congestion window"
    //= tests: congestion::no_more_is_out_than_the_first_window_and_the_handshake_adds_nothing_to_it
    //= RFC 5681 §3.1: "if the SYN or SYN/ACK is lost, the initial window used by a sender after a correctly transmitted SYN
    //= MUST be one segment consisting of at most SMSS bytes"
    //= tests: congestion::after_a_handshake_that_was_lost_twice_the_first_window_is_one_segment
    #[cold]
    pub(super) fn establish(&mut self, now: Instant, peers: Peers<'_>, changes: &mut Changes) {
        self.state = if self.send.fin_queued { TcpState::FinWait1 } else { TcpState::Established };
        self.timers.retransmit = None;
        if self.opening.retransmissions == 0 && !self.opening.asked_again {
            let rtt = now.since(self.opening.syn_sent_at);
            self.rtt.sample_min(rtt);
            self.rtt.sample(rtt, 0, 1);
            changes.rtt = Some(rtt);
        } else if self.opening.retransmissions > 1 {
            // RFC 5681 §3.1: a lost SYN or SYN/ACK means a window of one segment; one timeout may have been chance (RFC
            // 6298 §5.7).
            self.congestion.window.cwnd = 1;
        }
        if self.opening.unanswered > 0 {
            self.rtt.opened_late();
        }
        self.rtt.reset_backoff();
        self.delivery.at = now;
        self.congestion.growth = self.with_controller(now, peers, |c, cx| c.growth(cx));
        self.update_pacing();
        changes.established = true;
    }
}
