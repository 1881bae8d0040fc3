//! One TUN device: reads and writes IP packets, with the offload header where the kernel has it.

use crate::vnet::{VNET_BYTES, Vnet};
use arrayvec::ArrayVec;
use pathweave_units::Ecn;
use pathweave_wire::codec::{EncodeError, MAX_HEADER_BYTES, encode_header, encode_header_partial};
use pathweave_wire::{Flags, Segment};
use rustix::buffer::spare_capacity;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, read, writev};
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;
use tun_rs::{DeviceBuilder, SyncDevice};

/// Size of the longest IP packet, bytes.
const MAX_PACKET_BYTES: usize = 65_535;
/// Most pieces that one call writes: two headers and pieces of data. A packet with more pieces is copied into one.
const MAX_PIECES: usize = 32;
/// How many packets may wait in the device until the engine reads them (`txqueuelen`). Linux's default is 500. Hundreds of kernel
/// connections that start together send more than that at once. The device drops what does not fit. If SYNs are lost, the kernel
/// concludes that the path blocks Multipath TCP, and uses plain TCP for an hour (`net.mptcp.blackhole_timeout`).
const QUEUE_PACKETS: u32 = 20_000;
/// Most steps of waiting until a device is up.
const UP_STEPS: u32 = 500;
const UP_STEP: Duration = Duration::from_millis(2);

/// A TUN device of this process. Dropping it removes the device.
pub struct Device {
    device: SyncDevice,
    mtu: u16,
    offload: bool,
}

impl Device {
    /// Makes the device. With `offload`, super-segments and unfinished checksums pass between kernel and engine; if the
    /// kernel does not support that, the device works without.
    ///
    /// # Errors
    /// If the device cannot be made, most often because of missing rights or because the name is in use.
    pub fn create(name: &str, mtu: u16, offload: bool) -> io::Result<Self> {
        let build = |offload| DeviceBuilder::new().name(name).mtu(mtu).offload(offload).build_sync();
        let (device, offload) = match build(offload) {
            Err(_) if offload => (build(false), false),
            device => (device, offload),
        };
        let device = device.map_err(|e| {
            let hint = if std::path::Path::new("/dev/net/tun").exists() {
                ""
            } else {
                "; there is no /dev/net/tun (modprobe tun)"
            };
            io::Error::new(e.kind(), format!("the TUN device {name}: {e}{hint}"))
        })?;
        fcntl_setfl(&device, fcntl_getfl(&device)? | OFlags::NONBLOCK)?;
        device.set_tx_queue_len(QUEUE_PACKETS)?;
        Ok(Device { device, mtu, offload })
    }

