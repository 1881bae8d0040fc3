//! Property tests that every controller of the registry must pass, whatever is acknowledged or lost.

use super::testing::{MSS, path};
use crate::Registry;
use pathweave_proto::congestion::{Ack, Context, Growth, PathState, Window};
use pathweave_proto::parameter::Values;
use pathweave_units::{Duration, Instant};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    Ack { segments: u32, rtt_us: Option<u64>, round: bool, limited: bool },
    Loss,
    Timeout,
    Idle(u64),
    Others(Vec<(u32, u64)>),
}

fn step() -> impl Strategy<Value = Step> {
    let ack = (1u32..60, proptest::option::weighted(0.9, 1u64..2_000_000), any::<bool>(), any::<bool>())
        .prop_map(|(segments, rtt_us, round, limited)| Step::Ack { segments, rtt_us, round, limited });
    prop_oneof![
        30 => ack,
        2 => Just(Step::Loss),
        1 => Just(Step::Timeout),
        1 => (1u64..100).prop_map(Step::Idle),
        1 => proptest::collection::vec((0u32..5000, 0u64..2000), 0..8).prop_map(Step::Others),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn windows_thresholds_and_growth_stay_sane(
        initial in 1u32..100,
        own in 0usize..8,
        steps in proptest::collection::vec(step(), 1..200),
    ) {
        for factory in Registry::builtin().controllers() {
            let name = factory.name();
            let values = Values::parse(&factory.parameters(), &[]).expect("defaults are right");
            let mut controller = factory.build(&values).expect("defaults build");
            let mut window = Window { cwnd: initial, ssthresh: Window::NO_THRESHOLD };
            let mut now = Instant::from_secs(1);
            let (mut srtt, mut min_rtt) = (None, None);
            let mut others: Vec<PathState> = Vec::new();
            for step in &steps {
                let mut paths = others.clone();
                let own = own.min(paths.len());
                let cwnd = window.cwnd;
                paths.insert(own, PathState { srtt, min_rtt, ..path(cwnd, 1) });
                let before = window;
                let mut cx = Context { now, window: &mut window, paths: &paths, own, srtt, min_rtt, in_flight: cwnd };
                match step {
                    Step::Ack { segments, rtt_us, round, limited } => {
                        let segments = (*segments).min(cwnd);
                        let rtt = rtt_us.map(Duration::from_micros);
                        let bytes = u64::from(segments) * u64::from(MSS);
                        let ack = Ack { segments, bytes, rtt, round_ended: *round };
                        if let Some(rtt) = rtt {
                            srtt = Some(rtt);
                            min_rtt = Some(min_rtt.map_or(rtt, |least: Duration| least.min(rtt)));
                        }
                        controller.on_sample(&mut cx, &ack);
                        prop_assert!(cx.window.cwnd <= before.cwnd, "{name}: a sample does not grow the window");
                        if *limited {
                            controller.on_ack(&mut cx, &ack);
                            let most = before.cwnd + segments + 1;
                            prop_assert!(cx.window.cwnd <= most, "{name}: {} of {segments} from {}", cx.window.cwnd, before.cwnd);
                        }
                        now += Duration::from_millis(3);
                    }
                    Step::Loss | Step::Timeout => {
                        let threshold = controller.threshold_after_loss(&cx);
                        prop_assert!(threshold >= 2 && threshold <= before.cwnd.max(2), "{name}: {threshold} after {}", before.cwnd);
                        cx.window.ssthresh = threshold;
                        cx.window.cwnd = if matches!(step, Step::Loss) { threshold } else { 1 };
                        if matches!(step, Step::Timeout) {
                            controller.on_timeout(&mut cx);
                        }
                    }
                    Step::Idle(seconds) => {
                        let idle = Duration::from_secs(*seconds);
                        now += idle;
                        cx.now = now;
                        controller.on_restart(&mut cx, idle);
                    }
                    Step::Others(list) => others = list.iter().map(|(cwnd, ms)| path(*cwnd, *ms)).collect(),
                }
                prop_assert!(window.cwnd >= 1 && window.ssthresh >= 2, "{name}: {window:?}");
                let cx = Context { now, window: &mut window, paths: &paths, own, srtt, min_rtt, in_flight: 0 };
                let finite = match controller.growth(&cx) {
                    Growth::PerRound(x) => x.is_finite(),
                    Growth::ToWindow(x) | Growth::AtRate(x) => x.is_finite() && x >= 0.0,
                };
                prop_assert!(finite, "{name}: {:?}", controller.growth(&cx));
            }
        }
    }
}
