//! Prints the digests of fixed runs, a line each: of all runs, or with `--every 3` of each third, which a slow build can
//! afford. With `--through-bytes`, the segments of the runs travel as bytes.

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let through_bytes = arguments.iter().any(|a| a == "--through-bytes");
    let every = arguments.iter().skip_while(|a| *a != "--every").nth(1);
    let every = every.map_or(1, |count| count.parse().expect("--every takes a number of runs"));
    for case in pathweave_digests::cases().into_iter().step_by(every) {
        println!("{}", if through_bytes { case.line_through_bytes() } else { case.line() });
    }
}
