use super::super::fps;
use super::*;
use crate::Registry;
use pathweave_scheduler::testing::{Bench, sub};

const ENOUGH: u32 = u32::MAX;

fn default_outcomes() -> u32 {
    OUTCOMES.default.parse().expect("the default is a number")
}

fn fpdps() -> Forward<MostLikely> {
    Forward::new(MostLikely::new(default_outcomes()), None)
}

/// N and P of every course of rounds, by the words of III.A: each outcome of each round, with time in round trips.
fn courses(rtts: f64, cwnd: u64, ssthresh: u64, p: f64) -> Vec<(u64, f64)> {
    let mut done = Vec::new();
    let mut open = vec![(rtts, cwnd, ssthresh, 0, 1.0)];
    while let Some((t, w, ss, n, likelihood)) = open.pop() {
        if t < 0.5 {
            done.push((n, likelihood));
            continue;
        }
        let mut ways = 1.0;
        for x in 0..=w {
            let outcome = likelihood * ways * libm::pow(p, x as f64) * libm::pow(1.0 - p, (w - x) as f64);
            if t < 1.5 {
                done.push((n + w - x, outcome));
            } else if x == 0 {
                open.push((t - 1.0, if w < ss { 2 * w } else { w + 1 }, ss, n + w, outcome));
            } else {
                let halved = (0..x).fold(w, |w, _| w / 2).max(2);
                open.push((t - 2.0, halved, halved, n + w, outcome));
            }
            ways = ways * (w - x) as f64 / (x + 1) as f64;
        }
    }
    done
}

#[test]
fn getnp_is_the_most_likely_of_all_courses() {
    let mut unique = 0;
    for p in [0.001, 0.01, 0.03, 0.1, 0.2, 0.35, 0.5] {
        for cwnd in 1..=8 {
            for ssthresh in [cwnd, 2 * cwnd, 1000] {
                for quarters in 0..22 {
                    let rounds = rounds(Duration::from_millis(25 * quarters), Duration::from_millis(100));
                    let course = Search::getnp(rounds, (cwnd, ssthresh), p, ENOUGH);
                    let mut all = courses(quarters as f64 / 4.0, cwnd.into(), ssthresh.into(), p);
                    all.sort_by(|a, b| b.1.total_cmp(&a.1));
                    let case = format!("p {p}, window {cwnd}/{ssthresh}, {quarters}/4 RTT: {course:?}, {:?}", &all[0]);
                    assert!((course.likelihood / all[0].1 - 1.0).abs() < 1e-9, "{case}");
                    // Rounding decides among courses that are equally likely.
                    let as_likely = all.iter().take_while(|c| c.1 > all[0].1 * (1.0 - 1e-9));
                    assert!(as_likely.clone().any(|c| c.0 == course.segments), "{case}");
                    unique += u32::from(as_likely.count() == 1);
                }
            }
        }
    }
    assert!(unique > 3000, "only {unique} cases have one most likely course");
}

#[test]
fn the_default_number_of_outcomes_finds_the_most_likely_course_of_five_rounds() {
    for p in [0.0, 0.001, 0.003, 0.01, 0.02, 0.03, 0.05] {
        for (cwnd, ssthresh) in (1..=50).flat_map(|w| [(w, w), (w, 2 * w), (w.min(5), u32::MAX)]) {
            for rounds in 0..=5 {
                let all = Search::getnp(rounds, (cwnd, ssthresh), p, ENOUGH);
                let cut = Search::getnp(rounds, (cwnd, ssthresh), p, default_outcomes());
                assert_eq!(cut, all, "p {p}, window {cwnd}/{ssthresh}, {rounds} rounds");
            }
        }
    }
}

#[test]
fn without_loss_it_is_the_sum_of_fps() {
    for (cwnd, ssthresh) in [(10, 10), (3, 1000), (7, 20), (1, u32::MAX), (5000, 4000)] {
        for rounds in 0..=super::super::forward::MAX_ROUNDS {
            let course = Search::getnp(rounds, (cwnd, ssthresh), 0.0, 1);
            assert_eq!((course.segments, course.likelihood), (fps::sent(rounds, cwnd, ssthresh), 1.0));
        }
    }
}

#[test]
fn extreme_losses_and_windows_have_a_result() {
    for p in [LEAST_LOSS, 0.3, MOST_LOSS] {
        for cwnd in [1, 2, 1000, MAX_WINDOW] {
            let course = Search::getnp(64, (cwnd, u32::MAX), p, default_outcomes());
            assert!(course.segments > 0 && course.likelihood >= 0.0, "{p}, {cwnd}: {course:?}");
        }
    }
}

/// Eq. 1 subtracts the rest of the round from the time.
#[test]
fn the_rest_of_the_round_that_is_under_way_is_taken_off() {
    let (rtt, now) = (Duration::from_millis(40), Instant::from_millis(1000));
    let rest = |started: Option<u64>| {
        let mut i = SubflowView::default();
        i.delivery.round_start = started.map(Instant::from_millis);
        rest_of_round(&i, rtt, now).as_millis()
    };
    assert_eq!([rest(Some(1000)), rest(Some(985)), rest(Some(960)), rest(Some(900)), rest(None)], [40, 25, 0, 0, 0]);
}

