use super::*;
use pathweave_scheduler::parameter::Values;
use pathweave_scheduler::testing::{Bench, MSS, Sub, seg, sub};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn config() -> Config {
    Config {
        conservative: false,
        delay_constraint: DelayConstraint::None,
        dynamic: true,
        beta: 4.0,
        max_guard: Duration::from_secs(2),
        probe: 10,
        probe_after_all: false,
    }
}

fn radical() -> Cp {
    Cp::new(config())
}

/// The segments that `i` is expected to send during `rtt_j`.
fn expected(i: Sub, rtt_j: u64) -> f64 {
    let i = i.0;
    expected_bytes(&i, i.rtt.smoothed_or_zero(), ms(rtt_j)) / f64::from(i.mss)
}

#[test]
fn eq_3_windows_during_a_slower_round_trip() {
    for (i, j, l) in [(20, 20, 0.0), (20, 39, 0.0), (20, 40, 1.0), (20, 59, 1.0), (20, 150, 6.0), (10, 75, 6.0)] {
        assert_eq!(expected_windows(ms(i), ms(j)), l, "{i} and {j} ms");
    }
}

#[test]
fn eq_4_slow_start_doubles() {
    // L = 3: 10 + 20 + 40.
    assert_eq!(expected(sub(0).rtt(20).slow_start().in_flight(10), 80), 70.0);
    // Only outstanding segments count, not the window.
    assert_eq!(expected(sub(0).rtt(20).slow_start().in_flight(4), 80), 28.0);
    assert_eq!(expected(sub(0).rtt(20).slow_start().in_flight(10), 39), 0.0);
}

#[test]
fn eq_5_avoidance_uncoupled_and_coupled() {
    let with = |increase, in_flight| {
        let mut s = sub(0).rtt(20).in_flight(in_flight);
        s.0.window.growth = Growth::PerRound(increase);
        s
    };
    // L = 4. Uncoupled: 10 + 11 + 12 + 13. Coupled with a share of a quarter: 10 + 10.25 + 10.5 + 10.75. Window not
    // filled: 4 · 9.
    assert_eq!(expected(with(1.0, 10), 100), 46.0);
    assert_eq!(expected(with(0.25, 10), 100), 41.5);
    assert_eq!(expected(with(1.0, 9), 100), 36.0);
}

#[test]
fn eq_7_time_based_and_eq_2_rate_based() {
    let mut s = sub(0).rtt(20).in_flight(10);
    s.0.window.growth = Growth::ToWindow(12.0);
    // L = 4: 10 + 12 + 14 + 16 + 18.
    assert_eq!(expected(s.clone(), 100), 70.0);
    s.0.window.growth = Growth::AtRate(50_000.0);
    assert_eq!(expected(s, 100), 5.0);
}

#[test]
fn eq_6_sums_over_all_faster_subflows() {
    let bench = Bench::new([sub(0).rtt(20).in_flight(10), sub(1).rtt(50).in_flight(8).mss(500), sub(2).rtt(100)]);
    let view = bench.view();
    // 46 segments of 1000 bytes; L = 1 of 8 segments of 500 bytes.
    assert_eq!(required_buffer(&view, &view.subflows[2], ms(100)), 50_000.0);
    assert_eq!(required_buffer(&view, &view.subflows[1], ms(50)), 10_000.0);
    assert_eq!(required_buffer(&view, &view.subflows[0], ms(20)), 0.0);
}

/// A full F at 20 ms and an S at 100 ms: B is 46 segments; ten segments are outstanding.
fn bench(send_window: u64) -> Bench {
    let mut bench = Bench::new([sub(0).rtt(20), sub(1).rtt(100)]).write(1000).send_window(send_window);
    assert_eq!(bench.step(&mut radical()), Some((0, 0..10)));
    bench
}

#[test]
fn fig_3_the_fastest_subflow_is_filled_first() {
    bench(5000);
}

#[test]
fn fig_3_radical_uses_what_fits_beside_b() {
    assert_eq!(bench(56).run(&mut radical()), [(1, 10..11)]);
    assert_eq!(bench(55).run(&mut radical()), []);
    assert_eq!(bench(5000).run(&mut radical()), [(1, 10..20)], "as minrtt");
}

