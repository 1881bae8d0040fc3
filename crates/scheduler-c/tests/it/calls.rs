//! The functions as C calls them: what a program reports, what it is answered, and what wrong calls get.

use crate::program::{self, MSS, Program, new, string};
use pathweave_scheduler_c::*;
use std::ffi::CStr;
use std::ptr::{null, null_mut};

#[test]
fn an_unknown_name_gets_the_nearest_one_and_the_list() {
    let (status, text) = new("minrt", &[]).map(drop).expect_err("there is none");
    assert_eq!(status, Status::UnknownScheduler);
    let start = "unknown scheduler `minrt`; did you mean `minrtt`? Allowed: minrtt, roundrobin, ";
    assert!(text.starts_with(start) && text.ends_with("weave, single"), "{text}");
}

#[test]
fn a_wrong_parameter_says_what_is_allowed() {
    let wrong = |parameters: &[(&str, &str)]| new("weave", parameters).map(drop).expect_err("it is wrong");
    let (status, text) = wrong(&[("objektive", "latency")]);
    assert_eq!(status, Status::Parameter);
    assert!(text.starts_with("weave: unknown parameter `objektive`; did you mean `objective`? Allowed: "), "{text}");
    let (status, text) = wrong(&[("objective", "beauty")]);
    assert_eq!(status, Status::Parameter);
    assert!(text.starts_with("weave: objective=beauty: allowed: one of "), "{text}");
    assert!(new("weave", &[("objective", "latency")]).is_ok());
}

#[test]
fn a_long_error_is_cut_and_ends_with_a_zero() {
    let mut buffer = [1; 10];
    let mut scheduler = null_mut();
    // SAFETY: the name ends with a zero, and the buffer has ten bytes.
    let status = unsafe {
        pathweave_scheduler_new(c"fastest".as_ptr(), null(), 0, &mut scheduler, buffer.as_mut_ptr(), buffer.len())
    };
    assert_eq!((status, scheduler), (Status::UnknownScheduler, null_mut()));
    // SAFETY: the call has written a zero.
    assert_eq!(unsafe { CStr::from_ptr(buffer.as_ptr()) }, c"unknown s");
}

#[test]
fn null_pointers_are_errors() {
    let mut scheduler = null_mut();
    let mut program = Program::new("minrtt", 1);
    // SAFETY: null is checked for, and all other arguments are as the header says.
    unsafe {
        let made = pathweave_scheduler_new(null(), null(), 0, &mut scheduler, null_mut(), 0);
        assert_eq!((made, scheduler), (Status::NullPointer, null_mut()));
        assert_eq!(
            pathweave_scheduler_new(c"weave".as_ptr(), null(), 1, &mut scheduler, null_mut(), 0),
            Status::NullPointer
        );
        assert_eq!(
            pathweave_scheduler_new(c"weave".as_ptr(), null(), 0, null_mut(), null_mut(), 0),
            Status::NullPointer
        );
        let (handle, view) = (program.handle(), program.view());
        assert_eq!(pathweave_scheduler_written(null_mut(), &view, 1), Status::NullPointer);
        assert_eq!(pathweave_scheduler_written(handle, null(), 1), Status::NullPointer);
        assert_eq!(pathweave_scheduler_decide(handle, &view, null_mut()), Status::NullPointer);
        assert_eq!(pathweave_scheduler_acknowledged(handle, &view, 0, null(), 1, 0), Status::NullPointer);
        let without = View { paths: null(), ..view };
        assert_eq!(pathweave_scheduler_written(handle, &without, 1), Status::NullPointer);
        assert_eq!(pathweave_scheduler_reason(null_mut(), null_mut(), 10), 0);
        assert_eq!(pathweave_scheduler_acknowledged_end(null_mut()), 0);
        pathweave_scheduler_free(null_mut());
    }
    assert_eq!(program.error(), "paths is null");
}

#[test]
fn a_size_that_is_too_small_is_an_error() {
    let mut program = Program::new("minrtt", 2);
    let mut decision = program::decision();
    decision.size -= 8;
    assert_eq!(program.ask(&mut decision), Status::Size);
    assert_eq!(program.error(), "the size of struct pathweave_decision is 40; allowed: 48 to 4096");
    let view = View { size: 0, ..program.view() };
    assert_eq!(program.written(&view, 1), Status::Size);
    program.paths[1].size -= 8;
    let view = program.view();
    assert_eq!(program.written(&view, 1), Status::Size);
    program.paths[1].size = usize::MAX;
    let view = program.view();
    assert_eq!(program.written(&view, 1), Status::Size);
}

