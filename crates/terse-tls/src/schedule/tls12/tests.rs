//! The PRF against published vectors, and what hangs on it.
