//! Pointers from C become values, and values become what C reads. Each conversion is here.
//!
//! Null pointers, sizes and counts are checked. The rest cannot be checked, and is the program's duty: a pointer that
//! is not null points to as many bytes as its type, the `size` or the count beside it says. A text ends with a zero. A
//! handle comes from `pathweave_scheduler_new`, was not freed, and is used by one thread at a time.

#![expect(unsafe_code, reason = "a C interface")]

use crate::status::{Fault, Status};
use crate::types::{Decision, MAX_PATHS, Parameter, Path, Range, View};
use core::ffi::{CStr, c_char};
use core::marker::PhantomData;

/// Largest size that a struct may claim, bytes. A larger one is taken for a field that the program has not set.
const LARGEST: usize = 4096;
/// Most elements of an array of ranges or parameters.
const MOST: usize = 1 << 20;

/// A struct that C passes, whose first field is its size.
///
/// # Safety
/// The struct is `repr(C)`, its first field is a `usize`, and every bit pattern of its bytes is a value.
unsafe trait Growing: Copy + Default {
    /// Size of the struct's first version.
    const FIRST: usize;
    const NAME: &'static str;
}

// SAFETY: all fields are numbers.
unsafe impl Growing for Path {
    const FIRST: usize = size_of::<Path>();
    const NAME: &'static str = "pathweave_path";
}

// SAFETY: all fields are numbers or raw pointers.
unsafe impl Growing for View {
    const FIRST: usize = size_of::<View>();
    const NAME: &'static str = "pathweave_view";
}

/// Checks the size that a program has written into a struct; `first` is the size of the struct's first version.
fn checked_size(size: usize, first: usize, name: &str) -> Result<usize, Fault> {
    match size {
        size if (first..=LARGEST).contains(&size) => Ok(size),
        size => {
            let text = format!("the size of struct {name} is {size}; allowed: {first} to {LARGEST}");
            Err(Fault::new(Status::Size, text))
        }
    }
}

/// Reads a struct of an older (shorter) or newer (longer) header than this library's, and returns it with its size in
/// the program. Fields that the program's header lacks are zero; fields that this library lacks are ignored.
///
/// # Safety
/// `pointer` is null, or points to as many bytes as the `usize` there says.
unsafe fn read<T: Growing>(pointer: *const T) -> Result<(T, usize), Fault> {
    if pointer.is_null() {
        return Err(Fault::null(T::NAME));
    }
    // SAFETY: every such struct begins with its size, and the caller promises at least these bytes of it.
    let size = checked_size(unsafe { pointer.cast::<usize>().read_unaligned() }, T::FIRST, T::NAME)?;
    let mut value = T::default();
    let bytes = size.min(size_of::<T>());
    // SAFETY: the caller promises `size` bytes, `value` has `size_of::<T>()`, and every bit pattern is a value of `T`.
    unsafe { pointer.cast::<u8>().copy_to_nonoverlapping((&raw mut value).cast(), bytes) };
    Ok((value, size))
}

/// A view that C has passed. Its paths are read one by one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given<'a> {
    pub(crate) view: View,
    call: PhantomData<&'a View>,
}

impl Given<'_> {
    /// Reads the paths in turn. A path whose size differs from that of the first one is a fault.
    pub(crate) fn paths(&self) -> impl Iterator<Item = Result<Path, Fault>> {
        let (start, count) = (self.view.paths, self.view.path_count);
        let mut stride = 0;
        (0..count).map(move |i| {
            // SAFETY: the caller of `view` promised `path_count` elements, each as long as its size says. `stride` is
            // the size of the first element, and all elements before this one have the same.
            let (path, size) = unsafe { read(start.byte_add(i * stride)) }?;
            if i > 0 && size != stride {
                let text = format!("paths[{i}].size is {size}, and paths[0].size is {stride}; allowed: the same size");
                return Err(Fault::new(Status::Size, text));
            }
            stride = size;
            Ok(path)
        })
    }
}

/// Reads a view.
///
/// # Safety
/// `view` is null, or points to a view as the header describes it, which stays as it is during the call.
pub(crate) unsafe fn view<'a>(view: *const View) -> Result<Given<'a>, Fault> {
    // SAFETY: the caller promises the same.
    let (view, _) = unsafe { read(view) }?;
    if view.path_count > MAX_PATHS as usize {
        let text = format!("path_count is {}; allowed: up to {MAX_PATHS}", view.path_count);
        return Err(Fault::new(Status::PathNumber, text));
    }
    if view.paths.is_null() && view.path_count > 0 {
        return Err(Fault::null("paths"));
    }
    Ok(Given { view, call: PhantomData })
}

/// The handle behind a pointer.
///
/// # Safety
/// `handle` is null, or a handle that nothing else uses during the call.
pub(crate) unsafe fn handle<'a, T>(handle: *mut T) -> Option<&'a mut T> {
    // SAFETY: the caller promises that the handle exists and is not used by another call.
    unsafe { handle.as_mut() }
}

