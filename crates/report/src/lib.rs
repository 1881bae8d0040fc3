//! Results as ranked tables and as one self-contained page.
//!
//! [`Comparison::all`] makes one comparison per scenario from the results of any number of runs. From these, [`table`](table()) writes what a
//! terminal shows, [`verdict`](verdict()) the sentence above it, and [`page`](page()) one HTML file that needs nothing from outside.

mod colour;
mod data;
mod encode;
mod number;
mod page;
mod statistics;
mod summary;
mod table;
mod validation;
mod verdict;

pub use page::{About, page};
pub use statistics::Estimate;
pub use summary::{Comparison, Standing, Summary};
pub use table::table;
pub use validation::{agreement_svg, differences_svg};
pub use verdict::verdict;
