use alloc::vec::Vec;

use super::{Anchors, digest_of};

#[test]
fn no_anchors_have_the_hash_of_nothing() {
    assert_eq!(Anchors::none().digest(), &digest_of(&[]));
    assert_eq!(Anchors::sorted(Vec::new()).digest(), Anchors::none().digest());
}
