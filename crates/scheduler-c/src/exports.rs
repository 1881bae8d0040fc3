//! The library's functions. Each one reads its arguments (`pointers.rs`), lets the handle carry the call out, and returns a
//! status; nothing panics across the border.

#![expect(unsafe_code, reason = "a C interface")]
#![expect(
    clippy::missing_safety_doc,
    reason = "the comments are the header's; src/pointers.rs says what programs promise"
)]

use crate::handle::{Handle, guarded};
use crate::names;
use crate::pointers::{self, write_text};
use crate::status::{Fault, Status};
use crate::types::{Decision, Parameter, Range, View};
use core::ffi::c_char;
use core::panic::AssertUnwindSafe;
use core::ptr;
use std::panic::catch_unwind;

/// Makes the scheduler called `name` for one stream: "weave", "minrtt" and all others that
/// `pathweave_scheduler_name` lists.
///
/// `parameters` has `parameter_count` parameters that differ from their defaults; null if there are none. `*scheduler`
/// is the new handle, or null after an error. If `error` is not null, the error's text is written there, cut to
/// `error_length` bytes with its zero: the wrong name or value, and the allowed ones. It is empty if all is well.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pathweave_scheduler_new(
    name: *const c_char,
    parameters: *const Parameter,
    parameter_count: usize,
    scheduler: *mut *mut Handle,
    error: *mut c_char,
    error_length: usize,
) -> Status {
    let made = catch_unwind(AssertUnwindSafe(|| {
        if scheduler.is_null() {
            return Err(Fault::null("scheduler"));
        }
        // SAFETY: programs keep to the header; `scheduler` is not null.
        let (name, given) = unsafe {
            pointers::write_handle(scheduler, ptr::null_mut());
            (pointers::text(name, "name")?, pointers::parameters(parameters, parameter_count)?)
        };
        let handle = pointers::owned_by_c(names::make(&name, &given)?);
        // SAFETY: as above.
        unsafe { pointers::write_handle(scheduler, handle) };
        Ok(())
    }));
    let fault = match made {
        Ok(Ok(())) => Fault::new(Status::Ok, ""),
        Ok(Err(fault)) => fault,
        Err(_) => Fault::new(Status::Poisoned, "a mistake of the library"),
    };
    // SAFETY: programs keep to the header.
    unsafe { write_text(&fault.text, error, error_length) };
    fault.status
}

/// Frees a scheduler; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pathweave_scheduler_free(scheduler: *mut Handle) {
    // SAFETY: programs keep to the header.
    let handle = unsafe { pointers::taken_back(scheduler) };
    // If a scheduler panics while it is dropped, its memory is lost, and nothing else.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(handle)));
}

/// Reports that a path can carry data from now on, for the first time or again. `view` has it already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pathweave_scheduler_path_up(scheduler: *mut Handle, view: *const View, path: u32) -> Status {
    // SAFETY: programs keep to the header.
    let (handle, view) = unsafe { (pointers::handle(scheduler), pointers::view(view)) };
    guarded(handle, |handle| handle.path_up(&view?, path))
}

/// Reports that a path has ended. `view` has it no more. What only this path carried waits for a path again. The number
/// may be given to another path later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pathweave_scheduler_path_down(scheduler: *mut Handle, view: *const View, path: u32) -> Status {
    // SAFETY: programs keep to the header.
    let (handle, view) = unsafe { (pointers::handle(scheduler), pointers::view(view)) };
    guarded(handle, |handle| handle.path_down(&view?, path))
}

/// Reports that the application has written `bytes` more bytes to the stream.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pathweave_scheduler_written(scheduler: *mut Handle, view: *const View, bytes: u64) -> Status {
    // SAFETY: programs keep to the header.
    let (handle, view) = unsafe { (pointers::handle(scheduler), pointers::view(view)) };
    guarded(handle, |handle| handle.written(&view?, bytes))
}

/// Asks what to send next.
///
/// Call this after each report that may allow more to be sent, and when a wait is over, until the answer is a wait. Carry
/// each decision out and report it with `pathweave_scheduler_assigned` before the next call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pathweave_scheduler_decide(
    scheduler: *mut Handle,
    view: *const View,
    decision: *mut Decision,
) -> Status {
    // SAFETY: programs keep to the header.
    let (handle, view, place) =
        unsafe { (pointers::handle(scheduler), pointers::view(view), pointers::place(decision)) };
    guarded(handle, |handle| {
        let (view, place) = (view?, place?);
        let answer = handle.decide(&view)?;
        // SAFETY: this call has not returned yet.
        unsafe { place.write(answer) };
        Ok(())
    })
}