/// A program that was built with a later header has longer structs. This library leaves out what it does not know.
#[test]
fn longer_structs_are_read_as_far_as_they_are_known() {
    #[repr(C)]
    #[derive(Clone, Copy)]
    struct Longer<T> {
        known: T,
        more: [u64; 3],
    }
    let mut program = Program::new("roundrobin", 2);
    program.write(10 * MSS);
    let longer = |path: &Path| Longer { known: Path { size: size_of::<Longer<Path>>(), ..*path }, more: [u64::MAX; 3] };
    let paths: Vec<_> = program.paths.iter().map(longer).collect();
    let size = size_of::<Longer<View>>();
    let view = View { size, paths: paths.as_ptr().cast(), ..program.view() };
    let view = Longer { known: view, more: [u64::MAX; 3] };
    let mut decision = Longer { known: program::decision(), more: [7; 3] };
    decision.known.size = size_of::<Longer<Decision>>();
    // SAFETY: all structs are as long as they say.
    let status =
        unsafe { pathweave_scheduler_decide(program.handle(), (&raw const view).cast(), (&raw mut decision).cast()) };
    assert_eq!(status, Status::Ok, "{}", program.error());
    assert_eq!(decision.known.action, Action::Send);
    assert_eq!((decision.known.size, decision.more), (size_of::<Longer<Decision>>(), [7; 3]));
}

#[test]
fn the_paths_of_a_view_are_those_that_are_up() {
    let mut program = Program::new("minrtt", 2);
    let path = |id| Path { id, ..program.paths[0] };
    let all = [0, 1, 2, 32].map(path);
    let cases: [(&[usize], Status, &str); 5] = [
        (&[0], Status::PathMissing, "the view lacks path 1, which is up"),
        (&[0, 1, 1], Status::PathTwice, "the view has path 1 twice"),
        (&[0, 1, 2], Status::UnknownPath, "the view has path 2, which is not up"),
        (&[0, 1, 3], Status::PathNumber, "path 32: allowed: 0 to 31"),
        (&[1, 0], Status::Ok, ""),
    ];
    for (chosen, status, text) in cases {
        program.paths = chosen.iter().map(|i| all[*i]).collect();
        let view = program.view();
        assert_eq!(program.written(&view, 1), status);
        if status != Status::Ok {
            assert_eq!(program.error(), text);
        }
    }
    program.paths = vec![all[0]; 33];
    let view = program.view();
    assert_eq!(program.written(&view, 1), Status::PathNumber);
    assert_eq!(program.error(), "path_count is 33; allowed: up to 32");
}

#[test]
fn paths_come_up_once_and_reports_on_others_are_errors() {
    let mut program = Program::new("minrtt", 2);
    program.write(10 * MSS);
    let view = program.view();
    // SAFETY: the arguments are as the header says.
    unsafe {
        let handle = program.handle();
        assert_eq!(pathweave_scheduler_path_up(handle, &view, 1), Status::PathTwice);
        assert_eq!(pathweave_scheduler_path_down(handle, &view, 5), Status::UnknownPath);
        assert_eq!(pathweave_scheduler_assigned(handle, &view, 5, 0, 1), Status::UnknownPath);
        assert_eq!(pathweave_scheduler_acknowledged(handle, &view, 5, null(), 0, 0), Status::UnknownPath);
        assert_eq!(pathweave_scheduler_lost(handle, &view, 5, null(), 0, 0), Status::UnknownPath);
        assert_eq!(pathweave_scheduler_rtt_sample(handle, &view, 5, 1), Status::UnknownPath);
        assert_eq!(pathweave_scheduler_rtt_sample(handle, &view, 32, 1), Status::PathNumber);
        assert_eq!(pathweave_scheduler_rtt_sample(handle, &view, u32::MAX, 1), Status::PathNumber);
    }
}

#[test]
fn ranges_outside_of_the_stream_are_errors() {
    let mut program = Program::new("minrtt", 2);
    program.write(10 * MSS);
    let view = program.view();
    let range = |start, end| Range { start, end };
    // SAFETY: the arguments are as the header says.
    unsafe {
        let handle = program.handle();
        let written = 10 * MSS;
        assert_eq!(pathweave_scheduler_assigned(handle, &view, 0, written - 1, written + 1), Status::Range);
        assert_eq!(pathweave_scheduler_assigned(handle, &view, 0, 5, 5), Status::Range);
        assert_eq!(pathweave_scheduler_assigned(handle, &view, 0, 6, 5), Status::Range);
        assert_eq!(pathweave_scheduler_assigned(handle, &view, 0, 0, MSS), Status::Ok);
        let acknowledged = |range: Range, end| pathweave_scheduler_acknowledged(handle, &view, 0, &range, 1, end);
        assert_eq!(acknowledged(range(0, MSS + 1), 0), Status::Range);
        assert_eq!(acknowledged(range(0, MSS), MSS + 1), Status::Range);
        assert_eq!(pathweave_scheduler_lost(handle, &view, 0, &range(0, MSS + 1), 1, 0), Status::Range);
        assert_eq!(acknowledged(range(0, MSS), 0), Status::Ok);
        assert_eq!(pathweave_scheduler_acknowledged_end(handle), 0);
        assert_eq!(acknowledged(range(0, MSS), UNKNOWN), Status::Ok);
        assert_eq!(pathweave_scheduler_acknowledged_end(handle), MSS);
        assert_eq!(pathweave_scheduler_written(handle, &view, u64::MAX), Status::Value);
    }
}

