//! Rules that can be left out, so that `cargo xtask ablations` can measure the worth of each.
//!
//! The parameter for this exists only if the compiler is given `--cfg weave_ablations`, and in this crate's tests.
//! Otherwise all checks are constants and cost nothing. It is not a Cargo feature, because builds with all features
//! would then have other parameters than the release.

use pathweave_proto::parameter::{Kind, Parameter};

/// The parameter that names the rule to leave out.
pub(super) const PARAMETER: Parameter<'_> = Parameter {
    name: "without",
    kind: Kind::Choice("nothing ahead cap start after-start after-loss debts choice bursts repeats rescue copies"),
    unit: "",
    default: "nothing",
    description: "the rule that is left out, to measure what it is worth",
    source: "ours",
};

/// A rule of `weave` that can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Slower paths take data ahead of the first unassigned byte.
    Ahead,
    /// The horizon limits the data in flight on each path.
    Cap,
    /// Limits in slow start and before the first loss.
    Start,
    /// The limit after slow start and before the first loss.
    AfterStart,
    /// The limit of bursts after a loss.
    AfterLoss,
    /// Paths that cost more than they bring are not used.
    Debts,
    /// The choice of paths, together with bursts, which are for paths that are not chosen.
    Choice,
    /// Bursts at the window's end.
    Bursts,
    /// Repetitions of data that holds the stream up.
    Repeats,
    /// Repetitions of data on paths that are not used any more.
    Rescue,
    /// Copies that keep estimates fresh.
    Copies,
}

/// The rule that is left out, if any.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Without(Option<Rule>);

impl Without {
    /// The choice for a value of the parameter.
    pub(super) fn named(name: &str) -> Self {
        Without(match name {
            "ahead" => Some(Rule::Ahead),
            "cap" => Some(Rule::Cap),
            "start" => Some(Rule::Start),
            "after-start" => Some(Rule::AfterStart),
            "after-loss" => Some(Rule::AfterLoss),
            "debts" => Some(Rule::Debts),
            "choice" => Some(Rule::Choice),
            "bursts" => Some(Rule::Bursts),
            "repeats" => Some(Rule::Repeats),
            "rescue" => Some(Rule::Rescue),
            "copies" => Some(Rule::Copies),
            _ => None,
        })
    }

    /// Whether `rule` is left out.
    pub(super) fn leaves_out(self, rule: Rule) -> bool {
        cfg!(any(test, weave_ablations)) && self.0 == Some(rule)
    }
}

#[cfg(test)]
mod tests {
    use super::super::debts_tests::left_out;
    use super::super::tests::{burst_pair, held_up, left_behind, not_lost_yet, pair};
    use super::super::{ENTRY, Weave};
    use super::{Kind, PARAMETER, Without};
    use pathweave_proto::SubflowId;
    use pathweave_proto::scheduler::testing::Bench;
    use pathweave_units::Duration;

    /// The data that is assigned until the scheduler waits, without the rule `name`.
    fn given(name: &str, (mut weave, mut bench): (Weave, Bench)) -> Vec<(u8, core::ops::Range<u64>)> {
        weave.without = Without::named(name);
        bench.run(&mut weave)
    }

    fn segments(given: &[(u8, core::ops::Range<u64>)], id: u8) -> u64 {
        given.iter().filter(|g| g.0 == id).map(|g| g.1.end - g.1.start).sum()
    }

    fn later((weave, mut bench): (Weave, Bench), ms: u64) -> (Weave, Bench) {
        bench.now += Duration::from_millis(ms);
        (weave, bench)
    }

    #[test]
    fn each_word_leaves_out_a_rule_of_its_own() {
        assert!(ENTRY.parameters.iter().any(|p| p.name == "without"));
        let Kind::Choice(words) = PARAMETER.kind else { panic!("it is a choice") };
        let mut rules: Vec<_> = words.split(' ').map(|word| Without::named(word).0).collect();
        assert_eq!(rules.remove(0), None);
        for (i, rule) in rules.iter().enumerate() {
            assert!(rule.is_some() && !rules[..i].contains(rule), "{rule:?}");
        }
    }

    #[test]
    fn without_data_ahead_all_goes_out_in_order() {
        let in_order = |name| {
            let given = given(name, pair(200, 0));
            given.windows(2).all(|pair| pair[1].1.start == pair[0].1.end)
        };
        assert_eq!(["nothing", "ahead"].map(in_order), [false, true]);
    }

    #[test]
    fn without_the_cap_more_is_in_flight() {
        let [with, without] = ["nothing", "cap"].map(|name| segments(&given(name, burst_pair()), 0));
        assert!(with <= 24 && without > 40, "{with} {without}");
    }

    #[test]
    fn without_the_limits_before_the_first_loss_bursts_are_longer() {
        let [with, start, after] =
            ["nothing", "start", "after-start"].map(|name| segments(&given(name, not_lost_yet()), 0));
        assert!(with == 10 && start > 10 && after > 10, "{with} {start} {after}");
    }

    #[test]
    fn without_debts_a_path_that_costs_more_than_it_brings_is_used() {
        assert_eq!(["nothing", "debts"].map(|name| left_out(300, 199, name)), [true, false]);
    }

    #[test]
    fn without_the_limit_after_a_loss_bursts_are_longer() {
        let lost = || {
            let (mut weave, mut bench) = not_lost_yet();
            bench.sub(0).window.cwnd = 40;
            weave.path(SubflowId(0)).lost = true;
            (weave, bench)
        };
        let [with, without] = ["nothing", "after-loss"].map(|name| segments(&given(name, lost()), 0));
        assert!(with == 20 && without == 40, "{with} {without}");
    }

    #[test]
    fn without_bursts_a_path_that_has_no_room_is_not_used_and_without_the_choice_the_horizon_is_that_of_all() {
        let [with, bursts, choice] = ["nothing", "bursts", "choice"].map(|name| given(name, burst_pair()));
        assert!(segments(&with, 1) > 0 && segments(&with, 0) <= 24, "{with:?}");
        assert_eq!(segments(&bursts, 1), 0, "{bursts:?}");
        assert_eq!(choice, [(0, 0..60)], "the fast one has no more than arrives before the slow one would deliver");
    }

    #[test]
    fn without_repeats_and_what_is_left_behind_nothing_goes_out_twice() {
        let first = |name, case| given(name, case).first().cloned();
        let late = || later(held_up(2), 101);
        assert_eq!([first("nothing", late()), first("repeats", late())], [Some((0, 0..2)), None]);
        let start = |name| first(name, left_behind(50)).map(|g| g.1.start);
        assert_eq!([start("nothing"), start("rescue")], [Some(0), Some(2)]);
    }

    #[test]
    fn without_copies_an_unused_path_stays_unused() {
        let slow = |name| segments(&given(name, later(pair(30, 0), 2000)), 1);
        assert!(slow("nothing") > 0);
        assert_eq!(slow("copies"), 0);
    }
}
