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
