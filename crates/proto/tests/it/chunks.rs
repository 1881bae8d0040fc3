//! Data in and out in chunks of bytes that are shared, not copied.

use crate::pair::*;
use bytes::Bytes;
use pathweave_proto::config::ConnectionConfig;
use pathweave_proto::{Amount, ReadError, WriteError};
use pathweave_units::Instant;
use pathweave_wire::Payload;

/// How a test writes its stream.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    Virtual,
    /// One piece per write.
    Whole,
    /// Chunks of this many bytes.
    Chunks(usize),
}

/// Writes `len` bytes at once on a connection of two subflows and lets them arrive. Returns time, number and length of
/// every data segment.
fn segments(form: Form, len: u32) -> Vec<(Instant, u32, u32)> {
    let mut pair = Pair::new(&[10, 15], config());
    pair.driver.io.virtual_payload = form == Form::Virtual;
    pair.driver.applications.apps[1].reads = false;
    pair.connect();
    let stream: Bytes = (0..u64::from(len)).map(|at| byte_at(Client, at)).collect();
    pair.command(Client, |c, now| {
        let written = match form {
            Form::Virtual => c.write(now, Payload::Virtual { start: 0, len }),
            Form::Whole => c.write(now, Payload::Bytes(stream.clone())),
            Form::Chunks(size) => {
                let mut chunks: Vec<Bytes> = stream.chunks(size).map(|part| stream.slice_ref(part)).collect();
                let count = chunks.len();
                c.write_chunks(now, &mut chunks).map(|written| {
                    assert_eq!(written.chunks, count);
                    written.bytes
                })
            }
        };
        assert_eq!(written, Ok(u64::from(len)));
    });
    pair.run_for(secs(1));
    assert_eq!(pair.the(Server).snapshot().receiving.in_order_bytes, u64::from(len));
    pair.data(Client).map(|p| (p.at, p.segment.seq, p.len())).collect()
}

#[test]
fn the_form_of_a_stream_changes_no_segment() {
    let expected = segments(Form::Virtual, 100_000);
    for form in [Form::Whole, Form::Chunks(65_536), Form::Chunks(1000), Form::Chunks(1)] {
        assert_eq!(segments(form, 100_000), expected, "{form:?}");
    }
}

#[test]
fn what_is_written_is_what_is_read_without_a_copy() {
    let mut pair = Pair::new(&[10], config());
    pair.driver.applications.apps[1].reads = false;
    pair.connect();
    let memory: Bytes = (0..31_000).map(|at| byte_at(Client, at)).collect();
    let mut chunks = [memory.slice(..1), memory.slice(1..10_000), Bytes::new(), memory.slice(10_000..)];
    pair.command(Client, |c, now| {
        assert_eq!(c.write_chunks(now, &mut chunks), Ok(Amount { bytes: 31_000, chunks: 4 }));
    });
    assert!(chunks.iter().all(Bytes::is_empty));
    pair.run_for(secs(1));
    // There is no codec between the ends: every byte that is read is where it was written, because no segment is small.
    let mut at = 0;
    let mut out = vec![Bytes::new(); 5];
    pair.command(Server, |c, now| {
        loop {
            match c.read_chunks(now, 9000, &mut out) {
                Ok(read) => {
                    assert!(read.bytes <= 9000 && read.chunks <= 5);
                    for chunk in &out[..read.chunks] {
                        assert_eq!(chunk.as_ptr(), memory[at..].as_ptr());
                        at += chunk.len();
                    }
                }
                Err(error) => break assert_eq!(error, ReadError::Blocked),
            }
        }
    });
    assert_eq!(at, memory.len());
}

#[test]
fn chunks_that_find_no_room_stay_with_the_writer() {
    for config in [tcp_config(), config()] {
        let mut pair = Pair::new(&[10], ConnectionConfig { send_buffer: 10_000, ..config });
        pair.connect();
        let memory: Bytes = (0..20_000).map(|at| byte_at(Client, at)).collect();
        let mut chunks = [memory.slice(..6000), memory.slice(6000..12_000), memory.slice(12_000..)];
        pair.command(Client, |c, now| {
            assert_eq!(c.write_chunks(now, &mut chunks), Ok(Amount { bytes: 10_000, chunks: 1 }));
            assert_eq!(c.write_chunks(now, &mut chunks), Err(WriteError::Blocked));
        });
        assert_eq!(chunks, [Bytes::new(), memory.slice(10_000..12_000), memory.slice(12_000..)]);
        pair.run_for(secs(1));
        pair.command(Client, |c, now| {
            assert_eq!(c.write_chunks(now, &mut chunks), Ok(Amount { bytes: 10_000, chunks: 3 }));
            assert_eq!(c.write_chunks(now, &mut []), Ok(Amount::default()));
        });
        pair.run_until_received(Server, 20_000, secs(1));
    }
}

#[test]
fn virtual_data_has_no_bytes_to_read() {
    let mut pair = Pair::new(&[10], config());
    pair.driver.io.virtual_payload = true;
    pair.driver.applications.apps[1].reads = false;
    pair.connect();
    pair.command(Client, |c, now| {
        assert_eq!(c.write(now, Payload::Virtual { start: 0, len: 100 }), Ok(100));
    });
    pair.run_for(secs(1));
    pair.command(Server, |c, now| {
        assert_eq!(c.read_chunks(now, 10, &mut [Bytes::new()]), Err(ReadError::Virtual));
        assert_eq!(c.read(now, u64::MAX), Ok(Payload::Virtual { start: 0, len: 100 }));
        assert_eq!(c.read_chunks(now, 10, &mut [Bytes::new()]), Err(ReadError::Blocked));
    });
}
