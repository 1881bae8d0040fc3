//! Prints the digests of fixed runs, a line each; with `--through-bytes`, of runs whose segments travel as bytes.

fn main() {
    let through_bytes = std::env::args().any(|a| a == "--through-bytes");
    for case in pathweave_digests::cases() {
        println!("{}", if through_bytes { case.line_through_bytes() } else { case.line() });
    }
}
