//! Results as ranked tables and as one self-contained page.
//!
//! [`Comparison::all`] makes one comparison per scenario from the results of any number of runs. [`table`](table())
//! turns a comparison into a table for a terminal, [`verdict`](verdict()) into an answer in a few sentences, and
//! [`page`](page()) into one HTML file that needs nothing from outside. [`where_the_time_went`] explains why a
//! scheduler is slower. [`timeline`](timeline()) and [`explain_page`](explain_page()) show the decisions of one run, as
//! text and as a page. [`emulation_page`](emulation_page()) shows the traffic of a network in real time.
//!
//! ```
//! use pathweave_algorithms::Registry;
//! use pathweave_lab::scenario::{NoFiles, Variant, builtin};
//! use pathweave_report::{Comparison, table};
//!
//! let registry = Registry::builtin();
//! let mut document = builtin("wifi-lte").unwrap();
//! document.set("duration", "12s")?;
//! let mut results = Vec::new();
//! for variant in [Variant::AsWritten, Variant::PlainTcp(0)] {
//!     results.push(pathweave_lab::run(&document, &variant, 1, &registry, &NoFiles)?);
//! }
//! let comparisons = Comparison::all(&results, &[], None);
//! assert_eq!(comparisons[0].best_plain_tcp().unwrap().scheduler, "tcp-path0");
//! println!("{}", table(&comparisons[0], 80));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod again;
mod alike;
mod card;
mod comparison;
mod csv;
mod data;
mod document;
mod emulation_page;
mod explain_page;
mod link_changes;
mod look;
mod metric;
mod number;
mod page;
mod ranked;
mod statistics;
mod table;
mod time_spent;
mod timeline;
mod topology;
mod units;
mod unused_rate;
mod validation;
mod verdict;

pub use alike::alike_in_words;
pub use card::{About, Again, ExplanationLink};
pub use comparison::{Absent, Comparison, HEADERS, Judged, Planned, RunEnd, Standing, Summary, least_gain};
pub use csv::csv;
pub use data::drawn;
pub use document::figure_page;
pub use document::html;
pub use emulation_page::{EmulatedPath, EmulatedWay, Emulation, emulation_page};
pub use explain_page::{explain_page, explain_page_of_report};
pub use look::{COLOURS, DASHES, Look, looks};
pub use number::short;
pub use page::page;
pub use ranked::ranked;
pub use statistics::Difference;
pub use statistics::{Estimate, quantile_of};
pub use table::table;
pub use time_spent::{explained, where_the_time_went};
pub use timeline::{reasons, timeline};
pub use topology::link_text;
pub use unused_rate::unused_rates;
pub use validation::{agreement_svg, differences_svg};
pub use verdict::{Tone, Verdict, verdict};