/// Reports that a path was given the bytes from `start` up to `end`: all that a decision asked for, or less, or what the
/// program decided without asking. `view` counts them already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pathweave_scheduler_assigned(
    scheduler: *mut Handle,
    view: *const View,
    path: u32,
    start: u64,
    end: u64,
) -> Status {
    // SAFETY: programs keep to the header.
    let (handle, view) = unsafe { (pointers::handle(scheduler), pointers::view(view)) };
    guarded(handle, |handle| handle.assigned(&view?, path, start, end))
}

/// Reports an acknowledgement.
///
/// `ranges` are the `range_count` ranges of the stream that were newly acknowledged on `path`. `acknowledged_end` is the
/// end of what the receiver has without a gap, on whichever path; a value older than an earlier one is harmless. A
/// transport that has no such number, such as QUIC, gives `PATHWEAVE_UNKNOWN`, and the library joins the ranges. If only
/// `acknowledged_end` is new, `path` is `PATHWEAVE_NO_PATH` and `range_count` 0.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pathweave_scheduler_acknowledged(
    scheduler: *mut Handle,
    view: *const View,
    path: u32,
    ranges: *const Range,
    range_count: usize,
    acknowledged_end: u64,
) -> Status {
    // SAFETY: programs keep to the header.
    let (handle, view, ranges) =
        unsafe { (pointers::handle(scheduler), pointers::view(view), pointers::ranges(ranges, range_count)) };
    guarded(handle, |handle| handle.acknowledged(&view?, path, ranges?, acknowledged_end))
}

/// Reports that a loss was found on a path; `loss` is a value of `enum pathweave_loss`.
///
/// `ranges` are the `range_count` ranges that wait for a path again, this one or another. A path that repeats lost data by
/// itself, as TCP does, gives none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pathweave_scheduler_lost(
    scheduler: *mut Handle,
    view: *const View,
    path: u32,
    ranges: *const Range,
    range_count: usize,
    loss: u32,
) -> Status {
    // SAFETY: programs keep to the header.
    let (handle, view, ranges) =
        unsafe { (pointers::handle(scheduler), pointers::view(view), pointers::ranges(ranges, range_count)) };
    guarded(handle, |handle| handle.lost(&view?, path, ranges?, loss))
}

/// Reports a measured round-trip time of a path. `view` has it in the path's averages already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pathweave_scheduler_rtt_sample(
    scheduler: *mut Handle,
    view: *const View,
    path: u32,
    rtt_ns: u64,
) -> Status {
    // SAFETY: programs keep to the header.
    let (handle, view) = unsafe { (pointers::handle(scheduler), pointers::view(view)) };
    guarded(handle, |handle| handle.rtt_sample(&view?, path, rtt_ns))
}

/// End of what is acknowledged without a gap. 0 if `scheduler` is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pathweave_scheduler_acknowledged_end(scheduler: *mut Handle) -> u64 {
    let mut end = 0;
    // SAFETY: programs keep to the header.
    guarded(unsafe { pointers::handle(scheduler) }, |handle| {
        end = handle.acknowledged_end();
        Ok(())
    });
    end
}

/// Writes the reason of the last decision into `buffer`, a sentence with the numbers that the rule compared, in UTF-8. It
/// is cut to `length` bytes with its zero. Returns the length of the whole sentence without the zero, as snprintf does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pathweave_scheduler_reason(
    scheduler: *mut Handle,
    buffer: *mut c_char,
    length: usize,
) -> usize {
    let mut text = String::new();
    // SAFETY: programs keep to the header.
    guarded(unsafe { pointers::handle(scheduler) }, |handle| {
        text = handle.reason();
        Ok(())
    });
    // SAFETY: as above.
    unsafe { write_text(&text, buffer, length) }
}

/// Writes what was wrong with the last call that did not return `PATHWEAVE_STATUS_OK` into `buffer`: the field, its value
/// and what is allowed. Cut and counted like `pathweave_scheduler_reason`. Also works on a poisoned handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pathweave_scheduler_error(
    scheduler: *mut Handle,
    buffer: *mut c_char,
    length: usize,
) -> usize {
    // SAFETY: programs keep to the header.
    unsafe { write_text(pointers::handle(scheduler).map_or("", |handle| handle.error()), buffer, length) }
}

/// The name of the scheduler with this index, from 0; null if there are fewer. The text stays valid.
#[unsafe(no_mangle)]
pub extern "C" fn pathweave_scheduler_name(index: usize) -> *const c_char {
    let name = catch_unwind(|| names::name(index)).ok().flatten();
    name.map_or(ptr::null(), |name| name.as_ptr())
}

/// The meaning of a status; null if there is no such status. The text stays valid.
#[unsafe(no_mangle)]
pub extern "C" fn pathweave_status_text(status: u32) -> *const c_char {
    Status::of(status).map_or(ptr::null(), |status| status.text().as_ptr())
}

/// The version of the library, such as "0.1.0". The text stays valid.
#[unsafe(no_mangle)]
pub extern "C" fn pathweave_scheduler_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
