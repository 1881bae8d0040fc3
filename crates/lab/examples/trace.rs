//! Prints every packet at every link: `trace FILE.toml VARIANT SEED [UNTIL_SECONDS]`; VARIANT is `-` (as written), `tcpN` or a scheduler.
use pathweave_algorithms::Registry;
use pathweave_lab::scenario::{Document, NoFiles, SchedulerSpec, Variant};
use pathweave_lab::sim::Simulation;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[1]).expect("a scenario file");
    let document = Document::parse(&args[1], &text).expect("a right file");
    let variant = match args[2].as_str() {
        "-" => Variant::AsWritten,
        other => match other.strip_prefix("tcp").and_then(|n| n.parse().ok()) {
            Some(n) => Variant::PlainTcp(n),
            None => Variant::Scheduler(SchedulerSpec::parse(other).expect("a scheduler")),
        },
    };
    let registry = Registry::builtin();
    let scenario = document.scenario(&registry, &variant).expect("a right scenario");
    let until: f64 = args.get(4).map_or(f64::MAX, |s| s.parse().expect("seconds"));
    let mut simulation =
        Simulation::new(&scenario, args[3].parse().expect("a seed"), &registry, &NoFiles).expect("it builds");
    simulation.set_capture(Box::new(move |tap, s| {
        if tap.at.as_secs_f64() > until {
            return;
        }
        let dss = s.options.dss.map_or(String::new(), |d| {
            let map = d.mapping.map_or(String::new(), |m| format!(" map ssn {} dsn {:?} len {}", m.ssn, m.dsn, m.len));
            format!("{map} dack {:?}{}", d.data_ack, if d.data_fin { " DATA_FIN" } else { "" })
        });
        println!(
            "{:.6} link {} {:?} entered {:.6} {:?} seq {} len {} ack {} win {}{dss} sack {:?} {:?}",
            tap.at.as_secs_f64(),
            tap.link.0,
            tap.fate,
            tap.entered.as_secs_f64(),
            s.flags,
            s.seq,
            s.payload.len(),
            s.ack,
            s.window,
            s.options.sack.iter().map(|b| (b.left, b.right)).collect::<Vec<_>>(),
            s.options.mptcp,
        );
    }));
    let measured = simulation.run();
    println!("{:?} {:?}", measured.status, measured.metrics);
}
