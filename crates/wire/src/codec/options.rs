//! Reads and writes the options of a TCP header (RFC 9293 §3.1, RFC 7323, RFC 2018). The options of Multipath TCP are
//! in `mptcp.rs`.

use super::{EncodeError, NOP, Reader, Writer, mptcp};
use crate::{MAX_OPTION_BYTES, Options, SackBlock, SackBlocks, Timestamps};

const END: u8 = 0;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// Writes options in Linux's order: those of TCP, the data sequence signal, the other options of Multipath TCP. Each is
/// padded with NOPs to a multiple of four bytes. Returns the length, which is [`Options::wire_len`].
///
/// # Errors
/// [`EncodeError::Options`] if the options need more than 40 bytes. Options are never cut off or left out.
//= RFC 9293 §3.1 (MUST-68): "All TCP Options except End of Option List Option (EOL) and No-Operation (NOP) MUST have length fields,
//= including all future options"
//= tests: codec::options_of_tcp, codec::every_option_is_as_long_as_it_says
pub fn encode_options(options: &Options, out: &mut [u8; MAX_OPTION_BYTES]) -> Result<usize, EncodeError> {
    let len = options.wire_len();
    if len > MAX_OPTION_BYTES {
        return Err(EncodeError::Options { len });
    }
    let mut w = Writer { out, len: 0 };
    if let Some(mss) = options.mss {
        w.put(&[MSS, 4]);
        w.put(&mss.to_be_bytes());
    }
    if let Some(t) = options.timestamps {
        let [before, len] = if options.sack_permitted { [SACK_PERMITTED, 2] } else { [NOP, NOP] };
        w.put(&[before, len, TIMESTAMPS, 10]);
        w.put(&t.value.to_be_bytes());
        w.put(&t.echo.to_be_bytes());
    } else if options.sack_permitted {
        w.put(&[NOP, NOP, SACK_PERMITTED, 2]);
    }
    if let Some(shift) = options.window_scale {
        w.put(&[NOP, WINDOW_SCALE, 3, shift]);
    }
    if !options.sack.is_empty() {
        w.put(&[NOP, NOP, SACK, 2 + 8 * options.sack.len() as u8]);
        for block in &options.sack {
            w.put(&block.left.to_be_bytes());
            w.put(&block.right.to_be_bytes());
        }
    }
    if let Some(dss) = &options.dss {
        mptcp::encode_dss(dss, &mut w);
        w.pad();
    }
    for option in &options.mptcp {
        mptcp::encode(option, &mut w);
        w.pad();
    }
    debug_assert_eq!(w.len, len, "options are as long as they say: {options:?}");
    Ok(w.len)
}

/// Reads the options of a TCP header.
///
/// An option that is unknown, or has a wrong length for its kind, is skipped. If a length is 0 or 1, or goes past the
/// header, reading ends there, because the next option cannot be found. If an option that may stand only once is
/// repeated, the last one counts, as in Linux.
pub fn decode_options(bytes: &[u8]) -> Options {
    let mut options = Options::default();
    read_options(bytes, &mut options);
    options
}

/// Like [`decode_options`], but replaces the content of existing `options`.
//= RFC 9293 §3.1 (MUST-6): "ignore without error any TCP Option it does not implement, assuming that the option has a length
//= field"
//= tests: codec::an_unknown_option_is_passed_over
//= RFC 9293 §3.1 (MUST-7): "TCP implementations MUST be prepared to handle an illegal option length (e.g., zero)"
//= tests: codec::a_length_that_leads_nowhere_ends_the_options
//= RFC 9293 §3.2 (MUST-64): "receivers MUST be prepared to process options even if they do not begin on a word boundary"
//= tests: codec::options_may_begin_anywhere_in_a_word
pub(super) fn read_options(mut bytes: &[u8], options: &mut Options) {
    options.clear();
    // A short cut for the form that nearly every segment has (RFC 7323 appendix A).
    if let [NOP, NOP, TIMESTAMPS, 10, v0, v1, v2, v3, e0, e1, e2, e3, rest @ ..] = bytes {
        let (value, echo) = (u32::from_be_bytes([*v0, *v1, *v2, *v3]), u32::from_be_bytes([*e0, *e1, *e2, *e3]));
        options.timestamps = Some(Timestamps { value, echo });
        bytes = rest;
    }
    loop {
        match bytes {
            [NOP, rest @ ..] => bytes = rest,
            [] | [END, ..] | [_] => return,
            [kind, len, ..] => {
                let Some((option, rest)) = bytes.split_at_checked(usize::from(*len)) else { return };
                // A length of 0 or 1 leaves no content.
                let Some(content) = option.get(2..) else { return };
                bytes = rest;
                // A malformed option changes nothing.
                let _ = take(*kind, content, options);
            }
        }
    }
}

/// Reads one option into `options`; `content` is what follows kind and length. `None` if the option is malformed.
//= RFC 9293 §3.1 (MUST-4): "A given TCP implementation can support any currently defined options, but the following options MUST be
//= supported"
//= tests: codec::options_of_tcp, codec::options_may_begin_anywhere_in_a_word
fn take(kind: u8, content: &[u8], options: &mut Options) -> Option<()> {
    let mut r = Reader(content);
    match kind {
        MSS => {
            let mss = r.u16()?;
            options.mss = Some(r.end(mss)?);
        }
        WINDOW_SCALE => {
            let shift = r.u8()?;
            options.window_scale = Some(r.end(shift)?);
        }
        SACK_PERMITTED => options.sack_permitted = r.end(true)?,
        SACK => {
            let mut blocks = SackBlocks::new();
            while !r.0.is_empty() {
                blocks.try_push(SackBlock { left: r.u32()?, right: r.u32()? }).ok()?;
            }
            if !blocks.is_empty() {
                options.sack = blocks;
            }
        }
        TIMESTAMPS => {
            let timestamps = Timestamps { value: r.u32()?, echo: r.u32()? };
            options.timestamps = Some(r.end(timestamps)?);
        }
        mptcp::KIND => mptcp::read(content, options)?,
        _ => {}
    }
    Some(())
}
