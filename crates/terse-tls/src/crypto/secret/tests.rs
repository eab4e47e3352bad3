//! Tests of secrets.

use alloc::boxed::Box;

use super::*;

#[test]
fn a_secret_that_moves_leaves_no_copy_behind() {
    let secret = Box::new(Secret::new(&[7; 32]));
    let place = secret.as_ref().as_ref().as_ptr();
    let moved = *secret;
    assert_eq!(moved.as_ref(), [7; 32]);
    assert_eq!(moved.as_ref().as_ptr(), place);
}

#[test]
fn a_secret_is_not_printed_and_no_longer_than_a_hash() {
    let secret = Secret::new(&[7; 64]);
    assert_eq!(secret.as_ref(), [7; MAX_HASH_LEN]);
    assert_eq!(alloc::format!("{secret:?}"), "Secret");
}
