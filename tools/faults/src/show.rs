//! Packets for people to read.

use crate::network::Fates;
use core::fmt::Write;
use pathweave_units::Instant;
use pathweave_wire::Segment;

pub(crate) const END: [&str; 2] = ["client", "server"];

/// Whether everything that happens is printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Show(pub(crate) bool);

impl Show {
    pub(crate) fn tell(self, now: Instant, what: impl FnOnce() -> String) {
        if self.0 {
            println!("{:>14} {}", now.to_string(), what());
        }
    }
}

pub(crate) fn segment(s: &Segment) -> String {
    let mut out = format!(
        "{} > {} {:?} seq {} ack {} len {} win {}",
        s.src,
        s.dst,
        s.flags,
        s.seq,
        s.ack,
        s.payload.len(),
        s.window
    );
    let o = &s.options;
    if let Some(t) = o.timestamps {
        let _ = write!(out, " ts {}/{}", t.value, t.echo);
    }
    if !o.sack.is_empty() {
        let _ = write!(out, " sack {:?}", o.sack.iter().map(|b| (b.left, b.right)).collect::<Vec<_>>());
    }
    if let Some(dss) = o.dss {
        let _ = write!(out, " ack {:?} map {:?} fin {}", dss.data_ack, dss.mapping, dss.data_fin);
    }
    if !o.mptcp.is_empty() {
        let _ = write!(out, " {:?}", o.mptcp);
    }
    out
}

/// What became of a segment.
pub(crate) fn fates(fates: &Fates) -> String {
    if fates.is_empty() { String::new() } else { format!("  [{}]", fates.join(", ")) }
}
