//! Settings that a living connection can change.
//!
//! What the two SYNs of a subflow agree on is fixed for that subflow: timestamps, SACK, ECN, and the window scale,
//! which limits the receive buffer. What MP_CAPABLE says is fixed for the connection: Multipath TCP, checksums, and
//! whether the initial address may be joined. The host and the controllers cannot be exchanged, because a host counts
//! memory from the first byte on, and a controller counts windows from the first segment on. Settings that matter only
//! when a subflow begins (initial window, path manager, number of subflows) have no setter, because they would change
//! nothing that exists. The scheduler has [`Connection::set_scheduler`], a path's MTU
//! [`Endpoint::set_path_mtu`](crate::Endpoint::set_path_mtu), a subflow's priority [`Connection::set_backup`].

use super::Connection;
use crate::config::{ConnectionConfig, Pacing, ReceiveBuffer};
use crate::parameter::ParameterError;
use crate::scheduler::{ChosenScheduler, Event, Quantity};
use crate::sender::Blocked;
use crate::seq::SubflowId;
use arrayvec::ArrayVec;
use pathweave_units::{Bitrate, Duration, Instant};
use std::sync::Arc;

/// Why a setting is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingError {
    /// Zero has no meaning here.
    Zero,
    /// A window scale that was agreed on in a handshake cannot express more than this many bytes.
    BeyondWindowScale {
        /// The most.
        most: u64,
    },
    /// The connection has no such subflow, or it is over.
    UnknownSubflow,
}

impl core::fmt::Display for SettingError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            SettingError::Zero => f.write_str("zero is not allowed"),
            SettingError::BeyondWindowScale { most } => write!(f, "the window scale allows at most {most} bytes"),
            SettingError::UnknownSubflow => f.write_str("no such subflow"),
        }
    }
}

impl core::error::Error for SettingError {}

impl Connection {
    /// The settings, to change them. Connections that a listener has accepted share theirs until then.
    fn config_mut(&mut self) -> &mut ConnectionConfig {
        Arc::make_mut(&mut self.config)
    }

    /// Switches Nagle's rule (RFC 9293 §3.7.4) on or off. When it is switched off, data that it has held back leaves at
    /// once.
    //= RFC 9293 §3.7.4 (MUST-17): "there MUST be a way for an application to disable the Nagle algorithm on an individual
    //= connection"
    //= tests: settings::without_nagles_rule_the_tail_that_it_held_leaves_at_once
    pub fn set_nagle(&mut self, now: Instant, on: bool) {
        self.config_mut().nagle = on;
        // After `close` plain TCP's tail waits for nothing, whatever is set.
        let on = on && (self.is_mptcp() || self.life.data_fin == super::DataFin::NotRequested);
        for subflow in self.subflows.iter_mut() {
            subflow.tcp.set_nagle(on);
            subflow.tcp.look_again();
        }
        // What is there leaves although there is a cork, as on Linux.
        self.sender.peer.overridden |= !on && self.scheduling.corked;
        self.schedule(now);
        self.sender.peer.overridden = false;
    }

    /// While it is corked, a short segment at the stream's end waits for more data, but no longer than a retransmission timeout (Linux:
    /// `TCP_CORK`). What has waited leaves when the cork is taken out.
    pub fn set_cork(&mut self, now: Instant, on: bool) {
        self.scheduling.corked = on;
        self.schedule(now);
    }

    /// Probes a subflow on which nothing has arrived for this long (RFC 9293 §3.8.4); zero: never. A subflow that has
    /// been quiet for longer is probed at once.
    //= RFC 9293 §3.8.4 (MUST-24, MUST-27): "the application MUST be able to turn them on or off for each TCP connection"
    //= tests: settings::keep_alive_begins_and_ends_on_a_living_connection
    pub fn set_keep_alive(&mut self, interval: Duration) {
        self.config_mut().keep_alive = interval;
    }

    /// How long the connection survives without any sign of life of its peer, and how long a close may take: RFC 9293's
    /// user timeout (§3.9.1). It counts from the last sign of life, so it may have passed already.
    ///
    /// # Errors
    /// For zero.
    //= RFC 9293 §3.8.3 (MUST-21): "An application MUST be able to set the value for R2 for a particular connection"
    //= tests: settings::another_close_timeout_counts_from_the_last_sign_of_life
    pub fn set_close_timeout(&mut self, timeout: Duration) -> Result<(), SettingError> {
        if timeout.is_zero() {
            return Err(SettingError::Zero);
        }
        self.config_mut().close_timeout = timeout;
        Ok(())
    }

