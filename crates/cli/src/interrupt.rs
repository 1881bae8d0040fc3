//! Ctrl-C: the first one ends the command after the runs under way, with what is finished; the second one ends it at once.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// The code of a process that Ctrl-C ended.
pub(crate) const CODE: u8 = 130;

/// Listens from now on. Where that is not possible, Ctrl-C ends the process as it would anyway.
pub(crate) fn listen() {
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(CODE.into());
        }
        eprintln!("\nStopping after the runs under way; Ctrl-C again stops at once.");
    });
}

/// Whether somebody asked to stop.
pub(crate) fn asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}
