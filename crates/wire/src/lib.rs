//! Placeholder while the foundation is laid.
