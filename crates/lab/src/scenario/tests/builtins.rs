use super::*;
use pathweave_netsim::{Loss, QueueLimit};
use pathweave_proto::config::{FailureDetection, ReceiveBuffer};
use pathweave_units::{Bitrate, Duration, Probability};

#[test]
fn every_builtin_is_right_and_has_its_files_name() {
    for (name, _) in BUILTIN {
        let document = builtin(name).expect("it is there");
        let scenario = document.scenario(&Registry::builtin(), &Variant::AsWritten).expect("it is right");
        assert_eq!(scenario.name, *name);
        for part in [&scenario.description, &scenario.source] {
            assert!(!part.is_empty());
        }
    }
}

#[test]
fn every_builtin_pins_what_matters() {
    for (name, text) in BUILTIN {
        for key in [
            "duration",
            "congestion",
            "send_buffer",
            "receive_buffer",
            "path_manager",
            "pr",
            "failure_detection",
            "host",
            "queue",
        ] {
            assert!(text.contains(&format!("\n{key} = ")), "{name} does not pin {key}");
        }
    }
}

#[test]
fn both_ways_of_every_builtin_have_a_rate() {
    for (name, _) in BUILTIN {
        let mut document = builtin(name).expect("it is there");
        document.set("connection.direction", "download").expect("there is such a setting");
        let scenario = document.scenario(&Registry::builtin(), &Variant::AsWritten).expect("it is right");
        assert_eq!(scenario.warnings(), [""; 0], "{name}");
        assert!(scenario.links.iter().all(Link::has_rate), "{name}");
    }
}

#[test]
fn cp_asymmetric_is_the_papers() {
    let document = builtin("cp-asymmetric").expect("it is there");
    let scenario = document.scenario(&Registry::builtin(), &Variant::AsWritten).expect("it is right");
    let [up, down] = [&scenario.links[0], &scenario.links[1]];
    assert_eq!((up.name.as_str(), down.name.as_str()), ("fast.up", "fast.down"));
    assert_eq!((up.from, up.to, down.from, down.to), (0, 1, 1, 0));
    assert_eq!(up.settings.shaper, Rate::TokenBucket { rate: Bitrate::from_mbps(8), burst_bytes: 3028 });
    assert_eq!(down.settings.shaper, up.settings.shaper, "downloads have the same rate");
    assert_eq!(down.settings.delay, Duration::from_millis(10));
    assert_eq!(up.settings.queue, QueueLimit::Packets(100).into());
    assert_eq!(up.settings.overhead_bytes, 14);
    assert_eq!((scenario.duration, scenario.measure_from), (Duration::from_secs(30), Duration::from_secs(10)));
    assert_eq!((scenario.paths[1].up.as_slice(), scenario.paths[1].down.as_slice()), (&[2][..], &[3][..]));
    let connection = &scenario.connections[0];
    assert_eq!(connection.paths, [0, 1]);
    assert_eq!(connection.engine.congestion.name, "reno");
    assert_eq!(connection.engine.failure_detection, FailureDetection::Fast);
    assert_eq!(connection.direction, Direction::Upload);
    assert_eq!(connection.engine.receive_buffer, ReceiveBuffer::Auto { initial: 128 << 10, max: 6 << 20 });
}

#[test]
fn wlan_3g_loses_on_the_wlans_way_up_only() {
    let document = builtin("wlan-3g").expect("it is there");
    let scenario = document.scenario(&Registry::builtin(), &Variant::AsWritten).expect("it is right");
    assert_eq!(scenario.paths[0].name, "wlan");
    let loss: Vec<Loss> = scenario.links.iter().map(|link| link.settings.loss).collect();
    let one_percent = Loss::Bernoulli(Probability::new(0.01).expect("a probability"));
    assert_eq!(loss, [one_percent, Loss::None, Loss::None, Loss::None]);
    assert_eq!(scenario.links[2].settings.queue.limit, QueueLimit::Packets(3750));
}