#[test]
fn the_send_buffer_limits_too() {
    let mut bench = bench(5000);
    bench.send_buffer = 1000 * MSS;
    // All data is written, and 990 segments are not assigned.
    assert_eq!(bench.run(&mut radical()), [(1, 10..20)]);
    let mut bench = Bench::new([sub(0).rtt(20).in_flight(10), sub(1).rtt(100)]).write(40);
    bench.send_buffer = 45 * MSS;
    assert_eq!(bench.rule(&mut radical()), "B = {b_bytes} > {available_bytes} available");
}

#[test]
fn fig_3_conservative_counts_what_is_outstanding() {
    let conservative = || Cp::new(Config { conservative: true, ..config() });
    // RWND > B + 2 · outstanding: 46 + 2 · 10.
    assert_eq!(bench(66).run(&mut conservative()), [(1, 10..11)]);
    assert_eq!(
        bench(65).rule(&mut conservative()),
        "B = {b_bytes} and {in_flight_bytes} in flight > {available_bytes} available"
    );
    assert_eq!(bench(50).rule(&mut conservative()), "B = {b_bytes} > {available_bytes} available");
    assert_eq!(
        bench(19).rule(&mut conservative()),
        "the fastest subflow's outstanding {outstanding_bytes} exceed half of the window of {window_bytes}"
    );
    // After a timeout the window doubles too.
    for phase in [Phase::SlowStart, Phase::Loss] {
        let mut bench = bench(5000);
        bench.sub(0).window.phase = phase;
        assert_eq!(bench.rule(&mut conservative()), "the fastest subflow is in slow start", "{phase:?}");
    }
}

#[test]
fn fig_3_delay_constraint() {
    let with = |delay_constraint| Cp::new(Config { delay_constraint, ..config() });
    let rule = "RTT = {rtt_ms} > delay constraint, with a fastest RTT of {fastest_ms}";
    assert_eq!(bench(5000).rule(&mut with(DelayConstraint::Time(ms(99)))), rule);
    assert_eq!(bench(5000).rule(&mut with(DelayConstraint::Multiple(4.9))), rule);
    assert_eq!(bench(5000).run(&mut with(DelayConstraint::Time(ms(100)))), [(1, 10..20)]);
    assert_eq!(bench(5000).run(&mut with(DelayConstraint::Multiple(5.0))), [(1, 10..20)]);
}

#[test]
fn delay_constraints_are_none_a_time_or_a_multiple() {
    assert_eq!(DelayConstraint::parse("none"), Some(DelayConstraint::None));
    assert_eq!(DelayConstraint::parse("50ms"), Some(DelayConstraint::Time(ms(50))));
    assert_eq!(DelayConstraint::parse("2.5x"), Some(DelayConstraint::Multiple(2.5)));
    let given = [("delay_constraint".to_string(), "fast".to_string())];
    let values = Values::parse(ENTRY.parameters, &given).expect("any text");
    assert!((ENTRY.build)(&values).is_err());
}

#[test]
fn eq_8_guard_times() {
    let dynamic = radical();
    assert_eq!(dynamic.guard(ms(100), 1), ms(400));
    assert_eq!(dynamic.guard(ms(100), 3), ms(1200));
    assert_eq!(dynamic.guard(ms(100), 9), ms(2000));
    let fixed = Cp::new(Config { dynamic: false, ..config() });
    assert_eq!(fixed.guard(ms(100), 9), ms(400));
}

#[test]
fn fig_3_a_denied_subflow_is_probed_with_one_initial_window_after_its_guard_time() {
    let mut bench = bench(40);
    let mut cp = radical();
    let start = bench.now;
    // The first denial sets N = 1 and gives a time to ask again, without a probe.
    let Decision::Wait { until, for_subflow, .. } = bench.decide(&mut cp) else { panic!("it waits") };
    assert_eq!((until, for_subflow), (Some(start + ms(400) + Duration::from_nanos(1)), Some(SubflowId(0))));
    // The guard time is over, but the first unacknowledged byte has not moved, so only an acknowledgement helps.
    bench.now = start + ms(401);
    let Decision::Wait { until: None, .. } = bench.decide(&mut cp) else { panic!("it waits for an acknowledgement") };
    bench.map.acknowledge(seg(5));
    assert_eq!(bench.run(&mut cp), [(1, 10..20)], "one initial window, still denied");
    bench.acked(1, 10);
    // N = 2: 800 ms.
    assert_eq!(bench.run(&mut cp), []);
    bench.map.acknowledge(seg(6));
    bench.now = start + ms(401) + ms(799);
    assert_eq!(bench.run(&mut cp), []);
    bench.now += ms(2);
    assert_eq!(bench.step(&mut cp), Some((1, 20..21)));
    // If the buffer has room, the subflow is used without a probe, and N is kept.
    bench.send_window = 5000 * MSS;
    assert_eq!(bench.rule(&mut cp), "B = {b_bytes} ≤ {available_bytes} available");
    assert_eq!(cp.pauses[1].map(|p| p.count), Some(3));
    bench.down(1, &mut cp);
    assert_eq!(cp.pauses[1], None);
}

