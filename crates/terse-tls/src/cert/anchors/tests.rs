use super::{Anchors, digest_of};

#[test]
fn no_anchors_have_the_hash_of_nothing() {
    assert_eq!(Anchors::none().digest(), &digest_of(&[]));
    assert_eq!(Anchors::none().only(&[0]).digest(), Anchors::none().digest());
}
