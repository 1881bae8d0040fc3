//! A campaign of faults: two hosts, one to four paths, and all that can go wrong between them, drawn from one seed.
//!
//! What is drawn ([`Case::draw`]): plain TCP and Multipath TCP, every scheduler (those of the registry, and the test schedulers that keep
//! or break the rules), controller, recovery and failure detection; loss up to 30 %, reordering, duplicates, also of long ago,
//! outages, changed bytes where checksums are in use; small windows, stalled readers, windows that a middlebox closes or
//! cuts; middleboxes that take options out of single segments, one kind of them or all, or cut segments; ends and halves of
//! ends at any time.
//!
//! What must hold ([`run`]): every byte that is read is the one that was written there; who reads the end of the stream has
//! read all that was written; and every connection comes to its end or to a typed error within [`LIMIT`].
//!
//! Segments travel as structs, so that a run takes a millisecond or so. The same seed gives the same run.

mod apps;
mod case;
mod draw;
mod middlebox;
mod network;
mod programs;
mod run;
mod world;

pub use case::Case;
pub use draw::LIMIT;
pub use run::{Ending, Fault, Outcome, run};
