//! The size of errors.

use super::Error;

/// Every function that can fail moves it, in code and on the stack.
#[test]
fn an_error_takes_twelve_bytes_at_most() {
    assert!(size_of::<Error>() <= 12, "{}", size_of::<Error>());
    assert_eq!(size_of::<Result<(), Error>>(), size_of::<Error>());
}
