//! Tests of validation without path building. Each chain is also judged with path building, which never refuses what is
//! accepted here.
//!
//! - [`ca`]: CAs and leaves, with whatever is wrong about them
//! - [`der`]: certificates taken apart, changed, and put together again
//! - [`paths`], [`encodings`], [`names`], [`work`]: what is accepted and refused, and what it costs
//! - [`mutated`]: chains that are changed at random

mod ca;
mod der;
mod encodings;
mod mutated;
mod names;
mod paths;
mod work;
