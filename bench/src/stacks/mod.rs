//! The stacks that are measured, each in its file.

use crate::stack::Stack;

mod rustls;
mod terse;

/// All of them, ours first.
pub fn all() -> Vec<Box<dyn Stack>> {
    vec![
        Box::new(terse::AWS_LC),
        Box::new(terse::RUSTCRYPTO),
        Box::new(rustls::Rustls::AwsLc),
        Box::new(rustls::Rustls::Ring),
    ]
}
