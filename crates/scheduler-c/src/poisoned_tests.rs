//! A scheduler that panics does not take the program with it.

#![expect(unsafe_code, reason = "the functions are C's")]

use crate::Status;
use crate::exports::*;
use crate::handle::Handle;
use crate::pointers::owned_by_c;
use crate::types::{Action, Decision as DecisionInC, Path, Range, View as ViewInC};
use core::ffi::CStr;
use pathweave_scheduler::{Decision, Event, Scheduler, View};

/// A scheduler with a mistake.
struct Panics;

impl Scheduler for Panics {
    fn decide(&mut self, _: &View<'_>) -> Decision {
        panic!("a mistake of {}", "the rule");
    }
    fn on_event(&mut self, _: &Event<'_>, _: &View<'_>) {}
}

impl Drop for Panics {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("another mistake");
        }
    }
}

#[test]
fn after_a_panic_the_handle_can_only_be_freed() {
    let path = Path { size: size_of::<Path>(), mss_bytes: 1000, congestion_window_bytes: 10_000, ..Path::default() };
    let view = ViewInC { size: size_of::<ViewInC>(), paths: &path, path_count: 1, ..ViewInC::default() };
    let range = Range::default();
    let mut decision = DecisionInC {
        size: size_of::<DecisionInC>(),
        action: Action::Wait,
        path: 7,
        range,
        wait_until_ns: 0,
        queue: 0,
        reserved: 0,
    };
    let handle = owned_by_c(Handle::new(Box::new(Panics), false));
    let mut text = [0; 100];
    // SAFETY: the pointers are to what is above, and the handle is freed last.
    unsafe {
        assert_eq!(pathweave_scheduler_path_up(handle, &view, 0), Status::Ok);
        assert_eq!(pathweave_scheduler_written(handle, &view, 10), Status::Ok);
        assert_eq!(pathweave_scheduler_decide(handle, &view, &mut decision), Status::Poisoned);
        assert_eq!(decision.path, 7, "nothing is written");
        assert_eq!(pathweave_scheduler_decide(handle, &view, &mut decision), Status::Poisoned);
        assert_eq!(pathweave_scheduler_written(handle, &view, 10), Status::Poisoned);
        assert_eq!(pathweave_scheduler_rtt_sample(handle, &view, 0, 1), Status::Poisoned);
        assert_eq!(pathweave_scheduler_acknowledged(handle, &view, 0, &range, 0, 0), Status::Poisoned);
        pathweave_scheduler_error(handle, text.as_mut_ptr(), text.len());
        assert_eq!(CStr::from_ptr(text.as_ptr()), c"a mistake of the library: a mistake of the rule");
        assert_eq!(pathweave_scheduler_reason(handle, text.as_mut_ptr(), text.len()), 0);
        pathweave_scheduler_free(handle);
    }
}