#[test]
fn a_loss_rate_is_taken_to_a_sixteenth_and_the_last_result_is_kept() {
    for p in [1.1e-6, 0.0003, 0.004_56, 0.0789, 0.4] {
        assert!((coarse(p) / p - 1.0).abs() <= 1.0 / 16.0, "{p}");
    }
    assert_eq!([coarse(0.0), coarse(9e-7), coarse(0.9)], [0.0, 0.0, 0.5]);
    let mut i = sub(0).rtt(20).0;
    i.delivery.loss = 0.01;
    let mut predict = MostLikely::new(32);
    let mut delivered = |i: &SubflowView| predict.delivered(i, Duration::from_millis(50), Instant::from_secs(1));
    let fresh = |i: &SubflowView| MostLikely::new(32).delivered(i, Duration::from_millis(50), Instant::from_secs(1));
    // Rounds of 10, 11 and 12 segments. Then each input changes in turn.
    assert_eq!(delivered(&i), 33);
    i.delivery.loss = 0.0099;
    assert_eq!(delivered(&i), 33);
    i.window.cwnd = 11;
    assert_eq!((delivered(&i), fresh(&i)), (36, 36));
    i.window.ssthresh = 50;
    assert_eq!((delivered(&i), fresh(&i)), (77, 77));
    i.delivery.loss = 0.5;
    assert_eq!(delivered(&i), fresh(&i));
    i.rtt.smoothed = Some(Duration::from_millis(50));
    assert_eq!(delivered(&i), fresh(&i));
}

/// The two subflows of Figs. 2 and 3: a round of i ends when j is scheduled, at t = 10 s. The windows are those of Fig.
/// 7.
fn figure(loss_i: f64) -> Bench {
    let mut bench = Bench::new([sub(0).rtt(40).cwnd(2).in_flight(2), sub(1).rtt(160).cwnd(2)]).write(100);
    let now = bench.now;
    let i = bench.sub(0);
    (i.window.ssthresh, i.delivery.loss, i.delivery.round_start) = (2, loss_i, Some(now - Duration::from_millis(40)));
    bench
}

/// Fig. 2: i sends two and then three segments during [t, t'], so j starts at segment 6 (counted from 1 there).
#[test]
fn figure_2() {
    for loss in [0.0, 0.05] {
        assert_eq!(figure(loss).run(&mut fpdps()), [(1, 5..7)], "with a loss rate of {loss}");
    }
}

/// Fig. 3: a loss in the first round of i leaves no time for a second round, so j starts at segment 3. The figure gives
/// no loss rate. In a window of two, one loss is more likely than none if 2·p·(1 − p) > (1 − p)²·(1 − p)³, which holds
/// from p = 0.204 on.
#[test]
fn figure_3() {
    assert_eq!(figure(0.1875).run(&mut fpdps()), [(1, 5..7)]);
    assert_eq!(figure(0.25).run(&mut fpdps()), [(1, 2..4)]);
    assert_eq!(figure(0.25).run(&mut Forward::new(fps::LossFree, None)), [(1, 5..7)], "fps knows of no losses");
}

/// 80 ms less the rest of 30 ms leave one round, of two segments.
#[test]
fn a_round_under_way_leaves_less_time() {
    let mut bench = figure(0.0);
    bench.sub(0).delivery.round_start = Some(bench.now - Duration::from_millis(10));
    assert_eq!(bench.run(&mut fpdps()), [(1, 2..4)]);
    // Unsent data on an idle subflow begins a round now: 80 ms less 40 ms.
    let mut bench = figure(0.0);
    (bench.sub(0).window.in_flight, bench.sub(0).queue.unsent, bench.sub(0).delivery.round_start) = (0, 2, None);
    assert_eq!(bench.run(&mut fpdps()), [(1, 2..4)]);
}

mod identity {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        /// Without loss and without a round under way, fpdps decides as fps does.
        #[test]
        fn fpdps_without_loss_and_offset_is_fps(
            rtts in proptest::array::uniform2(1u64..1000),
            cwnds in proptest::array::uniform2(1u32..100),
            slow_start: bool,
            free in 0u32..5,
            segments in 1u64..5000,
        ) {
            let fast = sub(0).rtt(rtts[0].min(rtts[1])).cwnd(cwnds[0]);
            let fast = if slow_start { fast.slow_start() } else { fast };
            let slow = sub(1).rtt(rtts[0].max(rtts[1])).cwnd(cwnds[1]);
            let bench = || Bench::new([fast.clone().in_flight(cwnds[0].saturating_sub(free)), slow.clone()]).write(segments);
            let of = |name: &str| {
                let chosen = Registry::builtin().choose_scheduler(name, &[]).expect("it is built in");
                let mut scheduler = chosen.build().expect("defaults build");
                let (mut bench, mut all) = (bench(), Vec::new());
                while let Some(step) = bench.step(scheduler.as_mut()) {
                    all.push(step);
                }
                (all, bench.decide(scheduler.as_mut()))
            };
            prop_assert_eq!(of("fpdps"), of("fps"));
        }
    }
}
