#!/bin/sh
# The pinned compiler's rustdoc with its unstable JSON output. Only rustdoc gets the variable: build scripts that look at it
# would make Cargo build their crates anew.
RUSTC_BOOTSTRAP=1 exec rustdoc "$@"
