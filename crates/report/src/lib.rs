//! Results as ranked tables and as one self-contained page.
//!
//! [`Comparison::all`] makes one comparison per scenario from the results of any number of runs. From these, [`table`](table()) writes what a
//! terminal shows, [`verdict`](verdict()) the answer in a few sentences, [`where_the_time_went`] why a scheduler is slower, and
//! [`page`](page()) one HTML file that needs nothing from outside.
//! [`timeline`](timeline()) and [`explain_page`](explain_page()) show the decisions of one run in the same two ways, and
//! [`emulation_page`](emulation_page()) what a network carried in real time.

mod card;
mod data;
mod document;
mod emulation_page;
mod explain_page;
mod metric;
mod number;
mod page;
mod statistics;
mod summary;
mod table;
mod timeline;
mod validation;
mod verdict;

pub use card::{About, ExplanationLink, link_text};
pub use document::figure_page;
pub use document::html;
pub use emulation_page::{EmulatedPath, EmulatedWay, Emulation, emulation_page};
pub use explain_page::explain_page;
pub use number::short;
pub use page::page;
pub use statistics::Difference;
pub use statistics::{Estimate, quantile_of};
pub use summary::{Comparison, Standing, Summary};
pub use table::csv;
pub use table::table;
pub use timeline::timeline;
pub use validation::{agreement_svg, differences_svg};
pub use verdict::{explained, ranked, verdict, where_the_time_went};