#[test]
fn unlimited_buffer_is_minrtt() {
    let bench = || Bench::new([sub(0).rtt(90), sub(1).rtt(3), sub(2).no_rtt(), sub(3).rtt(40)]).write(35);
    assert_eq!(bench().run(&mut radical()), bench().run(&mut minrtt::MinRtt));
}

#[test]
fn eq_4_also_holds_after_a_timeout() {
    let mut s = sub(0).rtt(20).in_flight(10);
    s.0.window.phase = Phase::Loss;
    assert_eq!(expected(s, 80), 70.0);
}

/// Line 5 of Fig. 3 says "2·outstanding > RWND", so equality is allowed; then eq. 6 decides.
#[test]
fn fig_3_half_of_the_window_outstanding_is_allowed() {
    let mut conservative = Cp::new(Config { conservative: true, ..config() });
    assert_eq!(bench(20).rule(&mut conservative), "B = {b_bytes} > {available_bytes} available");
}

/// The denials other than by B: by the delay constraint, in slow start, and by outstanding data (lines 5 to 9 and 26 to 33 of Fig. 3).
fn other_denials() -> [(Config, u64, Phase); 3] {
    let constraint = DelayConstraint::Time(ms(99));
    [
        (Config { delay_constraint: constraint, ..config() }, 5000, Phase::Avoidance),
        (Config { conservative: true, ..config() }, 5000, Phase::SlowStart),
        (Config { conservative: true, ..config() }, 60, Phase::Avoidance),
    ]
}

/// The segments that a denied subflow gets after its first guard time.
fn after_the_guard_time(config: Config, send_window: u64, phase: Phase) -> Vec<(u8, core::ops::Range<u64>)> {
    let mut bench = bench(send_window);
    bench.sub(0).window.phase = phase;
    let mut cp = Cp::new(config);
    assert_eq!(bench.run(&mut cp), [], "{config:?}");
    bench.now += ms(401);
    bench.map.acknowledge(seg(1));
    bench.run(&mut cp)
}

/// Lines 12 to 22 of Fig. 3 are behind line 11, "B > available buffer": no other denial pauses or probes.
#[test]
fn fig_3_only_a_short_buffer_leads_to_probes() {
    for conservative in [false, true] {
        let config = Config { conservative, ..config() };
        assert_eq!(after_the_guard_time(config, 40, Phase::Avoidance), [(1, 10..20)], "{config:?}");
    }
    for (config, send_window, phase) in other_denials() {
        assert_eq!(after_the_guard_time(config, send_window, phase), [], "{config:?}");
    }
}

/// Line 30 of Fig. 3 comes after the probe of line 20, so a subflow that is too slow is not probed either.
#[test]
fn fig_3_a_subflow_above_the_delay_constraint_is_never_probed() {
    let config = Config { delay_constraint: DelayConstraint::Time(ms(99)), ..config() };
    assert_eq!(after_the_guard_time(config, 40, Phase::Avoidance), []);
}

#[test]
fn probes_after_each_kind_of_denial_if_the_parameter_says_so() {
    for (config, send_window, phase) in other_denials() {
        let config = Config { probe_after_all: true, ..config };
        assert_eq!(after_the_guard_time(config, send_window, phase), [(1, 10..20)], "{config:?}");
    }
}

/// Eq. 8 without N: static probing always waits for the same time.
#[test]
fn fig_3_static_probing_does_not_slow_down() {
    let mut bench = bench(60);
    bench.sub(1).window.cwnd = 2;
    let mut cp = Cp::new(Config { dynamic: false, probe: 2, probe_after_all: true, conservative: true, ..config() });
    assert_eq!(bench.run(&mut cp), []);
    for n in 0..3 {
        bench.now += ms(399);
        bench.map.acknowledge(seg(n + 1));
        assert_eq!(bench.run(&mut cp), [], "{n}");
        bench.now += ms(2);
        assert_eq!(bench.run(&mut cp), [(1, 10 + 2 * n..12 + 2 * n)], "{n}");
        bench.acked(1, 2);
    }
    assert_eq!(cp.pauses[1].map(|p| p.count), Some(4));
}