#[test]
fn values_that_are_not_allowed_are_named() {
    let mut program = Program::new("minrtt", 1);
    let right = program.paths[0];
    let cases = [
        (Path { mss_bytes: 0, ..right }, "path 0: mss_bytes is 0; allowed: 1 to 65536"),
        (Path { flags: 16, ..right }, "path 0: flags is 16; allowed: a sum of the PATHWEAVE_PATH_ values"),
        (Path { phase: 9, ..right }, "path 0: phase is 9; allowed: a pathweave_phase"),
        (Path { loss_ratio: f64::NAN, ..right }, "path 0: loss_ratio is NaN; allowed: 0 to 1"),
        (Path { loss_ratio: 1.5, ..right }, "path 0: loss_ratio is 1.5; allowed: 0 to 1"),
        (Path { cost_per_gigabyte: -1.0, ..right }, "path 0: cost_per_gigabyte is -1; allowed: 0 or more"),
        (
            Path { min_rtt_ns: u64::MAX, ..right },
            "path 0: min_rtt_ns is 18446744073709551615; allowed: up to 86400000000000",
        ),
        (Path { reserved: 1, ..right }, "path 0: reserved is 1; allowed: 0"),
    ];
    for (path, text) in cases {
        program.paths = vec![path];
        let view = program.view();
        assert_eq!(program.written(&view, 1), Status::Value);
        assert_eq!(program.error(), text);
    }
    program.paths = vec![right];
    let view = View { flags: 2, ..program.view() };
    assert_eq!(program.written(&view, 1), Status::Value);
    let view = program.view();
    // SAFETY: the arguments are as the header says.
    let lost = unsafe { pathweave_scheduler_lost(program.handle(), &view, 0, null(), 0, 2) };
    assert_eq!((lost, program.error().as_str()), (Status::Value, "path 0: loss is 2; allowed: a pathweave_loss"));
}

#[test]
fn time_does_not_run_backwards() {
    let mut program = Program::new("minrtt", 1);
    let view = View { now_ns: program.now_ns - 1, ..program.view() };
    assert_eq!(program.written(&view, 1), Status::Time);
    let view = View { now_ns: u64::MAX, ..program.view() };
    assert_eq!(program.written(&view, 1), Status::Value);
    let view = program.view();
    assert_eq!(program.written(&view, 1), Status::Ok);
}

#[test]
fn a_decision_has_a_path_a_range_and_a_reason() {
    let mut program = Program::new("minrtt", 2);
    program.paths[1].smoothed_rtt_ns /= 2;
    let mut decision = program::decision();
    assert_eq!(program.ask(&mut decision), Status::Ok);
    assert_eq!((decision.action, decision.path, decision.wait_until_ns), (Action::Wait, NO_PATH, 0));
    assert_eq!(program.reason(), "nothing unassigned lies inside the send window");
    program.write(100 * MSS);
    assert_eq!(program.ask(&mut decision), Status::Ok);
    assert_eq!((decision.action, decision.path, decision.range.start), (Action::Send, 1, 0));
    assert!(program.reason().contains("ms"), "{}", program.reason());
    // The window of ten segments has no room for more than that.
    assert!((1..=10 * MSS).contains(&decision.range.end));
}

#[test]
fn the_largest_queue_limit_is_no_limit() {
    // `linux` fills paths beyond their windows, `minrtt` does not.
    for scheduler in ["minrtt", "linux"] {
        let decided = |queue_limit_bytes| {
            let mut program = Program::new(scheduler, 1);
            program.write(100 * MSS);
            program.paths[0].queue_limit_bytes = queue_limit_bytes;
            let mut decision = program::decision();
            assert_eq!(program.ask(&mut decision), Status::Ok, "{}", program.error());
            (decision.action, decision.path, decision.range)
        };
        assert_eq!(decided(u64::MAX), decided(0), "{scheduler}");
        assert_eq!(decided(u64::MAX).0, Action::Send, "{scheduler}");
    }
}

