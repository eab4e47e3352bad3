//! The link over a stream, from both sides: what a peer may do with records, what it may not, and how much is kept.
