//! The corpora of `fuzz/corpus/` through the bodies of the fuzz targets.

use std::fs;
use std::path::Path;

fn replay(name: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut inputs: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.expect("a folder's entry").path())
        .collect();
    inputs.sort();
    assert!(inputs.len() > 10, "{}: {} inputs", folder.display(), inputs.len());
    for path in inputs {
        let input = fs::read(&path).expect("a file that can be read");
        println!("{}", path.display());
        body(&input);
    }
}

#[test]
fn codec() {
    replay("codec", pathweave_fuzz_bodies::codec);
}

#[test]
fn connection() {
    replay("connection", pathweave_fuzz_bodies::connection);
}

#[test]
fn decisions() {
    replay("decisions", pathweave_fuzz_bodies::decisions);
}

#[test]
fn icmp() {
    replay("icmp", pathweave_fuzz_bodies::icmp);
}

#[test]
fn scenario() {
    replay("scenario", pathweave_fuzz_bodies::scenario);
}

/// Random bytes reach little of the code, but they need no corpus.
#[test]
fn random_inputs() {
    use pathweave_units::random::Random;
    let mut random = Random::substream(1, "inputs");
    for i in 0..300 {
        let len = random.next_u32() % 2000;
        let input: Vec<u8> = (0..len).map(|_| random.next_u32() as u8).collect();
        println!("input {i}");
        pathweave_fuzz_bodies::codec(&input);
        pathweave_fuzz_bodies::connection(&input);
        pathweave_fuzz_bodies::decisions(&input);
        pathweave_fuzz_bodies::icmp(&input);
        pathweave_fuzz_bodies::super_segments(&input);
    }
}
