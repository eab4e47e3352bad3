use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

#[tokio::test]
async fn what_was_carried_counts_and_nothing_else() {
    let counters = Counters::default();
    let (near, mut far) = tokio::io::duplex(4);
    let mut near = counters.count(near);
    // Only four bytes fit.
    assert_eq!(near.write(b"abcdef").await.unwrap(), 4);
    assert_eq!(counters.read(), (4, 0));
    far.write_all(b"xyz").await.unwrap();
    let mut read = [0; 8];
    assert_eq!(near.read(&mut read).await.unwrap(), 3);
    assert_eq!(counters.read(), (4, 3));
    let second = counters.count(far);
    drop(near);
    drop(second);
    assert_eq!(counters.read(), (4, 3));
}
