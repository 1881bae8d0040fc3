//! The packet schedulers of `pathweave-algorithms` as a C library.
//!
//! A program in C that sends one stream over several paths (a bonding program, a QUIC stack, a router) reports which
//! bytes it writes and sends and which ones are acknowledged, and asks which path carries the next bytes. The library
//! keeps the map of the stream; the program reports what it measures on each path. Programs include
//! `include/pathweave_scheduler.h`, which is made from this crate; `docs/embedding-c.md` says how to build, link and
//! call. Rust programs use `pathweave-algorithms` itself. The functions also work in Rust:
//!
//! ```
//! use pathweave_scheduler_c::{Handle, Status, pathweave_scheduler_free, pathweave_scheduler_new};
//!
//! let (mut scheduler, mut error) = (std::ptr::null_mut::<Handle>(), [0; 64]);
//! // SAFETY: the name ends with a zero, no parameters are given, and both buffers are as long as they say.
//! unsafe {
//!     let (none, out) = (std::ptr::null(), &mut scheduler);
//!     let status = pathweave_scheduler_new(c"weave".as_ptr(), none, 0, out, error.as_mut_ptr(), error.len());
//!     assert_eq!(status, Status::Ok);
//!     pathweave_scheduler_free(scheduler);
//! }
//! ```

mod accept;
mod answer;
mod exports;
mod handle;
mod names;
mod pointers;
#[cfg(test)]
mod poisoned_tests;
mod state;
mod status;
mod types;

pub use exports::*;
pub use handle::Handle;
pub use status::Status;
pub use types::{
    Action, Decision, Loss, MAX_PATHS, NO_PATH, PATH_APPLICATION_LIMITED, PATH_BACKUP, PATH_QUOTA, PATH_STALE,
    Parameter, Path, Phase, Range, UNKNOWN, VIEW_WRITER_WAITS, View,
};
