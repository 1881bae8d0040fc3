//! The applications at both ends.

use super::{Server, Side};
use pathweave_driver::Applications;
use pathweave_proto::{ConnectionEvent, ConnectionHandle, Endpoint};
use pathweave_units::Instant;
use pathweave_wire::Payload;

/// The application at one end.
#[derive(Default)]
pub(crate) struct App {
    pub(crate) handle: Option<ConnectionHandle>,
    pub(crate) received: Vec<u8>,
    pub(crate) events: Vec<(Instant, ConnectionEvent)>,
    /// Bytes written so far, and bytes still to be written.
    pub(crate) written: u64,
    pub(crate) pending: u64,
    pub(crate) close_after_writing: bool,
    /// Whether it reads whenever it can.
    pub(crate) reads: bool,
}

#[derive(Default)]
pub(crate) struct Programs {
    pub(crate) apps: [App; 2],
    /// Whether bytes that were changed on the way are no failure.
    pub(crate) unchecked: bool,
    /// Whether the server's events are kept for the test.
    pub(crate) collect_events: bool,
    pub(crate) all_events: Vec<(ConnectionHandle, ConnectionEvent)>,
}

/// The byte at position `at` of the test stream.
pub(crate) fn byte_at(side: Side, at: u64) -> u8 {
    (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8 ^ side as u8
}

impl Programs {
    pub(super) fn push(&mut self, now: Instant, side: Side, endpoint: &mut Endpoint) {
        let app = &mut self.apps[side as usize];
        let Some(handle) = app.handle else { return };
        while app.pending > 0 {
            let len = app.pending.min(50_000);
            let bytes: Vec<u8> = (app.written..app.written + len).map(|i| byte_at(side, i)).collect();
            let taken = endpoint.write(now, handle, Payload::Bytes(bytes.into())).unwrap_or(0);
            app.written += taken;
            app.pending -= taken;
            if taken < len {
                return;
            }
        }
        if app.close_after_writing {
            app.close_after_writing = false;
            endpoint.close(now, handle).ok();
        }
    }

    pub(super) fn take(&mut self, side: Side, payload: &Payload) {
        let Payload::Bytes(bytes) = payload else { panic!("real bytes became virtual: {payload:?}") };
        let received = &mut self.apps[side as usize].received;
        for byte in bytes {
            let at = received.len() as u64;
            let right = self.unchecked || *byte == byte_at(side.other(), at);
            assert!(right, "byte {at} of the stream to {side:?} has changed");
            received.push(*byte);
        }
    }
}

impl Applications for Programs {
    fn serve(&mut self, now: Instant, host: usize, endpoint: &mut Endpoint) -> bool {
        let side = Side::of(host);
        let mut acted = false;
        while let Some(accepted) = endpoint.poll_accept() {
            acted = true;
            self.apps[host].handle.get_or_insert(accepted.connection);
        }
        while let Some((handle, event)) = endpoint.poll_event() {
            acted = true;
            if self.collect_events && side == Server {
                self.all_events.push((handle, event));
            }
            if self.apps[host].handle.get_or_insert(handle) == &handle {
                self.apps[host].events.push((now, event));
            }
            if self.apps[host].reads
                && let ConnectionEvent::Readable = event
            {
                while let Ok(payload) = endpoint.read(now, handle, u64::MAX) {
                    self.take(side, &payload);
                }
            }
            if let ConnectionEvent::Writable | ConnectionEvent::Connected = event {
                self.push(now, side, endpoint);
            }
        }
        acted
    }
}
