//! A program that uses the library through its functions, as one in C does.

use pathweave_scheduler_c::*;
use std::ffi::{CStr, CString, c_char};
use std::ptr::{null, null_mut};

/// Bytes of a full packet.
pub(crate) const MSS: u64 = 1000;

/// The text at a pointer, if it is not null.
pub(crate) fn string(text: *const c_char) -> Option<String> {
    // SAFETY: the library's texts end with a zero and stay valid.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
}

/// The text that `write` writes into a buffer.
fn written(write: impl FnOnce(*mut c_char, usize) -> usize) -> String {
    let mut buffer = [0; 4000];
    let length = write(buffer.as_mut_ptr(), buffer.len());
    let text = string(buffer.as_ptr()).unwrap_or_default();
    assert_eq!(text.len(), length.min(buffer.len() - 1));
    text
}

/// A handle that is freed at the end of its scope.
#[derive(Debug)]
pub(crate) struct Owned(*mut Handle);

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the handle is not used again.
        unsafe { pathweave_scheduler_free(self.0) };
    }
}

/// Makes a scheduler, or returns the status and the text of the error.
pub(crate) fn new(name: &str, parameters: &[(&str, &str)]) -> Result<Owned, (Status, String)> {
    let text = |text: &str| CString::new(text).expect("there is no zero inside");
    let texts: Vec<_> = parameters.iter().map(|(name, value)| (text(name), text(value))).collect();
    let given: Vec<_> =
        texts.iter().map(|(name, value)| Parameter { name: name.as_ptr(), value: value.as_ptr() }).collect();
    let (name, mut handle, mut status) = (text(name), null_mut(), Status::Ok);
    let error = written(|buffer, length| {
        // SAFETY: all texts end with a zero, and the buffer is as long as it says.
        unsafe {
            status = pathweave_scheduler_new(name.as_ptr(), given.as_ptr(), given.len(), &mut handle, buffer, length);
            string(buffer).map_or(0, |text| text.len())
        }
    });
    if status == Status::Ok { Ok(Owned(handle)) } else { Err((status, error)) }
}

/// An empty decision.
pub(crate) fn decision() -> Decision {
    Decision {
        size: size_of::<Decision>(),
        action: Action::Wait,
        path: 0,
        range: Range::default(),
        wait_until_ns: 0,
        queue: 0,
        reserved: 0,
    }
}

/// A program with its paths, as it describes them.
#[derive(Debug)]
pub(crate) struct Program {
    handle: Owned,
    pub(crate) paths: Vec<Path>,
    pub(crate) now_ns: u64,
    pub(crate) send_window_end: u64,
}

impl Program {
    /// A program with `paths` paths that are up, each with a window of ten packets and a round trip of 100 ms.
    pub(crate) fn new(scheduler: &str, paths: u32) -> Self {
        let handle = new(scheduler, &[]).expect("there is such a scheduler");
        let mut program = Program { handle, paths: Vec::new(), now_ns: 1_000_000_000, send_window_end: 0 };
        for id in 0..paths {
            program.up(Path {
                size: size_of::<Path>(),
                id,
                mss_bytes: MSS as u32,
                congestion_window_bytes: 10 * MSS,
                smoothed_rtt_ns: 100_000_000,
                ..Path::default()
            });
        }
        program
    }

    pub(crate) fn handle(&mut self) -> *mut Handle {
        self.handle.0
    }

    pub(crate) fn view(&self) -> View {
        View {
            size: size_of::<View>(),
            now_ns: self.now_ns,
            paths: if self.paths.is_empty() { null() } else { self.paths.as_ptr() },
            path_count: self.paths.len(),
            send_window_end: self.send_window_end,
            ..View::default()
        }
    }

    #[track_caller]
    fn fine(&mut self, status: Status) {
        assert_eq!(status, Status::Ok, "{}", self.error());
    }

    #[track_caller]
    pub(crate) fn up(&mut self, path: Path) {
        self.paths.push(path);
        let view = self.view();
        // SAFETY: the arguments are as the header says, here and below.
        let status = unsafe { pathweave_scheduler_path_up(self.handle(), &view, path.id) };
        self.fine(status);
    }

    pub(crate) fn written(&mut self, view: &View, bytes: u64) -> Status {
        // SAFETY: as above.
        unsafe { pathweave_scheduler_written(self.handle(), view, bytes) }
    }

    #[track_caller]
    pub(crate) fn write(&mut self, bytes: u64) {
        let view = self.view();
        let status = self.written(&view, bytes);
        self.fine(status);
    }

    pub(crate) fn ask(&mut self, decision: &mut Decision) -> Status {
        let view = self.view();
        // SAFETY: as above.
        unsafe { pathweave_scheduler_decide(self.handle(), &view, decision) }
    }

    /// Changes how many bytes a path carries. As many as the congestion window allows are in flight.
    #[track_caller]
    pub(crate) fn carries(&mut self, path: u32, change: impl FnOnce(u64) -> u64) {
        let known = self.paths.iter_mut().find(|p| p.id == path).expect("the path is up");
        let carried = change(known.in_flight_bytes + known.queued_bytes);
        known.in_flight_bytes = carried.min(known.congestion_window_bytes);
        known.queued_bytes = carried - known.in_flight_bytes;
    }

    /// Puts a range on a path, and reports it.
    #[track_caller]
    pub(crate) fn assign(&mut self, path: u32, start: u64, end: u64) {
        self.carries(path, |carried| carried + (end - start));
        let view = self.view();
        // SAFETY: as above.
        let status = unsafe { pathweave_scheduler_assigned(self.handle(), &view, path, start, end) };
        self.fine(status);
    }

    /// Reports that a path's range is acknowledged.
    #[track_caller]
    pub(crate) fn acknowledge(&mut self, path: u32, start: u64, end: u64, acknowledged_end: u64) {
        self.carries(path, |carried| carried - (end - start));
        let view = self.view();
        let range = Range { start, end };
        // SAFETY: as above.
        let status =
            unsafe { pathweave_scheduler_acknowledged(self.handle(), &view, path, &range, 1, acknowledged_end) };
        self.fine(status);
    }

    pub(crate) fn acknowledged_end(&mut self) -> u64 {
        // SAFETY: as above.
        unsafe { pathweave_scheduler_acknowledged_end(self.handle()) }
    }

    pub(crate) fn reason(&mut self) -> String {
        // SAFETY: as above.
        written(|buffer, length| unsafe { pathweave_scheduler_reason(self.handle.0, buffer, length) })
    }

    pub(crate) fn error(&mut self) -> String {
        // SAFETY: as above.
        written(|buffer, length| unsafe { pathweave_scheduler_error(self.handle.0, buffer, length) })
    }
}
