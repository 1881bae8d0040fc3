//! The terminal's table.

use crate::made_up::results;
use pathweave_lab::results::Status;
use pathweave_report::{Comparison, table};

#[test]
fn eighty_columns_are_enough() {
    for sized in [false, true] {
        let all = results("wlan-3g", 5, 20.0, sized);
        let text = table(&Comparison::all(&all, &[], None).remove(0), 80);
        println!("{text}");
        let widest = text.lines().map(|l| l.chars().count()).max().expect("there are lines");
        assert!(widest <= 80, "{widest} columns:\n{text}");
        let rows = text.lines().filter(|l| l.contains('/')).count();
        assert!(rows >= 8, "every scheduler takes one line:\n{text}");
    }
}

#[test]
fn stalled_runs_are_named() {
    let mut all = results("wlan-3g", 5, 20.0, false);
    all[2].status = Status::Stalled;
    let text = table(&Comparison::all(&all, &[], None).remove(0), 80);
    assert!(text.contains("minrtt *"), "{text}");
    assert!(text.contains("* minrtt: 1 of 5 runs stalled\n"), "{text}");
}
