//! A campaign of faults: two hosts, one to four paths between them, and faults of many kinds, all drawn from one seed.
//!
//! What is drawn ([`Case::draw`]): plain TCP and Multipath TCP; which addresses the paths join, of which IP version, and whether they
//! share a bottleneck; every scheduler (those of the registry, and the test schedulers that keep
//! or break the rules), controller, recovery, failure detection and host; loss up to 30 %, reordering, duplicates, also of long ago,
//! outages, changed bytes where checksums are in use; small windows, stalled readers, windows that a middlebox closes or
//! cuts; middleboxes that take options out of single segments, one kind of them or all, cut segments, join or delay them, or put
//! numbers of their own in the place of the hosts'; clients whose third segment has a data sequence signal and no keys; ends, halves
//! of ends and applications that go at any time; attackers off the path, who know addresses and ports, and on it, who also see packets.
//!
//! What must hold ([`run`], one variant of [`Rule`] each):
//!
//! - Every byte that is read is the byte that was written at its place. An application that reads the end of the stream
//!   has read all bytes that were written.
//! - Every connection ends in order or with a typed error within [`LIMIT`], unless data is still read at that time:
//!   such a run counts as slow.
//! - Once the faults are over, all written data is read within 240 seconds.
//! - Data that waits takes at most 64 KiB more memory than a connection may have, and than the endpoint's limit with
//!   one window of holes, which are filled beyond it: twice the buffer and 64 KiB. A connection may have three times
//!   that: twice for the data and its records, and once for the packets that it keeps alive.
//! - After both ends, and [`LIMIT`] at most, no endpoint has a connection or a timer left.
//! - Attackers off the path change nothing: in a network in which a connection cannot fail, the run ends as it does
//!   without them, with the same bytes.
//!
//! An attacker that sees packets and can send any packets can end a connection and put bytes into it. So the rules
//! about bytes do not apply to a run with such an attacker; all other rules do.
//!
//! Segments travel as structs, so a run takes about two milliseconds. The same seed gives the same run. A failure is
//! simplified step by step, as long as the same rule stays broken ([`shrink`]).

mod apps;
mod attackers;
mod case;
mod draw;
mod forger;
mod middlebox;
mod network;
mod paths;
mod programs;
mod run;
mod shrink;
mod world;

pub use case::Case;
pub use draw::LIMIT;
pub use run::{Ending, Fault, Outcome, Rule, run};
pub use shrink::{STEPS, run_caught, shrink, simplify};
