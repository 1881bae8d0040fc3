//! Why a run cannot begin.

/// The reason why a scenario cannot be built, if [`Document::scenario`](crate::scenario::Document::scenario) cannot find
/// the mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BuildError {
    /// Name of the link or connection.
    pub place: String,
    /// The mistake.
    pub message: String,
}

impl core::fmt::Display for BuildError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl core::error::Error for BuildError {}
