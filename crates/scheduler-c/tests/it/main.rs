//! Tests of the library through its functions, as C calls them.

#![expect(unsafe_code, reason = "the functions are C's")]

mod calls;
mod header;
mod program;
mod random;
