//! Runs that found something once, and that no shorter test of the engine stands for. They hold while the drawing of cases stays as it is: where
//! that changes, take the ones that fail on the engine before the mend from a new campaign, or leave them out.

use pathweave_faults::{Case, run_caught};

#[test]
fn what_once_failed_holds() {
    let seeds = [
        // A wrong checksum: each subflow that came in place of the one before said MP_FAIL again.
        1020376123,
        // A middlebox that takes mappings away: the acknowledgements of a subflow that was joined again and again passed for answers to window
        // probes, and kept the connection alive for ever.
        1040078775,
        // A window that opened again while the timeout was doubled: one more loss ended the connection.
        1040074634,
    ];
    for seed in seeds {
        let fault = run_caught(&Case::draw(seed)).map_or_else(Some, |outcome| outcome.fault);
        assert_eq!(fault, None, "{seed}");
    }
}
