//! The functions that the WebAssembly module exports: bytes in, bytes out, so that a page needs no generated code.
//!
//! The page asks [`input`] for room, writes a request there (UTF-8), and calls [`reply`]. The answer stays where it is
//! until the next call. After a panic, which stops the module, [`fault`] has its message.
//!
//! The compiler calls an exported name `unsafe` because two equal names would be confused; each of these exists once.
//! Addresses are only given away here, never followed.

#![allow(unsafe_code)]

use crate::Laboratory;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

static LABORATORY: LazyLock<Mutex<Laboratory>> = LazyLock::new(|| {
    std::panic::set_hook(Box::new(|info| *held(&FAULT) = info.to_string()));
    Mutex::default()
});
static INPUT: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static OUTPUT: Mutex<String> = Mutex::new(String::new());
static FAULT: Mutex<String> = Mutex::new(String::new());

/// Makes room for a request of `length` bytes and returns its address.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn input(length: usize) -> *mut u8 {
    let mut input = held(&INPUT);
    *input = vec![0; length];
    input.as_mut_ptr()
}

/// Answers the request that was written. Returns the answer's address and, in the upper half, its length.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn reply() -> u64 {
    let request = std::mem::take(&mut *held(&INPUT));
    // Frees the last answer before a run needs memory.
    *held(&OUTPUT) = String::new();
    let answer = held(&LABORATORY).reply(&String::from_utf8_lossy(&request));
    *held(&OUTPUT) = answer;
    place(&held(&OUTPUT))
}

/// The message of the panic that stopped the module; empty if there was none.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn fault() -> u64 {
    place(&held(&FAULT))
}

fn place(text: &str) -> u64 {
    (text.len() as u64) << 32 | text.as_ptr() as u64
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
