//! An allocator that counts the allocations of each thread. The tests of this crate run the simulator with it and check
//! that nothing is allocated per segment in steady state (ARCHITECTURE.md, contract 10).
//!
//! It is a crate of its own because an allocator is `unsafe` to implement, and the workspace forbids `unsafe`
//! everywhere else.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<i64> = const { Cell::new(0) };
}

/// Allocations and reallocations of this thread so far.
pub fn allocations() -> u64 {
    ALLOCATIONS.get()
}

/// Bytes that this thread has allocated less those that it has freed. Negative if it frees memory of other threads.
pub fn allocated_bytes() -> i64 {
    BYTES.get()
}

fn count_bytes(taken: usize, given_back: usize) {
    let _ = BYTES.try_with(|n| n.set(n.get() + taken as i64 - given_back as i64));
}

fn count() {
    // A thread that ends may allocate after its counter is gone. Such allocations are not measured.
    let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
}

/// The system's allocator with counters.
#[derive(Clone, Copy, Debug)]
pub struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; counting neither allocates nor unwinds, because the
// counter is a number in a place that exists from the start of the thread.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        count_bytes(layout.size(), 0);
        // SAFETY: the caller keeps the rules of `alloc`, which are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        count_bytes(layout.size(), 0);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        count_bytes(size, layout.size());
        // SAFETY: as above.
        unsafe { System.realloc(block, layout, size) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count_bytes(0, layout.size());
        // SAFETY: as above.
        unsafe { System.dealloc(block, layout) }
    }
}
