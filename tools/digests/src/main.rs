//! Prints the digests of fixed runs, a line each.

fn main() {
    for case in pathweave_digests::cases() {
        println!("{}", case.line());
    }
}
