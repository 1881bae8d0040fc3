//! Results of the library's functions.

/// The result of a call. Every function but those that return a number or a text returns one.
///
/// A call that does not return `PATHWEAVE_STATUS_OK` has changed nothing, except that `PATHWEAVE_STATUS_POISONED` ends the
/// use of its handle.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The call did what it should.
    Ok = 0,
    /// A pointer that must not be null is null.
    NullPointer = 1,
    /// A struct's `size` is less than that of its first version, or differs between the elements of an array.
    Size = 2,
    /// There is no scheduler of this name.
    UnknownScheduler = 3,
    /// The scheduler has no such parameter, or the parameter does not take the value.
    Parameter = 4,
    /// A path's number is not below `PATHWEAVE_MAX_PATHS`.
    PathNumber = 5,
    /// The path is not up.
    UnknownPath = 6,
    /// The path is up already, or is in the view twice.
    PathTwice = 7,
    /// A path that is up is not in the view.
    PathMissing = 8,
    /// A range is empty, ends behind the written data, or was never given to a path.
    Range = 9,
    /// The time is before that of an earlier call.
    Time = 10,
    /// Another value is not allowed.
    Value = 11,
    /// The library has found a mistake of its own. The handle can only be freed; report the text of
    /// `pathweave_scheduler_error`.
    Poisoned = 12,
}

impl Status {
    /// The meaning of the status, for C.
    pub(crate) fn text(self) -> &'static core::ffi::CStr {
        match self {
            Status::Ok => c"ok",
            Status::NullPointer => c"a pointer that must not be null is null",
            Status::Size => c"a struct's size is too small, or differs between the elements of an array",
            Status::UnknownScheduler => c"there is no scheduler of this name",
            Status::Parameter => c"the scheduler has no such parameter, or the parameter does not take the value",
            Status::PathNumber => c"the path's number is not below PATHWEAVE_MAX_PATHS",
            Status::UnknownPath => c"the path is not up",
            Status::PathTwice => c"the path is up already, or is in the view twice",
            Status::PathMissing => c"a path that is up is not in the view",
            Status::Range => c"a range is empty, ends behind the written data, or was never given to a path",
            Status::Time => c"the time is before that of an earlier call",
            Status::Value => c"a value is not allowed",
            Status::Poisoned => c"the library has found a mistake of its own; the handle can only be freed",
        }
    }

    /// The status with this number.
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
