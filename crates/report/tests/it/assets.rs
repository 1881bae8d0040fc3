//! Third-party files are unchanged from their publisher's release.

use sha2::{Digest, Sha256};

/// From uplot 1.6.32 in the npm registry: `dist/uPlot.iife.min.js`, `dist/uPlot.min.css`, `LICENSE`, unchanged.
const PINNED: [(&[u8], &str); 3] = [
    (
        include_bytes!("../../assets/uPlot-1.6.32.iife.min.js"),
        "19c8d4c6ad88929a79f4ae49d6f7161566dfd0ba3d15cc495e974f787eb78f1f",
    ),
    (
        include_bytes!("../../assets/uPlot-1.6.32.min.css"),
        "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    ),
    (include_bytes!("../../assets/uPlot-LICENSE"), "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd"),
];

#[test]
fn vendored_files_are_unchanged() {
    for (bytes, expected) in PINNED {
        let hash: String = Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hash, expected);
    }
}