/// Bytes that only a dead path carried, or that a path has lost for good, are offered again.
#[test]
fn lost_bytes_wait_for_a_path_again() {
    let mut program = Program::new("minrtt", 2);
    program.write(4 * MSS);
    program.assign(0, 0, 2 * MSS);
    program.assign(1, 2 * MSS, 4 * MSS);
    let mut decision = program::decision();
    assert_eq!(program.ask(&mut decision), Status::Ok);
    assert_eq!(decision.action, Action::Wait);
    let view = program.view();
    let lost = Range { start: 2 * MSS, end: 3 * MSS };
    // SAFETY: the arguments are as the header says.
    assert_eq!(unsafe { pathweave_scheduler_lost(program.handle(), &view, 1, &lost, 1, 0) }, Status::Ok);
    assert_eq!(program.ask(&mut decision), Status::Ok);
    assert_eq!((decision.action, decision.range.start), (Action::Send, lost.start));
    program.assign(1, lost.start, lost.end);
    let dead = program.paths.remove(0);
    let view = program.view();
    // SAFETY: the arguments are as the header says.
    assert_eq!(unsafe { pathweave_scheduler_path_down(program.handle(), &view, dead.id) }, Status::Ok);
    assert_eq!(program.ask(&mut decision), Status::Ok);
    assert_eq!((decision.action, decision.path, decision.range.start), (Action::Send, 1, 0));
}

/// A transport without an acknowledgement of the stream reports ranges, in any order. Acknowledged bytes are not offered
/// again when their path dies.
#[test]
fn ranges_are_joined_to_an_acknowledged_end() {
    let mut program = Program::new("minrtt", 2);
    program.write(6 * MSS);
    program.assign(0, 0, 6 * MSS);
    let ranges = [(3, 4), (1, 2), (4, 6), (2, 3)];
    for (start, end) in ranges {
        program.acknowledge(0, start * MSS, end * MSS, UNKNOWN);
        assert_eq!(program.acknowledged_end(), 0);
    }
    let dead = program.paths.remove(0);
    let view = program.view();
    // SAFETY: the arguments are as the header says.
    assert_eq!(unsafe { pathweave_scheduler_path_down(program.handle(), &view, dead.id) }, Status::Ok);
    let mut decision = program::decision();
    assert_eq!(program.ask(&mut decision), Status::Ok);
    assert_eq!((decision.path, decision.range), (1, Range { start: 0, end: MSS }));
    program.assign(1, 0, MSS);
    program.acknowledge(1, 0, MSS, UNKNOWN);
    assert_eq!(program.acknowledged_end(), 6 * MSS);
}

/// Packets that a path carried before it went down may be acknowledged later.
#[test]
fn a_path_that_is_down_is_acknowledged_without_its_number() {
    let mut program = Program::new("minrtt", 2);
    program.write(6 * MSS);
    program.assign(0, 0, 4 * MSS);
    let dead = program.paths.remove(0);
    let view = program.view();
    let late = [Range { start: MSS, end: 2 * MSS }, Range { start: 0, end: MSS }];
    // SAFETY: the arguments are as the header says.
    unsafe {
        let handle = program.handle();
        assert_eq!(pathweave_scheduler_path_down(handle, &view, dead.id), Status::Ok);
        let acknowledged = |path| pathweave_scheduler_acknowledged(handle, &view, path, late.as_ptr(), 2, UNKNOWN);
        assert_eq!(acknowledged(dead.id), Status::UnknownPath);
        assert_eq!(acknowledged(NO_PATH), Status::Ok);
    }
    assert_eq!(program.acknowledged_end(), 2 * MSS);
    let mut decision = program::decision();
    assert_eq!(program.ask(&mut decision), Status::Ok);
    assert_eq!((decision.path, decision.range.start), (1, 2 * MSS));
}

#[test]
fn the_receivers_window_ends_the_decisions() {
    let mut program = Program::new("roundrobin", 2);
    program.write(100 * MSS);
    program.send_window_end = 3 * MSS;
    let mut sent = 0;
    let mut decision = program::decision();
    while program.ask(&mut decision) == Status::Ok && decision.action == Action::Send {
        program.assign(decision.path, decision.range.start, decision.range.end);
        sent = sent.max(decision.range.end);
        assert!(sent <= 3 * MSS);
    }
    assert_eq!(sent, 3 * MSS);
}

#[test]
fn names_statuses_and_the_version_are_texts() {
    let names: Vec<_> = (0..).map_while(|i| string(pathweave_scheduler_name(i))).collect();
    assert!(names.iter().any(|name| name == "weave") && names.iter().all(|name| new(name, &[]).is_ok()), "{names:?}");
    let texts: Vec<_> = (0..).map_while(|i| string(pathweave_status_text(i))).collect();
    assert_eq!(texts.len(), Status::Poisoned as usize + 1);
    assert_eq!(string(pathweave_scheduler_version()).as_deref(), Some(env!("CARGO_PKG_VERSION")));
}