    /// Waits until packets can pass, at most one second.
    ///
    /// # Errors
    /// If the device does not come up.
    pub fn wait_until_up(&self) -> io::Result<()> {
        for _ in 0..UP_STEPS {
            if self.device.is_running()? {
                return Ok(());
            }
            std::thread::sleep(UP_STEP);
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "a TUN device does not come up"))
    }

    /// The kernel's index of this network device.
    pub(crate) fn index(&self) -> io::Result<u32> {
        self.device.if_index()
    }

    /// Size of the largest packet on the device, bytes.
    pub fn mtu(&self) -> u16 {
        self.mtu
    }

    /// Whether super-segments pass between kernel and engine.
    pub fn has_offload(&self) -> bool {
        self.offload
    }

    /// Most bytes that one read returns.
    pub(crate) fn most_bytes(&self) -> usize {
        if self.offload { VNET_BYTES + MAX_PACKET_BYTES } else { usize::from(self.mtu) }
    }

    /// Appends the next packet to `memory`, which has room for [`Device::most_bytes`], and returns its offload header.
    /// `None` if no packet waits.
    pub(crate) fn read(&self, memory: &mut Vec<u8>) -> io::Result<Option<Vnet>> {
        let start = memory.len();
        match read(&self.device, spare_capacity(memory)) {
            Ok(0) | Err(Errno::AGAIN) => return Ok(None),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        if !self.offload {
            return Ok(Some(Vnet::default()));
        }
        let header = memory[start..].first_chunk().map(Vnet::read);
        Ok(Some(header.unwrap_or_default()))
    }

    /// Whether reading failed because another program has removed the device.
    pub(crate) fn is_gone(error: &io::Error) -> bool {
        Errno::from_io_error(error) == Some(Errno::BADFD)
    }

    /// Bytes in front of each packet that a read returns.
    pub(crate) fn prefix(&self) -> usize {
        if self.offload { VNET_BYTES } else { 0 }
    }

    /// Writes a segment as one packet. Returns false if the packet is lost because the device is down or its queue is
    /// full.
    pub(crate) fn write(&self, segment: &Segment, ecn: Ecn) -> io::Result<bool> {
        let mut header = [0; MAX_HEADER_BYTES];
        let (vnet, len) = match self.offload {
            true => {
                let (vnet, len) = offloaded(segment, ecn, &mut header).map_err(io::Error::other)?;
                (Some(vnet.bytes()), len)
            }
            false => (None, encode_header(segment, ecn, &mut header).map_err(io::Error::other)?),
        };
        let whole;
        let mut pieces = ArrayVec::<IoSlice<'_>, MAX_PIECES>::new();
        if let Some(vnet) = &vnet {
            pieces.push(IoSlice::new(vnet));
        }
        pieces.push(IoSlice::new(&header[..len]));
        if segment.payload.slices().count() <= pieces.remaining_capacity() {
            pieces.extend(segment.payload.slices().map(IoSlice::new));
        } else {
            whole = segment.payload.to_vec();
            pieces.push(IoSlice::new(&whole));
        }
        match writev(&self.device, &pieces) {
            Ok(_) => Ok(true),
            // EIO: the device is down. EBADFD: it is gone.
            Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM | Errno::IO | Errno::INTR | Errno::BADFD) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads the next packet, of any protocol, into the caller's memory and returns its length. `None` if no packet
    /// waits.
    pub fn read_packet(&self, memory: &mut Vec<u8>) -> io::Result<Option<usize>> {
        let start = memory.len();
        self.read(memory).map(|header| header.map(|_| memory.len() - start))
    }

    /// Writes a whole packet to a device without offload. Returns false if the packet is lost because the device is
    /// down or its queue is full.
    pub fn write_packet(&self, packet: &[u8]) -> io::Result<bool> {
        match rustix::io::write(&self.device, packet) {
            Ok(_) => Ok(true),
            Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM | Errno::IO | Errno::INTR | Errno::INVAL) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.device.as_fd()
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Device").field("mtu", &self.mtu).field("offload", &self.offload).finish_non_exhaustive()
    }
}

/// Headers of a segment for a device with offload. The kernel completes the checksum, and cuts the segment if it is a
/// super-segment.
fn offloaded(segment: &Segment, ecn: Ecn, header: &mut [u8; MAX_HEADER_BYTES]) -> Result<(Vnet, usize), EncodeError> {
    let partial = encode_header_partial(segment, ecn, header)?;
    let vnet = Vnet::partial(partial.csum_start, partial.csum_offset);
    let vnet = match segment.segment_size {
        Some(size) if segment.payload.len() > u32::from(size) => {
            let reduces_window = segment.flags.contains(Flags::CWR);
            vnet.cut(segment.src.is_ipv4(), partial.len as u16, size, reduces_window)
        }
        _ => vnet,
    };
    Ok((vnet, partial.len))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Interface;
    use crate::emulate::move_into_new_namespace;
    use std::net::UdpSocket;

    /// 500 sockets send 10 packets each, as 500 connections that start together do.
    #[test]
    fn packets_that_many_sockets_send_at_once_wait_for_the_engine() {
        const SOCKETS: usize = 500;
        const EACH: usize = 10;
        std::thread::spawn(|| {
            if let Err(error) = move_into_new_namespace() {
                eprintln!("SKIPPED: {error}");
                return;
            }
            let interface = Interface {
                name: "pwtest0".into(),
                ours: [10, 9, 0, 2].into(),
                machines: [10, 9, 0, 1].into(),
                mtu: 1500,
                public: None,
            };
            let device = Device::create(&interface.name, interface.mtu, false).expect("a TUN device can be made");
            device.wait_until_up().expect("it comes up");
            interface.configure().expect("it takes an address");
            let socket = |_| UdpSocket::bind("10.9.0.1:0").expect("there is a port");
            let sockets: Vec<UdpSocket> = (0..SOCKETS).map(socket).collect();
            for socket in sockets.iter().cycle().take(SOCKETS * EACH) {
                socket.send_to(b"data", "10.9.0.2:9").expect("it leaves");
            }
            let mut memory = Vec::with_capacity(1500);
            let mut waited = 0;
            while device.read_packet(&mut memory).expect("it can be read").is_some() {
                // UDP; other packets are the kernel's own.
                waited += usize::from(memory[0] >> 4 == 4 && memory[9] == 17);
                memory.clear();
            }
            assert_eq!(waited, SOCKETS * EACH);
        })
        .join()
        .expect("no assertion fails");
    }
}
