//! The library's functions. Each one reads its arguments (`pointers.rs`), lets the handle carry the call out, and
//! returns the result. No panic reaches the caller.

#![expect(unsafe_code, reason = "a C interface")]
#![expect(
    clippy::missing_safety_doc,
    reason = "the comments go into the header; src/pointers.rs says what programs promise"
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

/// Makes the scheduler called `name` for one stream: "weave", "minrtt" or another name that
/// `pathweave_scheduler_name` lists.
///
/// `parameters` has `parameter_count` parameters that differ from their defaults; null if there are none. `*scheduler`
/// becomes the new handle, or null after an error. If `error` is not null, the error's text is written there: the wrong
/// name or value, and the allowed ones. The text is cut to `error_length` bytes including its final zero. It is empty
/// after `PATHWEAVE_STATUS_OK`.
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

/// Reports that a path can carry data from now on, for the first time or again. `view` contains it already.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pathweave_scheduler_path_up(scheduler: *mut Handle, view: *const View, path: u32) -> Status {
    // SAFETY: programs keep to the header.
    let (handle, view) = unsafe { (pointers::handle(scheduler), pointers::view(view)) };
    guarded(handle, |handle| handle.path_up(&view?, path))
}

/// Reports that a path has ended. `view` no longer contains it. Unacknowledged bytes that only this path carried are
/// offered again by `pathweave_scheduler_decide`. The number may be given to another path later.
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
/// Call this after each report that may allow more to be sent, and when a wait is over, until the answer is a wait.
/// Carry each decision out and report it with `pathweave_scheduler_assigned` before the next call.
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

/// Reports that a path was given the bytes from `start` up to `end`, without the byte at `end`. They are the range of
/// the last decision or its beginning, or a range that the program chose itself. `view` counts them already.
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
/// `ranges` are the `range_count` ranges of the stream that were newly acknowledged on `path`. `acknowledged_end` is
/// the end of the bytes that the receiver has without a gap, whichever paths carried them. A value below an earlier one
/// changes nothing. A transport that has no such number, such as QUIC, passes `PATHWEAVE_UNKNOWN`; the library then
/// computes the number from the ranges. If only `acknowledged_end` is new, `path` is `PATHWEAVE_NO_PATH` and
/// `range_count` 0.
///
/// For ranges that a path carried before it went down, `path` is `PATHWEAVE_NO_PATH` too. They count for the end that
/// the library computes. The library may offer the ones behind a gap again, because no path carries them any more.
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
/// `ranges` are the `range_count` ranges that `pathweave_scheduler_decide` shall offer again, for this path or another.
/// If the path repeats lost data by itself, as TCP does, there are none.
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

/// Reports a measured round-trip time of a path, 1 ns to one day. The path's averages in `view` include it already.
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

/// Returns the end of the bytes that are acknowledged without a gap. 0 if `scheduler` is null or poisoned.
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

/// Writes the reason of the last decision into `buffer`: a sentence in UTF-8 with the numbers that the scheduler
/// compared. It is cut to `length` bytes including its final zero. It is empty before the first decision and if
/// `scheduler` is null or poisoned. Returns the length of the whole sentence without the zero, as snprintf does.
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

/// Writes a text about the last call on this handle that did not return `PATHWEAVE_STATUS_OK` into `buffer`: the field,
/// its value and the allowed values. On a poisoned handle, the text says which mistake the library has found. The text
/// is cut, and its length returned, as by `pathweave_scheduler_reason`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pathweave_scheduler_error(
    scheduler: *mut Handle,
    buffer: *mut c_char,
    length: usize,
) -> usize {
    // SAFETY: programs keep to the header.
    unsafe { write_text(pointers::handle(scheduler).map_or("", |handle| handle.error()), buffer, length) }
}

/// Returns the name of the scheduler with this index, which counts from 0; null if the index is too large. The text
/// stays valid until the program ends.
#[unsafe(no_mangle)]
pub extern "C" fn pathweave_scheduler_name(index: usize) -> *const c_char {
    let name = catch_unwind(|| names::name(index)).ok().flatten();
    name.map_or(ptr::null(), |name| name.as_ptr())
}

/// Returns the meaning of a status; null if there is no such status. The text stays valid until the program ends.
#[unsafe(no_mangle)]
pub extern "C" fn pathweave_status_text(status: u32) -> *const c_char {
    Status::of(status).map_or(ptr::null(), |status| status.text().as_ptr())
}

/// Returns the version of the library, such as "0.1.0". The text stays valid until the program ends.
#[unsafe(no_mangle)]
pub extern "C" fn pathweave_scheduler_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}
