//! Results as ranked tables and as one self-contained page.
//!
//! [`Comparison::all`] makes one comparison per scenario from the results of any number of runs. From these, [`table`](table()) writes what a
//! terminal shows, [`verdict`](verdict()) the answer in a few sentences, [`where_the_time_went`] why a scheduler is slower, and
//! [`page`](page()) one HTML file that needs nothing from outside.
//! [`timeline`](timeline()) and [`explain_page`](explain_page()) show the decisions of one run in the same two ways, and
//! [`emulation_page`](emulation_page()) what a network carried in real time.

mod again;
mod card;
mod comparison;
mod csv;
mod data;
mod document;
mod emulation_page;
mod explain_page;
mod metric;
mod number;
mod page;
mod ranked;
mod statistics;
mod table;
mod time_spent;
mod timeline;
mod units;
mod validation;
mod verdict;

pub use card::{About, Again, ExplanationLink, link_text};
pub use comparison::{Absent, Comparison, Judged, Planned, Standing, Summary};
pub use csv::csv;
pub use data::drawn;
pub use document::figure_page;
pub use document::html;
pub use emulation_page::{EmulatedPath, EmulatedWay, Emulation, emulation_page};
pub use explain_page::explain_page;
pub use number::short;
pub use page::page;
pub use ranked::ranked;
pub use statistics::Difference;
pub use statistics::{Estimate, quantile_of};
pub use table::table;
pub use time_spent::{explained, where_the_time_went};
pub use timeline::timeline;
pub use validation::{agreement_svg, differences_svg};
pub use verdict::{Tone, Verdict, verdict};
