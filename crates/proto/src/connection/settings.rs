//! Changes to the settings of a living connection.
//!
//! What the two SYNs of a subflow agree on is fixed for that subflow: timestamps, SACK, ECN, and the window scale,
//! which limits the receive buffer. What MP_CAPABLE says is fixed for the connection: Multipath TCP, checksums, and
//! whether the initial address may be joined. The host and the controllers cannot be exchanged, because a host counts
//! memory from the first byte on, and a controller counts windows from the first segment on. Settings that matter only
//! when a subflow begins (initial window, path manager, number of subflows) have no setter, because they would change
//! nothing that exists.
//!
//! The scheduler has [`Connection::set_scheduler`], a path's MTU
//! [`Endpoint::set_path_mtu`](crate::Endpoint::set_path_mtu), a subflow's priority [`Connection::set_backup`].

use super::{Connection, Shared};
use crate::config::{ConnectionConfig, Pacing, ReceiveBuffer};
use crate::sender::Blocked;
use arrayvec::ArrayVec;
use pathweave_scheduler::parameter::ParameterError;
use pathweave_scheduler::{ChosenScheduler, Event, Quantity, SubflowId};
use pathweave_units::{Bitrate, Duration, Instant};
use std::sync::Arc;

/// Why a setting was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingError {
    /// Zero is not allowed for this setting.
    Zero,
    /// The value exceeds what the window scale of a subflow, agreed on in its handshake, can express.
    BeyondWindowScale {
        /// Largest allowed value, bytes.
        most: u64,
    },
    /// The connection has no such subflow, or the subflow has ended.
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
    /// Switches Nagle's rule (RFC 9293 §3.7.4) on or off. If it is switched off, data that it has held back leaves at
    /// once.
    //= RFC 9293 §3.7.4 (MUST-17): "there MUST be a way for an application to disable the Nagle algorithm on an individual
    //= connection"
    //= tests: settings::without_nagles_rule_the_tail_that_it_held_leaves_at_once
    pub fn set_nagle(&mut self, now: Instant, on: bool) {
        self.shared.config_mut().nagle = on;
        // After `close`, the tail of plain TCP does not wait, whatever the setting.
        let on = on && (self.is_mptcp() || self.shared.life.data_fin == super::DataFin::NotRequested);
        for subflow in self.subflows.iter_mut() {
            subflow.tcp.set_nagle(on);
            subflow.tcp.look_again();
        }
        // Waiting data leaves in spite of a cork, as on Linux.
        self.shared.sender.peer.overridden |= !on && self.shared.scheduling.corked;
        self.schedule(now);
        self.shared.sender.peer.overridden = false;
    }

    /// Sets or removes the cork. While it is set, a short segment at the stream's end waits for more data, but no
    /// longer than a retransmission timeout (Linux: `TCP_CORK`). If it is removed, waiting data leaves.
    pub fn set_cork(&mut self, now: Instant, on: bool) {
        self.shared.scheduling.corked = on;
        self.schedule(now);
    }

    /// Sets the silence after which a subflow is probed (RFC 9293 §3.8.4); zero: never. A subflow that has been silent
    /// for longer is probed at once.
    //= RFC 9293 §3.8.4 (MUST-24, MUST-27): "the application MUST be able to turn them on or off for each TCP connection"
    //= tests: settings::keep_alive_begins_and_ends_on_a_living_connection
    pub fn set_keep_alive(&mut self, interval: Duration) {
        self.shared.config_mut().keep_alive = interval;
    }

    /// Sets how long the connection survives without any sign of life of its peer, and how long a close may take: RFC
    /// 9293's user timeout (§3.9.1). It counts from the last sign of life, so it may have passed already.
    ///
    /// # Errors
    /// If `timeout` is zero.
    //= RFC 9293 §3.8.3 (MUST-21): "An application MUST be able to set the value for R2 for a particular connection"
    //= tests: settings::another_close_timeout_counts_from_the_last_sign_of_life
    pub fn set_close_timeout(&mut self, timeout: Duration) -> Result<(), SettingError> {
        if timeout.is_zero() {
            return Err(SettingError::Zero);
        }
        self.shared.config_mut().close_timeout = timeout;
        Ok(())
    }

    /// Sets the size of the send buffer, in bytes. Written data stays; a smaller buffer accepts no more data until it
    /// has room. If the host adapts the send buffer to the windows, it stops doing so, as after Linux's `SO_SNDBUF`.
    ///
    /// # Errors
    /// If `bytes` is zero.
    pub fn set_send_buffer(&mut self, now: Instant, bytes: u64) -> Result<(), SettingError> {
        if bytes == 0 {
            return Err(SettingError::Zero);
        }
        self.shared.config_mut().send_buffer = bytes;
        self.shared.sender.fixed_buffer = true;
        for subflow in self.subflows.iter_mut() {
            subflow.tcp.fix_send_buffer();
        }
        self.shared.report_writable(&self.subflows);
        self.schedule(now);
        Ok(())
    }

    /// Limits the written data that has not left yet to this many bytes, even if the send buffer has more room, so that
    /// later writes do not wait behind much other data (Linux: `TCP_NOTSENT_LOWAT`). With `None` only the send buffer
    /// limits it. The application is told of room as soon as less than half of the limit is unsent.
    ///
    /// # Errors
    /// If `bytes` is zero.
    pub fn set_unsent_limit(&mut self, bytes: Option<u64>) -> Result<(), SettingError> {
        if bytes == Some(0) {
            return Err(SettingError::Zero);
        }
        self.shared.sender.unsent_limit = bytes;
        self.shared.report_writable(&self.subflows);
        Ok(())
    }

    /// Changes the receive buffer. A smaller one takes back nothing that was offered: the window's edge stays until
    /// reading has made up for the difference (RFC 9293 §3.8.6). A larger one is announced to the peer.
    ///
    /// # Errors
    /// If a size is zero, or exceeds what the window scale of some living subflow can express, unless the buffer was as
    /// large before.
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
        if let Some(most) = scale.map(|scale| scale.max(self.shared.receiver.window.largest()))
            && max > most
        {
            return Err(SettingError::BeyondWindowScale { most });
        }
        self.shared.config_mut().receive_buffer = buffer;
        self.shared.receiver.window.resize(buffer);
        let (first, occupied) = (self.shared.receiver.window.first(), self.shared.occupied(0));
        for subflow in self.subflows.established_mut() {
            subflow.window.limit = subflow.window.limit.max(first);
            if self.shared.receiver.tells(&subflow.tcp, &subflow.window, occupied) {
                subflow.tcp.ack_now();
            }
        }
        Ok(())
    }

    /// Switches pacing of all subflows on or off, or changes its limit or horizon. Waiting data leaves at the new rate.
    ///
    /// # Errors
    /// If the limit is zero.
    pub fn set_pacing(&mut self, pacing: Pacing) -> Result<(), SettingError> {
        if matches!(pacing, Pacing::On { limit: Some(limit), .. } if limit == Bitrate::from_bps(0)) {
            return Err(SettingError::Zero);
        }
        self.shared.config_mut().tcp.pacing = pacing;
        for subflow in self.subflows.iter_mut() {
            subflow.tcp.set_pacing(pacing);
        }
        Ok(())
    }
}

