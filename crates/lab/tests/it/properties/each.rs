//! Each scheduler and each controller by name, on networks that are the same in every run.

use super::{Case, PathCase, check, registry};

/// A path without any impairment.
fn plain(rate_kbps: u32, delay_ms: u32) -> PathCase {
    PathCase {
        rate_kbps,
        delay_ms,
        queue: 60,
        loss: 0.0,
        burst: 1.0,
        jitter_ms: 0,
        reorder: 0.0,
        duplicate: 0.0,
        corrupt: 0.0,
        keep_order: true,
        outage: None,
    }
}

/// A transfer of 1 MB over these paths with buffers of 200 and 400 segments and no other settings.
fn case(paths: Vec<PathCase>) -> Case {
    Case {
        paths,
        shared_kbps: None,
        scheduler: 0,
        controller: 0,
        receive_segments: 200,
        send_segments: 400,
        size: 1_000_000,
        download: false,
        nagle: false,
        pr: false,
        ecn: false,
        timestamps: true,
        window_scaling: true,
        delayed_ack: true,
        auto_buffer: false,
        full_mesh: false,
        recovery: 0,
        slow_detection: false,
        mtu: 1500,
        seed: 1,
    }
}

/// Every scheduler with every kind of impairment in turn, controllers and recoveries in rotation.
#[test]
fn every_scheduler_on_each_kind_of_network() {
    let registry = registry();
    let mut lossy = plain(4000, 60);
    lossy.loss = 0.02;
    let mut dying = plain(8000, 20);
    dying.outage = Some((700, 4000));
    let mut jumbled = plain(6000, 30);
    (jumbled.jitter_ms, jumbled.reorder, jumbled.duplicate, jumbled.corrupt) = (10, 0.03, 0.03, 0.01);
    jumbled.keep_order = false;
    let networks = [
        (vec![plain(10_000, 10), plain(1000, 75)], 60),
        (vec![dying.clone(), plain(3000, 50)], 300),
        (vec![plain(3000, 50), dying], 20),
        (vec![jumbled, lossy], 100),
        (vec![plain(5000, 30), plain(5000, 30), plain(2000, 10)], 4),
    ];
    let mut failures = Vec::new();
    for scheduler in 0..registry.schedulers().len() {
        for (i, (paths, receive_segments)) in networks.iter().enumerate() {
            let case = Case {
                shared_kbps: (i == 4).then_some(6000),
                scheduler,
                controller: scheduler + i,
                receive_segments: *receive_segments,
                size: 400_000,
                download: i % 2 == 1,
                nagle: scheduler % 2 == 0,
                pr: scheduler % 3 == 0,
                recovery: (scheduler + i) / 2,
                ..case(paths.clone())
            };
            if let Err(what) = check(&case) {
                failures.push(format!("{} on network {i}: {what}", case.scheduler(&registry)));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

/// Every scheduler on 1, 2, 3, 4 and 8 subflows: round-trip times from 6 to 600 ms, the fastest path dying and coming back,
/// the slowest dying a little later, buffers of 4 segments and of many.
#[test]
fn every_scheduler_on_one_to_eight_paths_that_die_and_return() {
    let registry = registry();
    let delays: [&[u32]; 5] = [&[3], &[3, 300], &[3, 30, 300], &[3, 14, 65, 300], &[3, 6, 11, 22, 43, 84, 160, 300]];
    let mut failures = Vec::new();
    for scheduler in 0..registry.schedulers().len() {
        for (i, delays) in delays.into_iter().enumerate() {
            let subflows = delays.len();
            for (segments, size) in [(4, 100_000), (300, 1_500_000)] {
                let mut paths: Vec<_> = delays.iter().map(|delay| plain(6000, *delay)).collect();
                paths[0].outage = Some((500, 3000));
                if subflows > 1 {
                    paths[subflows - 1].outage = Some((1500, 4000));
                }
                let case = Case {
                    scheduler,
                    controller: scheduler + i,
                    receive_segments: segments,
                    send_segments: segments,
                    size,
                    download: i % 2 == 0,
                    nagle: scheduler % 2 == 1,
                    pr: scheduler % 3 == 1,
                    recovery: (scheduler + i) / 2,
                    ..case(paths)
                };
                if let Err(what) = check(&case) {
                    failures.push(format!("{} on {subflows} subflows: {what}", case.scheduler(&registry)));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n\n"));
}

/// Every controller over a lossy pair of paths, with every way of recovery.
#[test]
fn every_controller_with_each_recovery() {
    let registry = registry();
    for controller in 0..registry.controllers().len() {
        for recovery in 0..3 {
            let (mut a, mut b) = (plain(8000, 20), plain(2000, 80));
            (a.loss, b.loss, b.burst) = (0.01, 0.01, 3.0);
            let case = Case {
                controller,
                pr: true,
                ecn: true,
                timestamps: recovery != 1,
                auto_buffer: true,
                full_mesh: true,
                recovery,
                seed: 3,
                ..case(vec![a, b])
            };
            check(&case).unwrap_or_else(|what| panic!("{what}"));
        }
    }
}
