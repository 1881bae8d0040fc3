//! Results of the library's functions.

/// The result of a call. Every function returns one, except `pathweave_scheduler_free` and those that return a number
/// or a text.
///
/// A call that does not return `PATHWEAVE_STATUS_OK` has changed nothing but the text of `pathweave_scheduler_error`.
/// The exception is `PATHWEAVE_STATUS_POISONED`: after it, the handle can only be freed.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The call was carried out.
    Ok = 0,
    /// A pointer that must not be null is null.
    NullPointer = 1,
    /// A struct's `size` is less than that of its first version, over 4096, or differs between the elements of an
    /// array.
    Size = 2,
    /// There is no scheduler of this name.
    UnknownScheduler = 3,
    /// The scheduler has no such parameter, or the parameter does not allow the value.
    Parameter = 4,
    /// A path's number is not below `PATHWEAVE_MAX_PATHS`, or a view has more paths than that.
    PathNumber = 5,
    /// The call or its view names a path that is not up.
    UnknownPath = 6,
    /// The path is up already, or is in the view twice.
    PathTwice = 7,
    /// The view lacks a path that is up.
    PathMissing = 8,
    /// A range is empty or ends too late: an assigned one after the written data, an acknowledged or lost one (and
    /// `acknowledged_end`) after the last byte that any path was given.
    Range = 9,
    /// The time is before that of an earlier call.
    Time = 10,
    /// A field or an argument has a value that is not allowed, other than those above.
    Value = 11,
    /// The library has found a mistake of its own. The handle can only be freed. Please report the text of
    /// `pathweave_scheduler_error`.
    Poisoned = 12,
}

impl Status {
    /// The meaning of the status, as `pathweave_status_text` returns it.
    pub(crate) fn text(self) -> &'static core::ffi::CStr {
        match self {
            Status::Ok => c"ok",
            Status::NullPointer => c"a pointer that must not be null is null",
            Status::Size => c"a struct's size is too small, too large, or differs between the elements of an array",
            Status::UnknownScheduler => c"there is no scheduler of this name",
            Status::Parameter => c"the scheduler has no such parameter, or the parameter does not take the value",
            Status::PathNumber => c"a path's number or the number of paths is too large (PATHWEAVE_MAX_PATHS)",
            Status::UnknownPath => c"the call or its view names a path that is not up",
            Status::PathTwice => c"the path is up already, or is in the view twice",
            Status::PathMissing => c"the view lacks a path that is up",
            Status::Range => c"a range is empty, or ends after the written data or after all data given to paths",
            Status::Time => c"the time is before that of an earlier call",
            Status::Value => c"a value is not allowed",
            Status::Poisoned => c"the library has found a mistake of its own; the handle can only be freed",
        }
    }

    /// The status with this number, if there is one.
    pub(crate) fn of(number: u32) -> Option<Status> {
        const ALL: [Status; 13] = [
            Status::Ok,
            Status::NullPointer,
            Status::Size,
            Status::UnknownScheduler,
            Status::Parameter,
            Status::PathNumber,
            Status::UnknownPath,
            Status::PathTwice,
            Status::PathMissing,
            Status::Range,
            Status::Time,
            Status::Value,
            Status::Poisoned,
        ];
        ALL.into_iter().find(|status| *status as u32 == number)
    }
}

/// A wrong call: its status, and a text with the field, its value and the allowed values.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) status: Status,
    pub(crate) text: String,
}

impl Fault {
    pub(crate) fn new(status: Status, text: impl Into<String>) -> Self {
        Fault { status, text: text.into() }
    }

    /// The argument called `name` is null.
    pub(crate) fn null(name: &str) -> Self {
        Fault::new(Status::NullPointer, format!("{name} is null"))
    }
}