/// A pointer to a new handle, which C owns.
pub(crate) fn owned_by_c<T>(handle: T) -> *mut T {
    Box::into_raw(Box::new(handle))
}

/// Takes a handle back from C.
///
/// # Safety
/// `handle` is null, or a handle that is never used again.
pub(crate) unsafe fn taken_back<T>(handle: *mut T) -> Option<Box<T>> {
    // SAFETY: handles come from `owned_by_c`, and the caller promises that this one was not freed.
    (!handle.is_null()).then(|| unsafe { Box::from_raw(handle) })
}

/// The array of `count` elements at `start`, which the faults call `name`.
///
/// # Safety
/// `start` is null, or points to `count` elements that stay as they are during the call.
unsafe fn array<'a, T>(start: *const T, count: usize, name: &str) -> Result<&'a [T], Fault> {
    match count {
        0 => Ok(&[]),
        _ if start.is_null() => Err(Fault::null(name)),
        1..=MOST if start.is_aligned() => {
            // SAFETY: the pointer is aligned and not null, and the caller promises the elements.
            Ok(unsafe { core::slice::from_raw_parts(start, count) })
        }
        1..=MOST => Err(Fault::new(Status::Value, format!("{name} is not aligned"))),
        _ => Err(Fault::new(Status::Value, format!("{count} {name}; allowed: up to {MOST}"))),
    }
}

/// Ranges of the stream.
///
/// # Safety
/// As for [`array`].
pub(crate) unsafe fn ranges<'a>(start: *const Range, count: usize) -> Result<&'a [Range], Fault> {
    // SAFETY: the caller promises the same.
    unsafe { array(start, count, "ranges") }
}

/// Parameters as pairs of name and value.
///
/// # Safety
/// As for [`array`]; the texts are null or end with a zero.
pub(crate) unsafe fn parameters(start: *const Parameter, count: usize) -> Result<Vec<(String, String)>, Fault> {
    // SAFETY: the caller promises the same.
    let given = unsafe { array(start, count, "parameters") }?;
    given
        .iter()
        .map(|parameter| {
            // SAFETY: the caller promises texts.
            let (name, value) = unsafe { (text(parameter.name, "name"), text(parameter.value, "value")) };
            Ok((name?, value?))
        })
        .collect()
}

/// The text at a pointer, which the fault calls `name`. Bytes that are not UTF-8 become U+FFFD.
///
/// # Safety
/// `text` is null or ends with a zero.
pub(crate) unsafe fn text(text: *const c_char, name: &str) -> Result<String, Fault> {
    if text.is_null() {
        return Err(Fault::null(name));
    }
    // SAFETY: the caller promises the zero.
    Ok(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// Writes `text` and a zero into a buffer of `length` bytes. A longer text is cut between two characters. Returns the
/// length of the whole text without the zero.
///
/// # Safety
/// `buffer` is null, or `length` bytes there may be written.
pub(crate) unsafe fn write_text(text: &str, buffer: *mut c_char, length: usize) -> usize {
    if !buffer.is_null() && length > 0 {
        let fits = text.floor_char_boundary(length - 1);
        // SAFETY: `fits` bytes and a zero are at most `length` bytes, which the caller promises.
        unsafe {
            text.as_ptr().copy_to_nonoverlapping(buffer.cast(), fits);
            buffer.add(fits).write(0);
        }
    }
    text.len()
}

/// Writes a handle's pointer to the program's variable.
///
/// # Safety
/// `place` may be written; it is not null.
pub(crate) unsafe fn write_handle<T>(place: *mut *mut T, handle: *mut T) {
    // SAFETY: the caller promises it.
    unsafe { place.write_unaligned(handle) };
}

/// The program's struct for a decision, with the size that the program has set.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    decision: *mut Decision,
    size: usize,
}

/// Checks a program's struct for a decision.
///
/// # Safety
/// `decision` is null, or points to as many bytes as its `size` says, which may be written.
pub(crate) unsafe fn place(decision: *mut Decision) -> Result<Place, Fault> {
    if decision.is_null() {
        return Err(Fault::null("decision"));
    }
    // SAFETY: the struct begins with its size, which the caller has set.
    let size = unsafe { decision.cast::<usize>().read_unaligned() };
    let size = checked_size(size, size_of::<Decision>(), "pathweave_decision")?;
    Ok(Place { decision, size })
}

impl Place {
    /// Writes a decision, without the fields that the program's header lacks.
    ///
    /// # Safety
    /// The place is still valid: the call that made it has not returned to C.
    pub(crate) unsafe fn write(self, decision: Decision) {
        let decision = Decision { size: self.size, ..decision };
        let bytes = self.size.min(size_of::<Decision>());
        // SAFETY: `decision` has at least `bytes` bytes, and the program's struct too.
        unsafe { (&raw const decision).cast::<u8>().copy_to_nonoverlapping(self.decision.cast(), bytes) };
    }
}