impl Shared {
    /// The settings, for changes. Connections of one listener share theirs until one of them is changed.
    fn config_mut(&mut self) -> &mut ConnectionConfig {
        Arc::make_mut(&mut self.config)
    }
}

impl Connection {
    /// Values that this side's scheduler keeps between decisions (see
    /// [`Scheduler::quantities`](pathweave_scheduler::Scheduler::quantities)).
    pub fn scheduler_quantities(&self, put: &mut dyn FnMut(Quantity)) {
        self.shared.scheduling.scheduler.quantities(put);
    }

    /// Replaces the scheduler of this side's sending direction. The old one is dropped with its state.
    ///
    /// Data that the old scheduler gave to subflows stays there. Its waits end, and subflows that it picked but that
    /// got no data are no longer picked. The new scheduler gets an event for each subflow that can carry data, and one
    /// if a limit holds data back, as if both had just begun; then it is asked. Events about data that the old
    /// scheduler assigned go to the new one.
    ///
    /// # Errors
    /// If the new scheduler's factory rejects a value. The old scheduler stays.
    pub fn set_scheduler(&mut self, now: Instant, chosen: ChosenScheduler) -> Result<(), ParameterError> {
        self.shared.scheduling.scheduler = chosen.build()?;
        self.shared.config_mut().scheduler = chosen;
        self.shared.scheduling.wake = None;
        self.shared.host.clear_pushes();
        let usable: ArrayVec<SubflowId, { SubflowId::MAX_SUBFLOWS }> = self.subflows.usable().map(|s| s.id).collect();
        for id in usable {
            self.shared.tell(now, &Event::SubflowUp(id), &self.subflows);
        }
        if let Some(Blocked { by, holders, .. }) = self.shared.sender.blocked {
            self.shared.tell(now, &Event::WindowBlocked { by, holders }, &self.subflows);
        }
        self.schedule(now);
        Ok(())
    }
}