    /// Changes the send buffer, in bytes. Data that was written stays; a smaller buffer takes no more until it has
    /// room. On a host whose send buffer follows the windows it has this size from now on, as after Linux's `SO_SNDBUF`.
    ///
    /// # Errors
    /// For zero.
    pub fn set_send_buffer(&mut self, now: Instant, bytes: u64) -> Result<(), SettingError> {
        if bytes == 0 {
            return Err(SettingError::Zero);
        }
        self.config_mut().send_buffer = bytes;
        self.sender.fixed_buffer = true;
        for subflow in self.subflows.iter_mut() {
            subflow.tcp.fix_send_buffer();
        }
        self.report_writable();
        self.schedule(now);
        Ok(())
    }

    /// Lets the application write no more than this many bytes ahead of what has left, whatever room there is in the send buffer, so that
    /// what it writes next does not wait behind much else (Linux: `TCP_NOTSENT_LOWAT`); without a number the send buffer alone bounds it. The
    /// application is told of room once less than half of it is unsent.
    ///
    /// # Errors
    /// For zero.
    pub fn set_unsent_limit(&mut self, bytes: Option<u64>) -> Result<(), SettingError> {
        if bytes == Some(0) {
            return Err(SettingError::Zero);
        }
        self.sender.unsent_limit = bytes;
        self.report_writable();
        Ok(())
    }

    /// Changes the receive buffer. A smaller one takes back nothing that was offered: the window's edge stays where it
    /// is until what was read has made up for the difference (RFC 9293 §3.8.6). A larger one is announced to the peer.
    ///
    /// # Errors
    /// For zero, and for more than the window scale of every living subflow can express, unless the buffer was as large
    /// before.
    //= RFC 9293 §3.8.6 (SHLD-14): "A TCP receiver SHOULD NOT shrink the window, i.e., move the right window edge to the left"
    //= tests: settings::a_smaller_receive_buffer_takes_back_nothing_that_was_offered
    pub fn set_receive_buffer(&mut self, buffer: ReceiveBuffer) -> Result<(), SettingError> {
        let (least, max) = match buffer {
            ReceiveBuffer::Fixed(bytes) => (bytes, bytes),
            ReceiveBuffer::Auto { initial, max } => (initial, max),
        };
        if least == 0 || max == 0 {
            return Err(SettingError::Zero);
        }
        let scale = self.subflows.established().map(|s| u64::from(u16::MAX) * s.tcp.window_step()).min();
        if let Some(most) = scale.map(|scale| scale.max(self.receiver.window.largest()))
            && max > most
        {
            return Err(SettingError::BeyondWindowScale { most });
        }
        self.config_mut().receive_buffer = buffer;
        self.receiver.window.resize(buffer);
        let (first, occupied) = (self.receiver.window.first(), self.occupied(0));
        for subflow in self.subflows.established_mut() {
            subflow.window.limit = subflow.window.limit.max(first);
            if self.receiver.tells(&subflow.tcp, &subflow.window, occupied) {
                subflow.tcp.ack_now();
            }
        }
        Ok(())
    }

    /// Switches pacing of all subflows on or off, or changes its limit or horizon. Data that waits for its time leaves
    /// at the new rate.
    ///
    /// # Errors
    /// For a limit of zero.
    pub fn set_pacing(&mut self, pacing: Pacing) -> Result<(), SettingError> {
        if matches!(pacing, Pacing::On { limit: Some(limit), .. } if limit == Bitrate::from_bps(0)) {
            return Err(SettingError::Zero);
        }
        self.config_mut().tcp.pacing = pacing;
        for subflow in self.subflows.iter_mut() {
            subflow.tcp.set_pacing(pacing);
        }
        Ok(())
    }
}

impl Connection {
    /// What this side's scheduler carries along now (see [`Scheduler::quantities`](crate::scheduler::Scheduler::quantities)).
    pub fn scheduler_quantities(&self, put: &mut dyn FnMut(Quantity)) {
        self.scheduling.scheduler.quantities(put);
    }

    /// Exchanges the scheduler of this side's sending direction. The old one is dropped with all that it remembers.
    ///
    /// Data that the old one gave to subflows stays there. Its waits end, and subflows that it picked but that got no
    /// data yet are no longer picked. The new one gets events for each subflow that can carry data and for what holds
    /// data back, as if both had just begun, and is asked at once. Events about data that the old one assigned reach
    /// the new one.
    ///
    /// # Errors
    /// If the new one's factory rejects a value; the old one goes on then.
    pub fn set_scheduler(&mut self, now: Instant, chosen: ChosenScheduler) -> Result<(), ParameterError> {
        self.scheduling.scheduler = chosen.build()?;
        self.config_mut().scheduler = chosen;
        self.scheduling.wake = None;
        self.host.clear_pushes();
        let usable: ArrayVec<SubflowId, { SubflowId::MAX_SUBFLOWS }> = self.subflows.usable().map(|s| s.id).collect();
        for id in usable {
            self.tell(now, |_| Event::SubflowUp(id));
        }
        if let Some(Blocked { by, holders, .. }) = self.sender.blocked {
            self.tell(now, |_| Event::WindowBlocked { by, holders });
        }
        self.schedule(now);
        Ok(())
    }
}
